// The view as a picture of its own: board, sentence and rows; to the clipboard as PNG, or saved as SVG.

import { BASE, WIDTH as RIDGE, ridge } from "./ridge.js";
import { $, colour, count, isNoBound, percent, points, toast, valueWords } from "./util.js";

const [WIDTH, HEIGHT, PAD, SIDE] = [1200, 630, 34, 510];
const ROWS = 8;
const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) =>
  ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

/** Copies or saves what is seen. */
export async function picture(page, how) {
  const seen = page.seen(page.main);
  if (!seen?.node) return toast("There is nothing to see yet");
  const drawn = await draw(page, seen);
  const name = `tesla-${seen.snapshot.progress.evaluations}`;
  if (how === "save") return save(new Blob([drawn], { type: "image/svg+xml" }), `${name}.svg`);
  const png = await rendered(drawn);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    toast("The picture is in the clipboard");
  } catch {
    save(png, `${name}.png`);
  }
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  toast(`Saved as ${name}`);
}

async function rendered(drawn) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDTH * 2, HEIGHT * 2];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

async function draw(page, { snapshot, node }) {
  const fonts = await Promise.all(["inter", "newsreader"].map(font));
  const style = `<style>${fonts.join("")}text{font-family:Inter,sans-serif;fill:${colour("--text")};`
    + "font-feature-settings:'tnum'}</style>";
  const white = page.board.ground.state.orientation === "white";
  const whereText = `${snapshot.search} · ${count(snapshot.progress.evaluations)} evaluations · tesla view`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" `
    + `viewBox="0 0 ${WIDTH} ${HEIGHT}">${style}<rect width="100%" height="100%" fill="${colour("--bg")}"/>`
    + `${board(node, white)}${sentence($("why").textContent)}${rows(node)}`
    + `<text x="${PAD}" y="${HEIGHT - 24}" font-size="15" style="fill:${colour("--dim")}">${escaped(whereText)}</text>`
    + "</svg>";
}

async function font(name) {
  const bytes = new Uint8Array(await (await fetch(`vendor/${name}.woff2`)).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  const family = name[0].toUpperCase() + name.slice(1);
  return `@font-face{font-family:${family};font-weight:200 800;`
    + `src:url(data:font/woff2;base64,${btoa(text)}) format("woff2")}`;
}

/** Where a square's corner is, in squares from the top left. */
function corner(square, white) {
  const [file, rank] = ["abcdefgh".indexOf(square[0]), Number(square[1])];
  return white ? [file, 8 - rank] : [7 - file, rank - 1];
}

function board(node, white) {
  const size = SIDE / 8;
  const parts = [];
  for (let index = 0; index < 64; index += 1) {
    const [column, row] = [index % 8, Math.floor(index / 8)];
    const tone = colour((column + row) % 2 ? "--square-dark" : "--square-light");
    parts.push(`<rect x="${column * size}" y="${row * size}" width="${size + 0.4}" height="${size + 0.4}" fill="${tone}"/>`);
  }
  node.fen.split(" ")[0].split("/").forEach((rank, row) => {
    let column = 0;
    for (const letter of rank) {
      if (/\d/.test(letter)) column += Number(letter);
      else {
        const [x, y] = corner(`${"abcdefgh"[column]}${8 - row}`, white);
        parts.push(`<image x="${x * size}" y="${y * size}" width="${size}" height="${size}" href="${piece(letter)}"/>`);
        column += 1;
      }
    }
  });
  const arrows = node.moves.filter((move) => move.work >= 0.02 || move.uci === node.best)
    .map((move) => arrow(move, node.best, size, white));
  return `<g transform="translate(${PAD} ${PAD})"><clipPath id="c"><rect width="${SIDE}" height="${SIDE}" rx="10"/></clipPath>`
    + `<g clip-path="url(#c)">${parts.join("")}${arrows.reverse().join("")}</g></g>`;
}

const pieces = {};

/** The picture of a piece, as the board's style has it. */
function piece(letter) {
  if (!pieces[letter]) {
    const side = letter === letter.toUpperCase() ? "white" : "black";
    const probe = document.createElement("piece");
    probe.className = `${NAMES[letter.toLowerCase()]} ${side}`;
    probe.hidden = true;
    $("board").append(probe);
    pieces[letter] = getComputedStyle(probe).backgroundImage.slice(5, -2);
    probe.remove();
  }
  return pieces[letter];
}

function arrow(move, best, size, white) {
  const middle = (square) => corner(square, white).map((place) => (place + 0.5) * size);
  const [[x, y], [toX, toY]] = [middle(move.uci.slice(0, 2)), middle(move.uci.slice(2, 4))];
  const width = Math.max(move.uci === best ? 8 : 3, 3 + 14 * Math.sqrt(move.work));
  const length = Math.hypot(toX - x, toY - y);
  const [alongX, alongY] = [(toX - x) / length, (toY - y) / length];
  const head = Math.max(12, width * 1.9);
  const [endX, endY] = [toX - alongX * head * 0.9, toY - alongY * head * 0.9];
  const wing = (sign) => `${endX - sign * alongY * head * 0.6},${endY + sign * alongX * head * 0.6}`;
  return `<g opacity="${move.uci === best ? 0.85 : 0.5}" fill="${colour("--tesla")}" stroke="none">`
    + `<line x1="${x}" y1="${y}" x2="${endX}" y2="${endY}" stroke="${colour("--tesla")}" stroke-width="${width}"/>`
    + `<polygon points="${toX},${toY} ${wing(1)} ${wing(-1)}"/></g>`;
}

/** The sentence in lines that fit. */
function sentence(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if ((lines[last] + word).length > 44) lines.push(word);
    else lines[last] = `${lines[last]} ${word}`.trim();
  }
  return lines.slice(0, 3).map((line, index) =>
    `<text x="${PAD + SIDE + 34}" y="${PAD + 24 + index * 34}" font-size="28" `
    + `style="font-family:Newsreader,serif;letter-spacing:-.01em">${escaped(line)}</text>`).join("");
}

