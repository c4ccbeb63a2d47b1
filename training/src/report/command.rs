//! `tesla-train report`: the command line.

use std::path::PathBuf;

use clap::Args;

use super::sources::Sources;
use super::{games, law, network, page, training};

/// The command line of a report.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of train, match, tune, or folders of such folders; files of evaluate --json.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The page.
    #[arg(long, default_value = "report.html")]
    out: PathBuf,
    /// Its heading.
    #[arg(long, default_value = "Tesla: what was measured")]
    title: String,
}

/// Writes the page. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when a path holds nothing or something damaged, or the page cannot be written.
pub fn run(args: &ReportArgs, say: &dyn Fn(&str)) -> Result<(), Box<dyn std::error::Error>> {
    let sources = Sources::read(&args.paths)?;
    let mut sections = Vec::new();
    sections.extend(games::section(&sources.matches));
    sections.extend(network::section(&sources.networks));
    sections.extend(law::sections(&sources.tunings));
    sections.extend(training::section(&sources.runs));
    if sections.is_empty() {
        return Err(
            "nothing was measured in these folders yet; come back when the runs have begun".into(),
        );
    }
    let count = |number: usize, what: &str, more: &str| {
        (number > 0).then(|| format!("{number} {what}{}", if number == 1 { "" } else { more }))
    };
    let counted: Vec<String> = [
        count(sources.matches.len(), "match", "es"),
        count(sources.networks.len(), "file", "s").map(|text| text + " of figures of networks"),
        count(sources.tunings.len(), "tuning", "s"),
        count(sources.runs.len(), "training run", "s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let repeated: u64 = sources.matches.iter().map(|played| played.repeated).sum();
    if repeated > 0 {
        say(&format!(
            "{repeated} games are in the folders twice, move by move between sides that always answer \
             alike, and count once"
        ));
    }
    let lead = format!("Made by tesla-train report from {}.", counted.join(", "));
    let page = page::page(&args.title, &lead, &sections)?;
    std::fs::write(&args.out, page)
        .map_err(|error| format!("{} cannot be written: {error}", args.out.display()))?;
    say(&format!("wrote {}, from {}", args.out.display(), counted.join(", ")));
    Ok(())
}
