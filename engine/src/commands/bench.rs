//! Fixed positions, fixed nodes: the same total tells that the search has not changed.

use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};
use tesla_nn::evaluator::CacheFigures;

use crate::chess::game::Game;
use crate::console::output::Output;
use crate::search::clock::Budget;
use crate::search::{Info, Limits, Search, StopToken, Task};
use crate::setup::factory;
use crate::setup::settings::Settings;

/// One FEN per line; openings, middle games, endings and a mate in one.
const POSITIONS: &str = include_str!("../../data/bench.epd");

/// Nodes per position unless told otherwise; `OpenBench` gives a bench one minute on a busy
/// machine.
pub const DEFAULT_NODES: u64 = 1_000;

/// What a whole bench counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Over all positions. A node limit is met exactly, so this alone tells little.
    pub nodes: u64,
    /// Made of every position's score and line: it changes when the search does.
    pub signature: u64,
    /// Time spent in searches.
    pub time: Duration,
    /// What the evaluator did, where it makes positions from their parents.
    pub cache: Option<CacheFigures>,
}

impl Total {
    /// The two lines `OpenBench` reads, between the signature and the evaluator's figures.
    pub fn text(&self) -> String {
        let per_second = self.nodes as f64 / self.time.as_secs_f64().max(0.001);
        let text = format!(
            "Signature       : {:016x}\nNodes searched  : {}\nNodes/second    : {}",
            self.signature, self.nodes, per_second as u64
        );
        match &self.cache {
            Some(cache) => format!("{text}\nEvaluator       : {cache}"),
            None => text,
        }
    }
}

/// Searches every position afresh with `nodes` nodes; calls `report` with each FEN and its last
/// news. Ends early, with what it has, when `stop` is set.
pub fn run(
    search: &mut dyn Search,
    nodes: u64,
    stop: &StopToken,
    report: &mut dyn FnMut(&str, &Info),
) -> Total {
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    let mut total = Total::default();
    for (fen, position) in positions() {
        if stop.is_stopped() {
            break;
        }
        search.clear();
        let budget = Budget::new(&limits, Duration::ZERO);
        let game = Game::new(position);
        let task = Task { game: &game, limits: &limits, budget: &budget, stop };
        let outcome = search.search(&task, &mut |_| {});
        total.nodes += outcome.info.nodes;
        total.signature = signed(total.signature, &outcome.info);
        total.time += budget.elapsed();
        if let Some(cache) = outcome.cache {
            *total.cache.get_or_insert_default() += cache;
        }
        report(fen, &outcome.info);
    }
    total
}

/// FNV-1a, continued over the score, the depths and the line.
fn signed(signature: u64, info: &Info) -> u64 {
    let text =
        format!("{} {} {:?} {:?}", info.depth, info.selective_depth, info.score.uci(), info.pv);
    text.bytes().fold(signature ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The positions with their FENs.
pub fn positions() -> impl Iterator<Item = (&'static str, Chess)> {
    POSITIONS.lines().filter_map(|line| {
        let fen: Fen = line.parse().ok()?;
        Some((line, fen.into_position(CastlingMode::Standard).ok()?))
    })
}

/// Runs the bench on any search and prints a line per position; the answer is its total.
pub fn print(search: &mut dyn Search, nodes: u64, stop: &StopToken, output: &Output) -> String {
    let mut number = 0;
    let total = run(search, nodes, stop, &mut |fen, info| {
        number += 1;
        output.print(&format!(
            "{number:2}. {:>8} nodes  {:>10}  {fen}",
            info.nodes,
            info.score.uci()
        ));
    });
    if stop.is_stopped() { "info string bench was stopped".to_owned() } else { total.text() }
}

/// Runs the bench of the command line: without a network and the same on every machine, or as the
/// options' defaults have it.
///
/// # Errors
/// When the network or its device cannot be used.
pub fn command(nodes: u64, network: bool, output: &Output) -> Result<(), String> {
    let mut search = if network {
        let settings = Settings::default();
        let mut made = factory::search(&settings.machine())?;
        for note in made.notes.iter().chain([&made.description]) {
            output.info(note);
        }
        made.search.set_hash_mb(settings.hash_mb);
        made.search
    } else {
        factory::bench_search()
    };
    output.print(&print(search.as_mut(), nodes, &StopToken::default(), output));
    Ok(())
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    #[test]
    fn all_positions_can_be_searched() {
        let lines = super::POSITIONS.lines().count();
        assert_eq!(super::positions().count(), lines);
        assert!(super::positions().all(|(_, position)| !position.is_game_over()));
    }
}
