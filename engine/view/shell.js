// Keys and colours.

import { $ } from "./util.js";

/** Keyboard: arrows walk through the game, space plays, letters as the buttons say. */
export function onKeys(page) {
  const keys = {
    ArrowLeft: () => page.goTo(page.game.ply - 1),
    ArrowRight: () => page.goTo(page.game.ply + 1),
    Home: () => page.goTo(0),
    End: () => page.goTo(page.game.line.length),
    Backspace: () => page.walkBack(Math.max(0, page.path.length - 1)),
    "[": () => page.time.step(-1),
    "]": () => page.time.step(1),
    " ": () => $("play").click(),
    f: () => page.board.flip(),
    z: () => page.zoom(),
    g: () => $("go").click(),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const isBusy = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)
      || (target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter"));
    // The question for the promotion is answered first.
    const isAsked = !$("promotion").hidden;
    if (isAsked || isBusy || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** The button that changes between light and dark. */
export function onTheme(changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  $("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("theme", theme); } catch { /* storage may be off */ }
    changed();
  });
  system.addEventListener("change", changed);
}
