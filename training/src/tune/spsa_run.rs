//! Plays the games of a run of SPSA, each pair on disk before it counts.
//!
//! Reads the clock: what was found is written every minute.

use std::iter;
use std::path::Path as FilePath;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use serde_json::json;
use tesla_engine::best_first::params::Params;
use tesla_engine::console::terminal::resumed;
use tesla_engine::search::StopToken;
use tesla_nn::files::{self};

use super::spsa::{NOTHING, PairResult, Path, Schedule};
use crate::disk::journal::{self, Journal, Resumed};
use crate::game::openings::Book;
use crate::matches::arbiter::{self, Rules, Seat};
use crate::matches::config::MatchConfig;
use crate::players::devices::Devices;
use crate::players::lineup;
use crate::players::player::Mishap;
use crate::players::pool::RunContext;
use crate::players::side::Side;

/// The pairs that were played.
pub const FILE: &str = "spsa.jsonl";
/// Where the run has settled.
const TUNABLES: &str = "tunables.toml";

/// What all workers share.
struct Setting<'a> {
    schedule: &'a Schedule,
    base: &'a Side,
    book: Book,
    rules: Rules,
    devices: Devices,
}

impl Setting<'_> {
    /// The base with its tunables at a point.
    fn side(&self, name: &str, point: &[f64]) -> Side {
        let mut side = self.base.clone();
        name.clone_into(&mut side.name);
        for (knob, value) in self.schedule.knobs.iter().zip(point) {
            side.option.0.retain(|(option, _)| !option.eq_ignore_ascii_case(&knob.name));
            side.option.0.push((knob.name.clone(), (*value as f32).to_string()));
        }
        side
    }

    /// Plays the two games of a pair; wins less losses of the plus side.
    fn play(&self, point: &[f64], pair: u64, stop: &StopToken) -> Result<i32, Mishap> {
        let [plus, minus] = self.schedule.neighbours(point, pair);
        let limit = self.base.limit;
        let player = |name, point: &[f64]| {
            let side = self.side(name, point);
            lineup::player(&side, &self.devices, self.rules.patience, stop.clone())
                .map_err(Mishap::Fatal)
        };
        let (mut plus, mut minus) = (player("plus", &plus)?, player("minus", &minus)?);
        let opening = self.book.opening(pair);
        let mut score = 0;
        for is_white in [true, false] {
            let plus = Seat { player: plus.as_mut(), limit: &limit };
            let minus = Seat { player: minus.as_mut(), limit: &limit };
            let mut seats = if is_white { [plus, minus] } else { [minus, plus] };
            let played = arbiter::play(opening, &mut seats, &self.rules, stop)?;
            score += match played.ending.result.winner() {
                None => 0,
                Some(winner) if winner.is_white() == is_white => 1,
                Some(_) => -1,
            };
        }
        Ok(score)
    }
}

