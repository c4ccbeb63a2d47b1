//! Batches of every size, and searches of some lengths, on one device.

use std::time::Duration;

use serde::Serialize;
use shakmaty::{Chess, Position};
use tesla_nn::evaluator::{CacheNote, Evaluator, Handle, Request};

use crate::chess::game::Game;
use crate::commands::bench;
use crate::search::clock::{Budget, Stopwatch};
use crate::search::{Limits, Search, StopToken, Task};
use crate::setup::factory;
use crate::setup::machine::Machine;

/// Sizes of batches that are measured.
const SIZES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Batches of a size, at least, and for how long.
const LEAST: usize = 2;
const LONG_ENOUGH: Duration = Duration::from_millis(150);
/// A batch that takes longer ends the list.
const TOO_LONG: Duration = Duration::from_secs(2);
/// Searches that are measured, seconds.
const SEARCHES: [f64; 4] = [0.05, 0.1, 0.3, 1.0];

/// A size of batch.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Batch {
    pub(super) positions: usize,
    /// Of the fastest.
    pub(super) milliseconds: f64,
    pub(super) per_second: f64,
}

/// A length of search.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Searched {
    pub(super) seconds: f64,
    pub(super) evaluations: u64,
}

/// What a device can do.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    /// Positions that were made from their parents.
    pub(super) batches: Vec<Batch>,
    pub(super) fixed_milliseconds: f64,
    pub(super) each_microseconds: f64,
    /// From the start position, with nothing known before.
    pub(super) searches: Vec<Searched>,
}

/// Measures a device; the machine says how to search on it.
pub(super) fn all(
    machine: &Machine,
    mut evaluator: Box<dyn Evaluator>,
) -> Result<Measured, String> {
    let children = children(evaluator.as_mut())?;
    let mut batches = Vec::new();
    for size in SIZES {
        let fastest = fastest(evaluator.as_mut(), &children[..size])?;
        let seconds = fastest.as_secs_f64().max(1e-9);
        let per_second = size as f64 / seconds;
        batches.push(Batch { positions: size, milliseconds: seconds * 1e3, per_second });
        if fastest > TOO_LONG {
            break;
        }
    }
    evaluator.note(0, CacheNote::ForgetAll);
    let (fixed, each) = line(&batches);
    let mut search = factory::tree_search(machine, evaluator);
    let searches = SEARCHES.map(|seconds| searched(&mut search, seconds));
    Ok(Measured {
        batches,
        fixed_milliseconds: fixed,
        each_microseconds: each * 1e3,
        searches: searches.to_vec(),
    })
}

/// Enough children of the bench's positions, which the device keeps.
fn children(evaluator: &mut dyn Evaluator) -> Result<Vec<Request>, String> {
    let parents: Vec<Chess> = bench::positions().map(|(_, position)| position).collect();
    let request = |position: &Chess| Request { keep: true, ..Request::single(position) };
    evaluator.submit(parents.iter().map(request).collect());
    let answers = evaluator.collect().map_err(|error| error.to_string())?;
    let handles = answers.iter().map(|answer| answer.handle);
    let of = |(parent, handle): (&Chess, Handle)| {
        let moves = parent.legal_moves();
        let after = moves.into_iter().filter_map(|played| {
            let position = parent.clone().play(played).ok()?;
            let child = Request { parent: Some((handle, played)), ..request(&position) };
            (!child.moves.is_empty()).then_some(child)
        });
        after.collect::<Vec<_>>()
    };
    let children: Vec<Request> = parents.iter().zip(handles).flat_map(of).collect();
    let most = SIZES[SIZES.len() - 1];
    Ok(children.iter().cycle().take(most).cloned().collect())
}

/// The time of the fastest of some batches.
fn fastest(evaluator: &mut dyn Evaluator, batch: &[Request]) -> Result<Duration, String> {
    let all = Stopwatch::start();
    let (mut fastest, mut count) = (Duration::MAX, 0);
    while count < LEAST || all.elapsed() < LONG_ENOUGH {
        let watch = Stopwatch::start();
        evaluator.submit(batch.to_vec());
        evaluator.collect().map_err(|error| error.to_string())?;
        fastest = watch.elapsed().min(fastest);
        count += 1;
    }
    Ok(fastest)
}

/// `t0` and `t1`, milliseconds: of the line through the smallest batch and the one of 256, or the
/// largest there is.
fn line(batches: &[Batch]) -> (f64, f64) {
    let large = batches.iter().rev().find(|batch| batch.positions <= 256);
    let (Some(small), Some(large)) = (batches.first(), large) else { return (0.0, 0.0) };
    let more = large.positions.saturating_sub(small.positions).max(1) as f64;
    let each = ((large.milliseconds - small.milliseconds) / more).max(0.0);
    ((small.milliseconds - each * small.positions as f64).max(0.0), each)
}

/// A search from the start.
fn searched(search: &mut dyn Search, seconds: f64) -> Searched {
    search.clear();
    let limits = Limits { move_time: Some(Duration::from_secs_f64(seconds)), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let game = Game::new(Chess::default());
    let stop = &StopToken::default();
    let task = Task { game: &game, limits: &limits, budget: &budget, stop };
    let outcome = search.search(&task, &mut |_| {});
    Searched { seconds, evaluations: outcome.info.nodes }
}

#[cfg(test)]
mod tests {
    use tesla_nn::classical::ClassicalEvaluator;

    use super::*;
    use crate::setup::settings::Settings;

    #[test]
    fn batches_of_all_sizes_and_searches_are_measured() {
        let machine = Settings::default().machine().without_network();
        let measured = all(&machine, Box::new(ClassicalEvaluator::new())).unwrap();
        assert_eq!(measured.batches.len(), SIZES.len());
        assert!(measured.batches.iter().all(|batch| batch.per_second > 0.0));
        assert!(measured.searches.iter().all(|search| search.evaluations > 0));
    }

    #[test]
    fn the_line_is_found() {
        let batch = |positions: usize| {
            let milliseconds = 0.3 + 0.001 * positions as f64;
            Batch { positions, milliseconds, per_second: 0.0 }
        };
        let (fixed, each) = line(&SIZES.map(batch));
        assert!((fixed - 0.3).abs() < 1e-6 && (each - 0.001).abs() < 1e-9);
    }
}
