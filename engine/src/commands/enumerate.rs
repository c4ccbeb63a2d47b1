//! `tesla enumerate`: the command line's side of it.

use std::fmt::Write as _;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use shakmaty::{Chess, EnPassantMode, FromSetup as _, Position as _};

use crate::chess::notation::from_fen;
use crate::console::output::Output;
use crate::console::terminal::{INTERRUPTED, complain, interruptible};
use crate::enumerate::{
    self, Archive, Ended, EnumerateError, PliesRequest, Request, Resources, SpacesRequest,
    count_plies, enumerate_spaces, grouped,
};

/// Minimum memory, MiB; buffers and the program itself need some of it.
const LEAST_MEMORY: u64 = 128;
/// Most memory, MiB: more than any machine has, and its bytes fit 64 bits.
const MOST_MEMORY: u64 = 1 << 30;

/// MiB of the bound that are not for sets: the program, and buffers of threads and files.
const OWN_MEMORY: u64 = 72;

/// Of the rest, one part in this many is for the sets. The allocator keeps freed memory for a
/// while, so the process takes up to twice what the sets do (measured).
const SETS: u64 = 2;

/// What to enumerate.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct EnumerateArgs {
    #[command(subcommand)]
    other: Option<Other>,
    /// The first position; the start position if not given
    #[arg(long)]
    fen: Option<String>,
    /// Take its castling rights away
    #[arg(long)]
    no_castling: bool,
    /// Count the distinct positions after each number of plies up to this one, instead
    #[arg(long, value_name = "N", conflicts_with_all = ["edges", "roots"])]
    plies: Option<u32>,
    /// Folder for checkpoints, edges, roots and what does not fit memory; the same command resumes
    /// from it
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Write all edges to the folder: position, move, position
    #[arg(long, requires = "dir")]
    edges: bool,
    /// Write all roots to the folder, hive by hive
    #[arg(long, requires = "dir")]
    roots: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// How.
#[derive(Debug, Args)]
struct ResourceArgs {
    /// Maximum memory; what does not fit goes to files in --dir
    #[arg(long, value_name = "MIB", default_value_t = 4096,
        value_parser = clap::value_parser!(u64).range(LEAST_MEMORY..=MOST_MEMORY))]
    memory: u64,
    /// Threads; as many as there are cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Time between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    checkpoint: f64,
}

impl ResourceArgs {
    fn resources(&self) -> Resources {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Resources {
            memory: ((self.memory - OWN_MEMORY) << 20) / SETS,
            threads: self.threads.map_or_else(cores, usize::from),
            checkpoint: Duration::from_secs_f64(self.checkpoint),
        }
    }
}

#[derive(Debug, Subcommand)]
enum Other {
    /// Goes on from the roots: closes space after space, with one store of roots for all of them,
    /// until none is left or as many as --spaces says
    Spaces(SpacesArgs),
    /// Lists the moves from a position and those that lead to it, as an enumeration with --edges
    /// kept them
    Edges {
        /// The enumeration's folder
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
        /// The position; the enumeration's first one if not given
        #[arg(long)]
        fen: Option<String>,
    },
    /// Lists the roots that an enumeration with --roots kept, of one closure or of many spaces: a
    /// line for each, its hive and its FEN
    Roots {
        /// The enumeration's folder
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
    },
}

/// Which spaces.
#[derive(Debug, Args)]
struct SpacesArgs {
    /// A first position, as often as there are some; without one and without --run the start
    /// position
    #[arg(long)]
    fen: Vec<String>,
    /// A finished enumeration with --roots to go on from, as often as there are some
    #[arg(long, value_name = "FOLDER")]
    run: Vec<PathBuf>,
    /// Take the castling rights of the first positions away
    #[arg(long)]
    no_castling: bool,
    /// Folder for the roots and checkpoints; the same command goes on from it
    #[arg(long, value_name = "FOLDER")]
    dir: PathBuf,
    /// Spaces to close now, besides those of --run; without it, all
    #[arg(long, value_name = "N")]
    spaces: Option<u64>,
    /// Keep the roots of closed spaces, hive by hive
    #[arg(long)]
    roots: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds, for example 60".to_owned()),
    }
}

