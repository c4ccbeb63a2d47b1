//! The three-state decider of seed 000: confident, it acts; ignorant, it plays at random;
//! uncertain, it calculates.
//!
//! * `quick` — the quick evaluation; at the threshold or above, the move with the best evaluation
//!   after it is played at once;
//! * `packed`, `record`, `experience`, `file`, `memory` — the positions met before, in memory and
//!   on disk; in a position that is not among them the move is random;
//! * `openings` — the opening book, a source of information as the endgame tables are: what they
//!   know is not played at random either;
//! * `limiters`, `calculate` — in a known one, alpha-beta to the depth that the four rate limiters
//!   allow;
//! * `played` — how the game ended, which is not part of UCI;
//! * [`learn`], `report`, `export` — for [`tesla experience`](crate::commands::experience).
//!
//! The seed's two listings disagree; Parts 2 to 4 and 9 are followed, not Part 5, whose limiters
//! search deeper the more one-sided a position is. What the listings leave open or get wrong is
//! decided as follows: values are those of the side to move; a mate, a stalemate and a draw by the
//! rules have their true value in every state; the experience of earlier games is the seed's
//! transposition table; the positions explored count from the start of a game.

mod calculate;
mod experience;
pub(crate) mod export;
mod file;
pub mod learn;
mod limiters;
mod memory;
mod openings;
mod packed;
mod played;
mod quick;
mod record;
pub(crate) mod report;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shakmaty::{Chess, KnownOutcome, Move, Position};
use tesla_nn::files;

use self::calculate::{Best, best_of};
pub(crate) use self::experience::Experience;
pub use self::file::FileError;
use self::limiters::Limiters;
pub(crate) use self::memory::{Memory, load};
use self::openings::Openings;
pub(crate) use self::packed::Packed;
use self::packed::PackedMove;
use self::played::Played;
use self::quick::Quick;
use self::record::{GameResult, MoveMade, PastGame, PositionRecord, Record};
use crate::chess::score::Score;
use crate::chess::tablebase::Tables;
use crate::minimax::{Found, Line, StaticValue, Walk};
use crate::search::clock::Budget;
use crate::search::{Info, Limits, Outcome, Search, Task};

/// Why a move was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The quick evaluation is at the threshold or above.
    Confident,
    /// The position was never met.
    Ignorant,
    /// It was, and is not clearly good.
    Uncertain,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Confident, Self::Ignorant, Self::Uncertain];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confident => "Confident",
            Self::Ignorant => "Ignorant",
            Self::Uncertain => "Uncertain",
        }
    }
}

/// What the user chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreeStateSettings {
    /// The experience file; `None` = in memory only.
    pub file: Option<String>,
    /// Most positions that are remembered.
    pub size: usize,
    /// Of the random moves.
    pub seed: u64,
    /// The file of an opening book whose positions count as known; `None` = none.
    pub book: Option<String>,
}

/// The search mode.
#[derive(Debug)]
pub struct ThreeState {
    memory: Memory,
    seed: u64,
    openings: Openings,
    tables: Option<Tables>,
    played: Played,
    /// Positions searched in this game.
    explored: u64,
}

/// A move, and how it was found.
struct Decision {
    state: State,
    best: Move,
    /// From here, the first move last.
    line: Line,
    /// Thousandths of a pawn, or a mate.
    value: i32,
    depth: u32,
    nodes: u64,
    /// The sentence to report.
    note: String,
}

impl ThreeState {
    /// With this experience; `seed` decides the random moves.
    pub(crate) fn new(memory: Memory, seed: u64) -> Self {
        let openings = Openings::default();
        Self { memory, seed, openings, tables: None, played: Played::default(), explored: 0 }
    }

