//! `tesla-train inspect`: what is in files of games.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::datagen::samples::samples;
use crate::datagen::statistics::Statistics;
use crate::labelled::{RecordError, find_files};

/// The command line of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A .games.zst file, or a folder of them.
    path: PathBuf,
    /// Positions to show, of different games.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1000))]
    samples: u16,
    /// Seed of the choice of positions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON, without positions.
    #[arg(long, conflicts_with = "samples")]
    json: bool,
}

/// Prints the figures.
///
/// # Errors
/// When a file cannot be read or is damaged, or there are no games.
pub fn run(args: &InspectArgs) -> Result<(), Box<dyn std::error::Error>> {
    let files = find_files(&args.path)?;
    let summary = Statistics::of_files(&files)?.finish();
    if summary.games == 0 {
        return Err(RecordError::Empty(args.path.clone()).into());
    }
    // Not println, which panics where the reader has gone.
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
        return Ok(());
    }
    writeln!(out, "{summary}")?;
    if args.samples > 0 {
        write!(out, "\n{}", samples(&files, usize::from(args.samples), args.seed)?)?;
    }
    Ok(())
}
