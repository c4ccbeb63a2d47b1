//! The arbiter's state of one game: which moves are legal, and when the rules end the game.

use anyhow::{Result, anyhow, bail, ensure};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use super::ending::{Ending, Termination};
use super::opening::Opening;

/// Plies without capture or pawn move that make a draw (FIDE Laws of Chess, 9.3).
const FIFTY_MOVES_PLIES: u32 = 100;

/// How often a position must occur to make a draw (FIDE Laws of Chess, 9.2).
const REPETITIONS: usize = 3;

/// The castling mode for a flag.
pub(crate) fn castling_mode(chess960: bool) -> CastlingMode {
    if chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard }
}

/// The position of a FEN (X-FEN and Shredder-FEN castling too).
pub(crate) fn set_up(fen: &str, chess960: bool) -> Result<Chess> {
    let setup =
        fen.parse::<Fen>().map_err(|what| anyhow!("\"{fen}\" is not a FEN: {what}"))?.into_setup();
    ensure!(
        setup.pockets.is_none() && setup.remaining_checks.is_none(),
        "\"{fen}\" is not a FEN: pockets and check counters belong to other variants"
    );
    let hint = if !chess960 && CastlingMode::detect(&setup) == CastlingMode::Chess960 {
        "; its castling rights are those of Chess960, so play it as Chess960 (import does not)"
    } else {
        ""
    };
    setup
        .position(castling_mode(chess960))
        .map_err(|what| anyhow!("\"{fen}\" cannot be played: {what}{hint}"))
}

/// The FEN of a position, with X-FEN castling and an en passant square only where a capture on
/// it is legal.
pub(crate) fn fen_of(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

/// One game in progress.
#[derive(Clone, Debug)]
pub struct GameState {
    start_fen: String,
    start: Chess,
    position: Chess,
    /// Positions since the last irreversible move, the present one last.
    repeatable: Vec<Chess>,
    moves: Vec<UciMove>,
    opening_plies: usize,
    max_plies: Option<usize>,
}

impl GameState {
    /// Sets up the opening and plays its moves.
    ///
    /// # Errors
    /// When the position or a move is not legal, or the game ends within the opening.
    pub fn new(opening: &Opening) -> Result<Self> {
        let position = set_up(&opening.fen, opening.chess960)?;
        let mut state = Self::from_position(position);
        state.refuse_if_over()?;
        for (index, &uci) in opening.moves.iter().enumerate() {
            state
                .play(uci)
                .map_err(|illegal| anyhow!("move {} of the opening: {illegal}", index + 1))?;
            state.opening_plies += 1;
            state.refuse_if_over()?;
        }
        Ok(state)
    }

    /// A game that begins at any position, also at one that no opening may have.
    pub fn from_position(position: Chess) -> Self {
        Self {
            start_fen: fen_of(&position),
            start: position.clone(),
            repeatable: vec![position.clone()],
            position,
            moves: Vec::new(),
            opening_plies: 0,
            max_plies: None,
        }
    }

    fn refuse_if_over(&self) -> Result<()> {
        if let Some(Ending { termination, .. }) = self.outcome() {
            let (plies, how) = (self.moves.len(), termination.word());
            bail!("the game is already over after {plies} moves of the opening ({how})");
        }
        Ok(())
    }

    /// Ends the game as a draw once the engines have played this many moves (both sides'
    /// counted, the opening's not). `None`, as at the start, sets no limit.
    pub fn set_max_plies(&mut self, max_plies: Option<usize>) {
        self.max_plies = max_plies;
    }

    /// Plays a move. Castling must be written as the game's mode has it: the king's two steps in
    /// standard chess, king takes rook in Chess960.
    ///
    /// # Errors
    /// When the move is not legal; nothing changes then.
    pub fn play(&mut self, uci: UciMove) -> Result<()> {
        // shakmaty reads both notations of castling; an engine in the wrong mode must not pass.
        let legal = uci
            .to_move(&self.position)
            .ok()
            .filter(|m| m.to_uci(self.position.castles().mode()) == uci);
        let Some(m) = legal else {
            bail!("{uci} is not a legal move in \"{}\"", fen_of(&self.position));
        };
        if self.position.is_irreversible(m) {
            self.repeatable.clear();
        }
        self.position.play_unchecked(m);
        self.repeatable.push(self.position.clone());
        self.moves.push(uci);
        Ok(())
    }

    /// How the rules end the game here, if they do. Mate goes before all draws.
    pub fn outcome(&self) -> Option<Ending> {
        let turn = self.position.turn();
        if self.position.legal_moves().is_empty() {
            return Some(if self.position.is_check() {
                Ending::loss(turn, Termination::Checkmate)
            } else {
                Ending::draw(Termination::Stalemate)
            });
        }
        let termination = if self.position.is_insufficient_material() {
            Termination::InsufficientMaterial
        } else if self.position.halfmoves() >= FIFTY_MOVES_PLIES {
            Termination::FiftyMoves
        } else if self.is_repeated() {
            Termination::Repetition
        } else if self.max_plies.is_some_and(|most| self.engine_plies() >= most) {
            Termination::MaxPlies
        } else {
            return None;
        };
        Some(Ending::draw(termination))
    }

    fn is_repeated(&self) -> bool {
        // Only every second position has the same side to move.
        let same_side = self.repeatable.iter().rev().step_by(2);
        same_side.filter(|&earlier| *earlier == self.position).count() >= REPETITIONS
    }

    /// The position before all moves.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// The position on the board.
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// All moves so far, the opening's first.
    pub fn moves(&self) -> &[UciMove] {
        &self.moves
    }

    /// Moves that the engines played, both sides' counted.
    pub fn engine_plies(&self) -> usize {
        self.moves.len() - self.opening_plies
    }

    /// The UCI command that shows this position to an engine: `position startpos moves e2e4`.
    pub fn uci_position(&self) -> String {
        let mut text = if self.start_fen == start_fen() {
            "position startpos".to_owned()
        } else {
            format!("position fen {}", self.start_fen)
        };
        if !self.moves.is_empty() {
            text.push_str(" moves");
        }
        for uci in &self.moves {
            text.push(' ');
            uci.append_to_string(&mut text);
        }
        text
    }
}

/// FEN of the start position of standard chess.
pub(crate) fn start_fen() -> String {
    fen_of(&Chess::default())
}

#[cfg(test)]
mod tests;
