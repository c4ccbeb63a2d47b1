// The page: hears of the search, shows it, and asks for what its user wants to see.

import { Refused, listen, post, recording } from "./api.js";
import { Board } from "./board.js";
import { Chart } from "./chart.js";
import { Game, typed } from "./game.js";
import { History } from "./history.js";
import { picture } from "./picture.js";
import { Review } from "./review.js";
import { Table } from "./rows.js";
import { onKeys, onTheme } from "./shell.js";
import { Timeline } from "./time.js";
import { $, count, el, evaluations, reducedMotion, refill, sameList, toast } from "./util.js";
import { Why } from "./why.js";

const NAMES = ["Tesla", "PUCT", "AlphaBeta"];

class Page {
  constructor() {
    this.game = new Game();
    this.state = null;
    this.isReplay = false;
    this.path = [];
    this.histories = {};
    this.tables = {};
    this.wanted = ["Tesla"];
    this.told = new Set();
    this.board = new Board((uci) => {
      $("fen").blur();
      this.play([...this.path.map((step) => step.uci), uci]);
    });
    this.chart = new Chart($("chart"), (at) => this.time.goTo(at));
    this.time = new Timeline(() => this.render());
    this.why = new Why();
    this.review = new Review(this);
    this.isDrawing = false;
  }

  async begin() {
    this.bind();
    this.showSearches();
    const recorded = await recording().catch(() => null);
    if (recorded) return this.replay(recorded);
    listen((kind, news) => this.hear(kind, news), (isOver) => {
      $("status-text").textContent = isOver ? "Tesla has ended" : "Tesla does not answer; trying again …";
      document.body.classList.remove("running");
    });
  }

