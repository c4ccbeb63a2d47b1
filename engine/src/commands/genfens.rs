//! `genfens N seed S book B`: openings for `OpenBench`'s data generation, the same for the same
//! seed.
//!
//! From a position of the book, or the start position, a few random moves are played; what is over,
//! in check, or clearly better for one side after a short search is drawn again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};
use tesla_nn::files::{FileError, LARGEST, read_text};

use crate::alphabeta::AlphaBeta;
use crate::chess::game::{Game, position_key};
use crate::chess::notation::from_fen;
use crate::chess::score::Score;
use crate::search::clock::Budget;
use crate::search::{Limits, Search, StopToken, Task};

/// Random plies from the start position, and one more in every other opening.
const PLIES: u32 = 8;
/// The same from a book, whose lines are different already.
const BOOK_PLIES: u32 = 2;
/// Most that one side's expected score may differ from even.
const BALANCED: f32 = 0.13;
/// Nodes of the search that measures it.
const NODES: u64 = 1_000;
/// Memory of that search, MiB.
const HASH_MB: usize = 1;
/// Most random plies.
const MOST_PLIES: u32 = 200;
/// Draws of one opening before it is given up.
const TRIES: u32 = 10_000;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenfensOrder {
    /// Openings.
    pub count: u64,
    /// The seed.
    pub seed: u64,
    /// EPD or FEN, a line each; `None` = the start position.
    pub book: Option<PathBuf>,
    /// Random plies, if others are wanted.
    pub plies: Option<u32>,
}

