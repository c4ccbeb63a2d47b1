//! What the search itself costs a leaf: gather, expand and back up, without a network.
//!
//! `cargo bench -p tesla-benches --no-default-features --features criterion`; one iteration lets a tree
//! grow by a tenth of its size. The evaluator's own time is not counted.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use shakmaty::Chess;
use tesla_engine::history::Game;
use tesla_engine::search_api::{Limits, Search as _, StopToken, Task};
use tesla_engine::tesla::TeslaSearch;
use tesla_engine::timeman::Budget;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};
use tesla_nn::guess::Guesser;

/// The engine's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Trees to measure at, evaluations.
const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];
/// Evaluations in a batch at most.
const BATCH: usize = 256;
/// Memory of tree and table, MiB.
const HASH_MB: usize = 1024;

/// At each batch: the evaluations asked for before, and the search's time so far.
type Marks = Arc<Mutex<Vec<(u64, Duration)>>>;

/// Notes the time at every batch.
struct Stopwatch {
    inner: Guesser,
    asked: u64,
    began: Instant,
    marks: Marks,
}

impl Stopwatch {
    /// The stopwatch and what it will write down.
    fn start() -> (Self, Marks) {
        let marks = Marks::default();
        let (inner, began) = (Guesser::new(BATCH), Instant::now());
        (Self { inner, asked: 0, began, marks: Arc::clone(&marks) }, marks)
    }
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

/// Searches the start position afresh; answers what a tree of `size` evaluations takes to grow by a
/// tenth.
fn growth(search: &mut TeslaSearch, marks: &Marks, size: u64) -> Duration {
    let end = size + size / 10;
    search.clear();
    // A batch more, so that the end is marked.
    let limits = Limits { nodes: Some(end + 2 * BATCH as u64), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let (game, stop) = (Game::new(Chess::default()), StopToken::default());
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    black_box(search.search(&task, &mut |_| {}));
    let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
    let first = marks.first().map_or(0, |&(asked, _)| asked);
    let at = |count: u64| marks.iter().copied().find(|&(asked, _)| asked - first >= count);
    let (Some((from, began)), Some((to, ended))) = (at(size), at(end)) else {
        unreachable!("the search asked for more evaluations than that");
    };
    // Batches end where they end.
    ended.saturating_sub(began).mul_f64((size / 10) as f64 / (to - from) as f64)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("bookkeeping");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_secs(1));
    let (watch, marks) = Stopwatch::start();
    let mut search = TeslaSearch::new(Box::new(watch));
    search.set_hash_mb(HASH_MB);
    for size in SIZES {
        group.throughput(Throughput::Elements(size / 10));
        group.bench_function(BenchmarkId::new("leaves", size), |bencher| {
            bencher.iter_custom(|iterations| {
                (0..iterations).map(|_| growth(&mut search, &marks, size)).sum()
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