  bind() {
    const click = (id, what) => $(id).addEventListener("click", what);
    click("go", () => (this.isRunning ? this.send("stop", { what: "search" }) : this.search()));
    click("first", () => this.goTo(0));
    click("back", () => this.goTo(this.game.ply - 1));
    click("forth", () => this.goTo(this.game.ply + 1));
    click("last", () => this.goTo(this.game.line.length));
    click("flip", () => this.board.flip());
    click("start", () => this.setUp({ fen: null, moves: [] }));
    click("zoom", () => this.zoom());
    click("copy-picture", () => picture(this, "copy"));
    click("save-picture", () => picture(this, "save"));
    $("pace").addEventListener("change", () => this.isRunning && this.send("pace", this.pace));
    $("nodes").addEventListener("change", () => !this.isReplay && this.search());
    for (const button of document.querySelectorAll(".rivals button")) {
      button.addEventListener("click", () => this.toggle(button.dataset.search));
    }
    $("fen-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.isTyping = false;
      this.takeTyped($("fen").value);
    });
    $("fen").addEventListener("input", () => { this.isTyping = true; });
    $("fen").addEventListener("focus", () => $("fen").select());
    onKeys(this);
    onTheme(() => { this.board.recolour(); this.render(); });
    this.fillExamples();
  }

  async fillExamples() {
    const response = await fetch("examples.json");
    const all = response.ok ? await response.json() : [];
    for (const { name, fen } of all) $("examples").append(el("option", { value: fen, text: name }));
    $("examples").addEventListener("change", () => {
      const fen = $("examples").value;
      if (fen) this.setUp({ fen, moves: [] });
      $("examples").blur();
    });
  }

  /** How fast to go, as a request says it. */
  get pace() {
    const { value } = $("pace");
    if (value === "full") return {};
    return value === "easy" ? { easy: true } : { perSecond: Number(value) };
  }

  get isRunning() {
    return Boolean(this.state?.running);
  }

  /** Sends a request; a refusal is told, and nothing else happens. */
  async send(what, body) {
    if (this.isReplay) return toast("This is a recording: start tesla view to search yourself");
    try {
      return await post(what, body);
    } catch (error) {
      if (!(error instanceof Refused)) return toast("Tesla does not answer");
      if (what === "review") return this.review.complain(error.message);
      this.isTyping = true;
      $("fen-problem").textContent = error.message;
      $("fen-problem").hidden = false;
      return toast(error.message);
    }
  }

  /** Searches the position on the board from the beginning. */
  search(position = this.game.asked()) {
    const order = { ...position, searches: this.wanted, nodes: Number($("nodes").value) || null,
      ...this.pace };
    return this.send("go", order);
  }

  /** Plays these moves; those that are refused are taken back on the board. */
  async play(ucis) {
    const state = await this.search(this.game.with(ucis));
    if (!state) this.board.restore();
  }

  /** To the position after so many plies of the line, which may be another game than the engine's:
      the number alone does not tell whether it is on the board. */
  goTo(ply) {
    if (!this.state || ply < 0 || ply > this.game.line.length) return;
    const asked = this.game.asked(ply);
    const moves = this.state.moves.map(({ uci }) => uci);
    if (this.state.start === asked.fen && sameList(moves, asked.moves)) this.walkBack(0);
    else this.search(asked);
  }

  /** Puts a reviewed game on the board. */
  takeGame({ start, moves }) {
    Object.assign(this.game, { start, line: moves });
    this.game.show((ply) => this.goTo(ply));
  }

  /** Searches another position, in the eyes of its side to move. */
  async setUp(position) {
    const state = await this.search(position);
    if (state) this.board.face(mover(state));
  }

  takeTyped(text) {
    const asked = typed(text, this.legal());
    if (!asked) return this.send("position", { fen: text });
    return asked.play ? this.play([...this.path.map(({ uci }) => uci), asked.play])
      : this.setUp({ fen: asked.fen, moves: [] });
  }

  toggle(name) {
    const isOn = this.wanted.includes(name);
    if (this.isReplay) return;
    if (isOn && this.wanted.length === 1) return toast("One search has to stay");
    this.wanted = NAMES.filter((other) => (other === name ? !isOn : this.wanted.includes(other)));
    this.showSearches();
    if (isOn) this.render();
    else this.search();
  }

  zoom() {
    this.isZoomed = !this.isZoomed;
    $("zoom").setAttribute("aria-pressed", this.isZoomed);
    for (const table of Object.values(this.tables)) table.zoom(this.isZoomed);
    this.animate();
  }

  /** One table for each search that is looked at. */
  showSearches() {
    for (const button of document.querySelectorAll(".rivals button")) {
      button.setAttribute("aria-pressed", this.wanted.includes(button.dataset.search));
    }
    for (const name of this.wanted) {
      // Rows that still show the place before are not walked.
      this.tables[name] ??= new Table(name, (move) => this.seen(name)?.node && this.walk(move));
      this.tables[name].isZoomed = Boolean(this.isZoomed);
    }
    refill($("rows"), this.wanted.map((name) => this.tables[name].element));
    $("rows").dataset.count = this.wanted.length;
  }

  hear(kind, news) {
    if (kind === "state") this.takeState(news);
    else if (kind === "snapshot") this.takeSnapshot(news);
    else if (kind === "review") this.review.hear(news);
    else this.takeNote(news);
  }

  /** Says a sentence. What the engine keeps for those who come later is told again with each new
      connection, and said once. */
  takeNote({ text, isKept }) {
    if (!isKept || !this.told.has(text)) toast(text);
    if (isKept) this.told.add(text);
  }

  takeState(state) {
    const isFirst = this.state === null;
    this.game.take(state);
    if (isFirst) this.board.face(mover(state));
    if (this.run !== state.run) this.forget(state);
    this.state = state;
    // News of the position before does not take away what is being typed.
    if (!this.isTyping || document.activeElement !== $("fen")) {
      this.isTyping = false;
      $("fen").value = state.fen;
      $("fen-problem").hidden = true;
    }
    $("examples").value = [...$("examples").options].some(({ value }) => value === state.fen) ? state.fen : "";
    document.body.classList.toggle("running", state.running);
    $("go-word").textContent = state.running ? "Stop" : "Search";
    this.game.show((ply) => this.goTo(ply));
    this.review.at(this.game.ply);
    this.render();
    if (isFirst && !this.isReplay && state.run === 0 && !state.review) this.search();
    if (isFirst && state.review) this.review.open(state.review);
  }

  /** Another search has begun: what was seen of the last one goes. */
  forget(state) {
    this.run = state.run;
    this.histories = {};
    this.path = [];
    this.why.forget();
    for (const table of Object.values(this.tables)) table.node = null;
    if (state.searches.length > 0) {
      this.wanted = NAMES.filter((name) => state.searches.includes(name));
      this.showSearches();
    }
    this.time.forget();
  }

  takeSnapshot({ run, snapshot }) {
    if (run !== this.run) return;
    this.histories[snapshot.search] ??= new History();
    this.histories[snapshot.search].add(snapshot);
    this.soon();
  }

  /** Draws with the next frame, once however much was heard. */
  soon() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.render();
    });
  }

  /** The search that the sentence, the arrows and the time are about. */
  get main() {
    return this.wanted[0];
  }

  /** What is looked at of a search: the snapshot of the time, and in it the place of the walk. */
  seen(name) {
    const history = this.histories[name];
    const snapshot = this.time.at === null ? history?.last : history?.at(this.time.at);
    if (!snapshot) return null;
    if (this.path.length === 0) return { snapshot, node: snapshot.root };
    const ucis = this.path.map(({ uci }) => uci);
    const { focus } = snapshot;
    return { snapshot, node: focus && sameList(focus.path, ucis) ? focus : null };
  }

  render() {
    if (!this.state) return;
    this.time.show(this.histories[this.main]?.kept ?? []);
    for (const name of this.wanted) {
      const seen = this.seen(name);
      if (seen?.node) this.tables[name].show(seen.node, seen.snapshot);
      this.tables[name].element.classList.toggle("waiting", !seen?.node);
    }
    const seen = this.seen(this.main);
    this.showBoard(seen?.node);
    this.showCrumbs();
    const isBlank = !seen && !this.isRunning && this.state.run > 0;
    $("rows").hidden = isBlank;
    if (isBlank) this.why.say(this.blank(), []);
    else if (seen) this.why.show(seen, this.path, this.time.at !== null || !this.isRunning, this.isPast);
    this.showStatus(seen?.snapshot);
    if (!this.chartTimer) {
      const wait = this.time.at === null && this.isRunning ? 120 : 0;
      this.chartTimer = setTimeout(() => this.showChart(), wait);
    }
    this.animate();
  }

  /** Draws the chart of what is known by now: since it was asked for, another search may have begun. */
  showChart() {
    this.chartTimer = 0;
    const known = this.wanted.filter((name) => this.histories[name]);
    this.chart.show(Object.fromEntries(known.map((name) => [name, this.histories[name]])), this.time.at);
  }

  /** Whether what is looked at was kept, and no more is told of it. */
  get isPast() {
    return this.isReplay || this.time.at !== null;
  }

  /** What to say of a position of which nothing is known. */
  blank() {
    if (this.state.over) return `${this.state.over}.`;
    return this.review.isOfGame() ? "Click into the graph, or on a move, to look at that position."
      : "Press Search to look at this position.";
  }

  showBoard(node) {
    const place = this.path[this.path.length - 1];
    // Of a place that is not known yet there is no position: the one before stays.
    const fen = place ? node?.fen : this.state.fen;
    const last = place?.uci ?? this.game.line[this.game.ply - 1]?.uci;
    const lastMove = last ? [last.slice(0, 2), last.slice(2, 4)] : undefined;
    const key = `${fen} ${last} ${this.isReplay} ${this.legal().length}`;
    if (key !== this.shownPosition) {
      this.shownPosition = key;
      if (fen) this.board.show({ fen, lastMove, check: place ? false : this.state.check,
        moves: this.isReplay ? [] : this.legal() });
      else this.board.hold();
    }
    const likeliest = node?.moves.filter((move) => move.uci !== node.best)
      .reduce((best, move) => ((move.overtake ?? 0) > (best?.overtake ?? 0) ? move : best), null);
    this.board.arrows(node?.moves ?? [], node?.best, likeliest?.uci);
  }

  /** The legal moves of the position on the board. */
  legal() {
    if (this.path.length === 0) return this.state?.legal ?? [];
    return this.seen(this.main)?.node?.moves ?? [];
  }

  showCrumbs() {
    const key = this.path.map(({ uci }) => uci).join();
    if (key === this.shownPath) return;
    this.shownPath = key;
    const step = (text, length) => el("button", { text, onclick: () => this.walkBack(length),
      "aria-current": length === this.path.length ? "location" : null });
    const items = [step("Position", 0)];
    this.path.forEach(({ san }, index) => items.push("›", step(san, index + 1)));
    if (this.path.length === 0) items.push(el("span", { text: "click a move to look behind it" }));
    refill($("crumbs"), items);
  }

  showStatus(snapshot) {
    const { state } = this;
    const said = [];
    if (state.over) said.push(state.over);
    else if (snapshot) {
      const { perSecond, evaluations: done } = snapshot.progress;
      said.push(evaluations(done));
      if (this.isRunning && perSecond > 0) said.push(`${count(perSecond)} a second`);
    } else said.push(state.running ? "Searching …" : "Ready");
    if (state.evaluator) said.push(state.evaluator);
    const text = said.join(" · ");
    if ($("status-text").textContent !== text) $("status-text").textContent = $("status").title = text;
  }

  /** One ply deeper, behind this move; in a recording only where that was looked at. */
  walk(move) {
    const path = [...this.path, { uci: move.uci, san: move.san }];
    const ucis = path.map(({ uci }) => uci);
    const isKept = () => this.histories[this.main]?.kept.some(({ focus }) => focus && sameList(focus.path, ucis));
    if (this.isReplay && !isKept()) return toast(`What lies behind ${move.san} was not recorded`);
    this.path = path;
    this.lookAt();
  }

  walkBack(length) {
    if (length === this.path.length) return;
    this.path = this.path.slice(0, length);
    this.lookAt();
  }

  lookAt() {
    this.shownPosition = "";
    this.why.hurry();
    if (!this.isReplay) this.send("look", { path: this.path.map(({ uci }) => uci) });
    this.render();
  }

  /** Lets what is drawn glide to where it belongs. */
  animate() {
    if (this.isGliding) return;
    this.isGliding = true;
    const glide = () => {
      const part = reducedMotion() ? 1 : 0.22;
      const isThere = this.wanted.map((name) => this.tables[name].step(part)).every(Boolean);
      this.isGliding = !isThere;
      if (!isThere) requestAnimationFrame(glide);
    };
    requestAnimationFrame(glide);
  }

  /** Shows what was recorded, as if it happened now. */
  replay({ state, snapshots }) {
    this.isReplay = true;
    document.body.classList.add("replay");
    this.takeState({ ...state, running: false });
    for (const snapshot of snapshots) this.takeSnapshot({ run: state.run, snapshot });
    this.render();
    if (!reducedMotion()) this.time.play();
  }
}

/** The side to move, by the board's name. */
const mover = ({ fen }) => (fen.split(" ")[1] === "b" ? "black" : "white");

const page = new Page();
page.begin();
