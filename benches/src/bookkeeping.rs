//! What the search itself costs: gather, expand and back up without a network.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shakmaty::Chess;
use tesla_engine::options::Settings;
use tesla_engine::roster::{Machine, tree_search};
use tesla_engine::search_api::Search as _;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};
use tesla_nn::guess::Guesser;

use crate::positions::searched;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Trees to measure at, evaluations: each from there on for a tenth as many
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000])]
    sizes: Vec<u64>,
    /// Evaluations in a batch
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// Searches: the first touches fresh memory, the others use it again, as later moves of a game do
    #[arg(long, default_value_t = 2)]
    rounds: u32,
    /// Memory of tree and table, MiB
    #[arg(long, default_value_t = 1024)]
    hash: usize,
    /// Tunables and options: `--set average_share=0,Search=PUCT`
    #[arg(long, default_value = "")]
    set: String,
}

/// When so many evaluations were asked for, without the evaluator's own time.
type Marks = Arc<Mutex<Vec<(u64, Duration)>>>;

/// Notes the time at every batch.
struct Stopwatch {
    inner: Guesser,
    asked: u64,
    began: Instant,
    marks: Marks,
}

impl Evaluator for Stopwatch {
    fn description(&self) -> String {
        self.inner.description()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.inner.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let now = self.began.elapsed().saturating_sub(self.inner.spent());
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).push((self.asked, now));
        self.asked += batch.len() as u64;
        self.inner.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.inner.collect()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    crate::assign(&mut settings, &arguments.set)?;
    let machine = Machine::of(&settings);
    let marks = Marks::default();
    let watch = Stopwatch {
        inner: Guesser::new(arguments.batch),
        asked: 0,
        began: Instant::now(),
        marks: Arc::clone(&marks),
    };
    let mut search = tree_search(&machine, Box::new(watch));
    search.set_hash_mb(arguments.hash);
    let most = arguments.sizes.iter().max().copied().unwrap_or(0);
    println!("| search | evaluations in the tree | leaves/s | µs each |\n|---|---|---|---|");
    let mut outcome = None;
    for round in 1..=arguments.rounds {
        outcome = Some(searched(&mut search, most + most / 10 + 1_000, &Chess::default()).0);
        let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
        let before = marks.first().map_or(0, |&(asked, _)| asked);
        for &size in &arguments.sizes {
            let at =
                |count: u64| marks.iter().find(|&&(asked, _)| asked - before >= count).copied();
            let (Some((from, start)), Some((to, end))) = (at(size), at(size + size / 10)) else {
                println!("| {round} | {size} | the search ended before | |");
                continue;
            };
            let seconds = end.saturating_sub(start).as_secs_f64();
            let leaves = (to - from) as f64;
            let (rate, each) = (leaves / seconds, 1e6 * seconds / leaves);
            println!("| {round} | {size} | {rate:.0} | {each:.2} |");
        }
    }
    let Some(outcome) = outcome else { return Ok(()) };
    let tree = search.tree();
    println!(
        "{:.1} bytes an evaluated position, {} of them in the tree; depth {} to {}; hashfull {}",
        tree.bytes() as f64 / tree.branch_count() as f64,
        tree.branch_count(),
        outcome.info.depth,
        outcome.info.selective_depth,
        outcome.info.hashfull
    );
    Ok(())
}
