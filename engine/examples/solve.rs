//! Solves a suite of test positions with the alpha-beta baseline and counts.
//!
//! `cargo run --release --example solve -- SUITE.epd [MILLISECONDS] [network]`
//!
//! Each line of the suite is an EPD with `bm` or `am` and, if it likes, `id`. With `network` the
//! search asks the classical evaluator through the batch interface, and nodes are evaluations.

#![expect(clippy::print_stdout, reason = "a program that reports to people")]

use std::error::Error;
use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::san::San;
use shakmaty::{CastlingMode, Chess, Move};
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::history::Game;
use tesla_engine::search_api::{Limits, Search, StopToken, Task};
use tesla_engine::timeman::Budget;
use tesla_nn::classical::ClassicalEvaluator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("give the suite's path")?;
    let milliseconds = arguments.get(1).map_or(Ok(1_000), |text| text.parse())?;
    let mut search = match arguments.get(2).map(String::as_str) {
        Some("network") => AlphaBeta::with_evaluator(Box::new(ClassicalEvaluator::new()), 64),
        _ => AlphaBeta::classical(64),
    };
    let (mut solved, mut asked, mut nodes, mut seconds, mut depths) = (0, 0, 0, 0.0, 0);
    for line in std::fs::read_to_string(path)?.lines().filter(|line| line.contains('m')) {
        let Some(problem) = Problem::read(line) else { continue };
        let limits =
            Limits { move_time: Some(Duration::from_millis(milliseconds)), ..Limits::default() };
        search.clear();
        let budget = Budget::new(&limits, Duration::ZERO);
        let stop = StopToken::default();
        let task = Task { game: &problem.game, limits: &limits, budget: &budget, stop: &stop };
        let outcome = search.search(&task, &mut |_| {});
        asked += 1;
        nodes += outcome.info.nodes;
        seconds += outcome.info.time.as_secs_f64();
        depths += outcome.info.depth;
        if problem.is_solved_by(outcome.best) {
            solved += 1;
        } else {
            println!("missed {line}: {} {}", outcome.best, outcome.info.score.uci());
        }
    }
    println!("{solved} of {asked} solved at {milliseconds} ms; {nodes} nodes, {seconds:.1} s");
    println!("{:.0} nodes/s", nodes as f64 / seconds);
    println!("mean depth {:.1}", f64::from(depths) / f64::from(asked));
    Ok(())
}

struct Problem {
    game: Game,
    moves: Vec<Move>,
    /// Whether the moves are to be avoided rather than played.
    avoid: bool,
}

impl Problem {
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let fen: Fen = fields.get(..4)?.join(" ").parse().ok()?;
        let position: Chess = fen.into_position(CastlingMode::Standard).ok()?;
        let index = fields.iter().position(|&field| field == "bm" || field == "am")?;
        let mut moves = Vec::new();
        for &field in &fields[index + 1..] {
            let text = field.trim_end_matches(';').trim_end_matches(['!', '?']);
            moves.extend(text.parse::<San>().ok().and_then(|san| san.to_move(&position).ok()));
            if field.ends_with(';') {
                break;
            }
        }
        let avoid = fields[index] == "am";
        (!moves.is_empty()).then(|| Self { game: Game::new(position), moves, avoid })
    }

    fn is_solved_by(&self, played: Move) -> bool {
        self.moves.contains(&played) != self.avoid
    }
}
