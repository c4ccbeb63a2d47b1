//! The experience file of `Search` = `ThreeState`, as the program uses it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::Engine;

/// A file of its own.
struct Fixture(PathBuf);

impl Fixture {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tesla-uci-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("my games.experience")
    }

    /// An engine that uses it, and what it says on that.
    fn engine(&self) -> (Engine, Vec<String>) {
        self.use_in(Engine::start())
    }

    fn use_in(&self, mut engine: Engine) -> (Engine, Vec<String>) {
        engine.send(&format!("setoption name ExperienceFile value {}", self.file().display()));
        engine.send("setoption name Search value ThreeState");
        let said = engine.ready();
        (engine, said)
    }

    /// What `tesla experience` prints, and its exit code.
    fn tool(&self, command: &str) -> (String, Option<i32>) {
        self.run(&command.split(' ').collect::<Vec<_>>())
    }

    /// The same of words that may hold spaces.
    fn run(&self, words: &[&str]) -> (String, Option<i32>) {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_tesla"));
        tool.arg("experience").arg(words[0]).arg(self.file()).args(&words[1..]);
        let output = tool.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8(text).unwrap(), output.status.code())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The line that tells how the move was chosen.
fn state(engine: &mut Engine, go: &str) -> String {
    engine.send(go);
    let read = engine.read_to("bestmove");
    let told: Vec<_> = read.iter().filter(|line| line.starts_with("info string state ")).collect();
    assert_eq!(told.len(), 1, "{read:?}");
    told[0].clone()
}

fn quit(mut engine: Engine) {
    engine.send("quit");
    assert!(engine.exit().success());
}

#[test]
fn a_later_session_knows_what_an_earlier_one_met() {
    let fixture = Fixture::new("later");
    let (mut engine, said) = fixture.engine();
    assert!(
        said.iter().any(|line| line.contains("ThreeState search; 0 positions known")),
        "{said:?}"
    );
    assert!(state(&mut engine, "go nodes 500").contains("Ignorant"));
    engine.send("ucinewgame");
    let told = state(&mut engine, "go nodes 500");
    for part in ["Uncertain", " R 0.", " economic ", " objective ", " explored ", " topology "] {
        assert!(told.contains(part), "{told}");
    }
    quit(engine);
    let (text, code) = fixture.tool("stats");
    assert_eq!(code, Some(0));
    assert!(text.contains("2 (0 won, 2 drawn, 0 lost; 2 ends estimated)"), "{text}");
    let (mut engine, said) = fixture.engine();
    assert!(said.iter().any(|line| line.contains("1 positions known")), "{said:?}");
    assert!(state(&mut engine, "go nodes 500").contains("seen 2"));
    let (text, code) =
        fixture.tool("show --fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR_w_KQkq");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("     3 "), "while it is in use: {text}");
    let (text, code) = fixture.tool("show --fen 4k3/8/8/8/8/8/8/4K2R_w_K");
    assert!(code == Some(2) && text.contains("is not in"), "{text}");
}

#[test]
fn a_damaged_file_is_told_and_kept() {
    let fixture = Fixture::new("damaged");
    let (mut engine, _) = fixture.engine();
    state(&mut engine, "go nodes 500");
    quit(engine);
    let mut bytes = std::fs::read(fixture.file()).unwrap();
    bytes[30] ^= 1;
    std::fs::write(fixture.file(), &bytes).unwrap();
    let (mut engine, said) = fixture.engine();
    assert!(said.iter().any(|line| line.contains("is damaged at byte 12")), "{said:?}");
    assert!(state(&mut engine, "go nodes 500").contains("Ignorant"), "it goes on from nothing");
    quit(engine);
    assert_eq!(std::fs::read(fixture.file()).unwrap(), bytes);
    for command in ["stats", "show", "learn --games 1"] {
        let (text, code) = fixture.tool(command);
        assert!(code == Some(2) && text.contains("is damaged at byte 12"), "{command}: {text}");
    }
    assert_eq!(std::fs::read(fixture.file()).unwrap(), bytes);
}

#[test]
fn two_processes_do_not_share_a_file() {
    let fixture = Fixture::new("shared");
    let (mut first, _) = fixture.engine();
    let (mut second, said) = fixture.use_in(Engine::beside(&first));
    assert!(said.iter().any(|line| line.contains("another process is using")), "{said:?}");
    assert!(state(&mut first, "go nodes 500").contains("Ignorant"));
    assert!(state(&mut second, "go nodes 500").contains("Ignorant"));
    quit(second);
    let (text, _) = fixture.tool("stats");
    assert!(text.contains("seen        1 times"), "{text}");
    // The lock beside the file is not all that there is.
    #[cfg(unix)]
    {
        std::fs::remove_file(fixture.0.join("my games.experience.lock")).unwrap();
        let (third, said) = fixture.use_in(Engine::beside(&first));
        assert!(said.iter().any(|line| line.contains("another process is using")), "{said:?}");
        quit(third);
    }
    quit(first);
}

