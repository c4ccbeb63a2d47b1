//! Positions to measure on, and a search of one.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Info, Limits, Outcome, Search, StopToken, Task};
use tesla_nn::files::{LARGEST, read_text};

/// Which positions.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File of FENs or EPDs, a line each; the start position comes first in any case
    #[arg(long)]
    positions: Option<PathBuf>,
    /// Positions to take from the file
    #[arg(long, default_value_t = 20)]
    take: usize,
}

impl Arguments {
    /// The start position and the file's first.
    pub(crate) fn read(&self) -> Result<Vec<Chess>, Box<dyn Error>> {
        let mut positions = vec![Chess::default()];
        let Some(path) = &self.positions else { return Ok(positions) };
        let text = read_text(path, LARGEST)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for line in lines.take(self.take) {
            let mut words: Vec<&str> = line.split_whitespace().take(6).collect();
            if words.get(4).is_none_or(|word| word.parse::<u32>().is_err()) {
                words.truncate(4); // an EPD: operations follow
            }
            let fen: Fen = words.join(" ").parse().map_err(|error| format!("'{line}': {error}"))?;
            positions.push(fen.into_position(CastlingMode::Chess960)?);
        }
        Ok(positions)
    }
}

/// Searches a position afresh with so many evaluations; also the time it took.
pub(crate) fn searched(
    search: &mut dyn Search,
    nodes: u64,
    position: &Chess,
) -> (Outcome, Duration) {
    reported(search, nodes, position, &mut |_| {})
}

/// The same, telling how far it is.
pub(crate) fn reported(
    search: &mut dyn Search,
    nodes: u64,
    position: &Chess,
    report: &mut dyn FnMut(&Info),
) -> (Outcome, Duration) {
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    limited(search, &limits, position, report)
}

/// The same within other limits.
pub(crate) fn limited(
    search: &mut dyn Search,
    limits: &Limits,
    position: &Chess,
    report: &mut dyn FnMut(&Info),
) -> (Outcome, Duration) {
    search.clear();
    let budget = Budget::new(limits, Duration::ZERO);
    let (game, stop) = (Game::new(position.clone()), StopToken::default());
    let task = Task { game: &game, limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, report);
    (outcome, budget.elapsed())
}
