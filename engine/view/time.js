// Back through time: a slider over what was kept of the search.

import { $, evaluations } from "./util.js";

/** How long a whole playback takes, milliseconds. */
const WHOLE = 14000;

export class Timeline {
  constructor(onChange) {
    this.onChange = onChange;
    this.kept = [];
    this.at = null;
    this.timer = 0;
    $("slider").addEventListener("input", () => {
      this.pause();
      this.choose(Number($("slider").value));
    });
    $("live").addEventListener("click", () => this.now());
    $("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
  }

  forget() {
    this.pause();
    this.at = null;
    this.kept = [];
  }

  now() {
    this.pause();
    this.at = null;
    this.onChange();
  }

  choose(index) {
    const isNow = index >= this.kept.length - 1;
    this.at = isNow ? null : this.kept[Math.max(0, index)]?.progress.evaluations ?? null;
    this.onChange();
  }

  /** To the time of so many evaluations. */
  goTo(at) {
    this.pause();
    const index = this.kept.findLastIndex((snapshot) => snapshot.progress.evaluations <= at);
    this.choose(index);
  }

  step(by) {
    this.pause();
    this.choose(this.index + by);
  }

  get index() {
    if (this.at === null) return this.kept.length - 1;
    return Math.max(0, this.kept.findLastIndex(({ progress }) => progress.evaluations <= this.at));
  }

  /** Plays what was kept, evenly on the logarithm of the work. */
  play() {
    if (this.kept.length < 2) return;
    const size = (index) => Math.log(this.kept[index].progress.evaluations + 1);
    const end = this.kept.length - 1;
    let index = this.at === null ? 0 : this.index;
    document.body.classList.add("playing");
    this.choose(index);
    const pause = (from) => Math.min(900, Math.max(30,
      (WHOLE * (size(from + 1) - size(from))) / Math.max(0.1, size(end) - size(0))));
    const next = () => {
      index += 1;
      if (index >= this.kept.length - 1) return this.now();
      this.choose(index);
      this.timer = setTimeout(next, pause(index));
    };
    this.timer = setTimeout(next, pause(index));
    this.word(true);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    document.body.classList.remove("playing");
    this.word(false);
  }

  word(isPlaying) {
    const shape = isPlaying ? "M7 5h3.500v14H7zM13.500 5H17v14h-3.500z" : "M8 5v14l11-7z";
    $("play").querySelector("path").setAttribute("d", shape);
    $("play").setAttribute("aria-label", isPlaying ? "Pause" : "Play from the beginning");
  }

  show(kept) {
    this.kept = kept;
    const slider = $("slider");
    slider.max = Math.max(0, kept.length - 1);
    slider.value = this.index;
    const snapshot = kept[this.index];
    const text = snapshot ? `after ${evaluations(snapshot.progress.evaluations)}` : "";
    slider.setAttribute("aria-valuetext", text);
    $("at").textContent = text;
    $("live").hidden = this.at === null;
    slider.disabled = $("play").disabled = kept.length < 2;
  }
}
