//! The repository's files, and what of a Rust file is code that ships.

use std::fs;
use std::path::{Path, PathBuf};

/// One Rust file.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text without its tests and comments, line by line; empty in files that are all test.
    pub(crate) code: Vec<String>,
}

impl Source {
    pub(crate) fn new(path: String, text: String, is_test: bool) -> Self {
        let code = if is_test { Vec::new() } else { shipped(&text) };
        Self { path, text, code }
    }

    /// The comment at the top, which says what the file is.
    pub(crate) fn head(&self) -> String {
        let lines = self.text.lines().take_while(|line| line.starts_with("//!"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The crate's folder, and the modules that lead to this file; none outside of `src`.
    pub(crate) fn module(&self) -> Option<(&str, Vec<&str>)> {
        let (room, inside) = self.path.split_once("/src/")?;
        let mut modules: Vec<&str> = inside.strip_suffix(".rs")?.split('/').collect();
        if modules == ["lib"] || modules == ["main"] {
            modules.clear();
        }
        Some((room, modules))
    }
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// All files with one of these endings, by path.
pub(crate) fn files(endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit(&root(), &mut |path| {
        let name = path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let is_wanted = endings.iter().any(|ending| name.ends_with(ending));
        if let (true, Ok(text)) = (is_wanted, fs::read_to_string(path)) {
            found.push((name, text));
        }
    });
    found.sort();
    found
}

/// Every file of the checkout, without what is built, hidden or ignored.
fn visit(folder: &Path, meet: &mut dyn FnMut(&Path)) {
    const IGNORED: [&str; 4] = ["target", "runs", "artifacts", "corpus"];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || IGNORED.contains(&name.as_str()) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            visit(&path, meet);
        } else {
            meet(&path);
        }
    }
}

pub(crate) fn sources() -> Vec<Source> {
    let files = files(&[".rs"]);
    let tests: Vec<String> =
        files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let read = |(path, text): (String, String)| {
        let is_test = path.contains("/tests/") || tests.contains(&path);
        Source::new(path, text, is_test)
    };
    files.into_iter().map(read).collect()
}

/// Files that a file declares behind `#[cfg(test)]`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs")) => folder.to_string(),
        _ => path.trim_end_matches(".rs").to_string(),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test = |pair: &&[&str]| pair[0] == "#[cfg(test)]";
    let name = |pair: &[&str]| Some(pair[1].split_once("mod ")?.1.strip_suffix(';')?.to_string());
    let named = lines.windows(2).filter(is_test).filter_map(name);
    named.map(|name| format!("{folder}/{name}.rs")).collect()
}

/// The lines of a formatted file, blank where they are comments or inside `#[cfg(test)]`.
fn shipped(text: &str) -> Vec<String> {
    let mut test: Option<usize> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        if code.trim() == "#[cfg(test)]" {
            test = Some(indent);
        }
        lines.push(if test.is_some() { String::new() } else { code.to_string() });
        if test == Some(indent) && ends_an_item(code) {
            test = None;
        }
    }
    lines
}

/// Whether a line at an item's own indentation is its last one.
fn ends_an_item(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(';') || line.trim_start().starts_with('}')
}
