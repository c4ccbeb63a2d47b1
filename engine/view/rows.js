// The moves of one search as rows: value and error as a hill, the part of it that overtakes in
// amber, and where the work went and goes next.

import { BASE, HEIGHT, WIDTH, ridge } from "./ridge.js";
import { count, el, evaluations, isNoBound, percent, points, reducedMotion, svg, valueWords } from "./util.js";

/** Rows that fit a window without scrolling. */
function shownRows() {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.max(8, Math.min(20, Math.floor((innerHeight / size - 24) / 3.1)));
}
const FULL = { low: 0, high: 100 };

const ABOUT = {
  Tesla: "the next evaluation goes where it is most likely to change the move",
  PUCT: "lc0's formula on the same network: value plus exploration",
  AlphaBeta: "depth by depth on the same network",
};

const COLUMNS = [
  ["walk-cell", "Move", ""],
  ["ridge axis", "", "Expected score, 0 to 100, for the side to move"],
  ["value", "Value", "Expected score in points, and the scale of its error"],
  ["over", "Overtakes", "Chance that the move is better than the leader"],
  ["work", "Work", "Evaluations spent on the move"],
  ["next", "Next", "Its share of the next evaluations"],
  ["policy", "Policy", "What the network guesses before any search"],
];

export class Table {
  constructor(name, onWalk) {
    this.name = name;
    this.onWalk = onWalk;
    this.rows = new Map();
    this.isWhole = false;
    this.most = shownRows();
    this.axis = { ...FULL };
    this.target = { ...FULL };
    this.isZoomed = false;
    this.node = null;
    this.build();
  }

  build() {
    this.best = el("span", { class: "note" });
    this.counts = el("span", { class: "note counts" });
    this.title = el("h2", { text: this.name, title: ABOUT[this.name] ?? "" });
    this.caption = el("div", { class: "caption" }, this.title, this.best, this.counts);
    this.head = el("div", { class: "row head", role: "row" });
    for (const [kind, text, title] of COLUMNS) {
      const cell = el("span", { class: kind, role: "columnheader", title: title || null, text });
      if (kind === "ridge axis") {
        cell.setAttribute("aria-label", "Value on an axis");
        this.scale = cell;
      }
      if (kind === "value") cell.append(el("small", { text: " ± error" }));
      this.head.append(cell);
    }
    this.body = el("div", { class: "body", role: "rowgroup" });
    this.more = el("button", { class: "more", hidden: "", onclick: () => this.toggleMore() });
    this.line = el("p", { class: "line", hidden: "" });
    const headGroup = el("div", { role: "rowgroup" }, this.head);
    const table = el("div", { role: "table", "aria-label": `Moves in the eyes of ${this.name}` },
      headGroup, this.body);
    this.element = el("section", { class: "table panel", "data-search": this.name,
      "aria-label": this.name }, this.caption, table, this.more, this.line);
  }

  toggleMore() {
    this.isWhole = !this.isWhole;
    if (this.node) this.show(this.node, this.snapshot);
  }

  zoom(isZoomed) {
    this.isZoomed = isZoomed;
    if (this.node) this.show(this.node, this.snapshot);
  }

  /** Shows a position of a snapshot. */
  show(node, snapshot) {
    const isSamePlace = this.node && this.node.fen === node.fen;
    [this.node, this.snapshot] = [node, snapshot];
    const { progress } = snapshot;
    const first = node.moves[0];
    this.best.textContent = first ? summary(node) : "";
    const depth = progress.depth ? ` · depth ${progress.depth}` : "";
    this.counts.textContent = `${evaluations(progress.evaluations)}${depth}`;
    this.most = shownRows();
    const moves = this.chosen(node);
    this.aim(moves);
    this.arrange(moves, isSamePlace);
    const leader = node.moves.find((move) => move.uci === node.leader) ?? first;
    for (const move of moves) {
      this.rows.get(move.uci).show(move, { best: node.best, leader, isSamePlace });
    }
    const hidden = node.moves.length - moves.length;
    this.more.hidden = node.moves.length <= this.most;
    this.more.textContent = hidden > 0 ? `${hidden} more moves` : "Fewer moves";
    this.showLine(first);
    if (!isSamePlace || reducedMotion()) this.step(1);
  }

  showLine(first) {
    const line = first?.pvSan ?? [];
    this.line.hidden = line.length < 2;
    if (line.length > 1) {
      this.line.replaceChildren("Expected: ", el("b", { text: line[0] }), ` ${line.slice(1).join(" ")}`);
    }
  }