/// Does what the command line asks for.
///
/// # Errors
/// When it cannot be done; the error is a sentence for people.
pub fn run(arguments: &EnumerateArgs, output: &Output) -> Result<ExitCode, EnumerateError> {
    match &arguments.other {
        Some(Other::Spaces(arguments)) => spaces(arguments, output),
        Some(Other::Edges { dir, fen }) => {
            let archive = Archive::open(dir)?;
            let position = match fen {
                Some(fen) => from_fen(fen, false)?,
                None => archive.start().clone(),
            };
            output.print(&archive.edges_text(&position)?);
            Ok(ExitCode::SUCCESS)
        }
        Some(Other::Roots { dir }) => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            match enumerate::write_roots(dir, &mut out) {
                // A reader that has gone away has read enough.
                Err(error) if error.is_broken_pipe() => Ok(ExitCode::SUCCESS),
                result => result.map(|()| ExitCode::SUCCESS),
            }
        }
        None => count(arguments, output),
    }
}

fn count(arguments: &EnumerateArgs, output: &Output) -> Result<ExitCode, EnumerateError> {
    let start = start(arguments.fen.as_deref(), arguments.no_castling)?;
    let resources = arguments.resources.resources();
    let folder = arguments.dir.clone();
    // Not earlier: what only lists files may end at any moment.
    let stop = interruptible().map_err(EnumerateError::Signals)?;
    let text = if let Some(plies) = arguments.plies {
        let request = PliesRequest { start, plies, folder, resources };
        match count_plies(&request, &stop)? {
            Ended::Complete(counts) => Some(plies_text(&counts)),
            Ended::Stopped => None,
        }
    } else {
        let (edges, roots) = (arguments.edges, arguments.roots);
        match enumerate::enumerate(&Request { start, folder, edges, roots, resources }, &stop)? {
            Ended::Complete(found) => Some(found.text()),
            Ended::Stopped => None,
        }
    };
    Ok(report(text, arguments.dir.as_deref(), output))
}

/// Prints the result, or says how to go on.
fn report(text: Option<String>, dir: Option<&Path>, output: &Output) -> ExitCode {
    if let Some(text) = text {
        output.print(&text);
        return ExitCode::SUCCESS;
    }
    complain(&match dir {
        Some(dir) => format!("stopped; the same command resumes in {}", dir.display()),
        None => "stopped, and nothing was kept; to keep it, name a folder with --dir".to_owned(),
    });
    ExitCode::from(INTERRUPTED)
}

fn spaces(arguments: &SpacesArgs, output: &Output) -> Result<ExitCode, EnumerateError> {
    let mut starts = Vec::new();
    for fen in &arguments.fen {
        starts.push(start(Some(fen), arguments.no_castling)?);
    }
    for run in &arguments.run {
        starts.push(Archive::open(run)?.start().clone());
    }
    if starts.is_empty() {
        starts.push(start(None, arguments.no_castling)?);
    }
    let request = SpacesRequest {
        starts,
        runs: arguments.run.clone(),
        folder: arguments.dir.clone(),
        roots: arguments.roots,
        limit: arguments.spaces,
        resources: arguments.resources.resources(),
    };
    let stop = interruptible().map_err(EnumerateError::Signals)?;
    let text = match enumerate_spaces(&request, &stop)? {
        Ended::Complete(found) => Some(found.text()),
        Ended::Stopped => None,
    };
    if text.is_none() && arguments.spaces.is_some() {
        complain("resumed, --spaces N closes N more");
    }
    Ok(report(text, Some(&arguments.dir), output))
}

fn start(fen: Option<&str>, no_castling: bool) -> Result<Chess, EnumerateError> {
    let start = fen.map_or(Ok(Chess::default()), |fen| from_fen(fen, false))?;
    if !no_castling {
        return Ok(start);
    }
    let mut setup = start.to_setup(EnPassantMode::Legal);
    setup.castling_rights.clear();
    let mode = start.castles().mode();
    // Without rights it is a position all the more; checks that no game gives stay what they were.
    Ok(Chess::from_setup(setup, mode)
        .or_else(shakmaty::PositionError::ignore_impossible_check)
        .unwrap_or(start))
}

fn plies_text(counts: &[u64]) -> String {
    let mut text = "Ply | Distinct positions |\n---|---|".to_owned();
    for (ply, &count) in counts.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{ply} | {} |", grouped(count));
    }
    text
}
