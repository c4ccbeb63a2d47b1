//! `tesla-train tune`: the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Error, bail};
use clap::{Args, Subcommand};
use tesla_engine::best_first::params::Params;
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::{GOES_ON, Outcome, print, stopped};
use crate::disk::journal::Journal;
use crate::game::adjudicate::{DrawRule, ResignRule};
use crate::game::limit::{Limit, TimeControl};
use crate::game::openings::BookSource;
use crate::matches::config::MatchConfig;
use crate::players::devices::{Devices, check_tree};
use crate::players::pool::{MOST_AT_ONCE, Pool, RunContext};
use crate::players::side::{Side, parse_sides};
use crate::train::dataset::Dataset;
use crate::tune::fit;
use crate::tune::gate::{Gate, Proof};
use crate::tune::log::{self, Material, ObservationPlan};
use crate::tune::observe::Observation;
use crate::tune::spsa::{Knob, Schedule};
use crate::tune::spsa_run;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Search positions, and some of the moves in their trees separately; resumes from the folder.
    Log(LogArgs),
    /// Fit the laws of the search to the observations of `tune log`; writes fit.json and
    /// tunables.toml.
    Fit(FitArgs),
    /// Tune by games (SPSA) what no law gives; resumes from the folder.
    Spsa(SpsaArgs),
}

/// The command line of `tune spsa`.
#[derive(Debug, Args)]
pub struct SpsaArgs {
    /// What to tune: a tunable, and its step at the end of the run if another than its own is
    /// wanted, as `error_scale=0.005`. Give --knob once for all or once for each.
    #[arg(long, num_args = 1.., value_name = "NAME[=STEP]", required = true)]
    knob: Vec<String>,
    /// Folder for spsa.jsonl, spsa.csv and tunables.toml.
    #[arg(long)]
    out: PathBuf,
    /// Opening book: built-in, startpos, or an EPD, FEN or PGN file; each pair of games has its own
    /// opening.
    #[arg(long, default_value_t)]
    openings: BookSource,
    /// Pairs of games.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=500_000))]
    pairs: u64,
    /// Pairs played from one point.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// How far a pair's result moves the point at the end, in steps.
    #[arg(long, default_value_t = 0.01)]
    rate: f64,
    /// Evaluations a move [default: 400, where there is no clock].
    #[arg(long)]
    nodes: Option<u64>,
    /// Clock, which the rules of time need (`stop_gain`): seconds + increment as in 4+0.04.
    #[arg(long)]
    tc: Option<TimeControl>,
    /// Count the clock's time in evaluations, so many a millisecond: the games repeat, however busy
    /// the machine is.
    #[arg(long, requires = "tc")]
    nodestime: Option<NonZeroU32>,
    /// Seed of openings and directions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pairs played at once; the result does not depend on it, except under a wall clock.
    #[arg(long, default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    /// Draw when both sides score the game as even: movenumber=40,movecount=8,score=10.
    #[arg(long)]
    draw: Option<DrawRule>,
    /// Loss when a side scores its game as lost: movecount=4,score=600,twosided=true.
    #[arg(long)]
    resign: Option<ResignRule>,
    /// An option of the engine, as NAME=VALUE; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    option: Vec<String>,
}

impl SpsaArgs {
    /// Evaluations, a clock, or both.
    fn limit(&self) -> Limit {
        let nodes = self.nodes.or(self.tc.is_none().then_some(400));
        Limit { nodes, tc: self.tc, nodestime: self.nodestime, ..Limit::default() }
    }
}

/// The command line of `tune fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Games that the fitted numbers play against those before them, by the network and with the
    /// options of the log, before any file is written; 0 = none, and the file says that it is
    /// unproven.
    #[arg(long, default_value_t = 0)]
    games: u64,
    /// Evaluations a move in these games.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Games at once.
    #[arg(long, default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    /// Folder with the observations; the results go there.
    #[arg(long)]
    out: PathBuf,
    /// Tunables to start from and compare with [default: the engine's].
    #[arg(long)]
    from: Option<PathBuf>,
}

/// The command line of `tune log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Labelled games that positions are drawn from: a .games.zst file or a folder of them.
    #[arg(long)]
    data: PathBuf,
    /// Folder for the observations.
    #[arg(long)]
    out: PathBuf,
    /// Positions.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    positions: u32,
    /// Evaluations of the smallest tree.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(32..))]
    least: u32,
    /// Evaluations of the largest tree.
    #[arg(long, default_value_t = 1600, value_parser = clap::value_parser!(u32).range(32..))]
    most: u32,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Positions at once; they share the device.
    #[arg(long, default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    /// An option of the engine, as NAME=VALUE; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    option: Vec<String>,
}

/// Does it.
///
/// # Errors
/// A sentence; what was done is on disk.
pub fn run(command: &TuneCommand, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    match command {
        TuneCommand::Log(args) => observe(args, interrupted, say),
        TuneCommand::Fit(args) => fit_all(args, interrupted, say),
        TuneCommand::Spsa(args) => play(args, interrupted, say),
    }
}

/// Our own search with these options.
fn side(options: &[String]) -> anyhow::Result<Side> {
    let mut words = vec!["name=Tesla".to_owned()];
    words.extend(options.iter().map(|option| format!("option.{option}")));
    // A side for each name.
    Ok(parse_sides(&words)?.remove(0))
}

