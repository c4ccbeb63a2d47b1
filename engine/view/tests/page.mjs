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
const PROMOTION = "8/4P2k/8/8/8/8/8/4K3 w - - 0 1";
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

/** Sets up a position, and waits until the engine has taken it. */
async function setUp(page, fen) {
  await page.fill("#fen", fen);
  await Promise.all([page.waitForResponse(/\/go$/), page.press("#fen", "Enter")]);
  await page.waitForFunction((start) => document.getElementById("board-words").textContent.startsWith(start),
    fen.includes(" b ") ? "Black" : "White");
  await page.waitForTimeout(300);
}

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
    await Promise.all([page.waitForResponse(/\/go$/), page.click("#start")]);
    await square(page, "e2");
    await square(page, "e4");
    await has(page, "#game button");
    expect((await page.textContent("#game")).includes("e4"), "e4 is not in the list");
    await page.waitForTimeout(300);
    expect(await page.isVisible("#board.orientation-white"), "the board has turned round");
    await page.locator("#game button").focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => !document.querySelector("#game [aria-current]"));
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.querySelector("#game [aria-current]"));
    expect(await page.evaluate(() => document.activeElement.textContent === "e4"), "the focus is lost");
  });
  await check("a move that is not played after all is taken back", async () => {
    const open = "#promotion:not([hidden])";
    const push = async () => {
      await square(page, "e7");
      await square(page, "e8");
    };
    await setUp(page, PROMOTION);
    await push();
    await has(page, open);
    await page.keyboard.press("Tab");
    await page.keyboard.press("f");
    expect(await page.isVisible("#board.orientation-white"), "the keys of the page are heard");
    await page.keyboard.press("Escape");
    await push();
    await has(page, open);
    const before = faults.length;
    await page.route("**/go", (route) => route.fulfill({ status: 400, json: { error: "no", field: "moves" } }));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("toast").textContent.includes("no"));
    await page.unroute("**/go");
    faults.splice(before); // The refusal itself is told on the console.
    await push();
    await has(page, open);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("game").textContent.includes("e8=Q"));
  });
  await check("a question for the promotion goes with its position", async () => {
    await setUp(page, PROMOTION);
    await square(page, "e7");
    await square(page, "e8");
    await has(page, "#promotion:not([hidden])");
    await page.evaluate((fen) => fetch("position", { method: "POST",
      headers: { "content-type": "application/json" }, body: JSON.stringify({ fen }) }), OVER);
    await page.waitForFunction(() => document.getElementById("promotion").hidden);
  });
  await check("a row is called as its move is in the position", async () => {
    const word = (san) => page.waitForFunction((wanted) => {
      document.querySelector(".more:not([hidden])")?.click();
      const walk = document.querySelector('.row[data-uci="f3e5"] .walk');
      return walk?.textContent === wanted && walk.getAttribute("aria-label").endsWith(wanted);
    }, san, { polling: 300 });
    await setUp(page, "8/6k1/8/8/8/5N2/P7/4K3 w - - 0 1");
    await word("Ne5");
    await setUp(page, "8/6k1/6p1/4p3/8/5N2/P7/4K3 w - - 0 1");
    await word("Nxe5");
  });
  await check("nothing is played where the position is not known", async () => {
    const dots = async () => {
      await square(page, "e2");
      await page.waitForTimeout(200);
      const count = await page.locator("square.move-dest:visible").count();
      await square(page, "e2");
      return count;
    };
    await page.selectOption("#pace", "4");
    await setUp(page, "startpos");
    await page.evaluate(() => document.querySelector(".more:not([hidden])")?.click());
    await page.locator(".row.move.guess .walk").last().click();
    await page.waitForFunction(() => document.getElementById("why").textContent.includes("has not looked behind"));
    expect((await dots()) === 0, "the moves of the position before are there");
    await page.locator("#crumbs button").first().click();
    expect((await dots()) === 2, "the moves are gone");
    await page.selectOption("#pace", "easy");
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
    await page.locator(".row.move .walk").first().click();
    await page.waitForFunction(() => /was not kept\.$/.test(document.getElementById("why").textContent));
    await page.locator("#crumbs button").first().click();
    await page.click("#live");
  });
  await check("arrows leave no heap of arrowheads", async () => {
    const heads = await page.evaluate(() => [...document.querySelectorAll("marker")].map(({ id }) => id));
    expect(heads.length > 0 && !heads.some((id) => id.includes(".")), heads.join(" "));
  });
  await check("sentences that come together are all said", async () => {
    const said = await page.evaluate(async () => {
      const { toast } = await import("./util.js");
      for (const text of ["one", "two", "one"]) toast(text);
      return [...document.querySelectorAll("#toast p")].map(({ textContent }) => textContent).slice(-2).join();
    });
    expect(said === "two,one", said);
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
    const [stop] = await Promise.all([page.waitForRequest(/\/stop$/), page.click("#review .primary")]);
    expect(stop.postData() === '{"what":"review"}', `it stops ${stop.postData()}`);
    await words("Review");
    await page.selectOption("#review select", "100");
    await page.click("#review .primary");
    await page.waitForFunction(() => document.querySelector(".losses")?.textContent.includes("Nf6??"), null, { timeout: 60000 });
    await has(page, "#review .quiet:not([hidden])");
    const pgn = await page.evaluate(async () => (await fetch("review.pgn")).text());
    expect(pgn.includes("%eval") && pgn.includes("Qxf7#"), pgn);
    const loss = page.locator(".losses button", { hasText: "Nf6" });
    await loss.click();
    const stands = (san) => page.waitForFunction((wanted) =>
      document.querySelector("#game [aria-current]")?.textContent === wanted, san);
    await stands("Bc4");
    expect((await page.locator("#game button").count()) === 7, "the moves are not the game's");
    // Also when the board shows another game's position after as many moves.
    await page.keyboard.press("ArrowLeft");
    await stands("Nc6");
    await page.fill("#fen", "a3");
    await page.press("#fen", "Enter");
    await stands("a3");
    await loss.click();
    await page.waitForFunction(() => document.getElementById("fen").value.startsWith("r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/"));
    expect((await page.locator("#game button").count()) === 7, "the moves are not the game's");
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
    await page.locator(".row.move .walk").first().click();
    await page.waitForFunction(() => /was not recorded$/.test(document.getElementById("toast").textContent));
    expect((await page.locator("#crumbs button").count()) === 1, "it is walked");
    await page.click("#go");
    await page.waitForFunction(() => document.getElementById("toast").textContent.includes("a recording"));
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
