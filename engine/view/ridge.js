// The shape of what is known of a move: a hill whose peak is the value and whose width the error.

/** Of the drawing, which is stretched to its place. */
export const WIDTH = 1000;
export const HEIGHT = 46;
/** Where the hill stands. */
export const BASE = 41;

const STEPS = 40;

/** Student's t with two degrees of freedom, as the search has it; its peak at 1. */
const bell = (z) => (1 + (z * z) / 2) ** -1.5;

/** The hill and the part of it that lies beyond the leader's value, as paths; `across` = where a
    value stands. Without a leader no part does. */
export function ridge({ value, error, leader }, { low, high }) {
  const across = (point) => ((point - low) / (high - low)) * WIDTH;
  const tall = 34 * Math.min(1, Math.max(0.42, (1.4 / error) ** 0.3));
  const shape = (from, to) => {
    const [start, end] = [Math.max(from, low), Math.min(to, high)];
    if (end <= start) return "";
    let path = `M${across(start).toFixed(1)} ${BASE}`;
    for (let step = 0; step <= STEPS; step += 1) {
      const point = start + ((end - start) * step) / STEPS;
      const up = BASE - tall * bell((point - value) / error);
      path += `L${across(point).toFixed(1)} ${up.toFixed(1)}`;
    }
    return `${path}L${across(end).toFixed(1)} ${BASE}Z`;
  };
  const reach = 5 * error;
  const tail = leader === null ? "" : shape(Math.max(leader, value - reach), value + reach);
  return { across, hill: shape(value - reach, value + reach), tail };
}
