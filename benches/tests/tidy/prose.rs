//! The pages: how long the main ones are, and whether what they name is there.

use std::path::Path;

use crate::sources::{files, root};

/// Pages that must stay short, and their lines at most.
const SHORT: [(&str, usize); 3] =
    [("README.md", 90), ("ARCHITECTURE.md", 170), ("docs/glossary.md", 30)];

/// Pages whose every path must exist, not only their links.
const MAPS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Where a path on a map may begin, besides at the root.
const BASES: [&str; 5] = ["", "engine/src", "nn/src", "training/src", "benches"];

pub(crate) fn long_pages() -> Vec<String> {
    let pages = files(&[".md"]);
    let lines = |page: &str| {
        pages.iter().find(|(path, _)| path == page).map(|(_, text)| text.lines().count())
    };
    let sentence = |(page, most): (&str, usize)| match lines(page) {
        None => Some(format!("{page} is missing")),
        Some(count) => (count > most).then(|| format!("{page}: {count} lines, at most {most}")),
    };
    SHORT.into_iter().filter_map(sentence).collect()
}

/// Places that exist on one machine only.
pub(crate) fn machine_paths() -> Vec<String> {
    let places = ["root", "work", "home"].map(|folder| format!("/{folder}/"));
    let mut found = Vec::new();
    for (path, text) in files(&[".rs", ".md", ".toml", ".py", ".sh", ".json", "Makefile"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let is_path = |place: &String| {
                let before = line.split(place.as_str()).next().unwrap_or_default();
                before.len() < line.len()
                    && !before.ends_with(|c: char| c.is_alphanumeric() || ".-_".contains(c))
            };
            let number: usize = number;
            if places.iter().any(is_path) {
                found.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    found
}

/// Links that lead nowhere, and paths on the maps that do not exist.
pub(crate) fn dead_paths() -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files(&[".md"]) {
        let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
        let is_map = MAPS.contains(&path.as_str());
        for (number, line) in (1..).zip(text.lines()) {
            let number: usize = number;
            let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            let files = links.map(|(link, _)| link.split('#').next().unwrap_or_default());
            for link in files.filter(|link| !link.is_empty() && !link.contains("://")) {
                if !root().join(folder).join(link).exists() {
                    found.push(format!("{path}:{number}: the link {link} leads nowhere"));
                }
            }
            let spans = line.split('`').skip(1).step_by(2).filter(|span| is_map && is_path(span));
            let dead = spans.filter(|span| !exists(span));
            found.extend(dead.map(|span| format!("{path}:{number}: there is no {span}")));
        }
    }
    found
}

/// Files of this repository that something names, from its root, and that do not exist.
///
/// Results are left out: they keep the commands of their day.
pub(crate) fn rotten_paths() -> Vec<String> {
    const FOLDERS: [&str; 6] = ["engine/", "nn/", "training/", "benches/", "docs/", "models/"];
    const ENDINGS: [&str; 6] = [".rs", ".md", ".py", ".sh", ".toml", ".uci"];
    let is_here = |path: &String| !path.starts_with("benches/results/");
    let pages = files(&[".rs", ".md", ".py", ".sh", ".toml", ".uci", ".ci/run", "Makefile"]);
    let mut found = Vec::new();
    for (path, text) in pages.into_iter().filter(|(path, _)| is_here(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            let number: usize = number;
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
            let words = line.split(|c| !is_part(c)).map(|word| word.trim_end_matches('.'));
            let named = words.filter(|word| {
                FOLDERS.iter().any(|folder| word.starts_with(folder))
                    && ENDINGS.iter().any(|ending| word.ends_with(ending))
            });
            let rotten = named.filter(|word| !root().join(word).exists());
            found.extend(rotten.map(|word| format!("{path}:{number}: there is no {word}")));
        }
    }
    found
}

/// Whether a piece of code in a page is the name of a file or folder.
fn is_path(span: &str) -> bool {
    const ENDINGS: [&str; 7] = [".rs", ".md", ".py", ".sh", ".toml", ".epd", ".uci"];
    let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let is_option = span.starts_with('-') || span.starts_with("target/") || span.contains("..");
    let is_file = ENDINGS.iter().any(|ending| span.ends_with(ending));
    is_plain && !is_option && (is_file || (span.contains('/') && span.len() > 1))
}

fn exists(span: &str) -> bool {
    BASES.iter().any(|base| root().join(base).join(span).exists())
}
