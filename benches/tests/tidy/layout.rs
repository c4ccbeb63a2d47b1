//! How the source is laid out: sizes, maps, clocks, floors.

use crate::paths::paths;
use crate::sources::Source;

const LINES_A_FILE: usize = 400;
const COLUMNS: usize = 100;

/// Where files are opened.
const DOOR: &str = "nn/src/files";

/// How else they could be.
const DOORS: [&str; 7] = [
    "File::open",
    "File::create",
    "File::options",
    "OpenOptions",
    "fs::read(",
    "fs::read_to_string",
    "fs::write",
];

/// What the head comment of a file that reads a clock says.
const CLOCK: &str = "Reads the clock";

/// Files whose lines may be long, and why.
const LONG: [(&str, &str); 0] = [];

/// The folders of one crate, the lowest first: a folder knows itself and those before it.
///
/// A single file at the top of a crate is a folder of its own. `lib.rs` and `main.rs` know all.
pub(crate) struct Floors {
    room: String,
    folders: Vec<String>,
}

impl Floors {
    /// In the order of the map at the head of this `lib.rs`; `None` for any other file.
    pub(crate) fn read(source: &Source) -> Option<Self> {
        let room = source.path.strip_suffix("/src/lib.rs")?.to_owned();
        let head = source.head();
        let map = &head[head.find("//! * ")?..];
        let place = |module: &&str| names_of(module).iter().filter_map(|n| map.find(n)).min();
        let declared = source.code.iter().filter_map(|line| declared(line));
        let mut placed: Vec<(usize, &str)> =
            declared.filter_map(|module| Some((place(&module)?, module))).collect();
        placed.sort_unstable();
        let folders = placed.into_iter().map(|(_, module)| module.to_owned()).collect();
        Some(Self { room, folders })
    }

    fn height(&self, name: &str) -> Option<usize> {
        self.folders.iter().position(|folder| folder == name)
    }
}

pub(crate) fn long_file(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let sentence = || format!("{}: {lines} lines, at most {LINES_A_FILE}", source.path);
    (lines > LINES_A_FILE).then(sentence).into_iter().collect()
}

pub(crate) fn long_lines(source: &Source) -> Vec<String> {
    if LONG.iter().any(|(path, _)| source.path == *path) {
        return Vec::new();
    }
    let numbered = (1..).zip(source.text.lines());
    let widths = numbered.map(|(number, line): (usize, _)| (number, line.chars().count()));
    let long = widths.filter(|(_, width)| *width > COLUMNS);
    long.map(|(number, width)| format!("{}:{number}: {width} columns", source.path)).collect()
}

/// Modules that the head comment of their `lib.rs` or `main.rs` does not name.
pub(crate) fn modules_off_the_map(source: &Source) -> Vec<String> {
    if !source.module().is_some_and(|(_, modules)| modules.is_empty()) {
        return Vec::new();
    }
    let head = source.head();
    let names = |module: &str| names_of(module).iter().any(|word| head.contains(word));
    let modules = source.code.iter().filter_map(|line| declared(line));
    let missing = modules.filter(|module| !names(module));
    missing.map(|module| format!("{}: the map leaves out `{module}`", source.path)).collect()
}

/// How a map names a module.
fn names_of(module: &str) -> [String; 2] {
    [format!("`{module}`"), format!("`mod@{module}`")]
}

/// The module that a line declares.
fn declared(line: &str) -> Option<&str> {
    let words = line.trim().strip_suffix(';')?;
    let name = words.strip_prefix("mod ").or_else(|| words.split_once(" mod ").map(|(_, n)| n))?;
    Some(name.trim())
}

pub(crate) fn clocks(source: &Source) -> Vec<String> {
    let reads = |line: &String| line.contains("Instant::now") || line.contains("SystemTime::now");
    let does = source.code.iter().any(reads);
    let says = source.head().contains(CLOCK);
    let is_test = source.code.is_empty();
    let sentence = match (does, says) {
        (true, false) => format!("{}: reads a clock, its head does not say {CLOCK:?}", source.path),
        (false, true) if !is_test => format!("{}: says {CLOCK:?}, but does not", source.path),
        _ => return Vec::new(),
    };
    vec![sentence]
}

/// Files that are opened otherwise than through the one module that refuses pipes and devices.
pub(crate) fn other_doors(source: &Source) -> Vec<String> {
    if source.path.starts_with(DOOR) || source.module().is_none() {
        return Vec::new();
    }
    let is_whole = |line: &str, at: usize| !line[..at].ends_with(char::is_alphanumeric);
    let is_door =
        |line: &str, door: &str| line.match_indices(door).any(|(at, _)| is_whole(line, at));
    let numbered = (1..).zip(&source.code);
    let opens = numbered.filter(|(_, line): &(usize, _)| DOORS.iter().any(|d| is_door(line, d)));
    let sentence = |(number, line): (usize, &String)| {
        format!("{}:{number}: goes past tesla_nn::files: {}", source.path, line.trim())
    };
    opens.map(sentence).collect()
}

/// Uses of a folder that lies above the file's own.
pub(crate) fn climbs(source: &Source, crates: &[Floors]) -> Vec<String> {
    let Some((room, modules)) = source.module() else { return Vec::new() };
    let Some(floors) = crates.iter().find(|floors| floors.room == room) else { return Vec::new() };
    let Some(own) = modules.first() else { return Vec::new() };
    let here = floors.height(own);
    let mut found = Vec::new();
    for (line, path) in paths(source) {
        // What has no place at all is told once, by `modules_off_the_map`.
        let Some(name) = path.get(1) else { continue };
        let there = floors.height(name);
        if name != own && here.is_some() && there.is_some() && there > here {
            let (file, number, line) = (&source.path, line + 1, source.code[line].trim());
            found.push(format!("{file}:{number}: `{own}` knows `{name}` above it: {line}"));
        }
    }
    found
}
