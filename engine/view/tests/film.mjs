// The README's animated picture: a search of the first built-in position, recorded and replayed.
// usage: node film.mjs TESLA BROWSER OUT.webp; needs ffmpeg besides.

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, serve } from "./browser.mjs";

const [tesla, browserPath, out] = process.argv.slice(2);
const MATE = "4k1r1/2p3r1/1pR1p3/3pP2p/3P2qP/P4N2/1PQ4P/5R1K b - - 0 1";
const FRAMES = 72;

const folder = mkdtempSync(join(tmpdir(), "tesla-film-"));
const recording = join(folder, "recording.json");
const browser = await open(browserPath);

const live = await serve(tesla, "--fen", MATE, "--record", recording);
const watching = await browser.newPage();
await watching.goto(live.url);
await watching.waitForSelector("body.running");
await watching.waitForSelector("body:not(.running)", { timeout: 120000 });
await watching.waitForTimeout(500);
await watching.close();
await live.end();

const replay = await serve(tesla, "--replay", recording);
const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme: "dark" });
await page.goto(replay.url);
await page.waitForSelector(".row.move");
await page.waitForTimeout(500);
const last = await page.evaluate(() => {
  if (document.body.classList.contains("playing")) document.getElementById("play").click();
  return Number(document.getElementById("slider").max);
});
let frame = 0;
const shoot = async () => {
  await page.screenshot({ path: join(folder, `${String(frame).padStart(3, "0")}.png`) });
  frame += 1;
};
for (let number = 0; number <= FRAMES; number += 1) {
  await page.evaluate((index) => {
    const slider = document.getElementById("slider");
    slider.value = index;
    slider.dispatchEvent(new Event("input"));
  }, Math.round((last * number) / FRAMES));
  await page.waitForTimeout(70);
  await shoot();
}
await page.waitForTimeout(800);
for (let rest = 0; rest < 22; rest += 1) await shoot();
await browser.close();
await replay.end();
execFileSync("ffmpeg", ["-y", "-loglevel", "error", "-framerate", "9", "-i", join(folder, "%03d.png"),
  "-vf", "scale=1000:-1:flags=lanczos", "-c:v", "libwebp_anim", "-quality", "72",
  "-compression_level", "6", "-loop", "0", out]);
