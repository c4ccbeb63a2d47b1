// The moves of the game on the board: playing, taking back, setting up.

import { $, el, refill } from "./util.js";

/** A game from a starting position; `ply` is where we stand in `line`. */
export class Game {
  constructor() {
    this.start = null;
    this.line = [];
    this.ply = 0;
  }

  /** What the engine is told of the position after so many plies. */
  asked(ply = this.ply) {
    return { fen: this.start, moves: this.line.slice(0, ply).map(({ uci }) => uci) };
  }

  /** Takes what the engine says the game is; moves taken back stay, to go forth again. */
  take(state) {
    const isSame = state.start === this.start
      && state.moves.every(({ uci }, index) => this.line[index]?.uci === uci);
    if (!isSame) this.line = state.moves;
    this.start = state.start;
    this.ply = state.moves.length;
  }

  /** The request for the game with these moves more. Those that they replace go when the engine has
      accepted them, see `take`. */
  with(ucis) {
    const asked = this.asked();
    return { fen: asked.fen, moves: [...asked.moves, ...ucis] };
  }

  /** Shows the moves, each a way to go there. */
  show(onGo) {
    const [number, turn] = this.firstMove();
    const items = [];
    let ply = 0;
    for (const { san } of this.line) {
      const half = ply + turn;
      const move = number + Math.floor(half / 2);
      const at = ply + 1;
      if (half % 2 === 0 || ply === 0) {
        items.push(el("li", { class: "number", text: half % 2 === 0 ? `${move}.` : `${move}…` }));
      }
      const button = el("button", { text: san, "aria-current": at === this.ply ? "true" : null,
        onclick: () => onGo(at) });
      items.push(el("li", {}, button));
      ply += 1;
    }
    refill($("game"), items);
    $("game").hidden = items.length === 0;
    const current = $("game").querySelector("[aria-current]");
    if (current) $("game").scrollTop = current.offsetTop - $("game").offsetTop - 30;
    $("first").disabled = $("back").disabled = this.ply === 0;
    $("last").disabled = $("forth").disabled = this.ply === this.line.length;
  }

  /** Number of the first move, and 1 where Black makes it. */
  firstMove() {
    const [, turn, , , , number] = (this.start ?? "").split(" ");
    return [Number(number) || 1, turn === "b" ? 1 : 0];
  }
}

/** What somebody typed: a position, or a move to play in this one, with its number or without.
    Nothing where it is neither. */
export function typed(text, legal) {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "startpos") return { fen: null };
  if (trimmed.includes("/")) return { fen: trimmed };
  const move = trimmed.replace(/^\d+\s*(\.+|…)\s*/, "");
  const fitting = legal.find(({ uci, san }) => uci === move.toLowerCase() || plain(san) === plain(move));
  return fitting ? { play: fitting.uci } : null;
}

/** A move as people write it, without what may be left out; castling by letters or by noughts. */
function plain(san) {
  const bare = san.replace(/[+#x!?=]/g, "");
  return /^[o0](-[o0]){1,2}$/i.test(bare) ? bare.replace(/[o0]/gi, "O") : bare;
}
