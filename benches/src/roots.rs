//! What a search knows of each root move, as CSV: material for fitting the rule's numbers.

use std::error::Error;

use shakmaty::CastlingMode;
use tesla_engine::setup::factory;
use tesla_engine::setup::settings::Settings;

use crate::positions::searched;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Evaluations per position
    #[arg(long, default_value_t = 200)]
    nodes: u64,
    /// A tunable, as name=value
    #[arg(long)]
    set: Vec<String>,
    #[command(flatten)]
    positions: crate::positions::Arguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    for pair in &arguments.set {
        crate::assign(&mut settings, pair)?;
    }
    let machine = settings.machine();
    let (evaluator, _) = factory::evaluator(&machine)?;
    let mut search = factory::tree_search(&machine, evaluator);
    println!("position,move,value,error,work,policy,overtake");
    for (number, position) in arguments.positions.read()?.iter().enumerate() {
        searched(&mut search, arguments.nodes, position);
        for row in search.root_moves() {
            let played = row.mv.to_uci(CastlingMode::Standard);
            println!(
                "{number},{played},{:.5},{:.5},{},{:.5},{:.5}",
                row.value,
                row.rating.error.unwrap_or_default(),
                row.visits,
                row.policy,
                row.rating.overtake.unwrap_or_default()
            );
        }
    }
    Ok(())
}
