//! Another's game, taken over as far as its moves have scores.

use shakmaty::{Chess, Move, Position};

use crate::labelled::{GameRecord, Ply, pack};

/// What was taken over of one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its parts with a score at every move; one if there are no gaps.
    pub games: Vec<GameRecord>,
    /// Moves without a score behind the first that has one; each cuts the game.
    pub gaps: usize,
    /// Whether it has a result; without one nothing is taken over.
    pub has_result: bool,
}

/// Why a game cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refuses.
    #[error("{0}")]
    Io(std::io::Error),
    /// Something is wrong with it; what follows may be well.
    #[error("{place}: {what}")]
    Bad {
        /// Where it stands.
        place: String,
        /// What is wrong.
        what: String,
    },
}

/// A game being read, cut where moves have no score.
#[derive(Clone, Debug)]
pub struct Pieces {
    start: Chess,
    position: Chess,
    plies: Vec<Ply>,
    done: Vec<(Chess, Vec<Ply>)>,
    gaps: usize,
}

impl Pieces {
    /// A game that starts here.
    pub fn new(start: Chess) -> Self {
        let position = start.clone();
        Self { start, position, plies: Vec::new(), done: Vec::new(), gaps: 0 }
    }

    /// The position that the next move is made in.
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// Adds a legal move that was played and stands for the best one, with the mover's score as
    /// files hold it. What comes before the first score is the opening and is left out.
    pub fn push(&mut self, played: Move, score: Option<i16>) {
        if let Some(score) = score {
            let packed = pack(played);
            self.plies.push(Ply { played: packed, best: packed, score });
        } else {
            self.gaps += usize::from(!self.plies.is_empty() || !self.done.is_empty());
            self.cut();
        }
        self.position.play_unchecked(played);
        if score.is_none() {
            self.start = self.position.clone();
        }
    }

    fn cut(&mut self) {
        if !self.plies.is_empty() {
            self.done.push((self.start.clone(), std::mem::take(&mut self.plies)));
        }
    }

    /// The game's parts; all have the result of the whole.
    pub fn finish(mut self, result: u8) -> Taken {
        self.cut();
        let game = |(start, plies)| GameRecord { start, result, plies, others: Vec::new() };
        let games = self.done.into_iter().map(game).collect();
        Taken { games, gaps: self.gaps, has_result: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_cut_where_scores_are_missing() {
        let mut pieces = Pieces::new(Chess::default());
        for score in [None, Some(1), Some(2), None, None, Some(5), None] {
            let m = pieces.position().legal_moves()[0];
            pieces.push(m, score);
        }
        let Taken { games, gaps, .. } = pieces.finish(2);
        assert_eq!(gaps, 3);
        let scores: Vec<Vec<i16>> =
            games.iter().map(|game| game.plies.iter().map(|ply| ply.score).collect()).collect();
        assert_eq!(scores, [vec![1, 2], vec![5]]);
        assert!(games.iter().all(|game| game.result == 2));
        assert_eq!(games[0].start.fullmoves().get(), 1);
        assert_eq!(games[1].start.fullmoves().get(), 3);
    }
}
