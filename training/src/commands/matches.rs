//! `tesla-train match`: the command line over a match file or over the defaults.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::{GOES_ON, Outcome, print, stopped};
use crate::console::table::Table;
use crate::game::limit::{Limit, MoveLimit, TimeControl};
use crate::matches::config::{MatchConfig, MatchOptions};
use crate::matches::{report, runner};
use crate::players::lineup;
use crate::players::pool::{MOST_AT_ONCE, Pool, RunContext};
use crate::players::side;

/// The command line of a match.
#[derive(Debug, Args)]
pub struct MatchArgs {
    /// A side, as key=value words: name (first), cmd, arg, dir, restart, preset, latency,
    /// nodes, depth, movetime, tc, nodestime, option.NAME; without cmd it is our own search, with
    /// preset=literal by the rule of seed 003, with preset=lc0 option.Search=PUCT by lc0's
    /// constants. Give --side once for all sides or once for each.
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE")]
    side: Vec<String>,
    /// Folder for results.jsonl, games.pgn, report.md and transcripts of failures.
    #[arg(long)]
    out: PathBuf,
    /// TOML file of a match; the command line overrides it.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Games played at once; the results of our own sides do not depend on it.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    #[command(flatten)]
    options: MatchOptions,
    #[command(flatten)]
    limit: MoveLimit,
    /// Clock, likewise: seconds + increment as in 10+0.1, or 40/60+0.6.
    #[arg(long)]
    tc: Option<TimeControl>,
}

impl MatchArgs {
    /// The match of the file, or the default one, with what the command line says in its place.
    fn over(&self, base: MatchConfig) -> anyhow::Result<MatchConfig> {
        let mut config = self.options.over(base);
        config.limit = Limit { tc: self.tc, ..self.limit.into() }.or(config.limit);
        let sides = side::parse_sides(&self.side)?;
        if !sides.is_empty() {
            config.side = sides;
        }
        config.complete()
    }
}

/// Plays the match and prints its tables.
///
/// # Errors
/// When it cannot begin or go on; what was played is on disk.
pub fn run(args: &MatchArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let base = match &args.config {
        Some(path) => MatchConfig::read(path)?,
        None => MatchConfig::default(),
    };
    let config = args.over(base)?;
    let pool = Pool { concurrency: args.concurrency.into(), interrupted };
    pool.warn_of_time(&config.side, say);
    let context = RunContext { folder: &args.out, pool, say };
    let finished = match runner::run(&config, &context) {
        Err(error) if lineup::is_interrupted(&error) => {
            return Ok(stopped(say, "stopped before the first game"));
        }
        other => other?,
    };
    let tables = report::tables(&config, &finished, Table::to_markdown);
    files::replace(&args.out.join("report.md"), tables.as_bytes())?;
    let tables = report::tables(&config, &finished, Table::for_people);
    print(tables + &report::run_lines(&finished))?;
    if finished.is_complete {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(stopped(say, GOES_ON))
}
