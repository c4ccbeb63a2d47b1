//! Puzzles: reading them, and playing through one.

use anyhow::{Result, bail, ensure};
use shakmaty::{Chess, Move, Position};

use super::epd::item;
use super::item::{Item, Task};
use super::notation::{parse_move, position, setup};
use super::verdict::{Detail, Grade};
use crate::game::epd::parse_number;

/// What to do about a line that is not CSV.
pub(super) const CHECK: &str = "check the quotes and the number of columns";

/// Where a CSV file of puzzles has what is needed. Both the Lichess database's header and the
/// short `id,fen,moves,rating,themes` are known; capitals do not matter.
#[derive(Debug)]
pub(super) struct Columns {
    id: Option<usize>,
    fen: usize,
    moves: usize,
    rating: Option<usize>,
    themes: Option<usize>,
}

impl Columns {
    /// The columns by their header; the name of a missing one as error.
    pub(super) fn find(header: &csv::StringRecord) -> Result<Columns, &'static str> {
        let find = |names: &[&str]| {
            header.iter().position(|h| names.iter().any(|n| h.trim().eq_ignore_ascii_case(n)))
        };
        Ok(Columns {
            id: find(&["id", "PuzzleId"]),
            fen: find(&["fen"]).ok_or("FEN")?,
            moves: find(&["moves"]).ok_or("Moves")?,
            rating: find(&["rating"]),
            themes: find(&["themes"]),
        })
    }
}

/// Reads a puzzle. The first of its moves is the opponent's, played before the puzzle starts, as
/// in the Lichess database. `name` is the id of a puzzle without.
pub(super) fn parse_record(
    record: &csv::ByteRecord,
    width: usize,
    columns: &Columns,
    name: impl FnOnce() -> String,
) -> Result<Item> {
    ensure!(
        record.len() == width,
        "not CSV ({} columns, the header has {width}); {CHECK}",
        record.len()
    );
    let field = |column: usize| {
        record.get(column).map_or_else(String::new, |f| String::from_utf8_lossy(f).trim().into())
    };
    let optional = |column: Option<usize>| column.map(field).filter(|text| !text.is_empty());
    let rating =
        optional(columns.rating).map(|value| parse_number("Rating", &value)).transpose()?;
    let fen = field(columns.fen);
    let (start, castling_mode) = position(&fen, setup(&fen)?)?;
    let texts = field(columns.moves);
    let texts: Vec<&str> = texts.split_whitespace().collect();
    let Some((&first, line)) = texts.split_first().filter(|(_, line)| line.len() % 2 == 1) else {
        bail!(
            "the puzzle has {} moves; there must be an even number, first the opponent's that \
             leads to the puzzle, last the solver's",
            texts.len()
        );
    };
    let start = next(start, first)?.0;
    let mut current = start.clone();
    let mut moves = Vec::with_capacity(line.len());
    for text in line {
        let (after, m) = next(current, text)?;
        moves.push(m);
        current = after;
    }
    let themes = optional(columns.themes)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let id = optional(columns.id).unwrap_or_else(name);
    let task = Task::Puzzle { line: moves, rating, themes };
    Ok(item(id, start, castling_mode, task))
}

fn next(mut position: Chess, text: &str) -> Result<(Chess, Move)> {
    let m = parse_move("Moves", text, &position)?;
    position.play_unchecked(m); // legal: `parse_move` finds no other
    Ok((position, m))
}

/// Where a puzzle stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuzzleState {
    /// The solver is to move in [`PuzzleRun::position`].
    Asking,
    /// All moves were right.
    Solved,
    /// A move was wrong.
    Failed,
}

/// Plays a puzzle through with an engine as the solver.
///
/// As on Lichess, a move is right if it is the line's, or gives checkmate at once; such a mate ends
/// the puzzle.
#[derive(Clone, Debug)]
pub struct PuzzleRun<'a> {
    line: &'a [Move],
    position: Chess,
    played: Vec<Move>,
    right: u32,
    first_right: bool,
    state: PuzzleState,
}

