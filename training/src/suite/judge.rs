//! Judging an engine's answer.

use shakmaty::Position;

use super::item::{Item, ItemAnswer, Task};
use super::mate::{self, MateLimits};
use super::puzzle::PuzzleRun;
use super::verdict::{Detail, Grade, max};

/// Judges an answer.
///
/// A mate counts as solved if its first move is shown to be right, or could not be checked within
/// `limits` but was announced, with nothing that speaks against it. Of a puzzle only the first
/// move is judged here; [`PuzzleRun`] plays it through.
pub fn judge(item: &Item, answer: &ItemAnswer, limits: &MateLimits) -> Grade {
    if !item.position.is_legal(answer.best) {
        return Grade::no_move(item);
    }
    let max = max(item);
    let simple = |points: f64, detail| Grade { solved: points >= max, points, max, detail };
    let one = |solved: bool, detail| simple(f64::from(u8::from(solved)), detail);
    match &item.task {
        Task::BestMoves { best, avoid } => {
            let good = best.is_empty() || best.contains(&answer.best);
            one(good && !avoid.contains(&answer.best), Detail::Played)
        }
        Task::Points { moves, .. } => {
            let points = moves.iter().filter(|(m, _)| *m == answer.best).map(|(_, p)| *p).max();
            simple(f64::from(points.unwrap_or(0)), Detail::Played)
        }
        Task::Mate { moves } => {
            let verdict = mate::judge(&item.position, *moves, answer, limits);
            one(verdict.solved(), Detail::Mate(verdict))
        }
        Task::Puzzle { .. } => match PuzzleRun::new(item) {
            Some(mut run) => {
                run.answer(answer.best);
                run.verdict()
            }
            None => Grade::no_move(item),
        },
    }
}
