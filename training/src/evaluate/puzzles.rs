//! Puzzles by rating: solved by the policy, by action values, by values one ply deep, and by
//! searches. All answers are judged by the rules of [`crate::suite`].

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tesla_engine::console::terminal::bar;
use tesla_engine::search::StopToken;

use crate::console::table::Table;
use crate::game::limit::Limit;
use crate::players::devices::Devices;
use crate::players::heads::{Head, HeadPlayer};
use crate::players::lineup;
use crate::players::player::Player;
use crate::players::pool::Pool;
use crate::players::side::{Side, UciOptions, complete_sides};
use crate::suite::examiner::{Examination, MakePlayer};
use crate::suite::{
    Grouping, Item, MateLimits, Record, Summary, estimate_rating, puzzle_results, summarize,
};

/// Nobody is waited for here: the players are ours and have no clocks.
const PATIENCE: Duration = Duration::from_hours(1);

/// Who solves puzzles, and on what.
#[derive(Clone, Debug)]
pub struct Solvers<'a> {
    /// Weights file of the network.
    pub weights: &'a Path,
    /// As the UCI option `Device`.
    pub device: &'a str,
    /// Evaluations of the searches, one search each.
    pub nodes: &'a [u64],
    /// Puzzles at once, which share the device; the answers do not depend on it.
    pub concurrency: usize,
}

/// What one player made of the puzzles.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Solved {
    /// The player.
    pub player: String,
    /// All puzzles.
    pub all: Band,
    /// By rating.
    pub bands: Vec<Band>,
    /// On the puzzles' own scale; a sentence where there are no bounds.
    pub rating: String,
}

/// Puzzles of a band of ratings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Band {
    /// The ratings, or `all`.
    pub label: String,
    /// Number of puzzles.
    pub items: usize,
    /// Solved to their end.
    pub solved: usize,
    /// Begun with the right move.
    pub first_right: usize,
    /// Lower end of Wilson's 95 % interval of the share solved.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<&Summary> for Band {
    fn from(summary: &Summary) -> Self {
        let interval = summary.interval();
        Self {
            label: summary.label.clone(),
            items: summary.items,
            solved: summary.solved,
            first_right: summary.first_right.unwrap_or(0),
            low: interval.low,
            high: interval.high,
        }
    }
}

impl Solved {
    fn of(player: String, records: &[Record]) -> Self {
        let bands = |grouping| -> Vec<Band> {
            summarize(records, grouping).iter().map(Band::from).collect()
        };
        Self {
            player,
            all: bands(Grouping::Whole).pop().unwrap_or_default(),
            bands: bands(Grouping::Rating),
            rating: estimate_rating(&puzzle_results(records)).to_string(),
        }
    }
}

/// Has all players solve `items`, one player after another; `done` is told of each when it is
/// through.
///
/// # Errors
/// A sentence, when the network or the device cannot be used; and those of `done`.
pub fn solve(
    solvers: &Solvers<'_>,
    items: &[Item],
    done: &mut dyn FnMut(Solved) -> anyhow::Result<()>,
    say: &dyn Fn(&str),
) -> anyhow::Result<()> {
    let side = |name: String, nodes| Side {
        name,
        option: UciOptions(vec![
            ("WeightsFile".to_owned(), solvers.weights.display().to_string()),
            ("Device".to_owned(), solvers.device.to_owned()),
        ]),
        limit: Limit { nodes: Some(nodes), ..Limit::default() },
        ..Side::default()
    };
    let mut sides: Vec<Side> =
        solvers.nodes.iter().map(|&n| side(format!("search {n}"), n)).collect();
    complete_sides(&mut sides, Limit::default())?;
    let heads = side("heads".to_owned(), 1);
    let all: Vec<Side> = sides.iter().chain([&heads]).cloned().collect();
    let devices = Devices::start(&all, solvers.concurrency, say)?;
    let never = StopToken::default();
    let pool = Pool { concurrency: solvers.concurrency, interrupted: &never };
    for (name, head) in [
        ("policy", Head::Policy),
        ("action value", Head::ActionValue),
        ("value, one ply", Head::Value),
    ] {
        let machine = heads.machine()?;
        let player = |_| -> Result<Box<dyn Player>, String> {
            Ok(Box::new(HeadPlayer::new(head, devices.evaluator(&machine, false)?)))
        };
        let records = ask(items, name, (&player, &heads.limit), pool)?;
        done(Solved::of(name.to_owned(), &records))?;
    }
    for side in &sides {
        let player = |stop| lineup::player(side, &devices, PATIENCE, stop);
        let records = ask(items, &side.name, (&player, &side.limit), pool)?;
        done(Solved::of(side.name.clone(), &records))?;
    }
    Ok(())
}

fn ask<'a>(
    items: &[Item],
    name: &str,
    (player, limit): (&'a MakePlayer<'a>, &'a Limit),
    pool: Pool<'a>,
) -> anyhow::Result<Vec<Record>> {
    let exam =
        Examination { player, limit, patience: PATIENCE, mates: MateLimits::default(), pool };
    let bar = bar(items.len() as u64, &format!("puzzles by {name}"));
    let mut records = Vec::new();
    exam.ask(items, |_| Ok(()), &mut records, &bar)?;
    bar.finish_and_clear();
    Ok(records)
}

/// A table with a row for each band and a column for each player: the share solved, in percent,
/// with its interval.
pub fn table(found: &[Solved]) -> Table {
    let players = found.iter().map(|solved| solved.player.as_str());
    let mut table =
        Table::new(&["puzzles"], &[&["count"], &players.collect::<Vec<_>>()[..]].concat());
    let cell = |band: &Band| {
        let percent = |share: f64| 100.0 * share;
        let share = band.solved as f64 / band.items.max(1) as f64;
        let (low, high) = (percent(band.low), percent(band.high));
        format!("{:.1} ({low:.1}\u{2013}{high:.1})", percent(share))
    };
    let Some(first) = found.first() else { return table };
    for (index, band) in first.bands.iter().enumerate() {
        let cells = found.iter().filter_map(|solved| solved.bands.get(index)).map(cell);
        table.push([band.label.clone(), band.items.to_string()].into_iter().chain(cells));
    }
    let cells = found.iter().map(|solved| cell(&solved.all));
    table.push(["all".to_owned(), first.all.items.to_string()].into_iter().chain(cells));
    let ratings = found.iter().map(|solved| solved.rating.clone());
    table.push(["rating".to_owned(), String::new()].into_iter().chain(ratings));
    table
}
