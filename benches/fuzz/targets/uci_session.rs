//! Whole sessions: the lines go to the front end and its search thread, in every search mode.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesla_engine::console::output::Output;
use tesla_engine::setup::options::Shown;
use tesla_engine::uci;

/// Words that name files, or work that the end of the input does not end.
const LEFT_OUT: [&str; 7] = ["bench", "perft", "genfens", "file", "syzygypath", "hash", "kvcache"];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut script =
        "setoption name Evaluator value Classical\nsetoption name Hash value 1\n".to_owned();
    for line in text.lines().take(20) {
        let small = line.to_ascii_lowercase();
        if LEFT_OUT.iter().all(|word| !small.contains(word)) {
            script.push_str(line);
            script.push('\n');
        }
    }
    let _ = uci::run(script.as_bytes(), &Output::new(Box::new(std::io::sink())), Shown::All);
});
