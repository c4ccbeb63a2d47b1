//! `tesla-train merge`: games of several runs or machines in one place, none twice.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tesla_engine::console::terminal::bar;
use tesla_engine::search::StopToken;

use super::{BEGINS_ANEW, Outcome, print, stopped};
use crate::datagen::config::LARGEST_SHARD;
use crate::datagen::output::{Fate, Output, Written};
use crate::labelled::{GameReader, find_files, is_games_file, is_held_out_file};

/// The command line of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// .games.zst files and folders of them; games are taken in this order, files of a folder by
    /// name. Those of valid* files come first and stay held out.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for shards, or one file that ends in .games.zst.
    #[arg(long)]
    out: PathBuf,
    /// Games of a shard.
    #[arg(long, default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=LARGEST_SHARD))]
    shard_games: u64,
    /// Share of the other games that go into valid.games.zst, which training leaves out, as in
    /// 0.02.
    #[arg(long, default_value_t = 0.0)]
    valid: f64,
}

/// Merges the files and says what became of the games.
///
/// # Errors
/// When a file cannot be read or is damaged, or the output exists or cannot be written; nothing is
/// left of it then.
pub fn run(args: &MergeArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let mut files = Vec::new();
    for input in &args.inputs {
        files.extend(find_files(input)?);
    }
    // First, so that a game which is in both kinds of files stays held out.
    files.sort_by_key(|file| !is_held_out_file(file));
    let is_for_learning = is_games_file(&args.out) && !is_held_out_file(&args.out);
    if let Some(file) = files.iter().find(|file| is_for_learning && is_held_out_file(file)) {
        return Err(format!(
            "{} holds held-out games, which {} would let a run learn from; name a folder with \
             --out, where they stay apart",
            file.display(),
            args.out.display()
        )
        .into());
    }
    let mut output = Output::create(&args.out, args.shard_games, args.valid)?;
    let bar = bar(files.len() as u64, "files");
    let mut lines = String::new();
    for file in &files {
        let mut games = 0_u64;
        for game in GameReader::open(file)? {
            if interrupted.is_stopped() {
                bar.finish_and_clear();
                return Ok(stopped(say, BEGINS_ANEW));
            }
            output.add(&game?, if is_held_out_file(file) { Fate::HeldOut } else { Fate::Drawn })?;
            games += 1;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{}: {games} games", file.display());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let Written { files, kept, held_out, dropped } = output.finish()?;
    print(format!(
        "{lines}{kept} games in {} files, {held_out} of them held out, {dropped} dropped because \
         they were there before\n",
        files.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}
