// Parts of the page that need no browser. usage: node parts.mjs

import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

/** What a file of the page exports, without what it imports, which would look for the page. */
async function part(name) {
  const source = readFileSync(new URL(`../${name}`, import.meta.url), "utf8").replace(/^import .*$/gm, "");
  return import(`data:text/javascript,${encodeURIComponent(source)}`);
}

const { typed } = await part("game.js");
const legal = [["e2e4", "e4"], ["e1g1", "O-O"], ["e1c1", "O-O-O+"], ["a7a8q", "a8=Q"], ["a7b8n", "axb8=N#"],
  ["g1f3", "Nf3"], ["b2c3", "bxc3"], ["f1c3", "Bxc3"]].map(([uci, san]) => ({ uci, san }));
const plays = { "e4": "e2e4", "1. e4": "e2e4", "1.e4": "e2e4", "12... Nf3": "g1f3", "12…Nf3!?": "g1f3", "E2E4": "e2e4",
  "o-o": "e1g1", "0-0": "e1g1", "O-o": "e1g1", "0-0-0": "e1c1", "3. o-o-o": "e1c1",
  "a8Q": "a7a8q", "a8=Q": "a7a8q", "a7a8Q": "a7a8q", "axb8N": "a7b8n", "bc3": "b2c3", "Bc3": "f1c3" };
for (const [text, play] of Object.entries(plays)) assert.deepEqual(typed(text, legal), { play }, text);
for (const text of ["e5", "1.", "e4 e5", "a8", "o-o-o-o"]) assert.equal(typed(text, legal), null, text);
assert.deepEqual(typed(" ", legal), { fen: null });
assert.deepEqual(typed("8/8/8/8/8/8/8/8 w - -", legal), { fen: "8/8/8/8/8/8/8/8 w - -" });

// A game that is opened while another is under review takes its place.
const { Review } = await part("review.js");
const sent = [];
const page = { send: async (...order) => sent.push(order) };
const review = Object.create(Review.prototype, Object.getOwnPropertyDescriptors({
  page, text: { value: "" }, nodes: { value: "400" }, form: { classList: { add() {} } }, show() {},
  news: { done: 1, total: 9, isStopped: false },
}));
assert.ok(review.isBusy);
review.open("1. e4 *");
assert.deepEqual(sent, [["review", { pgn: "1. e4 *", nodes: 400 }]]);
console.log("ok");
