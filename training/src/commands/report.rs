//! `tesla-train report`: the command line.

use std::path::PathBuf;

use clap::Args;

use crate::report;

/// The command line of a report.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of train, match, suite, tune, or folders of such folders; files of evaluate --json,
    /// and of tesla experience learn --csv.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The page, which ends in .html; an earlier page is replaced, any other file is refused.
    #[arg(long, default_value = "report.html")]
    out: PathBuf,
    /// Folder for the charts as SVG files of their own, besides.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// The page's heading.
    #[arg(long, default_value = "Tesla: what was measured")]
    title: String,
}

/// Writes the page. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when a path holds nothing or something damaged, or the page cannot be written.
pub fn run(args: &ReportArgs, say: &dyn Fn(&str)) -> anyhow::Result<()> {
    let output =
        report::Output { title: &args.title, page: &args.out, pictures: args.svg.as_deref() };
    report::write(&args.paths, &output, say)
}
