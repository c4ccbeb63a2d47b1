//! Conversations in `tests/data/*.uci`: `>` is sent, `<` is expected somewhere in the lines that
//! come next, `=` is expected in the very next line, `!` must not come before the next `<`, `#` is
//! for the reader.

use std::fs;

use crate::process::Engine;

#[test]
fn conversations() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "uci") {
            play(&path.display().to_string(), &fs::read_to_string(&path).unwrap());
            files += 1;
        }
    }
    assert!(files >= 16, "only {files} files in {folder}");
}

/// Part 8 of seed 000, as the page plays it.
#[test]
fn the_example_games_of_the_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/three-state.md");
    let text = fs::read_to_string(page).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
    let lines: Vec<&str> =
        lines.filter(|line| line.starts_with("> ") || line.starts_with("< ")).collect();
    assert!(lines.len() > 40, "{lines:?}");
    play(page, &lines.join("\n"));
}

fn play(name: &str, conversation: &str) {
    let mut engine = Engine::start();
    let mut unwanted: Vec<&str> = Vec::new();
    for (number, line) in conversation.lines().enumerate() {
        let text = line.get(1..).unwrap_or("").trim();
        match line.chars().next() {
            Some('>') => engine.send(text),
            Some('<') => {
                let read = engine.read_to(text);
                for unwanted in unwanted.drain(..) {
                    let found = read.iter().find(|line| line.contains(unwanted));
                    assert_eq!(found, None, "{name}:{}: '{unwanted}' came", number + 1);
                }
            }
            Some('!') => unwanted.push(text),
            Some('=') => {
                let next = engine.next_line();
                assert!(next.contains(text), "{name}:{}: '{text}' is not in '{next}'", number + 1);
            }
            Some('#') | None => {}
            Some(_) => panic!("{name}:{}: a line starts with > < = ! or #", number + 1),
        }
    }
    assert_eq!(engine.ready(), Vec::<String>::new(), "{name}: something is left over");
    engine.send("quit");
    assert!(engine.exit().success(), "{name}");
}
