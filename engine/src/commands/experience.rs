//! `tesla experience`: looks into an experience file, or makes one by playing.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tesla_nn::files;

use crate::chess::notation::from_fen;
use crate::console::output::Output;
use crate::search::StopToken;
use crate::three_state::learn::{self, LearnArgs};
use crate::three_state::{Experience, Packed, export, load, report};

/// What `tesla experience` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum ExperienceCommand {
    /// Lists positions, the most seen first
    Show(ShowArgs),
    /// Sums up positions, moves and games
    Stats(StatsArgs),
    /// Writes the positions as labelled games for `tesla-train import`: the move chosen in each,
    /// with the score of the games that went through it
    Export(ExportArgs),
    /// Plays games against an opponent that learns nothing, and shows what experience is worth
    Learn(LearnArgs),
}

/// Which positions.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// The experience file; it may be in use
    pub file: PathBuf,
    /// Only this position
    #[arg(long)]
    pub fen: Option<String>,
    /// How many positions
    #[arg(long, default_value_t = 20, conflicts_with = "fen")]
    pub top: usize,
    /// All of them
    #[arg(long, conflicts_with_all = ["fen", "top"])]
    pub all: bool,
}

/// Which file.
#[derive(Clone, Debug, Args)]
pub struct StatsArgs {
    /// The experience file; it may be in use
    pub file: PathBuf,
    /// A line a game: result, moves by state, threshold, positions
    #[arg(long)]
    pub csv: Option<PathBuf>,
}

/// What to export, and where to.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The experience file; it may be in use
    pub file: PathBuf,
    /// The games, PGN
    #[arg(long)]
    pub out: PathBuf,
    /// Games that must have gone through a position
    #[arg(long, default_value_t = 1)]
    pub least: u32,
}

/// Does it. An error is a sentence for people.
///
/// # Errors
/// When a file cannot be used or a position is not in it.
pub fn run(
    command: &ExperienceCommand,
    stop: &StopToken,
    output: &Output,
) -> Result<ExitCode, String> {
    check_output(command)?;
    let looked = match command {
        ExperienceCommand::Show(args) => show(args, output),
        ExperienceCommand::Stats(args) => {
            let experience = read(&args.file, output)?;
            output.print(&report::stats(&experience));
            args.csv.as_ref().map_or(Ok(()), |path| report::write_csv(&experience, path))
        }
        ExperienceCommand::Export(args) => export(args, output),
        ExperienceCommand::Learn(args) => return learn::run(args, stop, output),
    };
    looked.map(|()| ExitCode::SUCCESS)
}

/// Refuses an output that would replace the experience, before anything is done.
fn check_output(command: &ExperienceCommand) -> Result<(), String> {
    let (file, output) = match command {
        ExperienceCommand::Show(_) => return Ok(()),
        ExperienceCommand::Stats(args) => (&args.file, args.csv.as_ref()),
        ExperienceCommand::Export(args) => (&args.file, Some(&args.out)),
        ExperienceCommand::Learn(args) => (&args.file, args.csv.as_ref()),
    };
    output.map_or(Ok(()), |output| {
        super::check_output(output)?;
        super::spare(file, "experience", output)
    })
}

/// A file's experience, which stays as it is.
fn read(path: &Path, output: &Output) -> Result<Experience, String> {
    let (experience, cut_bytes) = load(path).map_err(|error| error.to_string())?;
    if cut_bytes > 0 {
        output.print(&format!("the last {cut_bytes} bytes are an incomplete record"));
    }
    Ok(experience)
}

fn export(args: &ExportArgs, output: &Output) -> Result<(), String> {
    let (text, count) = export::labelled_games(&read(&args.file, output)?, args.least);
    if count == 0 {
        return Err(format!(
            "{} has no position with a chosen move and {} finished games; play more games with \
             `tesla experience learn`, or lower --least",
            args.file.display(),
            args.least.max(1)
        ));
    }
    files::replace(&args.out, text.as_bytes()).map_err(|error| error.to_string())?;
    output.print(&format!("{count} games of one move in {}", args.out.display()));
    Ok(())
}

fn show(args: &ShowArgs, output: &Output) -> Result<(), String> {
    let experience = read(&args.file, output)?;
    let mut rows: Vec<_> = if let Some(fen) = &args.fen {
        let position = from_fen(fen, false).map_err(|problem| problem.to_string())?;
        let packed = Packed::new(&position);
        let known = packed.and_then(|packed| Some((packed, experience.get(packed)?)));
        vec![known.ok_or_else(|| format!("'{fen}' is not in {}", args.file.display()))?]
    } else {
        experience.entries().collect()
    };
    rows.sort_by_key(|&(position, entry)| (Reverse(entry.seen), position));
    output.print(report::LINE_HEAD);
    let count = if args.all { usize::MAX } else { args.top };
    let lines: Vec<String> =
        rows.iter().take(count).map(|(position, entry)| report::line(*position, entry)).collect();
    output.print(&lines.join("\n"));
    Ok(())
}
