//! The quick start ends with a network, figures, a match and a page; and resumes.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
mod program;

use std::fs;

use program::{Scratch, complaint, done};

const LINE: &str = "quickstart --teacher own --games 24 --steps 6 --match-games 2";

#[test]
fn it_makes_and_measures_a_network_and_resumes() {
    let scratch = Scratch::new("quickstart");
    let out = scratch.join("q");
    let said = done(LINE, &["--out", &out]);
    for step in 1..=7 {
        assert!(said.contains(&format!("\n{step}/7 ")), "{said}");
    }
    assert!(said.contains("tesla-train datagen") && said.contains("WeightsFile value"), "{said}");
    assert!(said.contains("held-out positions it explains"), "{said}");
    let page = fs::read_to_string(scratch.0.join("q/report.html")).unwrap();
    assert!(page.contains("untrained") && page.contains("Minimax"));
    let games = fs::read(scratch.0.join("q/match/results.jsonl")).unwrap();

    let again = done(LINE, &["--out", &out]);
    assert!(!again.contains("2/7") && again.contains("7/7"), "{again}");
    assert_eq!(fs::read(scratch.0.join("q/match/results.jsonl")).unwrap(), games);

    let page = fs::read(scratch.0.join("q/report.html")).unwrap();
    for (numbers, changed) in [("--games 24", "--games 30"), ("--steps 6", "--steps 7")] {
        let said = complaint(&LINE.replace(numbers, changed), &["--out", &out]);
        let begun = LINE.strip_prefix("quickstart ").unwrap();
        assert!(said.contains(&format!("was begun with {begun}")), "{said}");
    }
    assert_eq!(fs::read(scratch.0.join("q/report.html")).unwrap(), page);
    fs::remove_file(scratch.0.join("q/options.txt")).unwrap();
    let said = complaint(LINE, &["--out", &out]);
    assert!(said.contains("choose another folder"), "{said}");

    let other = complaint("quickstart --teacher no-such-engine", &["--out", &scratch.join("x")]);
    assert!(other.contains("there is no such program"), "{other}");
}
