//! What the programs are built from: licences that allow it, no crate twice without a reason,
//! nothing that nobody keeps, the GPU stack once ([`built_once`]). The fuzz targets, a workspace of
//! their own, are held to the same. Asks cargo, needs no network; who adds a crate that fails here
//! either takes another one or adds a line with the reason.
//!
//! Only on Linux, because other systems build a few other crates.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "dependencies/built_once.rs"]
mod built_once;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

/// Where the two workspaces are, from here.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const FUZZ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

/// The licences that the release archives are made by.
#[derive(Deserialize)]
struct About {
    accepted: Vec<String>,
}

/// Licences that may be part of a program under GPL-3.0-or-later.
static LICENCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(Path::new(ROOT).join("packaging/about.toml")).unwrap();
    toml::from_str::<About>(&text).expect("packaging/about.toml lists the licences").accepted
});

/// What is in no program, and so may have other licences.
const FOR_FUZZING_ONLY: [(&str, &str); 2] = [
    ("libfuzzer-sys", "libFuzzer itself is under NCSA, which allows it as well"),
    ("tesla-fuzz", "the fuzz targets"),
];

/// Crates of which two incompatible versions are built, and who wants the older ones.
const TWICE: [(&str, &str); 11] = [
    ("convert_case", "derive_more and pliron, at build time"),
    ("darling", "enumset and nvml-wrapper, at build time"),
    ("darling_core", "with darling"),
    ("darling_macro", "with darling"),
    ("foldhash", "with hashbrown"),
    ("hashbrown", "text_placeholder, internment and burn, of the GPU stack"),
    ("hi_sparse_bitset", "cubecl-opt"),
    ("rustc-hash", "wgpu"),
    ("syn", "half of all derives have moved to version 3, at build time"),
    ("thiserror", "nvml-wrapper"),
    ("thiserror-impl", "with thiserror"),
];

/// Crates known to be unmaintained; by hand, as there is no advisory database offline.
const ABANDONED: [&str; 32] = [
    "adler",
    "ansi_term",
    "atty",
    "backoff",
    "bincode",
    "derivative",
    "difference",
    "dotenv",
    "encoding",
    "failure",
    "fxhash",
    "gcc",
    "instant",
    "json",
    "lazycell",
    "mach",
    "memmap",
    "net2",
    "number_prefix",
    "paste",
    "proc-macro-error",
    "rust-crypto",
    "rustls-pemfile",
    "safemem",
    "serde_yaml",
    "stdweb",
    "tempdir",
    "term_size",
    "twoway",
    "users",
    "wee_alloc",
    "yaml-rust",
];

/// Those of them that are built all the same. This list may only become shorter.
const ABANDONED_AND_BUILT: [(&str, &str); 1] =
    [("paste", "complete, runs at build time only; burn-dispatch uses it")];

/// The features of `.ci/run`'s lints, for a machine that has never built the GPU stack.
const SMALL: [&str; 3] = [
    "--no-default-features",
    "--features",
    "tesla-engine/net,tesla-engine/view,tesla-benches/net,tesla-benches/criterion",
];

/// A crate that is built.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Built {
    name: String,
    version: String,
    licence: String,
}

const WORDS: &str = "--edges normal,build --prefix none --format {p}|{l}";

/// All crates that are built for this system.
fn built() -> &'static [Built] {
    static BUILT: OnceLock<Vec<Built>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let words = format!("--locked --workspace {WORDS}");
        let small_offline = [&["--offline"], &SMALL[..]].concat();
        // Cargo may want to read manifests of crates that no build has fetched yet.
        let text = cargo_tree(ROOT, &words, &["--offline"])
            .or_else(|_| cargo_tree(ROOT, &words, &small_offline))
            .or_else(|_| cargo_tree(ROOT, &words, &SMALL));
        let found = sorted(&text.expect("cargo tells what it builds"));
        assert!(found.len() > 100, "only {} crates", found.len());
        found
    })
}

/// Those of the fuzz targets, in the versions of the workspace, as `.ci/run` checks them.
fn built_for_fuzzing() -> &'static [Built] {
    static BUILT: OnceLock<Vec<Built>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let [locked, own] = [ROOT, FUZZ].map(|folder| Path::new(folder).join("Cargo.lock"));
        std::fs::copy(locked, own).unwrap();
        let words = format!("--features data,view {WORDS}");
        let text = cargo_tree(FUZZ, &words, &["--offline"])
            .or_else(|_| cargo_tree(FUZZ, &words, &[]))
            .expect("cargo tells what it builds");
        let found = sorted(&text);
        assert!(found.iter().any(|built| built.name == "libfuzzer-sys"), "no fuzzer: {text}");
        found
    })
}

