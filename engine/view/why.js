// The sentence in large type: which move, why, and where the next evaluations go.

import { $, el, points, proofWords } from "./util.js";

/** How long a sentence stays at least, milliseconds: it has to be read. */
const STAYS = 900;
/** The same for those who hear it. */
const SPOKEN = 6000;

export class Why {
  constructor() {
    this.forget();
  }

  forget() {
    [this.text, this.shownAt, this.spokenAt] = ["", -Infinity, -Infinity];
  }

  /** The next sentence need not wait. */
  hurry() {
    this.shownAt = -Infinity;
  }

  /** `isPast`: nothing will be told any more of what is looked at. */
  show({ snapshot, node }, path, isFinal, isPast) {
    const text = path.length === 0 ? snapshot.why : behind({ snapshot, node }, path, isPast);
    const now = performance.now();
    if (text === this.text || (!isFinal && now < this.shownAt + STAYS)) return;
    this.say(text, marked(text, node ?? snapshot.root, path), isFinal);
    // What is not known yet may be in a moment.
    if (!node) this.hurry();
  }

  /** Says a sentence, its words set apart or not. */
  say(text, words, isFinal = true) {
    if (text === this.text) return;
    const now = performance.now();
    [this.text, this.shownAt] = [text, now];
    $("why").replaceChildren(...(words.length > 0 ? words : [text]));
    if (isFinal || now > this.spokenAt + SPOKEN) {
      this.spokenAt = now;
      $("spoken").textContent = text;
    }
  }
}

/** Why nothing is told of what lies behind a line of moves. */
function untold({ search, focus, root }, path, isPast) {
  const line = path.map(({ san }) => san).join(" ");
  if (search === "AlphaBeta") return "AlphaBeta does not tell what lies behind a move.";
  if (isPast) return `What was seen behind ${line} then was not kept.`;
  // Snapshots tell of one place: until they tell of this one, or while another page asks for its own.
  const isSeen = path.length === 1 && root.moves.some(({ uci, isEvaluated }) => isEvaluated && uci === path[0].uci);
  return focus || isSeen ? `Waiting for what lies behind ${line}: one place at a time is told of.` : unseen(line);
}

const unseen = (line) => `The search has not looked behind ${line} yet.`;

/** What is known behind a line of moves. */
export function behind({ snapshot, node }, path, isPast) {
  const line = path.map(({ san }) => san).join(" ");
  if (!node) return untold(snapshot, path, isPast);
  const [first] = node.moves;
  // A place that the search only knows the way to has neither moves nor an end.
  if (!first) return node.proof ? `After ${line} the game is over.` : unseen(line);
  if (first.proof) return `After ${line} the best move is ${first.san}: ${proofWords(first.proof)}.`;
  const error = first.error === null ? "" : ` ± ${points(first.error)}`;
  const rival = node.moves.filter((move) => move.uci !== node.leader)
    .reduce((best, move) => ((move.overtake ?? 0) > (best?.overtake ?? 0) ? move : best), null);
  const chance = rival?.overtake ? `; ${rival.san} overtakes with ${(rival.overtake * 100).toFixed(0)} %` : "";
  return `After ${line} the best move is ${first.san}, worth ${points(first.value)}${error} points${chance}.`;
}

/** The sentence with its moves set apart. */
function marked(text, node, path) {
  const plain = (san) => san.replace(/[+#]/g, "");
  const best = plain(node.moves[0]?.san ?? "");
  const names = new Set([...node.moves, ...path].map(({ san }) => plain(san)));
  return text.split(/([A-Za-z][\w=-]*[+#]?|\d[\d.,]*)/).map((word) => {
    if (names.has(plain(word))) return el("b", { class: plain(word) === best ? "mv" : "mv other", text: word });
    return /^\d/.test(word) ? el("span", { class: "num", text: word }) : word;
  });
}
