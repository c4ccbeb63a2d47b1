//! `tesla-train book`: the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tesla_engine::search::StopToken;

use super::datagen::TeacherArgs;
use super::{GOES_ON, Outcome, print, stopped};
use crate::datagen::book::{self, BookPlan};
use crate::datagen::span::Span;
use crate::players::lineup;
use crate::players::pool::{MOST_AT_ONCE, Pool, RunContext};

/// The command line of `book`.
#[derive(Debug, Args)]
pub struct BookArgs {
    /// Folder for book.epd, its compressed form and rounds.jsonl, the candidates judged so far.
    #[arg(long)]
    out: PathBuf,
    /// Openings of the book.
    #[arg(long, default_value_t = 4000)]
    size: u64,
    /// Random plies from the start position; each opening draws a number from this range.
    #[arg(long, default_value_t = Span { low: 7, high: 8 }, value_name = "LOW..HIGH")]
    plies: Span<u16>,
    /// How far the teacher's score may be from even, centipawns.
    #[arg(long, default_value_t = 50, value_name = "CENTIPAWNS")]
    bound: u32,
    /// Decides the moves.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Positions judged at once; the book does not depend on it.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    concurrency: u16,
    #[command(flatten)]
    teacher: TeacherArgs,
}

/// Makes the book and says where it is.
///
/// # Errors
/// When it cannot begin or go on; what was judged is on disk.
pub fn run(args: &BookArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let plan = BookPlan {
        teacher: args.teacher.side(1)?,
        size: args.size,
        plies: args.plies,
        bound_cp: args.bound,
        seed: args.seed,
    };
    let pool = Pool { concurrency: args.concurrency.into(), interrupted };
    let context = RunContext { folder: &args.out, pool, say };
    let made = match book::run(&plan, &context) {
        Err(error) if lineup::is_interrupted(&error) => {
            return Ok(stopped(say, "stopped before the first opening"));
        }
        other => other?,
    };
    if !made.is_complete {
        return Ok(stopped(say, GOES_ON));
    }
    let path = args.out.join("book.epd");
    print(format!(
        "{} openings of {} candidates in {path}; use it with --openings {path}\n",
        made.openings,
        made.candidates,
        path = path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
