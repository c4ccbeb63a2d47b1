// The board: plays moves by drag, click and keyboard, and shows where the work goes as arrows.

import { Chessground } from "./vendor/chessground.js";
import { $, colour, el } from "./util.js";

const ROLES = { q: "queen", r: "rook", b: "bishop", n: "knight" };
const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

export class Board {
  constructor(onMove) {
    this.onMove = onMove;
    this.moves = [];
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
  show({ fen, lastMove, check, moves, turn }) {
    this.moves = moves ?? [];
    this.fen = fen;
    const dests = new Map();
    for (const { uci } of this.moves) {
      const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
      dests.set(from, [...(dests.get(from) ?? []), to]);
    }
    const color = turn ?? (fen.split(" ")[1] === "b" ? "black" : "white");
    this.ground.set({ fen, lastMove, check: check ? color : false, turnColor: color,
      movable: { color: this.moves.length ? color : undefined, dests } });
    $("board-words").textContent = words(fen);
  }

  /** Arrows as wide as the shares of the work. */
  arrows(moves, best, rival) {
    const drawn = moves.filter((move) => move.work >= 0.02 || move.uci === best);
    const shapes = drawn.slice(0, 12).map((move) => ({
      orig: move.uci.slice(0, 2),
      dest: move.uci.slice(2, 4),
      brush: move.uci === best ? "best" : move.uci === rival ? "rival" : "other",
      modifiers: { lineWidth: Math.max(move.uci === best ? 8 : 2.5, 2.5 + 13.5 * Math.sqrt(move.work)) },
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
    const close = () => { box.hidden = true; };
    const choose = (uci) => { close(); this.onMove(uci); };
    const buttons = Object.entries(ROLES).map(([letter, role]) => {
      const move = fitting.find(({ uci }) => uci.endsWith(letter));
      const piece = el("piece", { class: `${role} ${color}` });
      return el("button", { "aria-label": role, onclick: () => choose(move.uci) }, piece);
    });
    const cancel = () => { close(); this.ground.set({ fen: this.fen }); };
    box.onclick = (event) => { if (event.target === box) cancel(); };
    box.onkeydown = (event) => { if (event.key === "Escape") cancel(); };
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
