//! The interface between a game and a side, whoever makes the moves.

use std::time::Duration;

use shakmaty::Position;
use shakmaty::uci::UciMove;

use crate::game::ending::Termination;
use crate::game::limit::{GameClock, Limit};
use crate::game::score::UciScore;
use crate::game::state::GameState;

/// One move to be made.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The game so far.
    pub state: &'a GameState,
    /// What ends the mover's thought.
    pub limit: &'a Limit,
    /// The clocks of White and Black; those without one have none.
    pub clocks: [Option<GameClock>; 2],
    /// Without an answer by then, none will come.
    pub allowance: Duration,
    /// Only these moves are to be considered; empty = all.
    pub only: &'a [UciMove],
}

impl Turn<'_> {
    /// The mover's clock.
    pub fn clock(&self) -> Option<GameClock> {
        self.clocks[usize::from(self.state.position().turn().is_black())]
    }
}

/// The move made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Not checked against the rules yet.
    pub best: UciMove,
    /// From the mover's view.
    pub score: Option<UciScore>,
    /// The same, or the bound that it named after it: what it thought when it stopped. A search
    /// that ends within an iteration has mostly just learnt that its score was too high.
    pub latest: Option<UciScore>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Evaluations or nodes.
    pub nodes: Option<u64>,
    /// The line expected, in UCI notation, `best` first; not checked, perhaps empty.
    pub pv: Vec<String>,
    /// Other moves with their scores from the mover's view, where it reports several variations;
    /// not checked against the rules, but `best` is none of them.
    pub others: Vec<(UciMove, UciScore)>,
    /// Breaches of the protocol that were tolerated, in words.
    pub remarks: Vec<String>,
    /// From the question to the answer.
    pub elapsed: Duration,
}

/// Why there is no move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mishap {
    /// The side failed: the game is lost for it.
    #[error("{what}")]
    Failed {
        /// Crash, hang or bad UCI.
        how: Termination,
        /// What happened, for people.
        what: String,
    },
    /// The run is being stopped; the game does not count.
    #[error("it was stopped")]
    Stopped,
    /// What all games stand on is gone; a sentence for people.
    #[error("{0}")]
    Fatal(String),
}

/// One side during its games. After a mishap the next [`Player::new_game`] restarts the player.
pub trait Player: Send {
    /// Forgets the game before.
    ///
    /// # Errors
    /// When the side cannot be started or does not answer.
    fn new_game(&mut self, chess960: bool) -> Result<(), Mishap>;

    /// Makes one move.
    ///
    /// # Errors
    /// When no move came.
    fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap>;

    /// What was said to and by the side lately, oldest first.
    fn transcript(&self) -> Vec<String>;
}
