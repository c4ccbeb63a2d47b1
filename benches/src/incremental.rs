//! Whole against incremental evaluation in the same search: evaluations a second, tokens each.

use std::error::Error;
use std::time::Duration;

use shakmaty::Chess;
use tesla_engine::search::Search;
use tesla_engine::setup::factory;
use tesla_engine::setup::settings::Settings;
use tesla_nn::evaluator::CacheFigures;

use crate::positions::searched;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Evaluations per position
    #[arg(long, default_value_t = 20_000)]
    nodes: u64,
    #[command(flatten)]
    positions: crate::positions::Arguments,
    /// Ways to search, as UCI options: `--way KVCache=0 --way KVCache=512,anchor_work=64`
    #[arg(long = "way", default_values = ["KVCache=0", "KVCache=512"])]
    ways: Vec<String>,
    /// Evaluations per position of the ways with KVCache=0, which are slow; 0 = as many
    #[arg(long, default_value_t = 0)]
    whole_nodes: u64,
}

struct Way {
    name: String,
    nodes: u64,
    search: Box<dyn Search>,
    spent: Duration,
    evaluations: u64,
    cache: CacheFigures,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut ways = Vec::new();
    for name in &arguments.ways {
        let mut settings = Settings::default();
        crate::assign(&mut settings, name)?;
        let made = factory::search(&settings.machine())?;
        println!("{name}: {}", made.description);
        let mut search = made.search;
        search.set_hash_mb(settings.hash_mb);
        let is_short = settings.machine.kv_cache_mb == 0 && arguments.whole_nodes > 0;
        ways.push(Way {
            name: name.clone(),
            nodes: if is_short { arguments.whole_nodes } else { arguments.nodes },
            search,
            spent: Duration::ZERO,
            evaluations: 0,
            cache: CacheFigures::default(),
        });
    }
    for position in arguments.positions.read()? {
        for way in &mut ways {
            way.measure(&position);
        }
    }
    println!(
        "\n| way | evaluations/s | against the first | tokens each | whole | anchored | evicted \
         | rebuilt |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let speed = |way: &Way| way.evaluations as f64 / way.spent.as_secs_f64().max(1e-9);
    let first = ways.first().map_or(1.0, speed);
    for way in &ways {
        let share = |count: u64| 100.0 * count as f64 / way.evaluations.max(1) as f64;
        println!(
            "| {} | {:.0} | {:.2} | {:.2} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            way.name,
            speed(way),
            speed(way) / first,
            way.cache.tokens_each(),
            share(way.cache.whole),
            share(way.cache.anchored),
            share(way.cache.evicted),
            share(way.cache.rebuilt),
        );
    }
    Ok(())
}

impl Way {
    fn measure(&mut self, position: &Chess) {
        let (outcome, spent) = searched(self.search.as_mut(), self.nodes, position);
        self.spent += spent;
        self.evaluations += outcome.info.nodes;
        if let Some(cache) = outcome.cache {
            self.cache += cache;
        }
    }
}
