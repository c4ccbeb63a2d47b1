// The board: plays moves by drag, click and keyboard, and shows where the work goes as arrows.

import { Chessground } from "./vendor/chessground.js";
import { $, colour, el } from "./util.js";

const ROLES = { q: "queen", r: "rook", b: "bishop", n: "knight" };
const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

export class Board {
  constructor(onMove) {
    this.onMove = onMove;
    this.moves = [];
    this.close = null;
    this.ground = Chessground($("board"), {
      animation: { duration: 220 },
      movable: { free: false, showDests: true, events: { after: (from, to) => this.moved(from, to) } },
      premovable: { enabled: false },
      draggable: { showGhost: true },
      highlight: { lastMove: true, check: true },
      drawable: { enabled: true, defaultSnapToValidMove: false, brushes: this.brushes() },
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  brushes() {
    const brush = (key, name, opacity) => ({ key, color: colour(name), opacity, lineWidth: 10 });
    const all = {};
    for (const [key, name, opacity] of [["best", "--tesla", 0.9], ["other", "--tesla", 0.5],
      ["rival", "--over", 0.8], ["green", "--good", 0.8], ["red", "--bad", 0.8],
      ["blue", "--tesla", 0.8], ["yellow", "--over", 0.8], ["PUCT", "--puct", 0.85],
      ["AlphaBeta", "--alphabeta", 0.85]]) {
      all[key] = brush(key, name, opacity);
    }
    return all;
  }

  recolour() {
    this.ground.set({ drawable: { brushes: this.brushes() } });
    this.ground.redrawAll();
  }

  /** Shows a position; `moves` are its legal moves where one may be played. */
  show(position) {
    this.shown = position;
    // What may still be asked is about a position that is gone.
    this.close?.();
    this.restore();
    $("board-words").textContent = words(position.fen);
  }

  /** The position stays, and nothing can be played in it. */
  hold() {
    this.show({ ...this.shown, moves: [] });
  }

  /** Shows again what was shown last: the board has made a move by itself, with which it changes the
      side to move and forgets the moves, and that move is not played after all. */
  restore() {
    const { fen, lastMove, check, moves } = this.shown;
    this.moves = moves ?? [];
    const dests = new Map();
    for (const { uci } of this.moves) {
      const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
      dests.set(from, [...(dests.get(from) ?? []), to]);
    }
    const color = fen.split(" ")[1] === "b" ? "black" : "white";
    this.ground.set({ fen, lastMove, check: check ? color : false, turnColor: color,
      movable: { color: this.moves.length ? color : undefined, dests } });
  }

  /** Arrows as wide as the shares of the work. In whole numbers, as they are drawn: the board makes an
      arrowhead for each width that it meets, and keeps them all. */
  arrows(moves, best, rival) {
    const drawn = moves.filter((move) => move.work >= 0.02 || move.uci === best);
    const shapes = drawn.slice(0, 12).map((move) => ({
      orig: move.uci.slice(0, 2),
      dest: move.uci.slice(2, 4),
      brush: move.uci === best ? "best" : move.uci === rival ? "rival" : "other",
      modifiers: { lineWidth: Math.round(Math.max(move.uci === best ? 8 : 2.5, 2.5 + 13.5 * Math.sqrt(move.work))) },
    }));
    this.ground.setAutoShapes(shapes.reverse());
  }

  face(side) {
    this.ground.set({ orientation: side });
  }

  flip() {
    this.ground.toggleOrientation();
  }

  moved(from, to) {
    const fitting = this.moves.filter(({ uci }) => uci.startsWith(from + to));
    if (fitting.length > 1) this.askPromotion(fitting);
    else if (fitting.length === 1) this.onMove(fitting[0].uci);
  }

  askPromotion(fitting) {
    const box = $("promotion");
    const color = this.ground.state.turnColor === "white" ? "black" : "white";
    const before = document.activeElement;
    this.close = () => {
      this.close = null;
      const isInside = box.contains(document.activeElement);
      box.hidden = true;
      if (isInside) before?.focus();
    };
    const choose = (uci) => { this.close(); this.onMove(uci); };
    const buttons = Object.entries(ROLES).map(([letter, role]) => {
      const move = fitting.find(({ uci }) => uci.endsWith(letter));
      const piece = el("piece", { class: `${role} ${color}` });
      return el("button", { "aria-label": role, onclick: () => choose(move.uci) }, piece);
    });
    const cancel = () => { this.close(); this.restore(); };
    box.onclick = (event) => { if (event.target === box) cancel(); };
    box.onkeydown = (event) => {
      if (event.key === "Escape") cancel();
      if (event.key !== "Tab") return;
      // The focus goes round inside until something is chosen.
      event.preventDefault();
      const next = buttons.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1);
      buttons.at(next % buttons.length).focus();
    };
    box.className = "promotion cg-wrap";
    box.replaceChildren(...buttons);
    box.hidden = false;
    buttons[0].focus();
  }
}

/** The position in words, for those who do not see the board. */
function words(fen) {
  const [placement, turn] = fen.split(" ");
  const found = { white: [], black: [] };
  placement.split("/").forEach((rank, row) => {
    let column = 0;
    for (const letter of rank) {
      if (/\d/.test(letter)) column += Number(letter);
      else {
        const side = letter === letter.toUpperCase() ? "white" : "black";
        found[side].push(`${NAMES[letter.toLowerCase()]} ${"abcdefgh"[column]}${8 - row}`);
        column += 1;
      }
    }
  });
  const mover = turn === "b" ? "Black" : "White";
  return `${mover} to move. White: ${found.white.join(", ")}. Black: ${found.black.join(", ")}.`;
}
