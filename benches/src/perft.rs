//! Perft over a file: every position, every depth within a bound.
//!
//! Reads the clock: it reports lines a second.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};
use tesla_engine::commands::perft::{PerftLine, perft};
use tesla_nn::files::{LARGEST, read_text};

/// Counts what the file claims, up to `max_nodes` per entry, and prints a summary.
///
/// # Errors
/// When the file cannot be read, a line is not of its form, or a count differs.
pub(crate) fn run(file: &Path, max_nodes: u64) -> Result<(), Box<dyn Error>> {
    let text = read_text(file, LARGEST)?;
    let started = Instant::now();
    let (mut positions, mut counts, mut nodes, mut wrong) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let entry = PerftLine::parse(line).ok_or_else(|| unreadable(index))?;
        let fen: Fen = entry.fen.parse().map_err(|_| unreadable(index))?;
        let mode = CastlingMode::detect(fen.as_setup());
        let position: Chess = fen
            .into_position(mode)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .or_else(shakmaty::PositionError::ignore_impossible_check)
            .map_err(|_| unreadable(index))?;
        positions += 1;
        for (depth, expected) in entry.counts.into_iter().filter(|&(_, count)| count <= max_nodes) {
            let found = perft(&position, depth);
            counts += 1;
            nodes += found;
            if found != expected {
                wrong += 1;
                println!("line {}, depth {depth}: {found}, expected {expected}", index + 1);
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{positions} positions, {counts} counts, {nodes} lines in {seconds:.1} s \
         ({:.1} million per second), {wrong} wrong",
        nodes as f64 / seconds.max(0.001) / 1e6
    );
    if wrong > 0 { Err("the move generator is wrong".into()) } else { Ok(()) }
}

fn unreadable(index: usize) -> String {
    format!("line {}: not of the form FEN ;D1 20 ;D2 400", index + 1)
}