/// The crates of a tree, each once.
fn sorted(tree: &str) -> Vec<Built> {
    let mut found: Vec<Built> = tree.lines().filter_map(parsed).collect();
    found.sort();
    found.dedup();
    found
}

/// What `cargo tree` prints, or why it does not.
fn cargo_tree(folder: &str, words: &str, flags: &[&str]) -> Result<String, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .arg("tree")
        .args(words.split(' '))
        .args(flags)
        .current_dir(folder)
        .output()
        .map_err(|error| error.to_string())?;
    let [said, errors] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    if output.status.success() { Ok(said) } else { Err(errors) }
}

/// A crate from `name v1.2.3 (where from)|licence`.
fn parsed(line: &str) -> Option<Built> {
    let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let [name, version, licence] = [name, version, licence].map(str::to_owned);
    Some(Built { name, version, licence })
}

/// Whether an expression of SPDX, or one with the slashes of old, leaves a choice that is allowed.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ");
    let (mut depth, mut top) = (0, [Vec::new(), Vec::new()]);
    let mut start = [0, 0];
    for (at, letter) in licence.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        for (kind, word) in [" OR ", " AND "].into_iter().enumerate() {
            if depth == 0 && licence[at..].starts_with(word) {
                top[kind].push(&licence[start[kind]..at]);
                start[kind] = at + word.len();
            }
        }
    }
    let [choices, parts] = [0, 1].map(|kind| {
        let mut pieces = top[kind].clone();
        pieces.push(&licence[start[kind]..]);
        pieces
    });
    if choices.len() > 1 {
        return choices.into_iter().any(is_allowed);
    }
    if parts.len() > 1 {
        return parts.into_iter().all(is_allowed);
    }
    let word = licence.trim();
    match word.strip_prefix('(').and_then(|word| word.strip_suffix(')')) {
        Some(inner) => is_allowed(inner),
        None => LICENCES.iter().any(|known| known == word),
    }
}

/// What a version must share with another one to be exchanged for it.
fn major(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    let significant = parts.iter().take_while(|part| **part == "0").count() + 1;
    parts[..significant.min(parts.len())].join(".")
}

/// Crates of which there are incompatible versions.
fn twice(built: &[Built]) -> BTreeMap<&str, BTreeSet<String>> {
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for Built { name, version, .. } in built {
        versions.entry(name).or_default().insert(major(version));
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

#[test]
fn every_licence_allows_it() {
    let is_excused = |b: &&Built| FOR_FUZZING_ONLY.iter().any(|(name, _)| b.name == *name);
    let fuzzing = built_for_fuzzing().iter().filter(|b| !is_excused(b));
    let refused: Vec<&Built> =
        built().iter().chain(fuzzing).filter(|b| !is_allowed(&b.licence)).collect();
    assert!(refused.is_empty(), "not to be combined with GPL-3.0-or-later: {refused:#?}");
}

#[test]
fn no_crate_is_built_twice_without_a_reason() {
    for built in [built(), built_for_fuzzing()] {
        let mut found = twice(built);
        found.retain(|name, _| TWICE.iter().all(|(known, _)| known != name));
        assert!(found.is_empty(), "give the reason in TWICE, or build one version: {found:?}");
    }
}

#[test]
fn nothing_is_built_that_nobody_keeps() {
    let found = built().iter().chain(built_for_fuzzing()).map(|built| built.name.as_str());
    let is_new = |name: &&str| {
        let is_known = ABANDONED_AND_BUILT.iter().any(|(known, _)| known == name);
        ABANDONED.contains(name) && !is_known
    };
    let new: Vec<&str> = found.filter(is_new).collect();
    assert!(new.is_empty(), "{new:?} are no longer kept by their authors; take others");
}

#[test]
fn what_is_forbidden_is_found() {
    for allowed in [
        "MIT",
        "MIT OR Apache-2.0",
        "MIT/Apache-2.0",
        "Proprietary OR Zlib",
        "(MIT OR Proprietary) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in
        ["", "GPL-2.0", "MIT AND Proprietary", "(MIT OR ISC) AND (SSPL-1.0 OR BUSL-1.1)", "MITX"]
    {
        assert!(!is_allowed(refused), "{refused}");
    }
    let built = ["a v0.1.0|MIT", "a v0.2.9 (/x)|MIT", "b v1.0.0|MIT", "b v1.9.0 (*)|MIT"];
    let built: Vec<Built> = built.iter().filter_map(|line| parsed(line)).collect();
    assert_eq!((built.len(), twice(&built).into_keys().collect::<Vec<_>>()), (4, vec!["a"]));
    assert_eq!(["0.0.3", "0.12.1", "3.1.0"].map(major), ["0.0.3", "0.12", "3"]);
}