/// Only the next game ends one.
#[test]
fn a_game_outlives_options() {
    let fixture = Fixture::new("outlives");
    let (mut engine, _) = fixture.engine();
    state(&mut engine, "go nodes 500");
    for option in [
        "Clear Hash",
        "Seed value 9",
        "Hash value 32",
        "BatchSize value 8",
        "Device value cpu",
        "WeightsFile value no/such",
        "KVCache value 64",
        "GPUKVCache value 64",
        "GPUStorage value f32",
        "Threads value 1",
        "Branching value 3",
        "MinimaxPruning value None",
    ] {
        engine.send(&format!("setoption name {option}"));
        assert_eq!(engine.ready(), Vec::<String>::new(), "{option}");
    }
    let (text, _) = fixture.tool("stats");
    assert!(text.contains("games       0 ("), "{text}");
    engine.send("ucinewgame");
    engine.ready();
    let (text, _) = fixture.tool("stats");
    assert!(text.contains("games       1 ("), "{text}");
    quit(engine);
}

#[test]
fn a_table_of_games_does_not_replace_the_experience() {
    let fixture = Fixture::new("replace");
    let (text, code) = fixture.tool("learn --games 2");
    assert_eq!(code, Some(0), "{text}");
    let before = std::fs::read(fixture.file()).unwrap();
    let link = fixture.0.join("again");
    std::fs::create_dir(&link).unwrap();
    let same = link.join("..").join("my games.experience");
    for command in ["stats --csv", "learn --games 3 --csv", "export --out"] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push(same.to_str().unwrap());
        let (text, code) = fixture.run(&words);
        assert_eq!(code, Some(2), "{command}: {text}");
        assert!(text.contains("holds the experience, and is not replaced"), "{text}");
        assert_eq!(std::fs::read(fixture.file()).unwrap(), before, "{command}");
    }
}

#[test]
fn learning_goes_on_where_it_stopped() {
    let fixture = Fixture::new("learn");
    let (text, code) = fixture.tool("learn --games 2");
    assert!(code == Some(0) && text.contains("\n| 2 | "), "{text}");
    let csv = fixture.0.join("games.csv");
    let (text, _) = fixture.tool(&format!("learn --games 5 --csv {}", csv.display()));
    assert!(text.contains("\n| 2 to 5 | "), "{text}");
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 1 + 5);
    let (text, code) = fixture.tool("learn --games 5 --opponent nobody");
    assert!(code == Some(2) && text.contains("the opponents are"), "{text}");
}

/// What is forgotten leaves the file when it is closed; a look at it with a smaller size does not
/// change it.
#[test]
fn the_file_holds_what_its_size_says() {
    let fixture = Fixture::new("size");
    let positions = || {
        let (text, _) = fixture.tool("stats");
        let count = text.strip_prefix("positions").unwrap().split_whitespace().next();
        count.unwrap().parse::<usize>().unwrap()
    };
    fixture.tool("learn --games 3");
    let all = positions();
    assert!(all > 20, "{all}");
    fixture.tool("learn --games 3 --size 20");
    assert_eq!(positions(), all);
    fixture.tool("learn --games 4 --size 20");
    assert!(positions() <= 20, "{}", positions());
}

#[test]
fn nothing_is_left_beside_a_file_of_something_else() {
    let fixture = Fixture::new("strange");
    std::fs::write(fixture.file(), "4k3/8/8/8/8/8/8/4K2R w K -\n").unwrap();
    let (text, code) = fixture.tool("learn --games 1");
    assert!(code == Some(2) && text.contains("is not an experience file"), "{text}");
    assert_eq!(std::fs::read_dir(&fixture.0).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn learning_that_is_stopped_says_so_by_its_exit_code() {
    let fixture = Fixture::new("stopped");
    let mut tool = Command::new(env!("CARGO_BIN_EXE_tesla"));
    tool.args(["experience", "learn", "--games", "1000000"]).arg(fixture.file());
    let child = tool.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    while std::fs::metadata(fixture.file()).map_or(0, |file| file.len()) < 1_000 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("the same command resumes"), "{text}");
}
