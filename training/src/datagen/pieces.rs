//! Another's game, taken over as far as its moves have scores.

use shakmaty::{Chess, Move, Position};

use crate::labelled::{GameRecord, Ply, pack, unpack};

/// What a move loses that cannot stand for the best one: a mistake, as Lichess has it.
const MISTAKE: f32 = 0.1;

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

impl Taken {
    /// The same without positions in which a mistake was played: what the best move was, nobody
    /// says. The games are cut there, so that no value comes from what followed.
    #[must_use]
    pub fn without_mistakes(self) -> Self {
        let games = self.games.into_iter().flat_map(cut_at_mistakes).collect();
        Self { games, ..self }
    }
}

fn cut_at_mistakes(game: GameRecord) -> Vec<GameRecord> {
    let GameRecord { start, result, plies, .. } = game;
    let mut position = start.clone();
    let mut parts = Vec::new();
    let mut part = GameRecord { start, result, plies: Vec::new(), others: Vec::new() };
    for (at, &ply) in plies.iter().enumerate() {
        let Some(played) = unpack(&position, ply.played) else { break };
        position.play_unchecked(played);
        let is_mistake =
            plies.get(at + 1).is_some_and(|next| ply.expected() + next.expected() - 1.0 > MISTAKE);
        if is_mistake {
            let rest = GameRecord { start: position.clone(), plies: Vec::new(), ..part.clone() };
            parts.push(std::mem::replace(&mut part, rest));
        } else {
            part.plies.push(ply);
        }
    }
    parts.push(part);
    parts.retain(|part| !part.plies.is_empty());
    parts
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

    /// Neither the value nor the best move of a position comes from a mistake played in it.
    #[test]
    fn games_are_cut_at_mistakes() {
        let mut pieces = Pieces::new(Chess::default());
        let mut positions = Vec::new();
        // The third move loses a queen.
        for score in [30, -20, 25, 900, -880] {
            positions.push(pieces.position().clone());
            let m = pieces.position().legal_moves()[0];
            pieces.push(m, Some(score));
        }
        let Taken { games, gaps, .. } = pieces.finish(0).without_mistakes();
        let scores = games.iter().map(|game| game.plies.iter().map(|ply| ply.score).collect());
        assert_eq!(scores.collect::<Vec<Vec<i16>>>(), [vec![30, -20], vec![900, -880]]);
        assert_eq!((&games[0].start, &games[1].start), (&positions[0], &positions[3]));
        assert_eq!(gaps, 0);
    }

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
