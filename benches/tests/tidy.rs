//! The rules of this repository that neither the compiler nor clippy checks, read from its text.
//!
//! * [`sources`] — the files, and what of each is code;
//! * [`layout`] — file length, line length, maps of crates, clocks, who opens files, which folder
//!   knows which;
//! * [`circles`] — files that use each other; [`paths`] — the paths that a file names;
//! * [`prose`] — length of the main pages, and whether the paths they name exist.
//!
//! Every test prints all violations, a line each, so that one run is enough to mend them.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/paths.rs"]
mod paths;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/sources.rs"]
mod sources;

use sources::{Source, sources};

/// Fails with all of them, if there are any.
fn check(violations: &[String]) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

fn check_each(rule: fn(&Source) -> Vec<String>) {
    let violations: Vec<String> = sources().iter().flat_map(rule).collect();
    check(&violations);
}

#[test]
fn what_is_forbidden_is_found() {
    let text = [
        "//! Head.",
        "use crate::{",
        "    chess::game,",
        "    uci,",
        "};",
        "use super::super::setup;",
        "fn f() {",
        "    std::time::Instant::now();",
        "    std::fs::read(path);",
        "}",
        "#[cfg(test)]",
        "mod tests {",
        "    use crate::commands;",
        "}",
    ];
    let text = text.join("\n");
    let source = Source::new("engine/src/tree/node.rs".to_owned(), text, false);
    let map = "//! * [`chess`];\n//! * [`mod@tree`]; `setup`, [`uci`] with `tree`.\nmod chess;\n\
               pub mod setup;\nmod tree;\nmod uci;\nmod unmapped;\n";
    let map = Source::new("engine/src/lib.rs".to_owned(), map.to_owned(), false);
    let climbs = layout::climbs(&source, &[layout::Floors::read(&map).unwrap()]);
    assert_eq!(climbs.len(), 2, "{climbs:?}");
    assert_eq!(layout::clocks(&source).len(), 1);
    assert_eq!(layout::other_doors(&source).len(), 1);
    assert!(layout::long_lines(&source).is_empty() && layout::long_file(&source).is_empty());
    let text = format!("//! * [`a`] — here.\nmod a;\npub mod b;\n// {}\n", "x".repeat(98));
    let map = Source::new("nn/src/lib.rs".to_owned(), text.repeat(101), false);
    assert_eq!(layout::modules_off_the_map(&map).len(), 101);
    assert_eq!(layout::long_lines(&map).len(), 101);
    assert_eq!(layout::long_file(&map).len(), 1);
}

#[test]
fn files_are_short() {
    check_each(layout::long_file);
}

#[test]
fn lines_are_short() {
    check_each(layout::long_lines);
}

#[test]
fn every_module_is_on_its_crates_map() {
    check_each(layout::modules_off_the_map);
}

#[test]
fn clocks_are_read_where_the_file_says_so() {
    check_each(layout::clocks);
}

#[test]
fn files_are_opened_in_one_place() {
    check_each(layout::other_doors);
}

#[test]
fn folders_know_only_those_below_them() {
    let sources = sources();
    let crates: Vec<layout::Floors> = sources.iter().filter_map(layout::Floors::read).collect();
    assert_eq!(crates.len(), 4, "nn, its tiles, engine and training have a map");
    let climbs = |source: &Source| layout::climbs(source, &crates);
    check(&sources.iter().flat_map(climbs).collect::<Vec<_>>());
}

#[test]
fn no_files_use_each_other() {
    let file = |path: &str, text: &str| Source::new(path.to_owned(), text.to_owned(), false);
    let mut files = vec![
        file("a/src/lib.rs", "mod b;\nmod c;"),
        file("a/src/b.rs", "mod d;\nuse crate::c::{X, Y};\nuse self::d::Z;"),
        file("a/src/b/d.rs", "use super::W;"),
        file("a/src/c.rs", "use std::fs;\n"),
    ];
    assert_eq!(circles::circles(&files), Vec::<String>::new());
    files[3] = file("a/src/c.rs", "use crate::{e, b::{d::Z, W}};\n");
    assert_eq!(circles::circles(&files), ["files that use each other: a/src/b.rs, a/src/c.rs"]);
    check(&circles::circles(&sources()));
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    check(&prose::machine_paths());
}

#[test]
fn main_pages_are_short() {
    check(&prose::long_pages());
}

#[test]
fn links_and_paths_in_the_pages_exist() {
    check(&prose::dead_paths());
}

#[test]
fn files_that_are_named_exist() {
    check(&prose::rotten_paths());
}
