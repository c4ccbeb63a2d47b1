//! `tesla-train evaluate`: what a network is worth on held-out games and on puzzles.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tesla_engine::commands::check_output;
use tesla_nn::device::{DeviceChoice, choose};
use tesla_nn::files;

use crate::disk::network::weights_file;
use crate::evaluate::puzzles::{self, Solvers};
use crate::evaluate::{Evaluated, Report, evaluate};
use crate::labelled::{RecordError, Room, is_held_out_file};
use crate::players::pool::MOST_AT_ONCE;
use crate::suite::{self, Item, Options, Selection};
use crate::train::dataset::Dataset;
use crate::train::learnt::Learnt;

/// The command line of an evaluation.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// Weights file, or the folder of a training run: its newest.
    #[arg(long)]
    weights: PathBuf,
    /// Held-out .games.zst file, or a folder with some (valid*).
    #[arg(long, required_unless_present = "puzzles")]
    data: Option<PathBuf>,
    /// Also accept games that the network was trained on, as listed in its run's folder.
    #[arg(long)]
    learnt: bool,
    /// Use every n-th game only.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Threads for the games; for the puzzles, how many are solved at once.
    #[arg(long, default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE))]
    threads: u16,
    /// CSV file of puzzles, in the form of the Lichess database: solved by each head alone, and by
    /// searches.
    #[arg(long)]
    puzzles: Option<PathBuf>,
    /// Use N random puzzles instead of all.
    #[arg(long, requires = "puzzles")]
    sample: Option<usize>,
    /// Skip puzzles that cannot be read, and tell how many.
    #[arg(long, requires = "puzzles")]
    lenient: bool,
    /// Evaluations of the searches that solve puzzles, as 100,400; none without.
    #[arg(long, requires = "puzzles", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Vec<u64>,
    /// Device that runs the network: auto, cpu, gpu, or software for tests.
    #[arg(long, default_value_t)]
    device: DeviceChoice,
    /// Print one paragraph on the games instead of the tables.
    #[arg(long)]
    brief: bool,
    /// Write all figures into this file too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Prints what the network is worth. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when the network, the games, the puzzles or the file for the figures cannot be used.
pub fn run(args: &EvaluateArgs, say: &dyn Fn(&str)) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(twice) =
        (1..args.nodes.len()).find(|&at| args.nodes[..at].contains(&args.nodes[at]))
    {
        return Err(format!("--nodes names {} twice; leave one out", args.nodes[twice]).into());
    }
    if let Some(path) = &args.json {
        check_output(path)?;
    }
    let chosen = choose(args.device)?;
    chosen.note.iter().for_each(|note| say(note));
    let device = chosen.tensors();
    let weights = weights_file(&args.weights)?;
    let network = tesla_nn::weights::load_file(&weights, &device)?;
    let items = items(args, say)?;
    let (block_parameters, parameters) = network.model.parameters();
    let mut all = Evaluated {
        network: format!("{}-{}", network.config.name, network.hash),
        block_parameters,
        parameters,
        every: args.every,
        games: None,
        puzzles: Vec::new(),
    };
    let mut out = std::io::stdout();
    writeln!(
        out,
        "Network {}: {block_parameters} weights in the blocks, {parameters} in all.\n",
        all.network
    )?;
    if let Some(path) = &args.data {
        let dataset = games(path, args.learnt)?;
        let learnt_games = learnt_games(args, &weights, &dataset, say)?;
        let (every, threads) = (args.every as usize, usize::from(args.threads));
        let figures = evaluate(&network.model, &dataset, every, threads, &device);
        let report = Report { learnt_games, ..Report::from(&figures) };
        let report = all.games.insert(report);
        if args.brief {
            writeln!(out, "{}", report.brief())?;
        } else {
            writeln!(out, "{report}")?;
        }
        // What took long is kept, whatever becomes of the puzzles.
        write(args, &all)?;
    }
    if !items.is_empty() {
        let device = args.device.to_string();
        let concurrency = usize::from(args.threads);
        let solvers =
            Solvers { weights: &weights, device: &device, nodes: &args.nodes, concurrency };
        let mut done = |solved| {
            all.puzzles.push(solved);
            // Each takes long, too.
            write(args, &all)
        };
        puzzles::solve(&solvers, &items, &mut done, say)?;
        writeln!(out, "Puzzles solved, in percent (95 %), and the rating that follows:\n")?;
        write!(out, "{}", puzzles::table(&all.puzzles).for_people())?;
    }
    Ok(write(args, &all)?)
}

/// The puzzles to solve; none where none are asked for.
fn items(args: &EvaluateArgs, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Item>> {
    let Some(path) = &args.puzzles else { return Ok(Vec::new()) };
    let selection =
        args.sample.map_or(Selection::All, |count| Selection::Sample { count, seed: 1 });
    let lenient = args.lenient;
    let suite = suite::read(path, &Options { selection, lenient, ..Options::default() })?;
    suite.skipped_note().iter().for_each(|note| say(note));
    Ok(suite.items)
}

/// The games of a file; of a folder, the held-out ones alone, or all.
fn games(path: &Path, all: bool) -> Result<Dataset, Box<dyn std::error::Error>> {
    let is_wanted = |file: &Path| all || !path.is_dir() || is_held_out_file(file);
    let dataset = Dataset::read_named(path, is_wanted, Room::of_machine())?;
    if dataset.positions() == 0 && !path.is_dir() {
        return Err(RecordError::Empty(path.to_owned()).into());
    }
    if dataset.positions() == 0 {
        return Err(format!(
            "{} has no held-out games, in files whose names begin with valid (datagen and merge \
             make them with --valid); name a file of games, or add --learnt to measure on all",
            path.display()
        )
        .into());
    }
    Ok(dataset)
}

/// Said where nothing tells what the network has learnt from.
const UNKNOWN: &str = "it is not known whether the network has learnt from these games: there is \
                       no games.learnt in its folder or the one above, as a training run's has";

/// How many of these games the network has learnt from, if that is known; refused unless they are
/// meant.
fn learnt_games(
    args: &EvaluateArgs,
    weights: &Path,
    dataset: &Dataset,
    say: &dyn Fn(&str),
) -> Result<Option<usize>, Box<dyn std::error::Error>> {
    let learnt = Learnt::of(weights)?.map(|learnt| learnt.count(dataset));
    if learnt.is_none() {
        say(UNKNOWN);
    }
    if let Some(learnt @ 1..) = learnt
        && !args.learnt
    {
        let games = dataset.games();
        return Err(format!(
            "the network has learnt from {learnt} of the {games} games, so its figures on them say \
             nothing about others; name others with --data, or add --learnt to see them anyway"
        )
        .into());
    }
    Ok(learnt)
}

/// Writes the figures into the file that was named, if one was.
fn write(args: &EvaluateArgs, all: &Evaluated) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        let text = serde_json::to_vec_pretty(all)?;
        files::replace(path, &text)?;
    }
    Ok(())
}
