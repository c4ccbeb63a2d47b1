//! How often the moves on a search's paths are refuted: what training windows should look like.

use std::error::Error;

use tesla_engine::best_first::BestFirst;
use tesla_engine::setup::factory;
use tesla_engine::setup::settings::Settings;
use tesla_engine::tree::arena::Tree;
use tesla_engine::tree::node::NONE;

use crate::positions::searched;

/// Plies before an evaluated position that are looked at: the longest chain.
const PLIES: usize = 8;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Evaluations per position
    #[arg(long, default_value_t = 2_000)]
    nodes: u64,
    #[command(flatten)]
    positions: crate::positions::Arguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let machine = Settings::default().machine();
    let (evaluator, _) = factory::evaluator(&machine)?;
    println!("{}", evaluator.description());
    let mut search = BestFirst::new(evaluator);
    let mut counts = [[0_u64; 2]; PLIES];
    for position in arguments.positions.read()? {
        searched(&mut search, arguments.nodes, &position);
        count(search.tree(), &mut counts);
    }
    println!("\n| plies before the position | moves | refuted |\n|---|---|---|");
    for (ply, [moves, refuted]) in counts.iter().enumerate() {
        let share = 100.0 * *refuted as f64 / (*moves).max(1) as f64;
        println!("| {} | {moves} | {share:.1} % |", ply + 1);
    }
    Ok(())
}

/// For every evaluated position: were the moves that led to it the best of their positions?
fn count(tree: &Tree, counts: &mut [[u64; 2]; PLIES]) {
    for id in 0..tree.expansion_count() as u32 {
        let mut branch = tree.expansion(id);
        for [moves, refuted] in counts.iter_mut() {
            if branch.parent() == NONE {
                break;
            }
            let parent = tree.expansion(branch.parent());
            *moves += 1;
            *refuted += u64::from(parent.best_child() != Some(tree.node_of(branch)));
            branch = parent;
        }
    }
}
