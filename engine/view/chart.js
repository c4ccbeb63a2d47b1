// How values change as the work grows: one line a move, or one a search where several are compared.

/* global uPlot */
import { colour, count } from "./util.js";

const LINES = 5;
const MOVE_COLOURS = ["--tesla", "--over", "--puct", "--good", "--bad"];

export class Chart {
  constructor(box, onPick) {
    this.box = box;
    this.onPick = onPick;
    this.key = "";
    this.plot = null;
    new ResizeObserver(() => this.resize()).observe(box);
  }

  /** Shows moves of one search's history, or the best moves of several; `at` = evaluations. */
  show(histories, at) {
    const names = Object.keys(histories).filter((name) => histories[name].kept.length > 0);
    if (names.length === 0) return this.clear();
    const { lines, data } = names.length === 1
      ? ofMoves(histories[names[0]].kept) : ofSearches(names, histories);
    if (lines.length === 0) return this.clear();
    const key = JSON.stringify(lines.map(({ label, tone }) => [label, colour(tone)])) + colour("--dim");
    if (key !== this.key || !this.plot) this.make(lines, key);
    this.at = at;
    this.plot.setData(data);
  }

  clear() {
    this.plot?.destroy();
    [this.plot, this.key] = [null, ""];
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.box;
    if (this.plot && width > 0) this.plot.setSize({ width, height });
  }

  make(lines, key) {
    this.clear();
    this.key = key;
    const [dim, rule] = [colour("--faint"), colour("--line")];
    const font = `${letters()}px Inter, sans-serif`;
    const series = lines.map(({ label, tone, width, hidden }) => ({
      label, stroke: hidden ? "transparent" : colour(tone), width: width ?? 1.5, points: { show: false },
      spanGaps: false,
    }));
    const tint = `${colour(lines[0].tone)}2e`;
    const bands = lines.some(({ hidden }) => hidden)
      ? [{ series: [lines.length, lines.length - 1], fill: tint }] : [];
    const axis = { stroke: dim, font, grid: { stroke: rule, width: 1 }, ticks: { show: false } };
    const options = {
      width: this.box.clientWidth || 300, height: this.box.clientHeight || 150, padding: [10, 18, 0, 0],
      legend: { show: false }, cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: false, distr: 3, log: 10, range: (_, low, high) => [low, this.end(lines, low, high)] },
        y: { range: (_, low, high) => around(low, high) } },
      axes: [{ ...axis, size: 2.3 * letters(), values: (_, splits) => splits.map(short) }, { ...axis, size: 3 * letters() }],
      series: [{ label: "evaluations" }, ...series], bands,
      hooks: { draw: [(plot) => { this.drawNow(plot); this.drawLabels(plot, lines); }] },
    };
    this.plot = new uPlot(options, lines.map(() => []).concat([[]]), this.box);
    const pick = () => {
      const { idx } = this.plot.cursor;
      if (idx !== null && idx !== undefined) this.onPick(this.plot.data[0][idx]);
    };
    this.plot.over.addEventListener("click", pick);
    this.plot.over.addEventListener("pointermove", (event) => { if (event.buttons === 1) pick(); });
  }

  /** Where the axis of time ends, so that the names of the lines have room behind them. */
  end(lines, low, high) {
    const longest = Math.max(...lines.map(({ label }) => label.length));
    const part = Math.min(0.5, ((longest * 0.62 + 1) * letters()) / Math.max(1, this.box.clientWidth));
    return low * (Math.max(high, low * 1.5) / low) ** (1 / (1 - part));
  }

  /** The time that is looked at. */
  drawNow(plot) {
    if (this.at === null || this.at === undefined) return;
    const { ctx, bbox } = plot;
    const left = Math.round(plot.valToPos(Math.max(1, this.at), "x", true));
    ctx.save();
    ctx.strokeStyle = colour("--text");
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  /** Each line's name where it ends, as far as there is room. */
  drawLabels(plot, lines) {
    const { ctx, bbox } = plot;
    const size = letters();
    const height = size * devicePixelRatio;
    const taken = [];
    ctx.save();
    ctx.font = `600 ${height}px Inter, sans-serif`;
    ctx.textAlign = "right";
    lines.forEach(({ label, tone, hidden }, index) => {
      const last = plot.data[index + 1]?.findLast((value) => value !== null);
      if (hidden || last === undefined) return;
      const [top, bottom] = [bbox.top + height, bbox.top + bbox.height];
      let down = Math.min(bottom, Math.max(top, plot.valToPos(last, "y", true) - 5 * devicePixelRatio));
      // Names that would cover each other stand one below the other, or above at the foot.
      const covers = (other) => Math.abs(other - down) < height;
      const way = down + lines.length * height > bottom ? -1.15 : 1.15;
      for (let tries = 0; tries < lines.length && taken.some(covers); tries += 1) {
        down = taken.find(covers) + way * height;
      }
      taken.push(down);
      ctx.fillStyle = colour(tone);
      ctx.fillText(label, bbox.left + bbox.width - 4, down);
    });
    ctx.restore();
  }
}

