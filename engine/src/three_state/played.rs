//! The current game as a search sees it, and how it ended.
//!
//! UCI does not tell an engine the result. So when another game begins, or the program ends, the
//! rules are asked first: mate and draws in the last known position are certain. Where the game
//! ended later (the opponent's last move, resignation, time, an adjudicator) the end is estimated:
//! lost where the opponent could mate at once, else by the last value.

use shakmaty::{Color, KnownOutcome, Move, Position};

use super::State;
use super::packed::Packed;
use super::record::GameOver;
use crate::chess::game::Game;
use crate::chess::verdicts::mating_move;

/// From this value on, in thousandths of a pawn, a game that ended otherwise is taken to be won or
/// lost: where the seed begins to be confident.
const DECIDED: i32 = 2_000;

/// A move of ours.
#[derive(Clone, Copy, Debug)]
struct Decision {
    /// `None` for more men than can be remembered.
    position: Option<Packed>,
    side: Color,
    state: State,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Played {
    decisions: Vec<Decision>,
    /// Half-moves from the start of the game to the last decision, as its move number tells.
    ply: u32,
    /// The game after our last move, and its value for the side that made it.
    last: Option<(Game, i32)>,
}

/// Half-moves since the game's start.
fn ply(game: &Game) -> u32 {
    let position = game.position();
    let moves = position.fullmoves().get() - 1;
    moves.saturating_mul(2).saturating_add(u32::from(position.turn().is_black()))
}

impl Played {
    /// Whether this position cannot come later in the same game. A move may be thought about twice.
    pub(super) fn is_over_before(&self, game: &Game) -> bool {
        !self.decisions.is_empty() && ply(game) < self.ply
    }

    /// Takes in our move in a game's position, why it was made, and what it is worth to us.
    pub(super) fn decided(
        &mut self,
        game: &Game,
        packed: Option<Packed>,
        state: State,
        (best, value): (Move, i32),
    ) {
        let (now, side) = (ply(game), game.position().turn());
        // Thought about again, or instead of a position that was only expected.
        if !self.decisions.is_empty() && now == self.ply {
            self.decisions.pop();
        }
        self.decisions.push(Decision { position: packed, side, state });
        self.ply = now;
        let mut after = game.clone();
        after.play(best);
        self.last = Some((after, value));
    }

    /// The end of the game, told or found out, and the next one begins; `None` where no move was
    /// made.
    pub(super) fn finish(&mut self, told: Option<KnownOutcome>) -> Option<GameOver> {
        let Self { decisions, last, .. } = std::mem::take(self);
        let (after, value) = last?;
        let known = told.or_else(|| known_end(&after));
        let winner = match known {
            Some(outcome) => outcome.winner(),
            None => likely_winner(&after, value),
        };
        let mut over = GameOver {
            winner,
            is_estimated: known.is_none(),
            confident: [false; 2],
            moves: [0; 3],
            positions: decisions.iter().filter_map(|decision| decision.position).collect(),
        };
        for decision in &decisions {
            over.moves[decision.state as usize] += 1;
            over.confident[usize::from(decision.side.is_black())] |=
                decision.state == State::Confident;
        }
        Some(over)
    }
}

/// How the game ended, where the rules say that it did.
pub(super) fn known_end(game: &Game) -> Option<KnownOutcome> {
    let position = game.position();
    if position.is_checkmate() {
        return Some(KnownOutcome::Decisive { winner: !position.turn() });
    }
    let drawn = position.is_stalemate()
        || position.is_insufficient_material()
        || position.halfmoves() >= 100
        || game.repetitions() >= 2;
    drawn.then_some(KnownOutcome::Draw)
}

/// Who most likely won a game that went on after this position, whose value is for the side that
/// moved last.
fn likely_winner(game: &Game, value: i32) -> Option<Color> {
    let position = game.position();
    let (us, them) = (!position.turn(), position.turn());
    if value <= -DECIDED || mating_move(position, &position.legal_moves()).is_some() {
        Some(them)
    } else if value >= DECIDED {
        Some(us)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;
    use shakmaty::{CastlingMode, Chess};

    use super::*;

    /// A game in which we, to move in each position, play these moves and judge them so.
    fn played(fen: &str, moves: &[(&str, State, i32)]) -> (Played, Game) {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        let mut game = Game::new(fen.into_position::<Chess>(CastlingMode::Standard).unwrap());
        let mut played = Played::default();
        for &(text, state, value) in moves {
            let best = text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
            let packed = Packed::new(game.position());
            played.decided(&game, packed, state, (best, value));
            game.play(best);
        }
        (played, game)
    }

    const LADDER: &str = "7k/8/8/8/8/8/R7/1R4K1 w - - 0 1";

    #[test]
    fn the_rules_are_asked_first() {
        let mate = "7k/8/6K1/8/8/8/8/R7 w - - 0 1";
        let over = played(mate, &[("a1a8", State::Confident, 5_000)]).0.finish(None).unwrap();
        assert_eq!((over.winner, over.is_estimated), (Some(Color::White), false));
        assert_eq!((over.confident, over.moves), ([true, false], [1, 0, 0]));
        let stalemate = "7k/8/5KQ1/8/8/8/8/8 w - - 0 1";
        let over = played(stalemate, &[("f6f7", State::Ignorant, 9_000)]).0.finish(None).unwrap();
        assert_eq!((over.winner, over.is_estimated), (None, false));
    }

    #[test]
    fn what_the_rules_leave_open_is_estimated() {
        let estimate = |value| {
            let mut played = played(LADDER, &[("a2a7", State::Uncertain, value)]).0;
            let over = played.finish(None).unwrap();
            assert!(over.is_estimated);
            over.winner
        };
        assert_eq!(estimate(2_000), Some(Color::White));
        assert_eq!(estimate(1_999), None);
        assert_eq!(estimate(-2_000), Some(Color::Black));
        // Black mates on the first rank.
        let blunder = "r5k1/8/8/8/8/8/1P3PPP/6K1 w - - 0 1";
        let over = played(blunder, &[("b2b3", State::Ignorant, 4_000)]).0.finish(None).unwrap();
        assert_eq!((over.winner, over.is_estimated), (Some(Color::Black), true));
    }

    #[test]
    fn who_is_told_believes() {
        let mut played = played(LADDER, &[("a2a7", State::Uncertain, 5_000)]).0;
        let over = played.finish(Some(KnownOutcome::Decisive { winner: Color::Black })).unwrap();
        assert_eq!((over.winner, over.is_estimated), (Some(Color::Black), false));
        assert_eq!(played.finish(None), None, "a game ends once");
    }

    #[test]
    fn games_are_told_apart_by_their_move_numbers() {
        let (mut played, game) = played(
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            &[("e2e4", State::Ignorant, 0), ("e7e5", State::Ignorant, 0)],
        );
        assert!(!played.is_over_before(&game));
        assert!(played.is_over_before(&Game::new(Chess::new())));
        // A second thought about Black's first move.
        let mut again = Game::new(Chess::new());
        again.play("e2e4".parse::<UciMove>().unwrap().to_move(again.position()).unwrap());
        assert!(!played.is_over_before(&again));
        let reply = "c7c5".parse::<UciMove>().unwrap().to_move(again.position()).unwrap();
        let packed = Packed::new(again.position());
        played.decided(&again, packed, State::Uncertain, (reply, 100));
        let over = played.finish(None).unwrap();
        assert_eq!((over.positions.len(), over.moves), (2, [0, 1, 1]));
    }
}
