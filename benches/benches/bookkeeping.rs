//! What the search itself costs a leaf: gather, expand and back up, without a network.
//!
//! `cargo bench -p tesla-benches --no-default-features --features criterion`; one iteration lets a
//! tree grow by a tenth of its size. The evaluator's own time is not counted.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use shakmaty::Chess;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search as _, StopToken, Task};
use tesla_nn::guess::Guesser;
use tesla_nn::meter::Meter;

/// The engine's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Trees to measure at, evaluations.
const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];
/// Evaluations in a batch at most.
const BATCH: usize = 256;
/// Memory of tree and table, MiB.
const HASH_MB: usize = 1024;

/// Searches the start position afresh; answers what a tree of `size` evaluations takes to grow by a
/// tenth.
fn growth(search: &mut BestFirst, meter: &Meter, size: u64) -> Duration {
    let end = size + size / 10;
    search.clear();
    let limits = Limits { nodes: Some(end), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let (game, stop) = (Game::new(Chess::default()), StopToken::default());
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    black_box(search.search(&task, &mut |_| {}));
    // What is idle for the evaluator is the search's work.
    let (mut asked, mut grown, mut spent) = (0_u64, 0_u64, Duration::ZERO);
    for batch in meter.take() {
        let positions = batch.positions as u64;
        if (size..end).contains(&asked) {
            (grown, spent) = (grown + positions, spent + batch.idle);
        }
        asked += positions;
    }
    spent.mul_f64((size / 10) as f64 / grown as f64) // batches end where they end
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("bookkeeping");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_secs(1));
    let guesser = Guesser::new(BATCH);
    let meter = guesser.meter();
    let mut search = BestFirst::new(Box::new(guesser));
    search.set_hash_mb(HASH_MB);
    for size in SIZES {
        group.throughput(Throughput::Elements(size / 10));
        group.bench_function(BenchmarkId::new("leaves", size), |bencher| {
            bencher.iter_custom(|iterations| {
                (0..iterations).map(|_| growth(&mut search, &meter, size)).sum()
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
