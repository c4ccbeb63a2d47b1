//! How much memory a search takes that goes on long after `Hash` is full, and how it goes on.

use std::error::Error;

use shakmaty::Chess;
use tesla_engine::best_first::BestFirst;
use tesla_engine::search::{Info, Search as _};
use tesla_nn::guess::Guesser;

use crate::positions::reported;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Memory of tree and table, MiB
    #[arg(long, default_value_t = 256)]
    hash: usize,
    /// Evaluations
    #[arg(long, default_value_t = 10_000_000)]
    nodes: u64,
    /// Evaluations in a batch
    #[arg(long, default_value_t = 256)]
    batch: usize,
}

/// Memory of this process that is in use, MiB.
fn resident_mb() -> Result<f64, &'static str> {
    let memory = memory_stats::memory_stats().ok_or("this system does not tell memory in use")?;
    Ok(memory.physical_mem as f64 / f64::from(1 << 20))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let before = resident_mb()?;
    let mut search = BestFirst::new(Box::new(Guesser::new(arguments.batch)));
    search.set_hash_mb(arguments.hash);
    println!("| evaluations | hashfull | resident, MiB | seconds |\n|---|---|---|---|");
    let mut most: f64 = 0.0;
    let mut due = 0;
    let start = Chess::default();
    let (outcome, _) = reported(&mut search, arguments.nodes, &start, &mut |info: &Info| {
        let resident = resident_mb().map_or(0.0, |now| now - before);
        most = most.max(resident);
        if info.nodes >= due {
            due = info.nodes + arguments.nodes / 10;
            let seconds = info.time.as_secs_f64();
            println!("| {} | {} | {resident:.0} | {seconds:.1} |", info.nodes, info.hashfull);
        }
    });
    most = most.max(resident_mb()? - before);
    let tree = search.tree();
    println!(
        "{} evaluations; at most {most:.0} MiB of {}; {} positions in the tree, {:.1} bytes each",
        outcome.info.nodes,
        arguments.hash,
        tree.expansion_count(),
        tree.bytes() as f64 / tree.expansion_count() as f64
    );
    Ok(())
}
