//! How the three-state decider's random moves and score change with its experience.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::page::Section;
use super::sources::{Learning, LearntGame};

/// Points of a chart for each tenfold number of games.
const POINTS: f64 = 10.0;

/// Ends of the points' spans of games: 1, then so many to a decade.
fn ends(games: usize) -> Vec<usize> {
    let at = |step: u32| 10_f64.powf(f64::from(step) / POINTS).round() as usize;
    let mut ends: Vec<usize> = (0..u32::MAX).map(at).take_while(|&end| end < games).collect();
    ends.push(games);
    ends.dedup();
    ends
}

/// A chart of one number over the games, each point the games since the point before.
fn curve(all: &[Learning], caption: &str, y: &str, of: fn(&[LearntGame]) -> f64) -> Chart {
    let series = all.iter().map(|Learning { name, games }| {
        let ends = ends(games.len());
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let spans = begins.zip(&ends).filter(|(begin, end)| begin < end);
        let points = spans.map(|(begin, &end)| Point::new(end as f64, of(&games[begin..end])));
        Series::new(name, Marks::DotsAndLine, points.collect())
    });
    Chart {
        caption: caption.to_owned(),
        x: Axis::log("games"),
        y: Axis::new(y).including(&[0.0, 100.0]),
        series: series.collect(),
    }
}

fn score(games: &[LearntGame]) -> f64 {
    100.0 * games.iter().map(|game| game.score).sum::<f64>() / games.len() as f64
}

fn random(games: &[LearntGame]) -> f64 {
    let random: u64 = games.iter().map(|game| game.random).sum();
    let moves: u64 = games.iter().map(|game| game.confident + game.random + game.searched).sum();
    100.0 * random as f64 / moves.max(1) as f64
}

/// The section, if there is experience.
pub(super) fn section(all: &[Learning]) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let mut section = Section::new("Experience");
    section.text(
        "Games of the three-state decider as its experience grows. A point is the mean of the \
         games since the point before.",
    );
    section.chart(curve(all, "Moves chosen at random", "random moves, %", random));
    section.chart(curve(all, "Score as experience grows", "score, %", score));
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_grow_tenfold_and_end_with_the_last_game() {
        assert_eq!(ends(1), [1]);
        assert_eq!(ends(4), [1, 2, 3, 4]);
        assert_eq!(ends(1000).last(), Some(&1000));
        assert!(ends(1000).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn shares_are_of_all_moves() {
        let game = |score, random| LearntGame { score, confident: 1, random, searched: 2 };
        let games = [game(1.0, 1), game(0.0, 0)];
        assert!((score(&games) - 50.0).abs() < 1e-9);
        assert!((random(&games) - 100.0 / 7.0).abs() < 1e-9);
    }
}
