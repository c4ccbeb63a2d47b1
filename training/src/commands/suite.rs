//! `tesla-train suite`: test suites for configurations of ours and UCI engines.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use tesla_engine::console::terminal::resumed;
use tesla_engine::search::StopToken;
use tesla_nn::files;
use tesla_nn::files::sha256;

use super::{GOES_ON, Outcome, print, stopped};
use crate::console::table::Table;
use crate::disk::journal::{Journal, Resumed};
use crate::game::limit::{Limit, MoveLimit};
use crate::players::devices::Devices;
use crate::players::lineup;
use crate::players::peer::Fault;
use crate::players::pool::{MOST_AT_ONCE, Pool};
use crate::players::programs::program_hash;
use crate::players::side::{self, Side};
use crate::players::signature::search_signatures;
use crate::suite::examiner::Examination;
use crate::suite::{
    self, Grouping, JudgeBy, MateLimits, Options, Record, Selection, Suite, compare,
    estimate_rating, puzzle_results, summarize,
};

/// The command line of an examination.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// Suites: .epd files, or .csv files of puzzles.
    #[arg(required = true)]
    suites: Vec<PathBuf>,
    /// A side, as key=value words: name (first), cmd, arg, dir, nodes, depth, movetime, preset,
    /// option.NAME; without cmd it is our own search. Give --side once for all sides or once for
    /// each.
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE", required = true)]
    side: Vec<String>,
    /// Folder for the answers, one file for each suite and side.
    #[arg(long)]
    out: PathBuf,
    /// Positions solved at once; the answers of our own sides do not depend on it, except under
    /// time limits.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    #[command(flatten)]
    limit: MoveLimit,
    /// What is judged: auto, points, moves or mate.
    #[arg(long, default_value = "auto")]
    judge: JudgeBy,
    /// Use only the first N items of each suite.
    #[arg(long, conflicts_with = "sample")]
    first: Option<NonZeroUsize>,
    /// Use N random items of each suite.
    #[arg(long)]
    sample: Option<usize>,
    /// Seed of the sample.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Skip unreadable lines and report how many there were.
    #[arg(long)]
    lenient: bool,
    /// Groups in the tables.
    #[arg(long, value_enum, default_value = "whole")]
    by: Grouping,
    /// How long to wait for an engine beyond its time, seconds.
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

impl SuiteArgs {
    fn sides(&self) -> anyhow::Result<Vec<Side>> {
        let mut sides = side::parse_sides(&self.side)?;
        let common: Limit = self.limit.into();
        let limitless = |side: &&Side| side.limit.or(common) == Limit::default();
        if let Some(Side { name, .. }) = sides.iter().find(limitless) {
            bail!("side {name}: it has no limit; give it nodes=N, depth=N or movetime=SECONDS");
        }
        side::complete_sides(&mut sides, common)?;
        if let Some(Side { name, .. }) = sides.iter().find(|side| side.limit.tc.is_some()) {
            bail!("side {name}: a suite has no clock; give it movetime, nodes or depth");
        }
        Ok(sides)
    }

    fn options(&self) -> Options {
        let selection = match (self.first, self.sample) {
            (Some(count), _) => Selection::First(count.get()),
            (None, Some(count)) => Selection::Sample { count, seed: self.seed },
            (None, None) => Selection::All,
        };
        Options { judge: self.judge, selection, lenient: self.lenient }
    }
}

/// The suite, if it asks anything.
fn something_to_judge(path: &Path, suite: Suite, by: JudgeBy) -> anyhow::Result<Suite> {
    let needed = match by {
        JudgeBy::Auto => "bm, am, dm or c0 to c9",
        JudgeBy::Points => "c7, c8 or c9, which --judge points asks for,",
        JudgeBy::Moves => "bm or am, which --judge moves asks for,",
        JudgeBy::Mate => "dm, which --judge mate asks for,",
    };
    ensure!(
        !suite.items.is_empty(),
        "{} has nothing to judge; a line needs {needed} behind its position",
        path.display()
    );
    Ok(suite)
}

