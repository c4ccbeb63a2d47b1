//! Moves as our network would play them: those that a search looks at, good and bad.

use std::fmt;

use shakmaty::{Chess, Move, Position};
use tesla_nn::evaluator::{EvalError, Evaluator, Request};

use super::dice::Dice;

/// Draws moves by the network's policy.
pub struct PolicyMoves(Box<dyn Evaluator>);

impl fmt::Debug for PolicyMoves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyMoves").finish_non_exhaustive()
    }
}

impl PolicyMoves {
    /// Asks this evaluator.
    pub fn new(evaluator: Box<dyn Evaluator>) -> Self {
        Self(evaluator)
    }

    /// One of the legal moves but `best`, each as likely as the policy says of it; `None` where
    /// there is no other.
    ///
    /// # Errors
    /// When the evaluator fails.
    pub fn draw(
        &mut self,
        position: &Chess,
        best: Move,
        dice: &mut Dice,
    ) -> Result<Option<Move>, EvalError> {
        let moves = position.legal_moves();
        self.0.submit(vec![Request::single(position)]);
        let answer = self.0.collect()?.pop().unwrap_or_default();
        let others = moves.iter().copied().zip(answer.moves.iter().map(|it| f64::from(it.policy)));
        let others: Vec<(Move, f64)> = others.filter(|&(m, _)| m != best).collect();
        let mut left = dice.unit() * others.iter().map(|(_, share)| share).sum::<f64>();
        let drawn = others.iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        // Rounding may leave a little over after the last one.
        Ok(drawn.or(others.last()).map(|&(m, _)| m))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use tesla_nn::evaluator::{Evaluation, MoveEstimate};

    use super::*;

    /// The moves' policies are as 1 to 2 to 3 and so on, in their order.
    #[derive(Default)]
    struct Rising(Vec<Evaluation>);

    impl Evaluator for Rising {
        fn description(&self) -> String {
            "rising".to_owned()
        }

        fn batch_size(&self) -> usize {
            1
        }

        fn submit(&mut self, batch: Vec<Request>) {
            let estimate = |place| MoveEstimate { policy: place as f32 / 10.0, action_value: 0.5 };
            let answer = |request: Request| Evaluation {
                moves: (1..=request.moves.len()).map(estimate).collect(),
                ..Evaluation::default()
            };
            self.0.extend(batch.into_iter().map(answer));
        }

        fn in_flight(&self) -> usize {
            self.0.len()
        }

        fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
            Ok(std::mem::take(&mut self.0))
        }
    }

    /// A policy that prefers later moves.
    pub(crate) fn rising() -> PolicyMoves {
        PolicyMoves::new(Box::new(Rising::default()))
    }

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    #[test]
    fn moves_are_drawn_as_often_as_the_policy_says() {
        let position = position("7k/8/8/8/8/8/8/K7 w - - 0 1");
        let moves = position.legal_moves();
        assert_eq!(moves.len(), 3);
        let (mut policy, mut dice) = (rising(), Dice::new(4, 0));
        let mut draw = || policy.draw(&position, moves[1], &mut dice).unwrap().unwrap();
        let drawn: Vec<Move> = (0..3000).map(|_| draw()).collect();
        let count = |m| drawn.iter().filter(|&&other| other == m).count();
        // The first and the third are as 1 to 3; the standard deviation of the count is 24.
        assert!((650..850).contains(&count(moves[0])), "{}", count(moves[0]));
        assert_eq!(count(moves[0]) + count(moves[2]), 3000);
    }

    #[test]
    fn a_forced_move_has_no_other() {
        let position = position("7k/8/8/8/8/8/1r6/K7 w - - 0 1");
        let moves = position.legal_moves();
        assert_eq!(moves.len(), 1);
        let drawn = rising().draw(&position, moves[0], &mut Dice::new(1, 0)).unwrap();
        assert_eq!(drawn, None);
    }
}
