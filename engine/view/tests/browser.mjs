// What the scripts of this folder share: a Tesla that serves its page, and a browser.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const load = createRequire(join(here, "../../../target/view-tests/node_modules/index.js"));
const { chromium } = load("playwright-core");

export const axeSource = () => load("axe-core").source;

export const open = (browser) => chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });

/** Starts `tesla view`; gives the page's address and a way to end it. */
export async function serve(tesla, ...options) {
  const began = performance.now();
  const child = spawn(tesla, ["view", "--no-browser", ...options], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((done) => { child.on("exit", done); });
  const url = await new Promise((found, failed) => {
    child.stdout.on("data", (text) => {
      const match = /http:\S+/.exec(text);
      if (match) found(match[0]);
    });
    child.on("exit", (code) => failed(new Error(`tesla view ended with code ${code}`)));
    child.on("error", failed);
  });
  const end = async () => {
    child.kill("SIGINT");
    return ended;
  };
  return { url, began, end };
}
