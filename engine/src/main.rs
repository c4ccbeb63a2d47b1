//! The program `tesla`: UCI on stdin and stdout, or one command and out.

use std::io::{Cursor, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use tesla_engine::commands::analyse::{self as analyse, AnalyseArgs};
use tesla_engine::commands::benchmark::{self, BenchmarkArgs};
use tesla_engine::commands::describenet::{self as describenet, DescribenetArgs};
use tesla_engine::commands::doctor::{self, DoctorArgs};
use tesla_engine::commands::enumerate::{self as enumerate, EnumerateArgs};
use tesla_engine::commands::experience::{self as experience, ExperienceCommand};
use tesla_engine::commands::minimax::{self as minimax, MinimaxCommand};
use tesla_engine::commands::review::{self as review, ReviewArgs};
use tesla_engine::commands::{about, bench, perft};
use tesla_engine::console::output::Output;
use tesla_engine::console::terminal::{end_at_once, finish, interruptible};
use tesla_engine::setup::options::Shown;
use tesla_engine::uci::{self, Remains};
#[cfg(feature = "view")]
use tesla_engine::view::{self, ViewArgs};

/// Tree and batches are many small allocations; on a CPU network this halves their cost.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Tesla, a UCI chess engine: best-first minimax search over a batched transformer.
#[derive(Parser)]
#[command(name = "tesla", after_help = CONNECTING, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Prints version, network, features and device
    #[arg(long)]
    version: bool,
    /// Prints the version
    #[arg(short = 'V')]
    short_version: bool,
    /// Lists the search's tunables among the UCI options, which can be set without it
    #[arg(long)]
    show_hidden: bool,
    /// The network's file for a session, as the option `WeightsFile`
    #[arg(long, value_name = "FILE")]
    weights: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Searches fixed positions without a network: prints a signature and a speed
    Bench {
        /// Nodes per position
        #[arg(default_value_t = bench::DEFAULT_NODES)]
        nodes: u64,
        /// Search with the network instead, as on `go`; its signature differs between devices
        #[arg(long)]
        network: bool,
    },
    /// Counts the lines of a length, move by move
    Perft {
        /// Length in plies
        #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(perft::LONGEST)))]
        depth: u32,
        /// The position; the start position if not given
        #[arg(long)]
        fen: Option<String>,
        /// Checks the counts of an EPD file's positions up to that length: FEN ;D1 20 ;D2 400
        #[arg(long, conflicts_with = "fen")]
        suite: Option<PathBuf>,
    },
    /// Checks this machine and the installation, and says how to fix each problem
    Doctor(DoctorArgs),
    /// Tells shape, parameters, hash and training data of a network
    Describenet(DescribenetArgs),
    /// Measures every device with the network, and says which options to set
    Benchmark(BenchmarkArgs),
    /// Answers queries in JSON, a line each on stdin and stdout: many positions on one device
    Analyse(AnalyseArgs),
    /// Annotates games with what each move lost, and prints a table
    Review(ReviewArgs),
    /// Shows the search at work, on a page in the browser
    #[cfg(feature = "view")]
    View(ViewArgs),
    /// Minimax, alpha-beta and exhaustive search: what pruning saves, mates counted exactly
    #[command(subcommand)]
    Minimax(MinimaxCommand),
    /// The three-state decider's experience: shows its file, or makes one by playing
    #[command(subcommand)]
    Experience(ExperienceCommand),
    /// Counts all positions that can be reached without a pawn move or capture, and those that the
    /// next one leads to: the position's closure and its roots
    ///
    /// With --dir the same command resumes it after Ctrl-C, a crash or a power cut.
    Enumerate(Box<EnumerateArgs>),
}

const CONNECTING: &str = "\
Without a command, Tesla speaks the Universal Chess Interface on stdin and stdout. In a GUI (Cute \
Chess, Arena, Banksia, Nibbler, En Croissant, ...) choose \"add engine\", select this program and \
the protocol UCI; the options then appear in the GUI. To try it in a terminal, start it and type: \
help";

fn main() -> ExitCode {
    #[cfg(feature = "wgpu")]
    tesla_nn::device::start_quietly();
    let output = Output::stdout();
    // Arguments may be names of files that are no text.
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    if words.first().is_some_and(|word| word.contains(' ') && !word.starts_with('-')) {
        // Lines of UCI, each a word of the command line, as OpenBench gives them. Its `quit` is
        // what their end is: it waits for what was asked for before.
        let lines = words.iter().filter(|word| word.trim() != "quit").map(String::as_str);
        let lines = lines.collect::<Vec<_>>().join("\n");
        return leave(uci::run_lines(&lines, &output));
    }
    match Arguments::parse() {
        Arguments { version: true, .. } => output.print(&about::text()),
        Arguments { short_version: true, .. } => output.print(about::VERSION),
        Arguments { command: None, show_hidden, weights, .. } => {
            if std::io::stdin().is_terminal() {
                output.print(about::GREETING);
            }
            let first = weights.map(|path| format!("setoption name WeightsFile value {path}\n"));
            let input = Cursor::new(first.unwrap_or_default()).chain(std::io::stdin().lock());
            // A reader that has gone away is no fault of a session's.
            return leave(uci::run(input, &output, shown(show_hidden)));
        }
        Arguments { command: Some(command), .. } => {
            let code = obey(command, &output);
            if code != ExitCode::SUCCESS {
                return code;
            }
        }
    }
    finish(output.error().map_or(Ok(ExitCode::SUCCESS), Err))
}

/// Which options answer `uci`. Servers that give no arguments can build it so.
fn shown(is_asked: bool) -> Shown {
    let is_built_so = option_env!("TESLA_SHOW_HIDDEN") == Some("1");
    if is_asked || is_built_so { Shown::All } else { Shown::Choices }
}

/// How the program ends after a session.
fn leave(remains: Remains) -> ExitCode {
    match remains {
        Remains::Nothing => ExitCode::SUCCESS,
        Remains::Loading => end_at_once(),
    }
}

/// Does what one command says.
fn obey(command: Command, output: &Output) -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Bench { nodes, network } => {
            finish(bench::command(nodes, network, output).map(done))
        }
        Command::Perft { depth, suite: Some(suite), .. } => {
            let check = |stop| perft::suite::check(&suite, depth, &stop, output);
            finish(interruptible().and_then(check).map(done))
        }
        Command::Perft { depth, fen, suite: None } => {
            let counted = perft::command(fen.as_deref(), depth, output);
            finish(counted.map(done).map_err(|problem| problem.to_string()))
        }
        Command::Doctor(arguments) => finish(doctor::run(&arguments, output).map(done)),
        Command::Describenet(arguments) => finish(describenet::run(&arguments, output).map(done)),
        Command::Benchmark(arguments) => finish(benchmark::run(&arguments, output).map(done)),
        Command::Analyse(arguments) => {
            let input = std::io::stdin().lock();
            finish(analyse::run(&arguments, input, output).map(done))
        }
        Command::Review(arguments) => finish(review::run(&arguments, output)),
        #[cfg(feature = "view")]
        Command::View(arguments) => finish(view::run(&arguments, output)),
        Command::Minimax(command) => finish(minimax::run(&command, output).map(done)),
        Command::Experience(command) => {
            finish(interruptible().and_then(|stop| experience::run(&command, &stop, output)))
        }
        Command::Enumerate(arguments) => {
            let result = enumerate::run(&arguments, output);
            finish(result.map_err(|problem| problem.to_string()))
        }
    }
}
