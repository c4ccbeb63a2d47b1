//! Names that are no files: pipes, devices and folders get a sentence, and nobody waits for them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Engine;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What waits for somebody else, what never ends, and what holds files.
fn strangers(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    vec![
        (pipe, "a pipe"),
        (PathBuf::from("/dev/zero"), "a device"),
        (PathBuf::from("/dev/full"), "a device"),
        (folder.to_owned(), "a folder"),
    ]
}

#[test]
fn no_option_waits_for_what_is_no_file() {
    let folder = Folder::new("strange");
    for (path, kind) in strangers(&folder.0) {
        for option in ["TunablesFile", "ExperienceFile", "BookFile", "LogFile", "WeightsFile"] {
            if option == "LogFile" && kind == "a device"
                || option == "WeightsFile" && cfg!(not(feature = "net"))
            {
                // A device takes a log: `log.rs`.
                continue;
            }
            let mut engine = Engine::start();
            let mode = match option {
                "WeightsFile" => "Evaluator value Transformer",
                _ => "Search value ThreeState",
            };
            engine.send(&format!("setoption name {mode}"));
            engine.send(&format!("setoption name {option} value {}", path.display()));
            engine.send("go nodes 5");
            let said = engine.read_to("bestmove").join("\n");
            let sentence = format!("it is {kind}, not a regular file");
            assert!(said.contains(&sentence), "{option} {}: {said}", path.display());
            engine.send("quit");
            assert!(engine.exit().success(), "{option} {}", path.display());
        }
    }
    assert!(fs::metadata("/dev/zero").unwrap().len() == 0 && !Path::new("/dev/zero.lock").exists());
    let left = fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(left, 1, "only the pipe: no lock beside what is not used");
}

#[test]
fn no_book_is_waited_for() {
    let folder = Folder::new("book");
    for (path, kind) in strangers(&folder.0) {
        let mut engine = Engine::start();
        engine.send(&format!("genfens 3 seed 1 book {}", path.display()));
        engine.read_to(&format!("it is {kind}, not a regular file"));
    }
}

#[test]
fn the_null_device_keeps_no_experience_and_stays() {
    let folder = Folder::new("null");
    // Not the machine's own: should it be replaced, it is the link.
    let null = folder.0.join("null");
    symlink("/dev/null", &null).unwrap();
    let mut engine = Engine::with_search("ThreeState");
    engine.send(&format!("setoption name ExperienceFile value {}", null.display()));
    engine.send("position startpos");
    engine.send("go nodes 5");
    let said = engine.read_to("bestmove").join("\n");
    for word in ["cannot", "keeps nothing", "not a regular file"] {
        assert!(!said.contains(word), "{said}");
    }
    engine.send("quit");
    assert!(engine.exit().success());
    assert_eq!(fs::read_link(&null).unwrap(), Path::new("/dev/null"));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "and no lock beside it");
}