  /** The moves to show: the best by value, and always the likeliest to overtake. */
  chosen(node) {
    const known = node.moves.filter((move) => move.isEvaluated || move.proof);
    const guessed = node.moves.filter((move) => !move.isEvaluated && !move.proof);
    guessed.sort((left, right) => (right.policy ?? 0) - (left.policy ?? 0));
    const all = [...known, ...guessed];
    if (this.isWhole || all.length <= this.most) return all;
    const shown = all.slice(0, this.most);
    const rivals = node.moves.filter((move) => move.uci !== node.leader);
    const likeliest = rivals.reduce((best, move) =>
      ((move.overtake ?? 0) > (best?.overtake ?? 0) ? move : best), null);
    if (likeliest && !shown.includes(likeliest)) shown[this.most - 1] = likeliest;
    return shown;
  }

  /** Chooses the part of the axis to show. */
  aim(moves) {
    this.target = { ...FULL };
    const open = moves.filter((move) => move.value !== null && move.isEvaluated && !move.proof);
    if (this.isZoomed && open.length > 0) {
      const spread = (move) => 2.5 * Math.min(move.error ?? 1, 12);
      const low = Math.min(...open.map((move) => move.value - spread(move)));
      const high = Math.max(...open.map((move) => move.value + spread(move)));
      const room = Math.max(4, high - low) * 0.04;
      this.target = { low: Math.max(0, low - room), high: Math.min(100, high + room) };
    }
    const { low, high } = this.target;
    const step = [1, 2, 5, 10, 25].find((size) => (high - low) / size <= 6) ?? 25;
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-6; tick += step) ticks.push(tick);
    this.ticks = ticks;
    const marks = ticks.map((tick) => {
      const mark = el("span", { text: tick, "aria-hidden": "true" });
      mark.style.left = `${((tick - low) / (high - low)) * 100}%`;
      return mark;
    });
    this.scale.replaceChildren(...marks);
  }

  /** Puts the rows in order; those that change places slide there. */
  arrange(moves, isSamePlace) {
    const wanted = new Set(moves.map((move) => move.uci));
    for (const [uci, row] of this.rows) {
      if (!wanted.has(uci)) {
        row.element.remove();
        this.rows.delete(uci);
      }
    }
    const fresh = new Set();
    for (const move of moves) {
      if (!this.rows.has(move.uci)) {
        this.rows.set(move.uci, new Row(move, this));
        fresh.add(move.uci);
      }
    }
    const order = moves.map((move) => this.rows.get(move.uci).element);
    const isInOrder = order.length === this.body.children.length
      && order.every((element, index) => this.body.children[index] === element);
    if (isInOrder) return;
    const slides = isSamePlace && !reducedMotion();
    const before = slides ? order.map((element) => element.getBoundingClientRect().top) : [];
    const focused = document.activeElement;
    order.forEach((element, index) => {
      if (this.body.children[index] !== element) {
        this.body.insertBefore(element, this.body.children[index] ?? null);
      }
    });
    if (focused && this.body.contains(focused)) focused.focus({ preventScroll: true });
    if (!slides) return;
    moves.forEach((move, index) => {
      const element = order[index];
      element.getAnimations().forEach((animation) => animation.id === "slide" && animation.cancel());
      const shift = before[index] - element.getBoundingClientRect().top;
      const from = fresh.has(move.uci)
        ? { opacity: 0, transform: "translateY(-6px)" } : { transform: `translateY(${shift}px)` };
      if (fresh.has(move.uci) || Math.abs(shift) > 0.5) {
        const to = fresh.has(move.uci) ? { opacity: 1, transform: "none" } : { transform: "none" };
        element.animate([from, to], { id: "slide", duration: 420, easing: "cubic-bezier(.2,.8,.2,1)" });
      }
    });
  }

  /** Moves what is drawn this part of the way to where it belongs; tells whether that is all. */
  step(part) {
    let isThere = true;
    for (const side of ["low", "high"]) {
      const lacks = this.target[side] - this.axis[side];
      this.axis[side] += lacks * part;
      isThere &&= Math.abs(lacks * (1 - part)) < 0.02;
    }
    for (const row of this.rows.values()) isThere = row.step(part, this) && isThere;
    return isThere;
  }
}

/** `Qh3 · 37.2 ± 2.1`. */
function summary(node) {
  const best = node.moves[0];
  const error = best.proof || best.error === null ? "" : ` ± ${points(best.error)}`;
  return `${best.san} · ${valueWords(best)}${error}`;
}

class Row {
  constructor(move, table) {
    this.table = table;
    this.drawn = { value: move.value ?? 50, error: move.error ?? 8, leader: move.value ?? 50 };
    this.goal = { ...this.drawn };
    this.visits = move.visits;
    this.text = "";
    this.build(move);
  }

