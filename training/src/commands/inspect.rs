//! `tesla-train inspect`: what is in files of games.

use std::path::PathBuf;

use clap::Args;

use super::print;
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
pub fn run(args: &InspectArgs) -> anyhow::Result<()> {
    let files = find_files(&args.path)?;
    let summary = Statistics::of_files(&files)?.finish();
    if summary.games == 0 {
        return Err(RecordError::Empty(args.path.clone()).into());
    }
    if args.json {
        print(serde_json::to_string_pretty(&summary)? + "\n")?;
        return Ok(());
    }
    print(format!("{summary}\n"))?;
    if args.samples > 0 {
        print(format!("\n{}", samples(&files, usize::from(args.samples), args.seed)?))?;
    }
    Ok(())
}