fn observe(args: &LogArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    if args.least > args.most {
        return Err("--least is above --most; exchange them".into());
    }
    let side = side(&args.option)?;
    let dataset = Dataset::read(&args.data, "")?;
    let concurrency = args.concurrency.into();
    let devices = Devices::start(std::slice::from_ref(&side), concurrency, say)?;
    files::make_folder(&args.out)?;
    let LogArgs { positions, least, most, seed, .. } = *args;
    let plan = ObservationPlan { positions, most, least, seed };
    let pool = Pool { concurrency, interrupted };
    let context = RunContext { folder: &args.out, pool, say };
    let material = Material { dataset: &dataset, side: &side, devices: &devices };
    let seen = log::collect(plan, &material, &context)?;
    let moves: usize =
        seen.iter().flat_map(|seen| &seen.seen.choices).map(|choice| 1 + choice.others.len()).sum();
    print(format!(
        "{} positions, {moves} moves in {}\n",
        seen.len(),
        args.out.join(log::FILE).display()
    ))?;
    if interrupted.is_stopped() {
        return Ok(stopped(say, GOES_ON));
    }
    Ok(ExitCode::SUCCESS)
}

fn fit_all(args: &FitArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let before = match &args.from {
        Some(path) => Params::read(path)?,
        None => Params::default(),
    };
    let (log, mut observations) =
        Journal::<Observation>::read_with_match(&args.out.join(log::FILE))?;
    // They lie in the order in which they ended; the fit's samples must not depend on that.
    observations.sort_by_key(|seen| seen.position);
    let (report, params) = fit::fit(&observations, &before)?;
    print(&report)?;
    // Nothing is written before the games are played: what was proved before stays until then.
    let Proof { text: proof, is_worse } = if args.games == 0 {
        Proof { text: UNPROVEN.to_owned(), is_worse: false }
    } else {
        let gate =
            Gate { log: &log, numbers: [&params, &before], games: args.games, nodes: args.nodes };
        let context = RunContext {
            folder: &args.out.join("gate"),
            pool: Pool { concurrency: args.concurrency.into(), interrupted },
            say,
        };
        match gate.play(&context)? {
            Some(proof) => proof,
            None => return Ok(stopped(say, GOES_ON)),
        }
    };
    print(format!("\n{proof}\n"))?;
    let tunables = args.out.join(TUNABLES);
    if is_worse && Params::read(&tunables).is_ok_and(|there| there != params) {
        say(&format!("{} holds other numbers, and stays as it is", tunables.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let write = |name: &str, text: String| {
        let path = args.out.join(name);
        files::replace(&path, text.as_bytes()).map(|()| say(&format!("wrote {}", path.display())))
    };
    write("fit.json", serde_json::to_string_pretty(&report)?)?;
    write("fit.md", report.to_string())?;
    let head = format!(
        "Fitted by `tesla-train tune fit` to {} pairs of moves in {} positions.\n{proof}\n\
         The engine loads it: setoption name TunablesFile value <this file>",
        report.pairs, report.positions.0
    );
    write(TUNABLES, params.to_file(&head))?;
    Ok(ExitCode::SUCCESS)
}

/// The file of the fitted numbers.
const TUNABLES: &str = "tunables.toml";

/// What is said of numbers that have not played.
const UNPROVEN: &str = "UNPROVEN: these numbers have not played a game. What fits the errors best \
                        need not play best (docs/search.md): let them play with --games 400.";

/// Refuses knobs that change nothing in these games: all pairs would be level.
fn check_effect(knobs: &[Knob], base: &Side, has_clock: bool) -> anyhow::Result<()> {
    let search = base.machine()?.search;
    check_tree(search).map_err(Error::msg)?;
    if let Some(Knob { name, .. }) = knobs.iter().find(|knob| !search.reads(&knob.name)) {
        bail!("{name} has no effect on the search {search}; leave it out");
    }
    let of_the_clock = knobs.iter().find(|knob| !has_clock && knob.name.starts_with("stop_"));
    match of_the_clock {
        Some(Knob { name, .. }) => {
            bail!("{name} decides when to stop under a clock; play with one, as --tc 4+0.04")
        }
        None => Ok(()),
    }
}

fn play(args: &SpsaArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    if !(args.rate.is_finite() && args.rate > 0.0) {
        return Err(format!("--rate is {}; it must be above 0", args.rate).into());
    }
    let knobs = args.knob.iter().map(|text| Knob::parse(text)).collect::<Result<_, _>>()?;
    let SpsaArgs { pairs, batch, rate, seed, .. } = *args;
    let schedule = Schedule { knobs, pairs, batch, rate, seed };
    let base = side(&args.option)?;
    check_effect(&schedule.knobs, &base, args.limit().tc.is_some())?;
    let games = MatchConfig {
        games: 2 * pairs,
        openings: args.openings.clone(),
        seed,
        limit: args.limit(),
        draw: args.draw,
        resign: args.resign,
        side: vec![base.clone(), Side { name: "the other".to_owned(), ..base }],
        ..MatchConfig::default()
    }
    .complete()?;
    files::make_folder(&args.out)?;
    let pool = Pool { concurrency: args.concurrency.into(), interrupted };
    pool.warn_of_time(&games.side, say);
    let context = RunContext { folder: &args.out, pool, say };
    let path = spsa_run::run(&schedule, &games, &context)?;
    print(format!(
        "after {} of {} batches: {}\n{}: {}\n",
        path.batches(),
        schedule.batches(),
        spsa_run::text(&schedule, path.point()),
        if path.batches() < schedule.batches() { "mean of its last quarter" } else { "settled at" },
        spsa_run::text(&schedule, &path.settled())
    ))?;
    if path.batches() < schedule.batches() {
        return Ok(stopped(say, GOES_ON));
    }
    Ok(ExitCode::SUCCESS)
}
