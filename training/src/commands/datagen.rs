//! The command line of `tesla-train datagen`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::{GOES_ON, Outcome, print, stopped};
use crate::datagen::config::{DatagenConfig, DatagenOptions};
use crate::datagen::runner::{self, Finished};
use crate::datagen::statistics::Statistics;
use crate::game::limit::MoveLimit;
use crate::labelled::find_files;
use crate::players::devices::device_lines;
use crate::players::lineup;
use crate::players::pool::{MOST_AT_ONCE, Pool, RunContext};
use crate::players::side::{Side, parse_sides};

/// The command line of `datagen`.
#[derive(Debug, Args)]
pub struct DatagenArgs {
    /// Folder for the shards, games.jsonl (games that are in no shard yet), config.json and
    /// summary.json.
    #[arg(long)]
    out: PathBuf,
    /// Games played at once; the games do not depend on it.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    #[command(flatten)]
    teacher: TeacherArgs,
    #[command(flatten)]
    options: DatagenOptions,
    /// Play on when the teacher considers a game decided.
    #[arg(long)]
    no_resign: bool,
    /// Print no statistics of the games; `inspect` does at any time.
    #[arg(long)]
    brief: bool,
}

/// The teacher on the command line.
#[derive(Debug, Args)]
pub struct TeacherArgs {
    /// The teacher's program, a UCI engine [default: our own search, all games on one device].
    #[arg(long)]
    teacher: Option<String>,
    /// An argument of the teacher's program; may be repeated.
    #[arg(long, allow_hyphen_values = true)]
    arg: Vec<String>,
    /// A UCI option of the teacher, as in Hash=16; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    option: Vec<String>,
    #[command(flatten)]
    limit: MoveLimit,
}

impl DatagenArgs {
    fn config(&self) -> anyhow::Result<DatagenConfig> {
        let mut config = self.options.over(DatagenConfig::default());
        if self.no_resign {
            config.resign = None;
        }
        config.teacher = self.teacher.side(config.multipv)?;
        Ok(config)
    }
}

impl TeacherArgs {
    /// The teacher, in the words that `match` has for a side.
    ///
    /// # Errors
    /// A sentence on the first word that is wrong.
    pub fn side(&self, multipv: u8) -> anyhow::Result<Side> {
        let mut words = vec!["name=teacher".to_owned()];
        words.extend(self.teacher.iter().map(|program| format!("cmd={program}")));
        words.extend(self.arg.iter().map(|arg| format!("arg={arg}")));
        words.extend(self.option.iter().map(|option| format!("option.{option}")));
        if multipv > 1 && self.teacher.is_some() {
            words.push(format!("option.MultiPV={multipv}"));
        }
        let mut side = parse_sides(&words)?.pop().context("there is no teacher")?;
        side.limit = self.limit.into();
        Ok(side)
    }
}

/// Makes the games and says what they are.
///
/// # Errors
/// When it cannot begin or go on; what was made is on disk.
pub fn run(args: &DatagenArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let config = args.config()?;
    let threads =
        config.teacher.option.0.iter().find(|(name, _)| name.eq_ignore_ascii_case("threads"));
    let has_threads = !config.teacher.is_own() && threads.is_some_and(|(_, value)| value != "1");
    if config.teacher.limit.is_timed() || has_threads {
        say("a teacher with a time limit or several threads answers differently each time: games \
             made again will be others");
    }
    let pool = Pool { concurrency: args.concurrency.into(), interrupted };
    let context = RunContext { folder: &args.out, pool, say };
    let finished = match runner::run(&config, &context) {
        Err(error) if lineup::is_interrupted(&error) => {
            return Ok(stopped(say, "stopped before the first game"));
        }
        other => other?,
    };
    print(run_lines(&finished))?;
    if !finished.is_complete {
        return Ok(stopped(say, GOES_ON));
    }
    let summary = Statistics::of_files(&find_files(&args.out)?)?.finish();
    let text = serde_json::to_string_pretty(&summary)? + "\n";
    files::replace(&args.out.join("summary.json"), text.as_bytes())?;
    if !args.brief {
        print(format!("\nWhat is in the files:\n\n{summary}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What this run did.
fn run_lines(finished: &Finished) -> String {
    let Finished { games, held_out, dropped, made, positions, time, devices, .. } = finished;
    let seconds = time.as_secs_f64();
    let pace = |count: u64| count as f64 / seconds.max(1e-3);
    let held_out =
        if *held_out > 0 { format!(", {held_out} of them held out") } else { String::new() };
    let text = format!(
        "this run: {made} games and {positions} positions in {seconds:.1} s, {:.1} games/s, {:.0} \
         positions/s\non disk: {games} games{held_out}; {dropped} dropped because another one is \
         the same\n",
        pace(*made),
        pace(*positions)
    );
    text + &device_lines(devices, *time)
}