/** Height of letters, pixels. */
const letters = () => Math.round(0.74 * parseFloat(getComputedStyle(document.documentElement).fontSize));

const short = (value) => {
  if (value === null || !Number.isInteger(Math.log10(value))) return "";
  return value >= 1e6 ? `${value / 1e6} M` : count(value);
};

/** Room around what is shown, at least ten points. */
function around(low, high) {
  if (low === null || high === null) return [0, 100];
  const lacks = Math.max(0, 10 - (high - low)) / 2 + 1.5;
  return [Math.max(0, low - lacks), Math.min(100, high + lacks)];
}

/** Whether a move has a value: a guess is none, and a bound only tells what the value is not. */
const isValued = (move) => Boolean(move) && !move.isBound && (move.isEvaluated || Boolean(move.proof));

/** A line for each of the moves that are best at the end, and the best one's error as a band. */
export function ofMoves(kept) {
  const last = kept[kept.length - 1].root;
  const leading = last.moves.filter(isValued).slice(0, LINES);
  const find = (snapshot, uci) => {
    const move = snapshot.root.moves.find((other) => other.uci === uci);
    return isValued(move) ? move : null;
  };
  const times = kept.map((snapshot) => Math.max(1, snapshot.progress.evaluations));
  const lines = leading.map((move, index) => ({
    label: move.san, tone: MOVE_COLOURS[index], width: index === 0 ? 2.4 : 1.4,
  }));
  const data = [times, ...leading.map(({ uci }) => kept.map((one) => find(one, uci)?.value ?? null))];
  if (leading.length > 0) {
    const best = kept.map((snapshot) => find(snapshot, leading[0].uci));
    const edge = (sign) => best.map((move) =>
      (move ? Math.max(0, Math.min(100, move.value + sign * (move.error ?? 0))) : null));
    lines.push({ label: "−", tone: "--tesla", hidden: true }, { label: "+", tone: "--tesla", hidden: true });
    data.push(edge(-1), edge(1));
  }
  return { lines, data };
}

/** A line for each search: what its move is worth in its own eyes. */
export function ofSearches(names, histories) {
  const all = new Set(names.flatMap((name) =>
    histories[name].kept.map((snapshot) => Math.max(1, snapshot.progress.evaluations))));
  const times = [...all].sort((left, right) => left - right);
  const tones = { Tesla: "--tesla", PUCT: "--puct", AlphaBeta: "--alphabeta" };
  const lines = [];
  const data = [times];
  for (const name of names) {
    const { kept } = histories[name];
    const end = kept[kept.length - 1].progress.evaluations;
    let index = 0;
    data.push(times.map((time) => {
      while (index + 1 < kept.length && kept[index + 1].progress.evaluations <= time) index += 1;
      const best = kept[index].root.moves[0];
      return time > end || best?.isBound ? null : best?.value ?? null;
    }));
    const best = kept[kept.length - 1].root.moves[0];
    lines.push({ label: `${name} ${best?.san ?? ""}`, tone: tones[name] ?? "--dim", width: 2 });
  }
  return { lines, data };
}
