//! `tesla-train export`: a checkpoint's weights as a file to ship.

use std::path::PathBuf;

use burn::tensor::Device;
use clap::Args;

use crate::disk::network::weights_file;

/// The command line of an export.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Weights file, of a checkpoint or shipped, or the folder of a training run: its newest.
    #[arg(long)]
    weights: PathBuf,
    /// Folder for the new file.
    #[arg(long)]
    out: PathBuf,
}

/// Writes the file. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when the weights cannot be read or the file cannot be written.
pub fn run(args: &ExportArgs, say: &dyn Fn(&str)) -> anyhow::Result<()> {
    let network = tesla_nn::weights::load_file(&weights_file(&args.weights)?, &Device::flex())?;
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}
