//! The page in a real browser, by `engine/view/tests`; where there is none, it says so.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/view/tests");

/// Where Chromium is, by the names under which systems have it.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let folders = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&folders);
    folders.find_map(|folder| names.iter().map(|name| folder.join(name)).find(|p| p.exists()))
}

/// What is missing for this test.
fn missing() -> Option<&'static str> {
    let modules = Path::new(TESTS).join("../../../target/view-tests/node_modules");
    if Command::new("node").arg("--version").output().is_err() {
        Some("node")
    } else if browser().is_none() {
        Some("Chromium")
    } else if !["playwright-core", "axe-core"].iter().all(|name| modules.join(name).exists()) {
        Some("playwright-core and axe-core: run engine/view/tests/install.sh")
    } else {
        None
    }
}

#[test]
fn its_parts_work_without_a_browser() {
    let Ok(output) = Command::new("node").arg(Path::new(TESTS).join("parts.mjs")).output() else {
        return writeln!(std::io::stderr(), "skipped: there is no node").unwrap();
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_page_works_in_a_browser() {
    if let Some(what) = missing() {
        // Past the harness, which swallows what tests print that pass.
        let sentence = "skipped: the page was not tested in a browser, for there is no";
        return writeln!(std::io::stderr(), "{sentence} {what}").unwrap();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("view");
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new("node")
        .arg(Path::new(TESTS).join("page.mjs"))
        .arg(env!("CARGO_BIN_EXE_tesla"))
        .arg(browser().unwrap())
        .arg(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("ok a recording needs no engine"), "{said}");
}