  build(move) {
    // The row may come to show a move of the same squares in another position.
    const walk = () => this.table.onWalk(this.move);
    this.walk = el("button", { class: "walk" });
    this.name(move);
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
      "aria-hidden": "true" });
    this.paths = {};
    for (const name of ["grid", "mark", "hill", "tail", "tick"]) {
      this.paths[name] = svg("path", { class: name });
      this.picture.append(this.paths[name]);
    }
    const cell = (kind, ...children) => el("span", { class: `cell ${kind}`, role: "cell" }, ...children);
    const meter = (kind) => {
      const [bar, text] = [el("i"), el("span")];
      return [cell(`meter ${kind}`, bar, text), bar, text];
    };
    this.value = cell("value");
    this.over = cell("over");
    [this.work, this.workBar, this.workText] = meter("work");
    [this.next, this.nextBar, this.nextText] = meter("next");
    [this.policy, this.policyBar, this.policyText] = meter("policy");
    this.element = el("div", { class: "row move", role: "row", "data-uci": move.uci, onclick: walk },
      el("span", { class: "walk-cell", role: "cell" }, this.walk),
      el("span", { class: "ridge", role: "cell", "aria-label": "" }, this.picture),
      this.value, this.over, this.work, this.next, this.policy);
  }

  show(move, { best, leader, isSamePlace }) {
    const { classList } = this.element;
    const isBest = move.uci === best;
    this.name(move);
    classList.toggle("best", isBest);
    classList.toggle("guess", !move.isEvaluated && !move.proof);
    classList.toggle("proven", Boolean(move.proof));
    classList.toggle("dim", !move.isEvaluated && !move.proof);
    classList.toggle("sharp", move.error === null);
    classList.toggle("unknown", move.value === null || isNoBound(move));
    this.isLeader = move.uci === leader?.uci;
    this.goal = { value: move.value ?? 50, error: Math.max(0.2, Math.min(move.error ?? 0.2, 30)),
      leader: leader?.value ?? 50 };
    this.showValue(move);
    const over = move.overtake;
    this.over.textContent = over === null ? "–" : percent(over);
    this.over.classList.toggle("none", over === null || over === 0);
    this.over.title = this.isLeader ? "Chance that the likeliest rival is better" : "";
    setBar(this.workBar, move.work);
    this.workText.textContent = count(move.visits);
    this.work.title = `${percent(move.work)} of the work`;
    setBar(this.nextBar, move.next ?? 0);
    this.nextText.textContent = percent(move.next);
    setBar(this.policyBar, move.policy ?? 0);
    this.policyText.textContent = percent(move.policy);
    if (isSamePlace && move.visits > this.visits && !reducedMotion()) this.pulse();
    this.visits = move.visits;
  }

  /** What the move is called here: the same squares are Ne5 in one position and Nxe5+ in another. */
  name(move) {
    this.move = move;
    if (this.walk.textContent === move.san) return;
    this.walk.textContent = move.san;
    this.walk.setAttribute("aria-label", `Look behind ${move.san}`);
  }

  showValue(move) {
    const words = valueWords(move);
    if (move.proof) {
      this.value.replaceChildren(el("span", { class: `badge ${move.proof.result}`, text: words }));
      return;
    }
    if (isNoBound(move)) return this.value.replaceChildren(words);
    const error = move.error === null ? "" : ` ±${move.error < 9.95 ? move.error.toFixed(1) : Math.round(move.error)}`;
    this.value.replaceChildren(words, el("small", { text: error }));
  }

  /** A flash where an evaluation was spent. */
  pulse() {
    const from = { boxShadow: "0 0 0 0 color-mix(in srgb, var(--hill) 70%, transparent)" };
    const to = { boxShadow: "0 0 0 .45rem transparent" };
    this.workBar.getAnimations().forEach((animation) => animation.cancel());
    this.workBar.animate([from, to], { duration: 500, easing: "ease-out" });
  }

  step(part, { axis, ticks }) {
    let isThere = true;
    for (const name of ["value", "error", "leader"]) {
      const lacks = this.goal[name] - this.drawn[name];
      this.drawn[name] += lacks * part;
      isThere &&= Math.abs(lacks * (1 - part)) < 0.02;
    }
    this.draw(axis, ticks);
    return isThere;
  }

  draw({ low, high }, ticks) {
    const { value, error, leader } = this.drawn;
    const key = [value, error, leader, low, high].map((number) => number.toFixed(2)).join()
      + ticks.length + this.isLeader;
    if (key === this.text) return;
    this.text = key;
    const { across, hill, tail } = ridge({ value, error, leader: this.isLeader ? null : leader }, { low, high });
    const at = (point, top, bottom) => `M${across(point).toFixed(1)} ${top}V${bottom}`;
    this.paths.grid.setAttribute("d", ticks.map((tick) => at(tick, 0, HEIGHT)).join(""));
    this.paths.mark.setAttribute("d", at(leader, 0, HEIGHT));
    this.paths.hill.setAttribute("d", hill);
    this.paths.tail.setAttribute("d", tail);
    this.paths.tick.setAttribute("d", at(Math.min(high, Math.max(low, value)), BASE - 5, BASE));
  }
}

function setBar(bar, share) {
  bar.style.setProperty("--w", Math.min(1, share).toFixed(4));
}