impl<'a> PuzzleRun<'a> {
    /// Starts a puzzle. `None` if the item is of another kind.
    pub fn new(item: &'a Item) -> Option<PuzzleRun<'a>> {
        let Task::Puzzle { line, .. } = &item.task else { return None };
        Some(PuzzleRun {
            line,
            position: item.position.clone(),
            played: Vec::new(),
            right: 0,
            first_right: false,
            state: if line.is_empty() { PuzzleState::Solved } else { PuzzleState::Asking },
        })
    }

    /// The position to think about while [`PuzzleState::Asking`].
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// Where the puzzle stands.
    pub fn state(&self) -> PuzzleState {
        self.state
    }

    /// Judges the solver's move and, if it is right and not the last, plays the line's reply.
    /// A puzzle that has ended stays as it is.
    pub fn answer(&mut self, m: Move) -> PuzzleState {
        if self.state != PuzzleState::Asking {
            return self.state;
        }
        let mut after = self.position.clone();
        let legal = after.is_legal(m);
        if legal {
            after.play_unchecked(m);
        }
        let mates = legal && after.is_checkmate();
        if !mates && self.line.get(self.played.len()) != Some(&m) {
            self.state = PuzzleState::Failed;
            return self.state;
        }
        self.first_right |= self.played.is_empty();
        self.right += 1;
        self.played.push(m);
        match self.line.get(self.played.len()).filter(|_| !mates) {
            None => self.state = PuzzleState::Solved,
            Some(&reply) => {
                after.play_unchecked(reply);
                self.played.push(reply);
            }
        }
        self.position = after;
        self.state
    }

    /// The points for the answers so far: one for a puzzle solved completely.
    pub fn verdict(&self) -> Grade {
        let solved = self.state == PuzzleState::Solved;
        let detail = Detail::Puzzle {
            first_right: self.first_right,
            right: self.right,
            of: self.line.len().div_ceil(2) as u32,
        };
        Grade { solved, points: f64::from(u8::from(solved)), max: 1.0, detail }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;

    use super::*;

    fn puzzle(fen: &str, moves: &str) -> Result<Item> {
        let header = csv::StringRecord::from(vec!["id", "fen", "moves"]);
        let record = csv::ByteRecord::from(vec!["p", fen, moves]);
        parse_record(&record, 3, &Columns::find(&header).unwrap(), String::new)
    }

    fn answer(run: &mut PuzzleRun<'_>, text: &str) -> PuzzleState {
        let m = UciMove::from_ascii(text.as_bytes()).unwrap().to_move(run.position()).unwrap();
        run.answer(m)
    }

    /// Two rooks mate in two by g1g7+ and another; Black has just moved his king.
    const LADDER: &str = "7k/8/8/8/8/8/R7/KR6 b - - 0 1";

    #[test]
    fn is_solved_by_the_whole_line_only() {
        let item = puzzle(LADDER, "h8g8 b1b7 g8f8 a2a8").unwrap();
        assert_eq!(item.fen, "6k1/8/8/8/8/8/R7/KR6 w - - 1 2");
        let mut run = PuzzleRun::new(&item).unwrap();
        assert_eq!(answer(&mut run, "b1b7"), PuzzleState::Asking);
        assert_eq!(run.played.len(), 2);
        let half = run.verdict();
        assert!(!half.solved && half.points == 0.0);
        assert_eq!(half.detail, Detail::Puzzle { first_right: true, right: 1, of: 2 });
        let mut wrong = run.clone();
        assert_eq!(answer(&mut wrong, "a2a7"), PuzzleState::Failed);
        assert_eq!(answer(&mut run, "a2a8"), PuzzleState::Solved);
        assert!(run.verdict().solved);
        let mut first_wrong = PuzzleRun::new(&item).unwrap();
        assert_eq!(answer(&mut first_wrong, "a2a7"), PuzzleState::Failed);
        let right = item.position.legal_moves()[0];
        assert_eq!(first_wrong.answer(right), PuzzleState::Failed, "stays failed");
        let detail = first_wrong.verdict().detail;
        assert_eq!(detail, Detail::Puzzle { first_right: false, right: 0, of: 2 });
    }

    #[test]
    fn another_mate_at_once_is_right_and_ends_it() {
        // b7b8 mates too, at the first move already.
        let item = puzzle("6k1/R7/1R6/8/8/8/8/K7 b - - 0 1", "g8f8 a1b1 f8g8 b6b8").unwrap();
        let mut run = PuzzleRun::new(&item).unwrap();
        assert_eq!(answer(&mut run, "b6b8"), PuzzleState::Solved);
        assert!(run.verdict().solved);
    }

    #[test]
    fn refuses_an_illegal_move() {
        let item = puzzle(LADDER, "h8g8 b1b7 g8f8 a2a8").unwrap();
        let black = item.position.clone().swap_turn().unwrap().legal_moves()[0];
        assert_eq!(PuzzleRun::new(&item).unwrap().answer(black), PuzzleState::Failed);
    }

    #[test]
    fn says_what_is_wrong_with_a_puzzle() {
        for (moves, what) in [
            ("h8g8 b1b7 g8f8", "the puzzle has 3 moves"),
            ("", "the puzzle has 0 moves"),
            ("h8g8 b1c2", "the move 'b1c2' of Moves is not legal"),
        ] {
            let fault = puzzle(LADDER, moves).unwrap_err().to_string();
            assert!(fault.contains(what), "{fault}");
        }
        let header = csv::StringRecord::from(vec!["id", "moves"]);
        assert_eq!(Columns::find(&header).unwrap_err(), "FEN");
    }
}
