//! Collects observations from several positions at once; each is on disk when it is done.

use std::collections::HashSet;

use anyhow::{Error, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shakmaty::fen::Fen;
use shakmaty::{EnPassantMode, Position};
use tesla_engine::chess::game::Game;
use tesla_engine::console::terminal::resumed;
use tesla_engine::search::StopToken;

use super::observe::{Observation, Observer};
use crate::disk::journal::{Journal, Resumed};
use crate::labelled::{GameRecord, unpack};
use crate::players::devices::Devices;
use crate::players::pool::RunContext;
use crate::players::side::Side;
use crate::players::signature::search_signatures;
use crate::train::dataset::Dataset;

/// The file of observations in a folder.
pub const FILE: &str = "observations.jsonl";
/// Positions in which more centipawns are at stake say little: any move wins, or none does.
const DECIDED: i16 = 800;
/// Plies of a game that are left to its opening.
const OPENING: usize = 6;
/// Games that are tried before a position is given up.
const TRIES: usize = 1000;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationPlan {
    /// Positions.
    pub positions: u32,
    /// Evaluations of the largest tree; a tree's size is drawn from `least` to this, by octaves.
    pub most: u32,
    /// Evaluations of the smallest tree.
    pub least: u32,
    /// Decides what is drawn.
    pub seed: u64,
}

/// A position drawn from the games: neither in the opening nor decided nor over.
fn draw(dataset: &Dataset, rng: &mut ChaCha8Rng) -> Option<Game> {
    (0..TRIES).find_map(|_| {
        let record = dataset.game(rng.random_range(0..dataset.games()));
        if record.plies.len() <= OPENING {
            return None;
        }
        let ply = rng.random_range(OPENING..record.plies.len());
        let is_open = record.plies[ply].score.abs() <= DECIDED;
        if is_open { replay(record, ply) } else { None }
    })
}

/// A game's position before this ply, where there is a choice.
fn replay(record: &GameRecord, ply: usize) -> Option<Game> {
    let mut game = Game::new(record.start.clone());
    for earlier in &record.plies[..ply] {
        game.play(unpack(game.position(), earlier.played)?);
    }
    let is_over = game.repetitions() > 0 || game.position().is_insufficient_material();
    (!is_over && game.position().legal_moves().len() > 1).then_some(game)
}

/// Looks at the position with this number; `None` = stopped.
fn look(
    plan: ObservationPlan,
    dataset: &Dataset,
    observer: &mut Observer,
    number: u32,
) -> Result<Option<Observation>, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
    rng.set_stream(u64::from(number));
    let game = draw(dataset, &mut rng)
        .ok_or_else(|| "no game has a position that is not decided; use other data".to_owned())?;
    let octaves = (f64::from(plan.most) / f64::from(plan.least)).log2();
    let size = f64::from(plan.least) * (octaves * rng.random::<f64>()).exp2();
    let seen = observer.observe(&game, size as u32, &mut rng)?;
    let fen = Fen::from_position(game.position(), EnPassantMode::Legal).to_string();
    Ok(seen.map(|seen| Observation { position: number, fen, seen }))
}

/// What positions are drawn from, and what they are searched with.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The games.
    pub dataset: &'a Dataset,
    /// One of our own sides, whose search keeps a tree.
    pub side: &'a Side,
    /// Its device.
    pub devices: &'a Devices,
}

/// Looks at the positions of `plan` that the folder lacks; gives all there are.
///
/// # Errors
/// When the folder cannot be used or a search fails; what was seen is on disk.
pub fn collect(
    plan: ObservationPlan,
    material: &Material<'_>,
    context: &RunContext<'_>,
) -> Result<Vec<Observation>> {
    let Material { dataset, side, devices } = *material;
    let fingerprint = json!({
        "least": plan.least, "most": plan.most, "seed": plan.seed, "side": side,
        "games": dataset.games(), "data_positions": dataset.positions(),
        "network": devices.network(side), "search_signature": search_signatures([side]),
    });
    let Resumed { mut journal, mut records, .. } =
        Journal::<Observation>::open(&context.folder.join(FILE), &fingerprint)?;
    let known: HashSet<u32> = records.iter().map(|seen: &Observation| seen.position).collect();
    let missing = (0..plan.positions).filter(|number| !known.contains(number)).collect();
    let bar = resumed(u64::from(plan.positions), records.len() as u64, "positions");
    let worker = |stop: StopToken| {
        let mut observer =
            devices.tree_search(side).map(|search| Observer::new(search, stop.clone()));
        move |number: u32| {
            let observer = observer.as_mut().map_err(|sentence| sentence.clone())?;
            look(plan, dataset, observer, number)
        }
    };
    let hear = |seen: Option<Result<Option<Observation>, String>>| {
        match seen.map(|seen| seen.map_err(Error::msg)).transpose()? {
            Some(Some(observation)) => {
                journal.append(&observation)?;
                records.push(observation);
                bar.inc(1);
            }
            Some(None) => {}
            None => bar.tick(),
        }
        anyhow::Ok(true)
    };
    context.pool.run(missing, worker, hear)?;
    bar.finish_and_clear();
    records.sort_by_key(|seen| seen.position);
    Ok(records)
}
