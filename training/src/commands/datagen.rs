//! The command line of `tesla-train datagen`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tesla_engine::console::terminal::INTERRUPTED;
use tesla_engine::search::StopToken;

use crate::datagen::config::DatagenConfig;
use crate::datagen::runner::{self, DatagenError, Finished};
use crate::datagen::span::Span;
use crate::datagen::statistics::Statistics;
use crate::game::adjudicate::{DrawRule, ResignRule};
use crate::labelled::find_files;
use crate::players::devices::device_lines;
use crate::players::peer::Fault;
use crate::players::side::{Side, parse_sides};

/// The command line of `datagen`.
#[derive(Debug, Args)]
pub struct DatagenArgs {
    /// Folder for the shards, games.jsonl (games that are in no shard yet), config.json and
    /// summary.json.
    #[arg(long)]
    out: PathBuf,
    /// Games of the run; games that turn out to be the same are dropped.
    #[arg(long)]
    games: u64,
    /// Games of a shard.
    #[arg(long, default_value_t = 10_000)]
    shard_games: u64,
    /// Decides openings and random moves, with the number of the game. With a teacher that always
    /// answers alike (nodes or depth, one thread) it decides the games.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Games at once; they do not depend on it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// The teacher's program, a UCI engine [default: our own search, all games on one device].
    #[arg(long)]
    teacher: Option<String>,
    /// An argument of the teacher's program; may be repeated.
    #[arg(long, allow_hyphen_values = true)]
    arg: Vec<String>,
    /// A UCI option of the teacher, as in Hash=16; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    option: Vec<String>,
    /// Evaluations or nodes a move.
    #[arg(long)]
    nodes: Option<u64>,
    /// Depth a move, plies.
    #[arg(long)]
    depth: Option<u32>,
    /// Seconds a move.
    #[arg(long)]
    movetime: Option<f64>,
    /// Book that games start from, EPD, FEN or PGN, shuffled by the seed [default: the start
    /// position].
    #[arg(long)]
    openings: Option<PathBuf>,
    /// Longest part of a PGN game that is taken as opening, plies.
    #[arg(long, default_value_t = 16)]
    plies: usize,
    /// Random plies after the opening, before the first label: a number of this range a game.
    #[arg(long, default_value = "0..8", value_name = "LOW..HIGH")]
    random_plies: Span<u16>,
    /// Share of the moves that are random and not the best one: a number of this range a game.
    #[arg(long, default_value = "0.0..0.3", value_name = "LOW..HIGH")]
    random: Span<f64>,
    /// Share of the random moves that are the best of several, as the teacher sees it.
    #[arg(long, default_value_t = 0.5)]
    best_of_share: f64,
    /// Of how many random moves such a move is the best.
    #[arg(long, default_value_t = 4)]
    best_of: usize,
    /// Decided when the teacher says so: scores of at least `score`, in centipawns, for one side and
    /// against the other for `movecount` moves of each.
    #[arg(long, default_value = "movecount=3,score=1501,twosided=true")]
    resign: ResignRule,
    /// Play on when the teacher sees a game decided.
    #[arg(long)]
    no_resign: bool,
    /// Draw when the teacher sees an even game: movenumber=40,movecount=8,score=10.
    #[arg(long)]
    draw: Option<DrawRule>,
    /// Longest game, plies; it is a draw then.
    #[arg(long, default_value_t = 260)]
    max_plies: u16,
    /// Moves of a position that the teacher scores (its option `MultiPV`), for the action values; 218 =
    /// all of any position. The teacher's limit is for all of them together.
    #[arg(long, default_value_t = 1)]
    multipv: u8,
    /// How long the teacher is waited for beyond its time, seconds.
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

impl DatagenArgs {
    fn config(&self) -> Result<DatagenConfig, Box<dyn std::error::Error>> {
        Ok(DatagenConfig {
            teacher: self.side()?,
            games: self.games,
            shard_games: self.shard_games,
            seed: self.seed,
            openings: self.openings.clone(),
            plies: Some(self.plies),
            random_plies: self.random_plies,
            random: self.random,
            best_of_share: self.best_of_share,
            best_of: self.best_of,
            resign: (!self.no_resign).then_some(self.resign),
            draw: self.draw,
            max_plies: self.max_plies,
            multipv: self.multipv,
            patience_s: self.patience,
        })
    }

    /// The teacher, in the words that `match` has for a side.
    fn side(&self) -> Result<Side, Box<dyn std::error::Error>> {
        let mut words = vec!["name=teacher".to_owned()];
        words.extend(self.teacher.iter().map(|program| format!("cmd={program}")));
        words.extend(self.arg.iter().map(|arg| format!("arg={arg}")));
        words.extend(self.option.iter().map(|option| format!("option.{option}")));
        if self.multipv > 1 && self.teacher.is_some() {
            words.push(format!("option.MultiPV={}", self.multipv));
        }
        words.extend(self.nodes.map(|nodes| format!("nodes={nodes}")));
        words.extend(self.depth.map(|depth| format!("depth={depth}")));
        words.extend(self.movetime.map(|time| format!("movetime={time}")));
        let mut sides = parse_sides(&words)?;
        sides.pop().ok_or_else(|| "there is no teacher".into())
    }
}

/// Makes the games and says what they are.
///
/// # Errors
/// When it cannot begin or go on; what was made is on disk.
pub fn run(
    args: &DatagenArgs,
    interrupted: &StopToken,
    say: &dyn Fn(&str),
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let config = args.config()?;
    let threads =
        config.teacher.option.0.iter().find(|(name, _)| name.eq_ignore_ascii_case("threads"));
    let has_threads = !config.teacher.is_own() && threads.is_some_and(|(_, value)| value != "1");
    if config.teacher.limit.is_timed() || has_threads {
        say("a teacher with a time limit or several threads answers differently each time: games \
             made again will be others");
    }
    let concurrency = usize::from(args.concurrency);
    let finished = match runner::run(&config, &args.out, concurrency, interrupted, say) {
        Err(DatagenError::Engine(error)) if error.fault == Fault::Interrupted => {
            say("stopped before the first game");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        other => other?,
    };
    // Not println, which panics where the reader has gone.
    let mut out = std::io::stdout();
    write!(out, "{}", run_lines(&finished))?;
    if !finished.is_complete {
        say("stopped; the same command goes on with the run");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let summary = Statistics::of_files(&find_files(&args.out)?)?.finish();
    let path = args.out.join("summary.json");
    std::fs::write(&path, serde_json::to_string_pretty(&summary)? + "\n")
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    writeln!(out, "{summary}")?;
    Ok(ExitCode::SUCCESS)
}

/// What this run did.
fn run_lines(finished: &Finished) -> String {
    let Finished { games, dropped, made, positions, time, devices, .. } = finished;
    let seconds = time.as_secs_f64();
    let pace = |count: u64| count as f64 / seconds.max(1e-3);
    let text = format!(
        "this run: {made} games and {positions} positions in {seconds:.1} s, {:.1} games/s, {:.0} \
         positions/s\non disk: {games} games; {dropped} dropped because another one is the same\n",
        pace(*made),
        pace(*positions)
    );
    text + &device_lines(devices, *time)
}
