// Review of a game: its graph with the error as a band, what each move lost, the game to save.

import { save } from "./picture.js";
import { $, count, el, evaluations, points, refill, svg, toast } from "./util.js";

const [WIDTH, HEIGHT] = [1000, 220];
const GLYPHS = { inaccuracy: "?!", mistake: "?", blunder: "??" };
/** Longest game, letters. */
const MOST = 500_000;
const PLURALS = { inaccuracy: "inaccuracies", mistake: "mistakes", blunder: "blunders" };

export class Review {
  constructor(page) {
    this.page = page;
    this.news = null;
    this.build();
    $("mode-explore").addEventListener("click", () => this.show(false));
    $("mode-review").addEventListener("click", () => this.show(true));
    this.onDrop();
  }

  show(isOn) {
    $("review").hidden = !isOn;
    $("mode-review").setAttribute("aria-pressed", isOn);
    $("mode-explore").setAttribute("aria-pressed", !isOn);
    if (isOn && !this.news) this.text.focus();
  }

  build() {
    this.text = el("textarea", { "aria-label": "The game, as PGN", spellcheck: "false",
      placeholder: "Paste a game in PGN here, or drop a file anywhere on the page" });
    this.nodes = el("select", { "aria-label": "Evaluations for each position" });
    for (const number of [100, 400, 2000, 10000]) {
      this.nodes.append(el("option", { value: number, text: `${number.toLocaleString("en")} evaluations` }));
    }
    this.nodes.value = "400";
    this.file = el("input", { type: "file", accept: ".pgn,.txt", class: "hidden", tabindex: "-1",
      "aria-label": "A file of PGN", onchange: () => this.read(this.file.files[0]) });
    const choose = el("button", { class: "quiet", text: "Open a file …", onclick: () => this.file.click() });
    this.begin = el("button", { class: "primary", text: "Review",
      onclick: () => (this.isBusy ? this.page.send("stop", { what: "review" }) : this.start()) });
    this.keep = el("button", { class: "quiet", text: "Save annotated PGN", hidden: "", onclick: () => this.keepGame() });
    const label = el("label", { class: "choice" }, el("span", { text: "each position" }), this.nodes);
    this.progress = el("p", { class: "progress" });
    this.form = el("div", { class: "review-form" }, this.text,
      el("div", { class: "bar" }, this.begin, label, choose, this.file, el("span", { class: "grow" }), this.keep));
    this.graph = el("div", { class: "graph", hidden: "" });
    this.table = el("div", { class: "losses" });
    $("review").append(this.form, this.progress, this.graph, this.table);
  }

