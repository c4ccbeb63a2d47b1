//! Test suites (EPD, CSV) and opening books (EPD, PGN): any text is read or gets a sentence.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tesla_training::game::openings::{Book, BookOptions};
use tesla_training::suite::{self, Options};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("tesla-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the files");
    folder
});

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    let is_odd = kind & 4 != 0;
    match kind & 3 {
        0 => read("suite.epd", data, is_odd),
        1 => read("puzzles.csv", data, is_odd),
        2 => book("book.epd", data, is_odd),
        _ => book("book.pgn", data, is_odd),
    }
});

fn read(name: &str, data: &[u8], lenient: bool) {
    let path = FOLDER.join(name);
    fs::write(&path, data).expect("the file");
    if let Err(problem) = suite::read(&path, &Options { lenient, ..Options::default() }) {
        assert!(!problem.to_string().is_empty());
    }
}

fn book(name: &str, data: &[u8], chess960: bool) {
    let options = BookOptions { chess960, plies: Some(8), ..BookOptions::default() };
    match Book::parse(Path::new(name), data, &options) {
        Ok(book) => assert!(!book.openings().is_empty()),
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}