/// Asks all sides about all suites and prints the tables.
///
/// # Errors
/// When a suite, a side or the folder cannot be used; answers that were given are on disk.
pub fn run(args: &SuiteArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let sides = args.sides()?;
    let patience = Duration::from_secs(args.patience);
    let suites: Vec<Suite> = args
        .suites
        .iter()
        .map(|path| something_to_judge(path, suite::read(path, &args.options())?, args.judge))
        .collect::<Result<_, _>>()?;
    check_names(&suites, &sides)?;
    let chess960 =
        suites.iter().flat_map(|suite| &suite.items).any(|item| item.castling_mode.is_chess960());
    match lineup::try_engines(&sides, patience, chess960, interrupted) {
        Err(error) if error.fault == Fault::Interrupted => return Ok(stopped(say, GOES_ON)),
        names => names?,
    };
    let clients = sides.len() * usize::from(args.concurrency);
    let devices = Devices::start(&sides, clients, say)?;
    files::make_folder(&args.out)?;
    let identities = identities(&sides, &devices);
    let pool = Pool { concurrency: args.concurrency.into(), interrupted };
    let mut report = String::new();
    for suite in &suites {
        suite.skipped_note().iter().for_each(|note| say(note));
        let mut answers = Vec::new();
        for (side, identity) in sides.iter().zip(&identities) {
            let player = |stop| lineup::player(side, &devices, patience, stop);
            let exam = Examination {
                player: &player,
                limit: &side.limit,
                patience,
                mates: MateLimits::default(),
                pool,
            };
            let Some(records) = examine(&exam, (side, identity), suite, &args.out)? else {
                return Ok(stopped(say, GOES_ON));
            };
            answers.push(records);
        }
        let text = |show| tables(args.by, suite, &sides, &answers, show);
        print(text(Table::for_people))?;
        report += &text(Table::to_markdown);
    }
    files::replace(&args.out.join("report.md"), report.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Name of the file with one side's answers to one suite.
fn file_name(suite: &Suite, side: &Side) -> String {
    let name = format!("{}-{}", suite.name, side.name);
    let plain = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    name.chars().map(plain).collect::<String>() + ".jsonl"
}

/// Checks that no two answers go into one file.
fn check_names(suites: &[Suite], sides: &[Side]) -> Result<(), String> {
    let mut names = HashSet::new();
    for suite in suites {
        for side in sides {
            let name = file_name(suite, side);
            if !names.insert(name.clone()) {
                return Err(format!(
                    "two runs would write {name}; rename the suite {} or the side {}",
                    suite.name, side.name
                ));
            }
        }
    }
    Ok(())
}

/// Who is asked, by side: the part of the head of a file of answers that all suites share.
fn identities(sides: &[Side], devices: &Devices) -> Vec<Value> {
    let signatures = search_signatures(sides);
    let signature = |side: &Side| {
        let search = side.machine().ok().filter(|_| side.is_own())?.search.name();
        Some(json!({ search: signatures.as_ref()?.get(search)? }))
    };
    let identity = |side: &Side| {
        json!({
            "side": side,
            "program_sha256": program_hash(side),
            "network": devices.network(side),
            "search_signature": signature(side),
        })
    };
    sides.iter().map(identity).collect()
}

/// Who was asked what, for the head of the file of answers.
fn fingerprint(identity: &Value, suite: &Suite) -> Value {
    let items: Vec<String> = suite.items.iter().map(|item| format!("{item:?}")).collect();
    let mut head = identity.clone();
    head["suite"] = json!(suite.name);
    head["items_sha256"] = json!(sha256(items.join("\n").as_bytes()));
    head
}

/// One side's answers to one suite; `None` = stopped.
fn examine(
    exam: &Examination<'_>,
    (side, identity): (&Side, &Value),
    suite: &Suite,
    folder: &Path,
) -> anyhow::Result<Option<Vec<Record>>> {
    let name = file_name(suite, side);
    let path = folder.join(&name);
    let Resumed { mut journal, mut records, .. } =
        Journal::<Record>::open(&path, &fingerprint(identity, suite))?;
    let done = records.len() as u64;
    let bar = resumed(suite.items.len() as u64, done, &format!("of {name}"));
    let keep = |record: &Record| journal.append(record);
    let is_whole = exam.ask(&suite.items, keep, &mut records, &bar)?;
    bar.finish_and_clear();
    Ok(is_whole.then_some(records))
}

fn tables(
    by: Grouping,
    suite: &Suite,
    sides: &[Side],
    answers: &[Vec<Record>],
    show: fn(&Table) -> String,
) -> String {
    let idle = match suite.idle {
        0 => String::new(),
        idle => format!("; {idle} lines with nothing to judge"),
    };
    let mut parts = vec![format!("{}: {} items{idle}\n", suite.name, suite.items.len())];
    for (side, records) in sides.iter().zip(answers) {
        parts.push(format!("{} ({})\n", side.name, side.limit));
        let mut groups = summarize(records, Grouping::Whole);
        if by != Grouping::Whole {
            groups.extend(summarize(records, by));
        }
        parts.push(show(&Table::of_summaries(&groups)));
        let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
        for failure in records.iter().filter_map(|record| record.failure.as_deref()) {
            *failures.entry(failure.split(':').next().unwrap_or(failure)).or_default() += 1;
        }
        if !failures.is_empty() {
            let counts = failures.iter().map(|(how, count)| format!("{count} {how}"));
            parts.push(format!("Failed: {}\n", counts.collect::<Vec<_>>().join(", ")));
        }
        let puzzles = puzzle_results(records);
        if !puzzles.is_empty() {
            parts.push(format!("Puzzle rating: {}\n", estimate_rating(&puzzles)));
        }
    }
    if let ([a, b], [first, second]) = (sides, answers) {
        parts.push(show(&Table::of_comparison(&compare(first, second), &a.name, &b.name)));
    }
    parts.join("\n") + "\n"
}
