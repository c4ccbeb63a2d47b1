//! No page shows a command line that this program would refuse.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod commands;
mod my_game;

use std::process::Command;

use commands::commands_of;

/// What the program says against a command line, up to and without doing it.
fn refusal(words: &[String]) -> Option<String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tesla"));
    // The words before `--help` are read, and what is wrong with them comes first.
    let output = program.args(&words[1..]).arg("--help").output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_commands_of_the_pages_are_understood() {
    let commands = commands_of("tesla");
    // A word with spaces is a line of UCI.
    let commands: Vec<_> = commands
        .iter()
        .filter(|command| !command.words.iter().any(|w| w.starts_with("genfens")))
        .collect();
    assert!(commands.len() >= 10, "{commands:?}");
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            let refused = refusal(&command.words)?;
            Some(format!("{}: {}\n{refused}", command.page, command.words.join(" ")))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let stale = ["tesla", "perft", "4", "--speed"].map(str::to_owned);
    assert!(refusal(&stale).is_some(), "an option that is gone must be refused");
}
