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

export const sameList = (left, right) =>
  left.length === right.length && left.every((item, index) => item === right[index]);

let toastTimer = 0;

/** Says something in passing. */
export function toast(text) {
  const box = $("toast");
  box.textContent = text;
  box.classList.add("on");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.classList.remove("on"), 4500);
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A colour of the theme. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
