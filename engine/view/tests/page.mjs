// The page in a real browser. usage: node page.mjs TESLA BROWSER FOLDER; a line for each check.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axeSource, open, serve } from "./browser.mjs";

const [tesla, browserPath, folder] = process.argv.slice(2);
// A bishop covers g1, so the search goes on.
const NO_MATE = "4k1r1/2p3r1/1pR1p3/3pP2p/3P2qP/P3BN2/1PQ4P/5R1K b - - 0 1";
const OVER = "8/8/8/8/8/5k2/6q1/7K w - - 0 1";
const MATE = "4k1r1/2p3r1/1pR1p3/3pP2p/3P2qP/P4N2/1PQ4P/5R1K b - - 0 1";
const GAME = `[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n`;
const faults = [];
let failures = 0;

async function check(name, what) {
  const before = faults.length;
  try {
    const said = await what();
    if (faults.length > before) throw new Error(faults.slice(before).join("; "));
    console.log(`ok ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}: ${error.message.slice(0, 600).split("\n").slice(0, 3).join(" ")}`);
  }
}

function expect(is, sentence) {
  if (!is) throw new Error(sentence);
}

async function visit(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
  page.on("pageerror", (error) => faults.push(`page error: ${error.message}`));
  page.on("console", (line) => line.type() === "error" && faults.push(`console: ${line.text()}`));
  page.on("requestfailed", (request) => request.url().endsWith("/events")
    || faults.push(`failed: ${request.url()}`));
  page.on("response", (response) => response.status() >= 400
    && faults.push(`${response.status()}: ${response.url()}`));
  await page.goto(url);
  return page;
}

const done = (page) => page.evaluate(() =>
  [...document.querySelectorAll(".counts")].map((one) => Number(one.textContent.replace(/\D*([\d,]+) eval.*/, "$1").replaceAll(",", ""))));
const has = (page, selector) => page.waitForSelector(selector, { timeout: 20000 });

