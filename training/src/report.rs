//! `tesla-train report`: all measurements on one page, to be read offline.
//!
//! Folders and files of other commands go in and are recognised by what they hold (`sources`);
//! one HTML file with its pictures inside comes out. Nothing is measured here.

mod chart;
mod errors;
mod games;
mod heads;
mod law;
mod learning;
mod network;
mod origin;
mod page;
mod players;
mod sources;
mod spsa;
mod suites;
mod training;

use std::path::{Path, PathBuf};

use sources::Sources;
use tesla_nn::files;

/// What is written.
#[derive(Debug)]
pub struct Output<'a> {
    /// The page's heading.
    pub title: &'a str,
    /// The page.
    pub page: &'a Path,
    /// Folder for the charts as files of their own, if they are wanted.
    pub pictures: Option<&'a Path>,
}

/// Reads `paths` and writes the page. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when a path holds nothing or something damaged, when the page would replace anything
/// but an earlier page, or a file cannot be written.
pub fn write(paths: &[PathBuf], output: &Output<'_>, say: &dyn Fn(&str)) -> anyhow::Result<()> {
    check_page(output.page)?;
    let sources = Sources::read(paths)?;
    let mut sections = Vec::new();
    sections.extend(games::section(&sources.matches));
    sections.extend(suites::section(&sources.suites));
    sections.extend(network::section(&sources.networks));
    sections.extend(law::sections(&sources.tunings));
    sections.extend(spsa::sections(&sources.tuned));
    sections.extend(training::section(&sources.runs));
    sections.extend(learning::section(&sources.learnings));
    anyhow::ensure!(
        !sections.is_empty(),
        "nothing was measured in these folders yet; come back when the runs have begun"
    );
    let counted = counted(&sources);
    let repeated: u64 = sources.matches.iter().map(|played| played.repeated).sum();
    if repeated > 0 {
        say(&format!(
            "{repeated} games are in the folders twice, move by move between sides that always \
             answer alike, and count once"
        ));
    }
    let lead = origin::lines(&sources, &counted);
    let headlines = games::headlines(&sources.matches);
    let page = page::page(output.title, (&lead, &headlines), &sections)?;
    files::replace(output.page, page.as_bytes())?;
    say(&format!("wrote {}, from {counted}", output.page.display()));
    if let Some(folder) = output.pictures {
        files::make_folder(folder)?;
        for (name, picture) in
            sections.iter().map(page::pictures).collect::<Result<Vec<_>, _>>()?.concat()
        {
            files::replace(&folder.join(&name), picture.as_bytes())?;
        }
        say(&format!("wrote the charts into {}", folder.display()));
    }
    Ok(())
}

/// Makes sure that nothing is written over but an earlier page, nor where another report would
/// read it as something that was measured.
fn check_page(page: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        page.extension().is_some_and(|end| end.eq_ignore_ascii_case("html")),
        "--out is {}; name a page that ends in .html",
        page.display()
    );
    anyhow::ensure!(
        !page.exists() || page::is_ours(&files::read_bounded(page, files::LARGEST)?),
        "{} is no page of report, and nothing is written over; choose another name with --out",
        page.display()
    );
    Ok(())
}

/// What was found, in words.
fn counted(sources: &Sources) -> String {
    let count = |number: usize, what: &str, more: &str| {
        (number > 0).then(|| format!("{number} {what}{}", if number == 1 { "" } else { more }))
    };
    let counted: Vec<String> = [
        count(sources.matches.len(), "match", "es"),
        count(sources.suites.len(), "set", "s").map(|text| text + " of answers to suites"),
        count(sources.networks.len(), "file", "s").map(|text| text + " of figures of networks"),
        count(sources.tunings.len(), "tuning", "s"),
        count(sources.tuned.len(), "tuning", "s").map(|text| text + " by games"),
        count(sources.runs.len(), "training run", "s"),
        count(sources.learnings.len(), "experience", "s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    counted.join(", ")
}