    /// As the user chose, and a sentence where the file was cut short or empty, or holds too much.
    ///
    /// # Errors
    /// When the file cannot be used; it stays as it is.
    pub fn open(settings: &ThreeStateSettings) -> Result<(Self, Option<String>), FileError> {
        let &ThreeStateSettings { ref file, ref book, size, seed } = settings;
        let (memory, note) = match file {
            Some(path) if !files::is_null(Path::new(path)) => Memory::open(Path::new(path), size)?,
            // The null device keeps nothing either.
            _ => (Memory::in_memory(size), None),
        };
        let mut search = Self::new(memory, seed);
        if let Some(book) = book {
            search.know(Path::new(book))?;
        }
        Ok((search, note))
    }

    /// Counts the positions of a book as known from now on.
    ///
    /// # Errors
    /// When the book cannot be read; nothing is known by it then.
    pub(crate) fn know(&mut self, book: &Path) -> Result<(), FileError> {
        self.openings = Openings::read(book).map_err(FileError::Book)?;
        Ok(())
    }

    /// Positions known.
    pub fn positions(&self) -> usize {
        self.memory.ask(Experience::len)
    }

    /// The game is over, and how it ended is known for certain.
    pub fn game_over(&mut self, outcome: KnownOutcome) {
        self.finish(Some(outcome));
    }

    /// The game will not be finished, and nothing is learnt from its present state.
    pub fn abandon(&mut self) {
        (self.played, self.explored) = (Played::default(), 0);
    }

    fn finish(&mut self, told: Option<KnownOutcome>) {
        self.explored = 0;
        if let Some(over) = self.played.finish(told) {
            self.memory.record(&Record::Game(over));
        }
    }

    fn decide(&self, task: &Task<'_>, packed: Option<Packed>) -> Decision {
        let position = task.game.position();
        let value = Quick.of(position);
        let (known, threshold, made) = self.memory.ask(|experience| {
            let known = packed.and_then(|packed| experience.get(packed));
            (known, experience.totals().threshold, experience.totals().moves.iter().sum())
        });
        let mut walk = Walk::within(task, Quick, Budget::soft_over);
        let (confidence, band) = confidence(value);
        let mut note = format!(
            "eval {} C {confidence} band {band} threshold {}",
            pawns(value),
            pawns(threshold)
        );
        let moves = task.root_moves();
        if value >= threshold {
            let best = best_of(&mut walk, task, &moves, None, 1);
            return Decision::new(State::Confident, best, walk.nodes(), &note);
        }
        let Some(source) = self.source(position, packed, known) else {
            let random = moves[self.random_below(moves.len(), made)];
            let best = best_of(&mut walk, task, &[random], None, 1);
            // Writing to a String cannot fail.
            let _ = write!(note, " random move of {}", moves.len());
            return Decision::new(State::Ignorant, best, walk.nodes(), &note);
        };
        let legal = position.legal_moves().len();
        let limiters = Limiters::new(seconds_planned(task), value, self.explored, legal);
        let depth = limiters.depth().min(task.limits.depth.unwrap_or(u32::MAX)).max(1);
        let calculated = known.filter(|known| known.state == State::Uncertain);
        let remembered = calculated.map(|known| known.best);
        let best = best_of(&mut walk, task, &moves, remembered, depth);
        let cut = if best.is_whole { "" } else { " cut short" };
        let _ = write!(note, " {source} {limiters} depth {depth}{cut}");
        Decision::new(State::Uncertain, best, walk.nodes(), &note)
    }

    /// Where there is information on a position (Part 3); `None`: nowhere.
    fn source(
        &self,
        position: &Chess,
        packed: Option<Packed>,
        known: Option<PositionRecord>,
    ) -> Option<String> {
        if let Some(known) = known {
            return Some(format!("seen {}", known.seen));
        }
        if self.tables.as_ref().is_some_and(|tables| tables.know(position)) {
            return Some("in the tables".to_owned());
        }
        let is_theory = packed.is_some_and(|packed| self.openings.has(packed));
        is_theory.then(|| "in the book".to_owned())
    }

