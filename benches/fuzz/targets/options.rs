//! Options and the file of tunables: what is taken is in range, what is refused gets a sentence.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tesla_engine::best_first::params::Params;
use tesla_engine::setup::settings::Settings;
use tesla_engine::setup::options::{Shown, uci_lines};
use tesla_engine::uci::command::Command;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut settings = Settings::default();
    for line in text.lines() {
        let Command::SetOption { name, value } = Command::parse(line) else { continue };
        // It would read a file of that name.
        if name.eq_ignore_ascii_case("TunablesFile") {
            continue;
        }
        let before = settings.clone();
        match settings.set(name, value) {
            Ok(_) => drop(settings.machine()),
            Err(problem) => {
                assert_eq!(before, settings);
                assert!(!problem.to_string().is_empty());
            }
        }
    }
    assert!(uci_lines(Shown::All).iter().all(|line| line.starts_with("option name ")));
    match Params::parse(&text, Path::new("tunables.toml")) {
        Ok(params) => {
            let file = params.to_file("");
            let again = Params::parse(&file, Path::new("tunables.toml"));
            assert_eq!(again.map_err(|problem| problem.to_string()), Ok(params));
        }
        Err(problem) => assert!(!problem.to_string().contains('\n')),
    }
});
