//! Reports on an experience: tables to read, lines to plot.

use std::fmt::Write as _;
use std::path::Path;

use tesla_nn::files;

use super::{Experience, GameResult, Packed, PastGame, PositionRecord, State, pawns};

/// Games at the end of a row of the table: 1, 10, 100 and so on.
fn rows_of(games: usize) -> Vec<(usize, usize)> {
    let mut rows = Vec::new();
    let (mut first, mut last) = (0, 1);
    while first < games {
        rows.push((first, last.min(games)));
        (first, last) = (last, last * 10);
    }
    rows
}

/// Sums over some games.
#[derive(Default)]
struct Sum {
    games: u32,
    results: [u32; 3],
    moves: [u64; 3],
}

impl Sum {
    fn of<'a>(games: impl Iterator<Item = &'a PastGame>) -> Self {
        let mut sum = Self::default();
        for game in games {
            sum.games += 1;
            sum.results[game.result as usize] += 1;
            for (sum, &moves) in sum.moves.iter_mut().zip(&game.moves) {
                *sum += u64::from(moves);
            }
        }
        sum
    }

    /// Share of the moves made in a state, in percent.
    fn share(&self, state: State) -> f64 {
        100.0 * self.moves[state as usize] as f64 / self.moves.iter().sum::<u64>().max(1) as f64
    }

    /// Points in percent, and half the width of its 95 % interval where there are ten games.
    fn score(&self) -> (f64, Option<f64>) {
        let games = f64::from(self.games.max(1));
        let [_, draws, wins] = self.results.map(f64::from);
        let mean = (wins + draws / 2.0) / games;
        let square = (wins + draws / 4.0) / games;
        let error = 1.96 * ((square - mean * mean).max(0.0) / games).sqrt();
        (100.0 * mean, (self.games >= 10).then_some(100.0 * error))
    }
}

const HEAD: &str = "\
| games | moves a game | confident | random | searched | won, drawn, lost | score | threshold | \
positions |
|---|---|---|---|---|---|---|---|---|";

/// The games so far, the first, those to the tenth, to the hundredth and so on; Markdown.
pub(super) fn table(experience: &Experience) -> String {
    let past: Vec<&PastGame> = experience.past().collect();
    let forgotten = (experience.totals().games as usize).saturating_sub(past.len());
    let mut text = HEAD.to_owned();
    for (first, last) in rows_of(past.len()) {
        let games = &past[first..last];
        let (sum, end) = (Sum::of(games.iter().copied()), games[games.len() - 1]);
        let name = match (first + forgotten + 1, last + forgotten) {
            (one, same) if one == same => one.to_string(),
            (from, to) => format!("{from} to {to}"),
        };
        let [losses, draws, wins] = sum.results;
        let (score, error) = sum.score();
        let error = error.map_or_else(String::new, |error| format!(" ± {error:.1}"));
        let length = sum.moves.iter().sum::<u64>() as f64 / f64::from(sum.games);
        let shares = State::ALL.map(|state| format!("{:.1} %", sum.share(state))).join(" | ");
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n| {name} | {length:.1} | {shares} | {wins}, {draws}, {losses} | {score:.1}{error} \
             % | {} | {} |",
            pawns(end.threshold),
            end.positions
        );
    }
    text
}

/// The last hundred games in a few words.
pub(super) fn lately(experience: &Experience) -> String {
    let skip = experience.past().len().saturating_sub(100);
    let sum = Sum::of(experience.past().skip(skip));
    format!(
        "last {}: {:.0} % random, score {:.0} %",
        sum.games,
        sum.share(State::Ignorant),
        sum.score().0
    )
}

/// The sums, and the table of games.
pub(crate) fn stats(experience: &Experience) -> String {
    let (totals, past) = (experience.totals(), Sum::of(experience.past()));
    let mut by_state = [0_u64; 3];
    let mut seen = 0_u64;
    for (_, entry) in experience.entries() {
        by_state[entry.state as usize] += 1;
        seen += u64::from(entry.seen);
    }
    let list = |counts: [u64; 3]| {
        State::ALL.map(|state| format!("{} {}", counts[state as usize], state.name())).join(", ")
    };
    let estimated = experience.past().filter(|game| game.is_estimated).count();
    let [losses, draws, wins] = past.results;
    let known = experience.past().len();
    let is_part = known < totals.games as usize;
    let last = if is_part { format!("of the last {known}: ") } else { String::new() };
    format!(
        "positions   {} (by their last move: {})\n\
         seen        {seen} times together\n\
         moves       {}\n\
         games       {} ({last}{wins} won, {draws} drawn, {losses} lost; \
         {estimated} ends estimated)\n\
         threshold   {} pawns; {} of {} confident games won since it was judged\n\n{}",
        experience.len(),
        list(by_state),
        list(totals.moves),
        totals.games,
        pawns(totals.threshold),
        totals.confident_wins,
        totals.confident,
        table(experience)
    )
}

/// What is known of a position, as a line.
pub(crate) fn line(position: Packed, entry: &PositionRecord) -> String {
    let PositionRecord { best, state, seen, wins, draws, losses, .. } = *entry;
    format!(
        "{seen:>6} {:<5} {:<9} {wins:>5} {draws:>5} {losses:>5}  {}",
        best.uci(),
        state.name(),
        position.fen()
    )
}

/// The head of such lines.
pub(crate) const LINE_HEAD: &str = "  seen move  state       won drawn  lost  position";

/// Writes a line for each game that is remembered, and a head; all of them or none.
///
/// # Errors
/// A sentence, when the file cannot be written.
pub(crate) fn write_csv(experience: &Experience, path: &Path) -> Result<(), String> {
    let mut text =
        "game,score,estimated,confident,random,searched,threshold,positions\n".to_owned();
    let forgotten = (experience.totals().games as usize).saturating_sub(experience.past().len());
    for (number, game) in experience.past().enumerate() {
        let score = match game.result {
            GameResult::Loss => "0",
            GameResult::Draw => "0.5",
            GameResult::Win => "1",
        };
        let [confident, random, searched] = game.moves;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{},{score},{},{confident},{random},{searched},{:.1},{}",
            number + forgotten + 1,
            u8::from(game.is_estimated),
            f64::from(game.threshold) / 1_000.0,
            game.positions
        );
    }
    files::replace(path, text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_tenfold() {
        assert_eq!(rows_of(0), []);
        assert_eq!(rows_of(1), [(0, 1)]);
        assert_eq!(rows_of(25), [(0, 1), (1, 10), (10, 25)]);
        assert_eq!(rows_of(1_000).last(), Some(&(100, 1_000)));
    }

    #[test]
    fn scores_are_means_with_their_errors() {
        let games: Vec<PastGame> = (0..20)
            .map(|number| PastGame {
                result: if number < 10 { GameResult::Win } else { GameResult::Draw },
                is_estimated: false,
                moves: [1, 2, 1],
                threshold: 2_000,
                positions: 5,
            })
            .collect();
        let sum = Sum::of(games.iter());
        let (score, error) = sum.score();
        assert!((score - 75.0).abs() < 1e-9);
        // Standard deviation of one game: 0.25.
        assert!((error.unwrap() - 100.0 * 1.96 * 0.25 / 20_f64.sqrt()).abs() < 1e-9);
        assert!((sum.share(State::Ignorant) - 50.0).abs() < 1e-9);
        assert_eq!(Sum::of(games[..9].iter()).score().1, None);
    }
}