    /// A number below `count`, which follows from the seed and how many moves were ever made.
    fn random_below(&self, count: usize, made: u64) -> usize {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(made);
        random.random_range(0..count)
    }

    /// Puts the decision where it is not lost: when this returns, it is in the file.
    fn remember(&mut self, task: &Task<'_>, packed: Option<Packed>, decision: &Decision) {
        let Decision { state, best, value, .. } = *decision;
        if let Some(position) = packed {
            let made = MoveMade { position, best: PackedMove::new(best), state };
            self.memory.record(&Record::Move(made));
        }
        self.played.decided(task.game, packed, state, (best, value));
        self.explored += decision.nodes;
    }
}

impl Decision {
    fn new(state: State, best: Best, nodes: u64, note: &str) -> Self {
        let Best { played, value, line, depth, .. } = best;
        let note = format!("state {} {note}", state.name());
        Self { state, best: played, line, value, depth, nodes, note }
    }
}

/// The seconds that the clock's plan gives this move; `None` without a clock.
fn seconds_planned(task: &Task<'_>) -> Option<f64> {
    let Limits { clock, move_time, .. } = task.limits;
    let is_timed = clock.is_some() || move_time.is_some();
    task.budget.soft().filter(|_| is_timed).map(|time| time.as_secs_f64())
}

/// The confidence C of seed 000, Part 2, and its band of the evaluation (thousandths of a pawn).
/// The learnt threshold, not C, decides.
fn confidence(value: i32) -> (&'static str, &'static str) {
    match value {
        3_000.. => ("0.95", "from +3.00"),
        2_000.. => ("0.80", "+2.00 to +3.00"),
        1_000.. => ("0.60", "+1.00 to +2.00"),
        0.. => ("0.50", "+0.00 to +1.00"),
        _ => ("below 0.50", "below +0.00"),
    }
}

/// Thousandths of a pawn as pawns with their sign.
fn pawns(value: i32) -> String {
    format!("{:+.2}", f64::from(value) / 1_000.0)
}

impl Search for ThreeState {
    fn search(&mut self, task: &Task<'_>, _: &mut dyn FnMut(&Info)) -> Outcome {
        if self.played.is_over_before(task.game) {
            self.finish(None);
        }
        let packed = Packed::new(task.game.position());
        let decision = self.decide(task, packed);
        // What `searchmoves` leaves is no decision on the position; what endgame tables leave is.
        let Limits { search_moves, by_tables, .. } = task.limits;
        if task.comes_about() && (search_moves.is_empty() || *by_tables) {
            self.remember(task, packed, &decision);
        }
        task.wait_for_stop();
        let mut line = decision.line;
        line.reverse();
        let (value, nodes) = (decision.value, decision.nodes);
        let found = Found { value, line, nodes, is_whole: false };
        let info = Info {
            depth: decision.depth,
            selective_depth: decision.depth.max(found.line.len() as u32),
            score: found.score(|value| Score::Centipawns(value / 10)),
            nodes,
            hashfull: 0,
            time: task.budget.elapsed(),
            pv: found.line,
            variations: Vec::new(),
            is_bound: false,
            current: None,
        };
        let ponder = info.pv.get(1).copied();
        let notes = std::iter::once(decision.note).chain(self.memory.error()).collect();
        Outcome { best: decision.best, ponder, info, error: None, cache: None, notes }
    }

    /// Nothing is kept from one search to the next but experience, which stays.
    fn clear(&mut self) {}

    /// The last game is over. What was learnt is what another one begins with.
    fn new_game(&mut self) {
        self.finish(None);
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// What the tables know is information (Part 3).
    fn set_tables(&mut self, tables: Option<Tables>) {
        self.tables = tables;
    }

    /// The experience has a bound of its own.
    fn set_hash_mb(&mut self, _: usize) {}
}

impl Drop for ThreeState {
    fn drop(&mut self) {
        self.finish(None);
    }
}
