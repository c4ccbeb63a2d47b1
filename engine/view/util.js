// Small things that every part of the page uses.

export const $ = (id) => document.getElementById(id);

/** An element: tag, attributes (`class`, `text` and event handlers among them), children. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function svg(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

/** `1 evaluation`, `1,024 evaluations`. */
export const evaluations = (number) => `${count(number)} evaluation${number === 1 ? "" : "s"}`;

/** A probability or share in percent, with as many digits as mean something. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/** Points, one digit. */
export const points = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));

/** What is proven, in a word or two. */
export function proofWords(proof) {
  if (proof.result === "draw") return "draw";
  const word = proof.result === "win" ? "mate" : "mated";
  if (proof.mate) return `${word} in ${proof.mate}`;
  return proof.result === "win" ? "wins" : "loses";
}

/** Alpha-beta knows only "no better than a win": nothing. */
export const isNoBound = (move) => Boolean(move.isBound) && !move.proof && move.value > 99.9;

/** What a move is worth: `37.2`, `≤ 37.2` where only a bound is known, what is proven, or a dash. */
export function valueWords(move) {
  if (move.proof) return proofWords(move.proof);
  const value = isNoBound(move) ? null : move.value;
  return `${move.isBound && value !== null ? "≤ " : ""}${points(value)}`;
}

export const sameList = (left, right) =>
  left.length === right.length && left.every((item, index) => item === right[index]);

/** Puts other children into a box that is filled anew. Who stood on one of its buttons by keyboard
    stands on that of the same place then, not at the top of the page. */
export function refill(box, children) {
  const buttons = () => [...box.querySelectorAll("button")];
  const index = buttons().indexOf(document.activeElement);
  box.replaceChildren(...children);
  if (index >= 0) (buttons()[index] ?? buttons().at(-1))?.focus({ preventScroll: true });
}

/** How long a sentence stays, milliseconds; half as long again for each above it. */
const TOAST = 4500;

/** Says something in passing, below what is still being said: sentences that come together would
    take each other away. */
export function toast(text) {
  const box = $("toast");
  if (!box.classList.contains("on")) box.replaceChildren();
  for (const said of [...box.children]) if (said.textContent === text) said.remove();
  const sentence = el("p", { text });
  box.append(sentence);
  box.classList.add("on");
  setTimeout(() => {
    if (!sentence.isConnected) return;
    // The last one goes with the box, which fades.
    if (box.children.length > 1) sentence.remove();
    else box.classList.remove("on");
  }, (TOAST * (1 + box.children.length)) / 2);
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A colour of the theme. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
