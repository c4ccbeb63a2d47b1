//! `tesla-train export`: a checkpoint's weights as a file to ship.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use burn::tensor::Device;
use clap::Args;
use tesla_nn::model::Model;
use tesla_nn::weights::Loaded;

use crate::disk::network::weights_file;
use crate::evaluate::idle::busy_units;
use crate::labelled::RecordError;
use crate::train::dataset::Dataset;
use crate::train::trainer::average::mean;

/// The command line of an export.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Weights file, of a checkpoint or shipped, or the folder of a training run: its newest.
    #[arg(long)]
    weights: PathBuf,
    /// Folder for the new file.
    #[arg(long)]
    out: PathBuf,
    /// Other networks of the same shape, likewise: the new file holds the mean of all their
    /// weights. Where one was trained from the other it is often better than both.
    #[arg(long, value_name = "WEIGHTS", num_args = 1..)]
    average: Vec<PathBuf>,
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
    let mut network = load(&args.weights)?;
    if !args.average.is_empty() {
        network.model = averaged(&network, args)?;
    }
    if let Some(games) = &args.prune {
        network.model = pruned(&network, games, args, say)?;
    }
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// The network of a weights file or of a run.
fn load(path: &Path) -> anyhow::Result<Loaded> {
    Ok(tesla_nn::weights::load_file(&weights_file(path)?, &Device::flex())?)
}

/// The mean of the network and the others that are named.
fn averaged(network: &Loaded, args: &ExportArgs) -> anyhow::Result<Model> {
    let mut others = Vec::with_capacity(args.average.len());
    for path in &args.average {
        let other = load(path)?;
        ensure!(
            other.config == network.config,
            "--average {}: its shape is not that of {}; only networks of one shape have a mean",
            path.display(),
            args.weights.display()
        );
        others.push(other.model);
    }
    Ok(mean(&network.model, &others))
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
