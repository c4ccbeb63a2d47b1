//! Where a page comes from: what was measured when and where, and what made the page.
//!
//! Reads the clock for the day on the page.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use super::heads::Program;
use super::sources::{Sources, Span};
use crate::console::machine::machine;
use crate::disk::day::day;

/// From one day to another, or one day.
pub(super) fn days((from, to): Span) -> String {
    let [from, to] = [from, to].map(|at| day(at, "-"));
    if from == to { from } else { format!("{from} to {to}") }
}

#[expect(clippy::disallowed_methods, reason = "the day on the page, for people")]
fn today() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    day(now.as_secs(), "-")
}

/// Sentences for the top of the page. `counted` is what was found, in words.
pub(super) fn lines(sources: &Sources, counted: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let measured = sources.measured.map(days);
    lines.push(match measured {
        Some(days) => format!("Measured {days}: {counted}."),
        None => format!("From {counted}."),
    });
    let [networks, engines] = programs(sources);
    for (what, names) in [("Networks", networks), ("Other engines", engines)] {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            lines.push(format!("{what}: {}.", names.join("; ")));
        }
    }
    if !sources.machines.is_empty() {
        let machines: Vec<&str> = sources.machines.iter().map(String::as_str).collect();
        lines.push(format!("Games played on {}.", machines.join("; ")));
    }
    let version = env!("CARGO_PKG_VERSION");
    lines.push(format!("Page made {} by tesla-train {version} on {}.", today(), machine()));
    lines
}

/// Networks and other engines that were measured, by name.
fn programs(sources: &Sources) -> [BTreeSet<String>; 2] {
    let played = sources.matches.iter().flat_map(|played| &played.programs);
    let programs = played.chain(sources.suites.iter().map(|one| &one.program));
    let programs = programs.chain(sources.tuned.iter().map(|one| &one.program));
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    for Program { network, engine, .. } in programs {
        let network = network.as_ref().map(|text| text.trim_start_matches("network ").to_owned());
        names[0].extend(network);
        names[1].extend(engine.as_deref().map(short));
    }
    names[0].extend(sources.networks.iter().map(|(_, figures)| figures.network.clone()));
    names
}

/// An engine's name with the beginning of its program's hash.
fn short(engine: &str) -> String {
    match engine.split_once(", sha256 ") {
        Some((name, hashes)) => {
            // Those of the files that it is given follow.
            let hash = hashes.split(',').next().unwrap_or(hashes);
            format!("{name} ({})", hash.get(..8).unwrap_or(hash))
        }
        None => engine.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_when_it_was_measured() {
        assert_eq!(short("Stockfish 15.1, sha256 af67e5f96d92"), "Stockfish 15.1 (af67e5f9)");
        assert_eq!([short("A, sha256 b, Net c"), short("A, b")], ["A (b)", "A, b"]);
        assert_eq!(days((86_400, 86_401)), "1970-01-02");
        assert_eq!(days((0, 86_400)), "1970-01-01 to 1970-01-02");
        let sources = Sources { measured: Some((0, 5)), ..Sources::default() };
        let lines = lines(&sources, "1 match");
        assert_eq!(lines[0], "Measured 1970-01-01: 1 match.");
        assert!(lines[1].contains(&machine()) && lines.len() == 2, "{lines:?}");
    }
}
