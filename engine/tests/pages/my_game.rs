//! `docs/my-game.md` does what it says, command by command, as it stands there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The page's code blocks: fenced ones, and the commands of indented ones.
struct Page {
    pgn: String,
    commands: Vec<String>,
}

fn page() -> Page {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/my-game.md");
    let text = fs::read_to_string(path).unwrap();
    let pgn = text.split("```pgn\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    let mut commands: Vec<String> = Vec::new();
    let is_open = |command: &String| command.matches('\'').count() % 2 == 1;
    for line in text.lines().filter_map(|line| line.strip_prefix("    ")) {
        match commands.last_mut() {
            Some(last) if is_open(last) => {
                last.push('\n');
                last.push_str(line);
            }
            _ if line.starts_with("tesla ") || line.starts_with("echo ") => {
                commands.push(line.to_owned());
            }
            _ => {}
        }
    }
    assert!(!commands.iter().any(is_open), "{commands:?}");
    Page { pgn, commands }
}

/// A folder with the game, and the program in the path.
fn folder(pgn: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tesla-my-game-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("game.pgn"), pgn).unwrap();
    folder
}

fn run(command: &str, folder: &Path) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_tesla")).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path);
    shell.output().unwrap()
}

#[test]
#[cfg(unix)]
fn every_command_of_the_page_works() {
    let Page { pgn, commands } = page();
    let folder = folder(&pgn);
    assert!(commands.len() >= 6, "{commands:?}");
    for command in &commands {
        let output = run(command, &folder);
        let said = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}\n{said}");
        if command.starts_with("tesla review") {
            assert!(text.contains("blunders\nWhite"), "{command}\n{text}");
            assert!(text.contains("? lost ") || text.contains("?! lost "), "{command}\n{text}");
        } else {
            let value: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
            assert_eq!(value["root"]["moves"].as_array().unwrap().len(), 3, "{text}");
        }
    }
    let annotated = fs::read_to_string(folder.join("annotated.pgn")).unwrap();
    assert!(annotated.contains("[%eval ") && annotated.contains(" was better"), "{annotated}");
    let epd = fs::read_to_string(folder.join("mistakes.epd")).unwrap();
    assert!(epd.lines().count() >= 1 && epd.lines().all(|line| line.contains(" bm ")), "{epd}");
    fs::remove_dir_all(folder).unwrap();
}