async function square(page, name) {
  const box = await page.locator("cg-board").boundingBox();
  const black = await page.evaluate(() => document.querySelector(".cg-wrap").classList.contains("orientation-black"));
  const [file, rank] = ["abcdefgh".indexOf(name[0]), Number(name[1]) - 1];
  const [column, row] = black ? [7 - file, rank] : [file, 7 - rank];
  const size = box.width / 8;
  await page.mouse.click(box.x + (column + 0.5) * size, box.y + (row + 0.5) * size);
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

async function accessible(page) {
  await page.evaluate(axeSource());
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const sentence = ({ id, nodes }) => `${id} at ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 90)).join(", ")}`;
  expect(serious.length === 0, serious.map(sentence).join("; "));
}

async function live(browser, recording) {
  const served = await serve(tesla, "--record", recording);
  const page = await visit(browser, served.url);
  await check("first paint within two seconds of the command", async () => {
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    const painted = await page.evaluate(() => performance.timeOrigin
      + performance.getEntriesByName("first-contentful-paint")[0].startTime);
    const took = painted - (performance.timeOrigin + served.began);
    expect(took < 2000, `it took ${took.toFixed(0)} ms`);
    return `${took.toFixed(0)} ms`;
  });
  await check("the search begins by itself and streams", async () => {
    await has(page, ".row.move");
    const [before] = await done(page);
    await page.waitForFunction((least) => Number(document.querySelector(".counts").textContent.replace(/\D*([\d,]+) eval.*/, "$1").replaceAll(",", "")) > least + 10, before);
    expect((await page.textContent("#why")).trim().length > 10, "there is no sentence");
  });
  await check("a move is played on the board", async () => {
    await square(page, "e2");
    await square(page, "e4");
    await has(page, "#game button");
    expect((await page.textContent("#game")).includes("e4"), "e4 is not in the list");
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => !document.querySelector("#game [aria-current]"));
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.querySelector("#game [aria-current]"));
  });
  await check("a position is set up and a wrong one refused", async () => {
    await page.fill("#fen", MATE);
    await page.press("#fen", "Enter");
    await page.waitForFunction(() => [...document.querySelectorAll(".walk")].some((one) => one.textContent === "Qh3"));
    const before = faults.length;
    await page.fill("#fen", "8/8 nonsense");
    await page.press("#fen", "Enter");
    await has(page, "#fen-problem:not([hidden])");
    faults.splice(before); // The refusal itself is told on the console.
  });
  await check("of two positions set up at once the later one stays; a game that is over says how", async () => {
    await page.evaluate((fens) => {
      for (const fen of fens) {
        document.getElementById("fen").value = fen;
        document.getElementById("fen-form").requestSubmit();
      }
    }, [MATE, OVER]);
    await page.waitForFunction(() => document.getElementById("why").textContent === "Checkmate.");
    expect(await page.isHidden("#rows"), "there are moves");
  });
  await check("what is being typed stays when news come", async () => {
    await page.fill("#fen", NO_MATE);
    await page.press("#fen", "Enter");
    await page.fill("#fen", OVER);
    await page.waitForFunction(() => document.querySelectorAll(".row.move:not(.guess)").length > 4);
    expect((await page.inputValue("#fen")) === OVER, "it is gone");
    await page.fill("#fen", NO_MATE); // Not sent: a search that begins again would take away what is walked below.
  });
  await check("a row is walked, once for a double click, and back", async () => {
    await page.waitForFunction(() => document.querySelectorAll(".row.move:not(.guess)").length > 4);
    await page.locator(".row.move:not(.guess) .walk").first().evaluate((walk) => {
      walk.click();
      walk.click();
    });
    await page.waitForFunction(() => document.querySelectorAll("#crumbs button").length === 2);
    await page.waitForFunction(() => ![...document.querySelectorAll(".walk")].some((one) => one.textContent === "Qh3"));
    await page.locator("#crumbs button").first().click();
    await page.waitForFunction(() => [...document.querySelectorAll(".walk")].some((one) => one.textContent === "Qh3"));
  });
  await check("two searches are compared at equal evaluations", async () => {
    await page.fill("#fen", "startpos");
    await page.press("#fen", "Enter");
    await page.click('.rivals [data-search="PUCT"]');
    await has(page, '.table[data-search="PUCT"] .row.move');
    await page.waitForFunction(() => [...document.querySelectorAll(".counts")].every((one) =>
      Number(one.textContent.replace(/\D*([\d,]+) eval.*/, "$1").replaceAll(",", "")) > 60), null, { timeout: 30000 });
    const tops = await page.evaluate(() =>
      [...document.querySelectorAll(".table")].map((table) => table.getBoundingClientRect().top));
    expect(tops[0] === tops[1], "they are not side by side");
    const [left, right] = await done(page);
    expect(Math.abs(left - right) <= 40, `${left} and ${right}`);
    return `${left} and ${right}`;
  });
  await check("back through time", async () => {
    const now = await page.textContent("#at");
    await page.locator("#slider").focus();
    await page.keyboard.press("Home");
    await has(page, "#live:not([hidden])");
    expect((await page.textContent("#at")) !== now, "the time did not change");
    await page.click("#live");
  });
  for (const width of [390, 1280, 3840]) {
    for (const colorScheme of ["light", "dark"]) {
      await check(`${width} px, ${colorScheme}: no overflow, axe`, async () => {
        await page.setViewportSize({ width, height: Math.max(844, Math.round(width * 0.56)) });
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.waitForTimeout(250);
        expect((await overflow(page)) <= 0, `${await overflow(page)} px too wide`);
        await accessible(page);
        await page.screenshot({ path: join(folder, `page-${width}-${colorScheme}.png`) });
      });
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  await check("a game is reviewed", async () => {
    await page.click("#mode-review");
    const words = (text) => page.waitForFunction((wanted) =>
      document.querySelector("#review .primary").textContent === wanted, text, { timeout: 20000 });
    await page.fill("#review textarea", GAME);
    await page.selectOption("#review select", "10000");
    await page.click("#review .primary");
    await words("Stop");
    expect((await page.inputValue("#fen")).startsWith("rnbqkbnr/pppppppp"), "the game is not on the board");
    await page.click("#review .primary");
    await words("Review");
    await page.selectOption("#review select", "100");
    await page.click("#review .primary");
    await page.waitForFunction(() => document.querySelector(".losses")?.textContent.includes("Nf6??"), null, { timeout: 60000 });
    await has(page, "#review .quiet:not([hidden])");
    const pgn = await page.evaluate(async () => (await fetch("review.pgn")).text());
    expect(pgn.includes("%eval") && pgn.includes("Qxf7#"), pgn);
    await page.locator(".losses button").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#game button").length === 7);
    expect((await overflow(page)) <= 0, "it is too wide");
    await accessible(page);
  });
  await check("the view as a picture", async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save-picture")]);
    const text = readFileSync(await download.path(), "utf8");
    expect(text.startsWith("<svg") && text.includes("data:image/svg+xml;base64"), "it is no picture");
  });
  await page.waitForTimeout(300);
  await page.close();
  await served.end();
}

async function replayed(browser, recording) {
  const served = await serve(tesla, "--replay", recording);
  await check("a recording needs no engine", async () => {
    const page = await visit(browser, served.url, { reducedMotion: "reduce" });
    await has(page, ".row.move");
    await page.locator("#slider").focus();
    await page.keyboard.press("Home");
    await has(page, "#live:not([hidden])");
    await page.click("#go");
    await has(page, "#toast.on");
    await page.close();
  });
  await served.end();
}

const browser = await open(browserPath);
const recording = join(folder, "recording.json");
await live(browser, recording);
await replayed(browser, recording);
await browser.close();
process.exit(failures === 0 ? 0 : 1);
