// What the page hears and says: a running engine behind this page's own address, or a recording.

/** A refusal of the engine's: its sentence, and the field of the request it is about. */
export class Refused extends Error {}

async function answer(response) {
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const body = isJson ? await response.json() : {};
  if (!response.ok) throw new Refused(body.error ?? `the engine answered ${response.status}`);
  return body;
}

let before = Promise.resolve();

/** Sends one request, after the answer to the one before: two that are on their way together may
    arrive in either order, and the later one would be undone. */
export function post(what, body) {
  const turn = before.then(() => request(what, body));
  before = turn.catch(() => {});
  return turn;
}

/** The addresses are relative, so the token in the page's own goes along. */
async function request(what, body) {
  const response = await fetch(what, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return answer(response);
}

/** Listens to the engine. `hear` gets the kind of an event and what it says. */
export function listen(hear, onLoss) {
  const source = new EventSource("events");
  for (const kind of ["state", "snapshot", "note", "review"]) {
    source.addEventListener(kind, (event) => hear(kind, JSON.parse(event.data)));
  }
  source.onerror = () => onLoss(source.readyState === EventSource.CLOSED);
  return source;
}

/** The recording that this page shows instead of an engine, if any: `?replay=FILE` on any server of
    files, or what `tesla view --replay` was given. */
export async function recording() {
  const named = new URLSearchParams(location.search).get("replay");
  const response = await fetch(named ?? "recording.json");
  if (response.status === 204 || (!named && response.status === 404)) return null;
  return answer(response);
}
