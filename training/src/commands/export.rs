//! `tesla-train export`: a checkpoint's weights as a file to ship.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use clap::Args;
use tesla_nn::model::Model;
use tesla_nn::weights::Loaded;

use crate::disk::network::weights_file;
use crate::evaluate::idle::busy_units;
use crate::labelled::RecordError;
use crate::train::dataset::Dataset;

/// The command line of an export.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Weights file, of a checkpoint or shipped, or the folder of a training run: its newest.
    #[arg(long)]
    weights: PathBuf,
    /// Folder for the new file.
    #[arg(long)]
    out: PathBuf,
    /// Games (a .games.zst file, or a folder of them): leave out the hidden units of the
    /// feed-forward parts that give next to nothing in their positions. The network answers nearly
    /// the same then, and is quicker on a CPU.
    #[arg(long, value_name = "GAMES")]
    prune: Option<PathBuf>,
    /// Use every n-th of these games only.
    #[arg(long, requires = "prune", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Threads that look at the games.
    #[arg(long, requires = "prune", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
}

/// Writes the file. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when the weights or the games cannot be read or the file cannot be written.
pub fn run(args: &ExportArgs, say: &dyn Fn(&str)) -> anyhow::Result<()> {
    let mut network = tesla_nn::weights::load_file(&weights_file(&args.weights)?, &Device::flex())?;
    if let Some(games) = &args.prune {
        network.model = pruned(&network, games, args, say)?;
    }
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// The network without the hidden units that are idle in the games.
fn pruned(
    network: &Loaded,
    games: &Path,
    args: &ExportArgs,
    say: &dyn Fn(&str),
) -> Result<Model, RecordError> {
    let dataset = Dataset::read(games, "")?;
    let (every, threads) = (args.every as usize, usize::from(args.threads));
    let busy = busy_units(&network.model, &dataset, every, threads);
    let counts = busy.iter().map(|layer| layer.iter().filter(|&&busy| busy).count().to_string());
    let counts: Vec<String> = counts.collect();
    let all = network.config.feed_forward;
    say(&format!("kept {} of {all} hidden units, layer by layer", counts.join(", ")));
    let factor = |&busy: &bool| f32::from(u8::from(busy));
    let factors = busy.iter().map(|layer| layer.iter().map(factor).collect());
    Ok(network.model.clone().scale_units(&factors.collect::<Vec<_>>()))
}