  onDrop() {
    const over = (isOver) => document.body.classList.toggle("drop-here", isOver);
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      over(true);
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget ?? over(false));
    document.addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      over(false);
      this.show(true);
      this.read(file);
    });
  }

  async read(file) {
    if (!file) return;
    if (file.size > MOST) return this.complain("That file is too large for one game");
    this.open(await file.text());
  }

  open(pgn) {
    this.show(true);
    this.text.value = pgn;
    this.start();
  }

  /** Reviews the game of the text, instead of one that is under review. */
  async start() {
    if (this.text.value.length > MOST) return this.complain("That is too large for one game");
    const order = { pgn: this.text.value, nodes: Number(this.nodes.value) };
    if (await this.page.send("review", order)) this.form.classList.add("small");
  }

  get isBusy() {
    return Boolean(this.news && this.news.done < this.news.total && !this.news.isStopped);
  }

  /** Says why there is no review. */
  complain(sentence) {
    this.progress.textContent = sentence;
    this.progress.classList.add("problem");
    toast(sentence);
  }

  async keepGame() {
    const response = await fetch("review.pgn");
    if (!response.ok) return toast("The review has not ended yet");
    save(await response.blob(), "tesla-review.pgn");
  }

  /** Takes what is known of the game so far. */
  hear(news) {
    const isNew = this.news?.id !== news.id;
    this.news = news;
    if (isNew && this.isBusy) {
      this.show(true);
      this.page.board.face("white");
    }
    const isDone = news.done >= news.total;
    this.begin.textContent = this.isBusy ? "Stop" : "Review";
    this.keep.hidden = !isDone;
    const title = news.games > 1 ? `${news.title} · the first of ${count(news.games)} games` : news.title;
    this.progress.textContent = isDone ? title
      : `${title} · position ${news.done} of ${news.total}, ${evaluations(news.nodes)} each`;
    this.progress.classList.remove("problem");
    if (isNew && this.isOfGame()) this.page.takeGame(news);
    this.draw();
    this.showLosses();
    if (isNew) this.page.soon();
  }

  /** Marks the position on the board. */
  at(ply) {
    this.ply = ply;
    if (this.news) this.draw();
  }

  draw() {
    const { verdicts, total, losses, moves } = this.news;
    this.graph.hidden = verdicts.length === 0;
    if (verdicts.length === 0) return;
    const across = (ply) => (total < 2 ? 0 : (ply / (total - 1)) * WIDTH);
    const up = (value) => HEIGHT - (Math.max(0, Math.min(100, value)) / 100) * HEIGHT;
    const at = (ply, value) => `${across(ply).toFixed(1)} ${up(value).toFixed(1)}`;
    const line = verdicts.map(({ value }, ply) => at(ply, value)).join("L");
    const upper = verdicts.map(({ value, error }, ply) => at(ply, value + error));
    const lower = verdicts.map(({ value, error }, ply) => at(ply, value - error)).reverse();
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const path = (kind, d) => picture.append(svg("path", { class: kind, d }));
    path("white", `M0 ${HEIGHT}L${line}L${across(verdicts.length - 1)} ${HEIGHT}Z`);
    path("half", `M0 ${HEIGHT / 2}H${WIDTH}`);
    path("band", `M${[...upper, ...lower].join("L")}Z`);
    path("line", `M${line}`);
    if (this.isOfGame()) path("here", `M${across(this.ply)} 0V${HEIGHT}`);
    const dots = losses.flatMap(({ judgement }, index) => {
      if (!judgement) return [];
      const dot = el("i", { class: `dot ${judgement}`, title: `${moves[index].san}${GLYPHS[judgement]}` });
      dot.style.left = `${(across(index + 1) / WIDTH) * 100}%`;
      dot.style.top = `${(up(verdicts[index + 1].value) / HEIGHT) * 100}%`;
      return [dot];
    });
    this.graph.replaceChildren(picture, ...dots);
    this.graph.onclick = (event) => {
      const box = this.graph.getBoundingClientRect();
      this.goTo(Math.round(((event.clientX - box.left) / box.width) * (total - 1)));
    };
  }

  isOfGame() {
    const { game } = this.page;
    return Boolean(this.news) && game.start === this.news.start && game.line.every(({ uci }, index) => this.news.moves[index]?.uci === uci);
  }

  goTo(ply) {
    this.page.takeGame(this.news);
    this.page.goTo(ply);
  }

  showLosses() {
    const { moves, losses, verdicts, firstNumber, blackFirst } = this.news;
    const sides = [[], []];
    losses.forEach((loss, index) => sides[(index + (blackFirst ? 1 : 0)) % 2].push(loss));
    const summary = sides.map((side, index) => {
      const mean = side.reduce((sum, { loss }) => sum + loss, 0) / Math.max(1, side.length);
      const kinds = Object.keys(GLYPHS).map((kind) => {
        const number = side.filter(({ judgement }) => judgement === kind).length;
        return `${number} ${number === 1 ? kind : PLURALS[kind]}`;
      });
      return el("p", {}, el("b", { text: index === 0 ? "White" : "Black" }),
        ` lost ${points(mean)} points a move: ${kinds.join(", ")}`);
    });
    const worst = losses.map((loss, index) => ({ ...loss, index })).filter(({ judgement }) => judgement);
    const items = worst.map(({ loss, judgement, index }) => {
      const half = index + (blackFirst ? 1 : 0);
      const number = `${firstNumber + Math.floor(half / 2)}${half % 2 ? "…" : "."}`;
      const best = verdicts[index].best?.san;
      const instead = best && best !== moves[index].san ? `, ${best} was better` : "";
      return el("li", {}, el("button", { onclick: () => this.goTo(index) },
        el("b", { class: judgement, text: `${number} ${moves[index].san}${GLYPHS[judgement]}` }),
        ` lost ${points(loss)} points${instead}`));
    });
    refill(this.table, [...(losses.length > 0 ? summary : []), el("ol", {}, ...items)]);
  }
}
