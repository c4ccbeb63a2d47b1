//! `tesla-benches`: how fast Tesla is, and long checks that no test run has time for.
//!
//! * [`processor`] — what the processor has done for this process;
//! * [`encode`] — what encoding positions for the network costs;
//! * `gpu` — a search on a GPU: the host's part of a batch, and the answers against the CPU's;
//! * [`incremental`] — whole against incremental evaluation: speed and tokens;
//! * [`memory`] — what a search takes long after `Hash` is full;
//! * [`overlap`] — how busy the search keeps a device of a set latency;
//! * [`paths`], [`roots`] — what a search's trees look like, for training and for the rule;
//! * `training` — one training run: positions per second, by the clock and of the processor;
//! * [`perft`] — the rules against a file of known counts;
//! * [`positions`] — what all of them measure on.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool prints its findings"
)]

mod encode;
#[cfg(feature = "net")]
mod gpu;
mod incremental;
mod memory;
mod overlap;
mod paths;
mod perft;
mod positions;
mod processor;
mod roots;
#[cfg(feature = "net")]
mod training;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tesla_engine::setup::settings::Settings;

/// The engine's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Tesla.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks the move generator against an EPD file of lines `FEN ;D1 20 ;D2 400 ...`
    Perft {
        /// The file
        file: PathBuf,
        /// Skip depths with more lines than this
        #[arg(long, default_value_t = u64::MAX)]
        max_nodes: u64,
    },
    /// Encodes positions for the network: microseconds of the processor each, and a checksum
    Encode(encode::Arguments),
    /// Searches on a GPU: what a batch costs the host, and how far the answers are from the CPU's
    #[cfg(feature = "net")]
    Gpu(gpu::Arguments),
    /// Searches middle games with whole and with incremental evaluation, in turns: speed and tokens
    Incremental(incremental::Arguments),
    /// Searches middle games and counts how often the moves on its paths are refuted
    Paths(paths::Arguments),
    /// Searches on when memory is full: what the process takes, and how full it says it is
    Memory(memory::Arguments),
    /// Searches on a device with a set latency: how busy and full it is, how soon a stop is
    /// answered
    Overlap(overlap::Arguments),
    /// Searches positions and prints what is known of each root move, as CSV
    Roots(roots::Arguments),
    /// Trains on random games: positions per second, by the clock and of the processor
    #[cfg(feature = "net")]
    Train(training::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tesla-benches: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Perft { file, max_nodes } => perft::run(&file, max_nodes),
        Command::Encode(arguments) => encode::run(&arguments),
        #[cfg(feature = "net")]
        Command::Gpu(arguments) => gpu::run(&arguments),
        Command::Incremental(arguments) => incremental::run(&arguments),
        Command::Paths(arguments) => paths::run(&arguments),
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Overlap(arguments) => overlap::run(&arguments),
        Command::Roots(arguments) => roots::run(&arguments),
        #[cfg(feature = "net")]
        Command::Train(arguments) => training::run(&arguments),
    }
}

/// Sets options from text like `KVCache=256,anchor_work=64`.
fn assign(settings: &mut Settings, text: &str) -> Result<(), Box<dyn Error>> {
    for assignment in text.split(',').filter(|part| !part.is_empty()) {
        let (option, value) = assignment
            .split_once('=')
            .ok_or_else(|| format!("'{assignment}' is no option; write OPTION=VALUE"))?;
        settings.set(option, value)?;
    }
    Ok(())
}