/// Why there are no openings, and how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum GenfensError {
    /// The command cannot be read.
    #[error("genfens needs a number and a seed, as in: genfens 16 seed 1 book None plies 8")]
    Order,
    /// The book cannot be read.
    #[error("the book: {0}")]
    File(#[from] FileError),
    /// A line of the book.
    #[error("line {line} of the book {path}: {what}; use a book of EPD or FEN lines")]
    Book {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A book without positions.
    #[error("the book {0} holds no positions")]
    Empty(PathBuf),
    /// More plies than any opening has.
    #[error("genfens takes at most {MOST_PLIES} plies, not {0}")]
    Plies(u32),
    /// Nothing balanced was found.
    #[error("no balanced opening was found in {TRIES} draws; use fewer plies or another book")]
    NoneFound,
}

impl GenfensOrder {
    /// Reads `N seed S [book B] [plies P]`; `OpenBench` may append more words, which are ignored.
    ///
    /// # Errors
    /// When number or seed are missing or none, or the plies are too many.
    pub fn parse(text: &str) -> Result<Self, GenfensError> {
        let mut words = text.split_whitespace();
        let count = words.next().and_then(|word| word.parse().ok()).ok_or(GenfensError::Order)?;
        let mut order = Self { count, seed: 0, book: None, plies: None };
        let mut has_seed = false;
        while let Some(word) = words.next() {
            match word {
                "seed" => {
                    let seed = words.next().and_then(|word| word.parse().ok());
                    order.seed = seed.ok_or(GenfensError::Order)?;
                    has_seed = true;
                }
                "book" => {
                    let name = words.next().ok_or(GenfensError::Order)?;
                    let is_none = name.eq_ignore_ascii_case("none");
                    order.book = (!is_none).then(|| PathBuf::from(name));
                }
                "plies" => {
                    let plies = words.next().and_then(|word| word.parse().ok());
                    order.plies = Some(plies.ok_or(GenfensError::Order)?);
                }
                _ => {}
            }
        }
        match order.plies {
            Some(plies) if plies > MOST_PLIES => Err(GenfensError::Plies(plies)),
            _ if has_seed => Ok(order),
            _ => Err(GenfensError::Order),
        }
    }

    /// The book's lines, or the start position's.
    fn lines(&self) -> Result<String, GenfensError> {
        let start = || Ok(Fen::from_position(&Chess::default(), EnPassantMode::Legal).to_string());
        self.book.as_ref().map_or_else(start, |path| Ok(read_text(path, LARGEST)?))
    }

    /// The position of a line. Only lines that are drawn are read: the books of `OpenBench` have
    /// millions, and it starts this program once for each of its threads.
    fn position(&self, index: usize, line: &str) -> Result<Chess, GenfensError> {
        // An EPD's operations are not a FEN's clocks, which an opening does not need.
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        from_fen(&fields.join(" "), false).map_err(|fault| GenfensError::Book {
            path: self.book.clone().unwrap_or_default(),
            line: index + 1,
            what: fault.to_string(),
        })
    }

    /// Calls `found` with each opening's FEN, until all are found, `stop` is set or `found` says
    /// `false`.
    ///
    /// # Errors
    /// When the book cannot be used or has no balanced openings.
    pub fn make(
        &self,
        stop: &StopToken,
        found: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), GenfensError> {
        let text = self.lines()?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let lines: Vec<(usize, &str)> = lines.collect();
        if lines.is_empty() {
            return Err(GenfensError::Empty(self.book.clone().unwrap_or_default()));
        }
        let least = self.plies.unwrap_or(if self.book.is_some() { BOOK_PLIES } else { PLIES });
        let mut judge = AlphaBeta::classical(HASH_MB);
        let mut seen = HashSet::new();
        for number in 0..self.count {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            rng.set_stream(number);
            // Either side to move, in turn; as many plies as are asked for where they are.
            let plies = least + if self.plies.is_none() { (number % 2) as u32 } else { 0 };
            let tries = (0..TRIES).take_while(|_| !stop.is_stopped());
            let opening = { tries }.find_map(|_| {
                let (index, line) = lines[rng.random_range(0..lines.len())];
                let start = match self.position(index, line) {
                    Ok(start) => start,
                    Err(fault) => return Some(Err(fault)),
                };
                let opening = stroll(start, plies, &mut rng)?;
                let is_new = !seen.contains(&position_key(&opening));
                (is_new && is_balanced(&opening, &mut judge)).then_some(Ok(opening))
            });
            if stop.is_stopped() {
                break;
            }
            let opening = opening.ok_or(GenfensError::NoneFound)??;
            seen.insert(position_key(&opening));
            if !found(&Fen::from_position(&opening, EnPassantMode::Legal).to_string()) {
                break;
            }
        }
        Ok(())
    }
}

/// So many random moves; `None` where the game is over or the side to move in check.
fn stroll(mut position: Chess, plies: u32, rng: &mut ChaCha8Rng) -> Option<Chess> {
    for _ in 0..plies {
        let moves = position.legal_moves();
        if moves.is_empty() {
            return None;
        }
        position.play_unchecked(moves[rng.random_range(0..moves.len())]);
    }
    (!position.is_game_over() && !position.is_check()).then_some(position)
}

fn is_balanced(position: &Chess, judge: &mut AlphaBeta) -> bool {
    let limits = Limits { nodes: Some(NODES), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let (game, stop) = (Game::new(position.clone()), StopToken::default());
    judge.clear();
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    let outcome = judge.search(&task, &mut |_| {});
    let score = outcome.info.score;
    matches!(score, Score::Centipawns(_)) && (score.expected() - 0.5).abs() <= BALANCED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openings(text: &str) -> Vec<String> {
        let mut fens = Vec::new();
        let keep = &mut |fen: &str| {
            fens.push(fen.to_owned());
            true
        };
        GenfensOrder::parse(text).unwrap().make(&StopToken::default(), keep).unwrap();
        fens
    }

    #[test]
    fn openings_follow_from_the_seed() {
        let fens = openings("6 seed 42 book None");
        assert_eq!(fens.len(), 6);
        assert_eq!(openings("4 seed 42")[..], fens[..4]);
        assert_ne!(openings("1 seed 43 book none more words")[0], fens[0]);
        let turns: Vec<&str> = fens.iter().filter_map(|fen| fen.split(' ').nth(1)).collect();
        assert_eq!(turns, ["w", "b", "w", "b", "w", "b"]);
        for fen in &fens {
            assert_eq!(fen.split(' ').count(), 6, "{fen}");
            let position = from_fen(fen, false).unwrap();
            assert!(!position.is_check() && !position.is_game_over());
        }
        assert_eq!(openings("1 seed 1 plies 1")[0].split(' ').nth(1), Some("b"));
    }

    #[test]
    fn it_ends_when_it_is_told_to_or_nobody_listens() {
        let order = GenfensOrder::parse("1000000 seed 5").unwrap();
        let (stop, mut count) = (StopToken::default(), 0);
        let found = &mut |_: &str| {
            count += 1;
            if count == 3 {
                stop.stop();
            }
            true
        };
        order.make(&stop, found).unwrap();
        assert_eq!(count, 3);
        order.make(&StopToken::default(), &mut |_| false).unwrap();
    }

    #[test]
    fn whatever_is_wrong_gets_a_sentence() {
        for text in ["", "x seed 1", "3", "3 seed", "3 seed x", "3 seed 1 book", "3 seed 1 plies x"]
        {
            assert!(matches!(GenfensOrder::parse(text), Err(GenfensError::Order)), "{text}");
        }
        let many = GenfensOrder::parse("3 seed 1 plies 201").unwrap_err().to_string();
        assert!(many.contains("at most 200 plies"), "{many}");
        let folder = std::env::temp_dir().join(format!("tesla-genfens-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let complaint = |text: &[u8]| {
            let path = folder.join("book.epd");
            std::fs::write(&path, text).unwrap();
            let order = GenfensOrder { count: 1, seed: 1, book: Some(path), plies: Some(0) };
            order.make(&StopToken::default(), &mut |_| true).unwrap_err().to_string()
        };
        assert!(complaint(b"\n").contains("no positions"));
        assert!(complaint(b"8/8/8/8/8/8/8/8 w - -\n").contains("line 1"));
        assert!(complaint(&[0xff]).contains("not UTF-8"));
        for impossible in
            ["8/8/8/8/8/8/8/RNBQ4 w - -", "kkk5/8/8/8/8/8/8/K7 w - -", "k7/8/8/8/8/8/8/KP6 w - -"]
        {
            assert!(complaint(format!("\n{impossible}\n").as_bytes()).contains("line 2"));
        }
        let won = "8/8/8/4k3/8/8/3QK3/8 w - - 0 1\n";
        assert!(complaint(won.as_bytes()).contains("no balanced opening"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