/// Plays the run in the context's folder, or what is left of it; gives the way of the point. The
/// first side of `games` is the engine that is tuned, with its limit; its second one is not used.
///
/// # Errors
/// When it cannot begin or go on; what was played stays.
pub fn run(schedule: &Schedule, games: &MatchConfig, context: &RunContext<'_>) -> Result<Path> {
    let RunContext { folder, pool, say } = *context;
    schedule.check()?;
    check_folder(folder)?;
    let [base, ..] = games.side.as_slice() else { bail!(NOTHING) };
    let params = base.settings()?.machine.params;
    let start: Vec<f64> = schedule
        .knobs
        .iter()
        .map(|knob| f64::from(params.get(&knob.name).unwrap_or_default()))
        .collect();
    // A pair's two players have the same device.
    let clients = 2 * pool.concurrency;
    let devices = Devices::start(std::slice::from_ref(base), clients, say)?;
    let book = games.book()?;
    let fingerprint = json!({
        "schedule": schedule, "start": start, "games": games.fingerprint(&book, &devices, &[]),
    });
    let setting = Setting { schedule, base, book, rules: games.rules(), devices };
    let Resumed { mut journal, mut records, .. } =
        Journal::<PairResult>::open(&folder.join(FILE), &fingerprint)?;
    if !records.is_empty() {
        say(&format!("{} of {} pairs were played before", records.len(), schedule.pairs));
    }
    let bar = resumed(schedule.pairs, records.len() as u64, "pairs");
    let mut path = Path::of(schedule, start.clone(), &records);
    let mut written = Instant::now();
    while path.batches() < schedule.batches() && !pool.interrupted.is_stopped() {
        bar.set_message(text(schedule, path.point()));
        let is_open = |pair: &u64| !path.open.iter().any(|known| known.pair == *pair);
        let missing = schedule.pairs_of(path.batches()).filter(is_open).collect();
        let point = path.point().to_vec();
        let worker = |stop: StopToken| {
            let (setting, point) = (&setting, &point);
            move |pair| (pair, setting.play(point, pair, &stop))
        };
        let hear = |played: Option<(u64, Result<i32, Mishap>)>| {
            match played {
                Some((pair, Ok(result))) => {
                    let record = PairResult { pair, result };
                    journal.append(&record)?;
                    records.push(record);
                    bar.inc(1);
                }
                Some((_, Err(Mishap::Stopped))) => {}
                Some((pair, Err(why))) => bail!("pair {}: {why}", pair + 1),
                None => bar.tick(),
            }
            Ok(true)
        };
        pool.run(missing, worker, hear)?;
        path = Path::of(schedule, start.clone(), &records);
        if written.elapsed().as_secs() > 60 {
            write(schedule, &path, &params, folder)?;
            written = Instant::now();
        }
    }
    bar.finish_and_clear();
    write(schedule, &path, &params, folder)?;
    Ok(path)
}

/// Refuses to begin a run beside the tunables of another command, which it would replace.
fn check_folder(folder: &FilePath) -> Result<()> {
    let (pairs, tunables) = (folder.join(FILE), folder.join(TUNABLES));
    // A file whose first line a crash cut short is begun anew; other damage is told of on opening.
    let is_begun = match Journal::<PairResult>::read(&pairs) {
        Ok(played) => !played.is_empty(),
        Err(_) => journal::subject(&pairs).is_some(),
    };
    ensure!(
        is_begun || !tunables.exists(),
        "{} is of something else, and this run would replace it; name another folder with --out",
        tunables.display()
    );
    Ok(())
}

/// The point by name.
pub fn text(schedule: &Schedule, point: &[f64]) -> String {
    let named = schedule.knobs.iter().zip(point);
    named.map(|(knob, at)| format!("{} {at:.4}", knob.name)).collect::<Vec<_>>().join(", ")
}

/// Writes the way as spsa.csv, and where it settled as tunables.toml; nothing before the first
/// batch.
fn write(schedule: &Schedule, path: &Path, params: &Params, folder: &FilePath) -> Result<()> {
    if path.batches() == 0 {
        return Ok(());
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    let names = schedule.knobs.iter().map(|knob| knob.name.clone());
    csv.write_record(iter::once("pairs".to_owned()).chain(names))?;
    for (batch, point) in path.points.iter().enumerate() {
        let pairs = (batch as u64 * schedule.batch.max(1)).min(schedule.pairs);
        let numbers = point.iter().map(|at| format!("{at:.6}"));
        csv.write_record(iter::once(pairs.to_string()).chain(numbers))?;
    }
    let csv = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    files::replace(&folder.join("spsa.csv"), &csv)?;
    let mut tuned = params.clone();
    for (knob, at) in schedule.knobs.iter().zip(path.settled()) {
        // The way stays within the ranges, and so does its mean.
        let _ = tuned.set(&knob.name, at as f32);
    }
    let played = (path.batches() * schedule.batch.max(1)).min(schedule.pairs);
    let head = format!("Tuned by `tesla-train tune spsa` in {played} pairs of games.");
    files::replace(&folder.join(TUNABLES), tuned.to_file(&head).as_bytes())?;
    Ok(())
}
