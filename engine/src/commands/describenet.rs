//! `tesla describenet`: what is known of a network, as lc0's command of that name tells it.

use std::path::PathBuf;

use clap::Args;

use crate::console::output::Output;

/// `tesla describenet`.
#[derive(Args, Debug)]
pub struct DescribenetArgs {
    /// A network's file; the one inside the program if not given
    file: Option<PathBuf>,
    /// The same, as lc0 has it
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    weights: Option<PathBuf>,
}

/// Prints the network's shape, parameters, hash and training data.
///
/// # Errors
/// A sentence, when the file cannot be read or is no network of this version.
pub fn run(args: &DescribenetArgs, output: &Output) -> Result<(), String> {
    output.print(&text(args.file.as_deref().or(args.weights.as_deref()))?);
    Ok(())
}

#[cfg(not(feature = "net"))]
fn text(_: Option<&std::path::Path>) -> Result<String, String> {
    let advice = "this program was built without the network; build it with: cargo build --release";
    Err(advice.to_owned())
}

#[cfg(feature = "net")]
use self::known::text;

#[cfg(feature = "net")]
mod known {
    use std::path::Path;

    use serde_json::Value;
    use tesla_nn::files::read_text;

    use crate::setup::network;

    /// The networks that were trained here, with what they have learnt from.
    const LEDGER: &str = include_str!("../../../models/README.md");

    /// What a cell of the ledger says where the row before it says the same.
    const SAME: &str = "the same";

    /// Most bytes of a run's config.
    const LARGEST_CONFIG: u64 = 1 << 20;

    /// A line for each thing that is known.
    pub(super) fn text(file: Option<&Path>) -> Result<String, String> {
        let network = network::describe(file)?;
        let name = match file {
            None => format!("{}, inside the program", network::embedded().0),
            Some(path) => path.display().to_string(),
        };
        let shape = &network.config;
        let mut lines = vec![
            ("network", name),
            ("hash", format!("SHA-256 {}", network.hash)),
            (
                "shape",
                format!(
                    "{}: width {}, {} layers, {} heads, feed-forward {}, value heads {}, move \
                     heads {}",
                    shape.name,
                    shape.width,
                    shape.layers,
                    shape.heads,
                    shape.feed_forward,
                    shape.value_hidden,
                    shape.move_hidden
                ),
            ),
            (
                "parameters",
                format!(
                    "{} ({} not zero) in {} tensors, stored as {}",
                    grouped(network.parameters),
                    grouped(network.nonzero),
                    network.tensors,
                    network.types.join(" and ")
                ),
            ),
        ];
        let row = ledger(LEDGER, &network.hash[..8]);
        let run = file.and_then(run_of);
        if row.is_empty() && run.is_none() {
            let unknown = "not known: it is not in the ledger (models/README.md), and no config of \
                           its run is beside it";
            lines.push(("training", unknown.to_owned()));
        }
        lines.extend(run.map(|run| ("run", run)));
        lines.extend(row.into_iter().map(|cell| ("ledger", cell)));
        let lines = lines.iter().map(|(what, text)| format!("{what:<12}{text}"));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The cells of the ledger's row for this hash, each behind its column's name.
    fn ledger(text: &str, hash: &str) -> Vec<String> {
        let rows = text.lines().skip_while(|line| !line.starts_with("| network |"));
        let rows: Vec<Vec<&str>> =
            rows.take_while(|line| line.starts_with('|')).map(cells_of).collect();
        let is_it = |row: &Vec<&str>| row[0].trim_matches('`').ends_with(hash);
        let Some(at) = rows.iter().position(is_it) else { return Vec::new() };
        let said = |column: usize| {
            let above = rows[..=at].iter().rev().filter_map(|row| row.get(column));
            above.copied().find(|cell| *cell != SAME)
        };
        let columns = rows[0].iter().enumerate().skip(1);
        columns.filter_map(|(at, name)| Some(format!("{name}: {}", said(at)?))).collect()
    }

    fn cells_of(row: &str) -> Vec<&str> {
        row.trim().trim_matches('|').split('|').map(str::trim).collect()
    }

    /// What the config of the run says that is beside the file.
    fn run_of(file: &Path) -> Option<String> {
        let folder = file.parent()?;
        let places = [
            file.with_extension("json"),
            folder.join("config.json"),
            folder.parent().unwrap_or(folder).join("config.json"),
        ];
        let read = |path: &Path| read_text(path, LARGEST_CONFIG).ok();
        let (path, config) = places.iter().find_map(|path| {
            let config: Value = serde_json::from_str(&read(path)?).ok()?;
            // Other programs' files have that name too.
            config.get("model").is_some().then_some((path, config))
        })?;
        let said = |key: &str| config.get(key).filter(|value| !value.is_null());
        let words = [
            ("positions", "positions"),
            ("steps", "steps"),
            ("batch", "windows a batch"),
            ("workers", "workers"),
            ("parts", "batches of each worker a step"),
            ("seed", "seed"),
            ("started_from", "started from"),
        ];
        let parts = words.iter().filter_map(|(key, name)| {
            let value = said(key)?;
            Some(match value.as_u64() {
                Some(count) => format!("{name} {}", grouped(count as usize)),
                None => format!("{name} {}", value.as_str()?),
            })
        });
        let parts: Vec<String> = parts.collect();
        Some(format!("{} ({})", parts.join(", "), path.display()))
    }

    /// With a comma between thousands.
    fn grouped(count: usize) -> String {
        let digits = count.to_string();
        let group = |(at, digit): (usize, char)| {
            let is_between = at > 0 && (digits.len() - at).is_multiple_of(3);
            is_between.then_some(',').into_iter().chain([digit])
        };
        digits.chars().enumerate().flat_map(group).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_shipped_network_is_described() {
            let text = text(None).unwrap();
            let (name, hash) = network::embedded();
            for word in [name, &hash, "width 128", "parameters  ", "ledger      data:"] {
                assert!(text.contains(word), "{word} is not in {text}");
            }
            let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
            let file = models.join(format!("{name}.safetensors"));
            let of_file = super::text(Some(&file)).unwrap();
            assert!(of_file.contains("started from ") && of_file.contains(&hash));
            assert!(super::text(Some(&models.join("no.safetensors"))).is_err());
        }

        #[test]
        fn the_ledger_is_read_by_hash() {
            let text = "| network | data |\n|---|---|\n| `a-11112222` | 5 games |\n\
                        | `a-33334444` | the same |\n\n| other | table |\n";
            assert_eq!(ledger(text, "33334444"), ["data: 5 games"]);
            assert!(ledger(text, "55556666").is_empty());
            assert_eq!((grouped(999), grouped(1000)), ("999".to_owned(), "1,000".to_owned()));
        }
    }
}