function rows(node) {
  const left = PAD + SIDE + 34;
  const wide = 290;
  const axis = { low: 0, high: 100 };
  const leader = node.moves.find((move) => move.uci === node.leader) ?? node.moves[0];
  const isKnown = (move) => move.value !== null && (move.isEvaluated || move.proof) && !isNoBound(move);
  const moves = node.moves.filter(isKnown).slice(0, ROWS);
  const [hill, over, dim, rule] = ["--hill", "--over", "--dim", "--line"].map(colour);
  const text = (x, y, said, tone, more = "") =>
    `<text x="${x}" y="${y}" font-size="17" style="fill:${tone}" ${more}>${escaped(said)}</text>`;
  return moves.map((move, index) => {
    const top = 152 + index * 52;
    const error = Math.max(0.2, Math.min(move.error ?? 0.2, 30));
    const isLeader = move.uci === leader.uci;
    const shape = ridge({ value: move.value, error, leader: isLeader ? null : leader.value }, axis);
    const scale = `translate(${left + 66} ${top}) scale(${wide / RIDGE} 1)`;
    const mark = (shape.across(leader.value) * wide) / RIDGE + left + 66;
    const drawn = move.proof || move.error === null
      ? `<path d="M${shape.across(move.value).toFixed(1)} ${BASE - 14}V${BASE}" stroke="${hill}" stroke-width="4" vector-effect="non-scaling-stroke"/>`
      : `<path d="${shape.hill}" fill="${hill}" fill-opacity="${index === 0 ? 0.5 : 0.22}" stroke="${hill}" stroke-width="1.5" vector-effect="non-scaling-stroke"/>`
        + `<path d="${shape.tail}" fill="${over}" fill-opacity=".6" stroke="${over}" vector-effect="non-scaling-stroke"/>`;
    const spread = move.proof || move.error === null ? "" : ` ± ${points(move.error)}`;
    const value = `${valueWords(move)}${spread}`;
    const bold = index === 0 ? "font-weight='700'" : "font-weight='500'";
    return `<line x1="${left}" x2="${WIDTH - PAD}" y1="${top + 48}" y2="${top + 48}" stroke="${rule}"/>`
      + `<line x1="${mark}" x2="${mark}" y1="${top - 4}" y2="${top + 48}" stroke="${hill}" stroke-dasharray="2 3"/>`
      + `<g transform="${scale}">${drawn}</g>`
      + text(left, top + BASE - 10, move.san, colour("--text"), bold)
      + text(left + 476, top + BASE - 10, value, dim, "text-anchor='end'")
      + text(WIDTH - PAD, top + BASE - 10, move.overtake ? percent(move.overtake) : "", isLeader ? dim : over, "text-anchor='end'");
  }).join("");
}
