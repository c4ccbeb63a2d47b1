//! `tesla-train match`: the command line over a match file or over the defaults.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tesla_engine::console::terminal::INTERRUPTED;
use tesla_engine::search::StopToken;

use crate::game::adjudicate::{DrawRule, ResignRule};
use crate::game::limit::{Limit, TimeControl};
use crate::matches::config::{BookOrder, MatchConfig, SprtConfig};
use crate::matches::plan::Tournament;
use crate::matches::runner::MatchError;
use crate::matches::{report, runner};
use crate::players::peer::Fault;
use crate::players::side;

/// The command line of a match.
#[derive(Debug, Args)]
pub struct MatchArgs {
    /// A side, as key=value words: name (first), cmd, arg, dir, restart, nodes, depth, movetime,
    /// tc, option.NAME; without cmd it is ours. Say --side once or for each.
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE")]
    side: Vec<String>,
    /// Folder for results.jsonl, games.pgn, report.md and transcripts of failures.
    #[arg(long)]
    out: PathBuf,
    /// A match written down in TOML; the options here override it.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Games at once; results of our own sides do not depend on it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Games of each pairing; an odd number is rounded up [default: 100].
    #[arg(long)]
    games: Option<u64>,
    /// Who meets whom [default: round-robin].
    #[arg(long, value_enum)]
    tournament: Option<Tournament>,
    /// Opening book, EPD, FEN or PGN; each opening is played with both colours [default: the start
    /// position].
    #[arg(long)]
    openings: Option<PathBuf>,
    /// In which order openings are taken [default: random].
    #[arg(long, value_enum)]
    order: Option<BookOrder>,
    /// Seed of the order [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    /// Openings to skip at the start of that order.
    #[arg(long)]
    skip: Option<u64>,
    /// Longest part of a PGN game that is taken as opening, plies [default: 16].
    #[arg(long)]
    plies: Option<usize>,
    /// Play Chess960.
    #[arg(long)]
    chess960: bool,
    /// Evaluations or nodes a move, for sides without a limit of their own.
    #[arg(long)]
    nodes: Option<u64>,
    /// Depth in plies, likewise.
    #[arg(long)]
    depth: Option<u32>,
    /// Seconds a move, likewise.
    #[arg(long)]
    movetime: Option<f64>,
    /// Clock, likewise: seconds + increment as in 10+0.1, or 40/60+0.6.
    #[arg(long)]
    tc: Option<TimeControl>,
    /// Draw when both sides see an even game: movenumber=40,movecount=8,score=10.
    #[arg(long)]
    draw: Option<DrawRule>,
    /// Lost when a side sees it lost: movecount=4,score=600,twosided=true.
    #[arg(long)]
    resign: Option<ResignRule>,
    /// Draw after so many moves of each side.
    #[arg(long)]
    max_moves: Option<u32>,
    /// What a clock may be overrun by, ms [default: 50].
    #[arg(long)]
    margin: Option<u64>,
    /// How long an engine is waited for beyond its time, or for a move without time, seconds
    /// [default: 60].
    #[arg(long)]
    patience: Option<u64>,
    /// Stop as soon as the result is clear: elo0=0,elo1=5 and, if wanted, alpha=0.05, beta=0.05,
    /// model=normalized or logistic.
    #[arg(long)]
    sprt: Option<SprtConfig>,
}

impl MatchArgs {
    fn over(&self, base: MatchConfig) -> Result<MatchConfig, Box<dyn std::error::Error>> {
        let limit =
            Limit { nodes: self.nodes, depth: self.depth, tc: self.tc, movetime: self.movetime };
        let sides = side::parse_sides(&self.side)?;
        Ok(MatchConfig {
            tournament: self.tournament.unwrap_or(base.tournament),
            games: self.games.unwrap_or(base.games),
            openings: self.openings.clone().or(base.openings),
            order: self.order.unwrap_or(base.order),
            seed: self.seed.unwrap_or(base.seed),
            skip: self.skip.unwrap_or(base.skip),
            plies: self.plies.or(base.plies),
            chess960: self.chess960 || base.chess960,
            limit: limit.or(base.limit),
            draw: self.draw.or(base.draw),
            resign: self.resign.or(base.resign),
            max_moves: self.max_moves.or(base.max_moves),
            margin_ms: self.margin.unwrap_or(base.margin_ms),
            patience_s: self.patience.unwrap_or(base.patience_s),
            sprt: self.sprt.or(base.sprt),
            side: if sides.is_empty() { base.side } else { sides },
        }
        .complete()?)
    }
}

/// Plays the match and prints its tables.
///
/// # Errors
/// When it cannot begin or go on; what was played is on disk.
pub fn run(
    args: &MatchArgs,
    interrupted: &StopToken,
    say: &dyn Fn(&str),
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let base = match &args.config {
        Some(path) => MatchConfig::read(path)?,
        None => MatchConfig::default(),
    };
    let config = args.over(base)?;
    let is_timed = config.side.iter().any(|side| side.limit.is_timed());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if is_timed && usize::from(args.concurrency) > cores {
        say(&format!(
            "{} games at once by time on {cores} cores: the sides will be short of time",
            args.concurrency
        ));
    }
    let outcome = runner::run(&config, &args.out, usize::from(args.concurrency), interrupted, say);
    let finished = match outcome {
        Err(MatchError::Engine(error)) if error.fault == Fault::Interrupted => {
            say("stopped before the first game");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        other => other?,
    };
    let tables = report::tables(&config, &finished);
    std::fs::write(args.out.join("report.md"), &tables)?;
    // Not println, which panics where the reader has gone.
    let mut out = std::io::stdout();
    write!(out, "{tables}{}", report::run_lines(&finished))?;
    if finished.is_complete {
        return Ok(ExitCode::SUCCESS);
    }
    say("stopped; the same command goes on with the match");
    Ok(ExitCode::from(INTERRUPTED))
}
