// Parts of the page that need no browser. usage: node parts.mjs

import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

/** What a file of the page exports, without what it imports, which would look for the page. */
async function part(name) {
  const source = readFileSync(new URL(`../${name}`, import.meta.url), "utf8").replace(/^import .*$/gm, "");
  return import(`data:text/javascript,${encodeURIComponent(source)}`);
}

const { Game, typed } = await part("game.js");
const legal = [["e2e4", "e4"], ["e1g1", "O-O"], ["e1c1", "O-O-O+"], ["a7a8q", "a8=Q"], ["a7b8n", "axb8=N#"],
  ["g1f3", "Nf3"], ["b2c3", "bxc3"], ["f1c3", "Bxc3"]].map(([uci, san]) => ({ uci, san }));
const plays = { "e4": "e2e4", "1. e4": "e2e4", "1.e4": "e2e4", "12... Nf3": "g1f3", "12…Nf3!?": "g1f3", "E2E4": "e2e4",
  "o-o": "e1g1", "0-0": "e1g1", "O-o": "e1g1", "0-0-0": "e1c1", "3. o-o-o": "e1c1",
  "a8Q": "a7a8q", "a8=Q": "a7a8q", "a7a8Q": "a7a8q", "axb8N": "a7b8n", "bc3": "b2c3", "Bc3": "f1c3" };
for (const [text, play] of Object.entries(plays)) assert.deepEqual(typed(text, legal), { play }, text);
for (const text of ["e5", "1.", "e4 e5", "a8", "o-o-o-o"]) assert.equal(typed(text, legal), null, text);
assert.deepEqual(typed(" ", legal), { fen: null });
assert.deepEqual(typed("8/8/8/8/8/8/8/8 w - -", legal), { fen: "8/8/8/8/8/8/8/8 w - -" });

// The moves that a new one replaces stay until the engine has taken it.
const line = [["e2e4", "e4"], ["e7e5", "e5"], ["g1f3", "Nf3"]].map(([uci, san]) => ({ uci, san }));
const game = new Game();
game.take({ start: null, moves: line });
game.take({ start: null, moves: line.slice(0, 1) });
assert.deepEqual(game.with(["c7c5"]), { fen: null, moves: ["e2e4", "c7c5"] });
assert.deepEqual([game.line.length, game.ply], [3, 1]);
game.take({ start: null, moves: [line[0], { uci: "c7c5", san: "c5" }] });
assert.deepEqual([game.line.map(({ san }) => san), game.ply], [["e4", "c5"], 2]);

// A bound is written as one, "no better than a win" is nothing, and neither is drawn as a value.
const { isNoBound, valueWords } = await part("util.js");
const bound = (value, more) => ({ value, error: null, proof: null, isBound: true, isEvaluated: true, ...more });
assert.equal(valueWords({ ...bound(37.24), isBound: false }), "37.2");
assert.equal(valueWords(bound(37.24)), "≤ 37.2");
assert.equal(valueWords(bound(100)), "–");
assert.equal(valueWords(bound(null)), "–");
const mate = { result: "win", mate: 3 };
assert.equal(valueWords(bound(100, { proof: mate })), "mate in 3");
assert.deepEqual([bound(100), bound(99), bound(100, { proof: mate })].map(isNoBound), [true, false, false]);
const { ofMoves, ofSearches } = await part("chart.js");
const at = (evaluations, ...moves) => ({ progress: { evaluations }, root: { moves } });
const exact = (uci, value) => ({ ...bound(value), uci, san: uci, isBound: false });
const seen = [at(1, exact("a", 50), { ...bound(60), uci: "b", san: "b" }),
  at(2, exact("b", 55), { ...bound(48), uci: "a", san: "a" })];
assert.deepEqual(ofMoves(seen).data.slice(0, 2), [[1, 2], [null, 55]]);
assert.deepEqual(ofMoves(seen).lines.map(({ label }) => label), ["b", "−", "+"]);
const first = [at(1, { ...bound(60), uci: "b", san: "b" }), seen[1]];
assert.deepEqual(ofSearches(["AlphaBeta"], { AlphaBeta: { kept: first } }).data, [[1, 2], [null, 55]]);

// What is said of a place of which nothing is told.
const { behind } = await part("why.js");
const path = [{ uci: "e2e4", san: "e4" }];
const root = (isEvaluated) => ({ search: "Tesla", focus: null, root: { moves: [{ uci: "e2e4", isEvaluated }] } });
const says = (snapshot, isPast, words, node = null) =>
  assert.match(behind({ snapshot, node }, path, isPast), words);
says(root(false), false, /^The search has not looked behind e4 yet/);
says(root(true), false, /^Waiting for what lies behind e4/);
says({ ...root(false), focus: { path: ["d2d4"] } }, false, /^Waiting/);
says(root(false), true, /^What was seen behind e4 then was not kept/);
says({ ...root(false), search: "AlphaBeta" }, true, /^AlphaBeta does not tell/);
says(root(false), false, /not looked behind e4 yet/, { moves: [], proof: null });
says(root(false), false, /the game is over/, { moves: [], proof: { result: "loss", mate: 0 } });

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
