//! What is in files of games, in numbers.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use shakmaty::{Chess, Position, Role};

use crate::labelled::unique::Unique;
use crate::labelled::{GameReader, GameRecord, MATE_CENTIPAWNS, RecordError, Room, key, unpack};

/// Upper ends of the ranges of scores, centipawns; the last range has none.
const EDGES: [i16; 8] = [-1000, -300, -100, -30, 30, 100, 300, 1000];

/// Material without pawns, of both sides, from which on a position is of the opening, and from
/// which on it is of the middlegame: minor pieces count 1, rooks 2, queens 4, 24 at the start.
const PHASES: [usize; 2] = [18, 8];

/// Bytes that are kept of a game.
const GAME: usize = size_of::<u128>() + size_of::<u16>();
/// Bytes that are kept of a position.
const POSITION: usize = size_of::<u64>();

/// Counts over games, to be summed up.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    games: u64,
    /// Games that Black won, drawn ones and those that White won.
    results: [u64; 3],
    lengths: Vec<u16>,
    refuted: u64,
    others: u64,
    scores: [u64; EDGES.len() + 1],
    mating: u64,
    mated: u64,
    in_check: u64,
    best_captures: u64,
    best_checks: u64,
    phases: [u64; 3],
    illegal_plies: u64,
    unique: Unique,
    same_games: u64,
    /// Keys of the positions, once for each game that they are in: 8 bytes a position, so that 100
    /// million take 800 MB.
    keys: Vec<u64>,
}

/// Figures on games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Games.
    pub games: u64,
    /// Labelled positions.
    pub positions: u64,
    /// Games that White won.
    pub white_wins: u64,
    /// Drawn games.
    pub draws: u64,
    /// Games that Black won.
    pub black_wins: u64,
    /// Lengths of the games.
    pub plies: Lengths,
    /// Share of the moves played that were not the teacher's best.
    pub refuted: f64,
    /// Moves beside its best that the teacher scored, a position.
    pub others: f64,
    /// Share of the positions where the side to move mates, by the score.
    pub mating: f64,
    /// Share of the positions where the side to move is mated, by the score.
    pub mated: f64,
    /// The other scores, for the side to move.
    pub scores: Vec<ScoreRange>,
    /// Share of the positions in check.
    pub in_check: f64,
    /// Share of the best moves that capture.
    pub best_captures: f64,
    /// Share of the best moves that give check.
    pub best_checks: f64,
    /// Share of the positions with most of the pieces.
    pub opening: f64,
    /// Share of the positions between.
    pub middlegame: f64,
    /// Share of the positions with few pieces.
    pub endgame: f64,
    /// Games that are the same as one before.
    pub same_games: u64,
    /// Positions that another game has too.
    pub same_positions: u64,
    /// Plies behind an illegal move; they count for nothing else.
    pub illegal_plies: u64,
}

/// Lengths of games in plies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Average.
    pub mean: f64,
    /// Shortest game.
    pub shortest: u16,
    /// A tenth of the games is not longer.
    pub tenth: u16,
    /// Half of the games are not longer.
    pub median: u16,
    /// A tenth of the games is not shorter.
    pub ninetieth: u16,
    /// Longest game.
    pub longest: u16,
}

/// How many scores are in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScoreRange {
    /// Least score, centipawns; `None` = there is no bound.
    pub from: Option<i16>,
    /// The scores are below this.
    pub below: Option<i16>,
    /// Share of the positions.
    pub share: f64,
}

impl Statistics {
    /// Counts over all games of these files.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn of_files(files: &[PathBuf]) -> Result<Self, RecordError> {
        Self::of_files_within(files, Room::of_machine())
    }

    /// The same, in so much memory.
    ///
    /// # Errors
    /// As [`Self::of_files`], and when the figures need more.
    pub fn of_files_within(files: &[PathBuf], mut room: Room) -> Result<Self, RecordError> {
        let mut statistics = Self::default();
        for file in files {
            for game in GameReader::open(file)? {
                let game = game?;
                // A list that grows is in memory twice; a hash set has free places too.
                let kept = GAME + POSITION * game.plies.len();
                room.take(file, 3 * kept)?;
                statistics.add(&game);
            }
        }
        Ok(statistics)
    }

    /// Counts a game, up to its first illegal move.
    pub fn add(&mut self, game: &GameRecord) {
        self.games += 1;
        self.results[usize::from(game.result.min(2))] += 1;
        self.same_games += u64::from(!self.unique.insert(game));
        let first_key = self.keys.len();
        let mut position = game.start.clone();
        let mut length = 0;
        for ply in &game.plies {
            let (Some(played), Some(best)) =
                (unpack(&position, ply.played), unpack(&position, ply.best))
            else {
                break;
            };
            self.others += game.others_at(length).len() as u64;
            length += 1;
            self.refuted += u64::from(ply.played != ply.best);
            self.count_score(ply.score);
            self.in_check += u64::from(position.is_check());
            self.best_captures += u64::from(best.is_capture());
            let mut after = position.clone();
            after.play_unchecked(best);
            self.best_checks += u64::from(after.is_check());
            self.phases[phase(&position)] += 1;
            self.keys.push(key(&position));
            position.play_unchecked(played);
        }
        self.illegal_plies += (game.plies.len() - length) as u64;
        self.lengths.push(length as u16);
        self.forget_repetitions(first_key);
    }

    fn count_score(&mut self, score: i16) {
        if score > MATE_CENTIPAWNS {
            self.mating += 1;
        } else if score < -MATE_CENTIPAWNS {
            self.mated += 1;
        } else {
            self.scores[EDGES.partition_point(|&edge| edge <= score)] += 1;
        }
    }

    /// A position that a game repeats is in that game once.
    fn forget_repetitions(&mut self, first_key: usize) {
        self.keys[first_key..].sort_unstable();
        let mut kept = first_key;
        for index in first_key..self.keys.len() {
            if index == first_key || self.keys[index] != self.keys[kept - 1] {
                self.keys[kept] = self.keys[index];
                kept += 1;
            }
        }
        self.keys.truncate(kept);
    }

    /// The figures.
    pub fn finish(mut self) -> Summary {
        let positions: u64 = self.lengths.iter().map(|&length| u64::from(length)).sum();
        let share = |count: u64| count as f64 / positions.max(1) as f64;
        let occurrences = self.keys.len();
        self.keys.sort_unstable();
        self.keys.dedup();
        let [black_wins, draws, white_wins] = self.results;
        let [opening, middlegame, endgame] = self.phases.map(share);
        let range = |(index, &count): (usize, &u64)| ScoreRange {
            from: index.checked_sub(1).map(|index| EDGES[index]),
            below: EDGES.get(index).copied(),
            share: share(count),
        };
        Summary {
            games: self.games,
            positions,
            white_wins,
            draws,
            black_wins,
            plies: Lengths::of(self.lengths, positions),
            refuted: share(self.refuted),
            others: share(self.others),
            mating: share(self.mating),
            mated: share(self.mated),
            scores: self.scores.iter().enumerate().map(range).collect(),
            in_check: share(self.in_check),
            best_captures: share(self.best_captures),
            best_checks: share(self.best_checks),
            opening,
            middlegame,
            endgame,
            same_games: self.same_games,
            same_positions: (occurrences - self.keys.len()) as u64,
            illegal_plies: self.illegal_plies,
        }
    }
}

/// 0 opening, 1 middlegame, 2 endgame.
fn phase(position: &Chess) -> usize {
    let board = position.board();
    let material = |role, value| board.by_role(role).count() * value;
    let material = material(Role::Knight, 1)
        + material(Role::Bishop, 1)
        + material(Role::Rook, 2)
        + material(Role::Queen, 4);
    PHASES.iter().position(|&least| material >= least).unwrap_or(PHASES.len())
}

impl Lengths {
    fn of(mut lengths: Vec<u16>, plies: u64) -> Self {
        lengths.sort_unstable();
        let Some(last) = lengths.len().checked_sub(1) else { return Self::default() };
        let at = |tenths: usize| lengths[last * tenths / 10];
        Self {
            mean: plies as f64 / lengths.len() as f64,
            shortest: at(0),
            tenth: at(1),
            median: at(5),
            ninetieth: at(9),
            longest: at(10),
        }
    }
}

impl fmt::Display for ScoreRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pawns = |centipawns: i16| f64::from(centipawns) / 100.0;
        let range = match (self.from, self.below) {
            (Some(from), Some(below)) => format!("{:+.1} to {:+.1}", pawns(from), pawns(below)),
            (Some(from), None) => format!("from {:+.1}", pawns(from)),
            (None, Some(below)) => format!("below {:+.1}", pawns(below)),
            (None, None) => "all".to_owned(),
        };
        write!(f, "  {range:16} {:5.1} %", 100.0 * self.share)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let games = self.games.max(1) as f64;
        let of_games = |count: u64| 100.0 * count as f64 / games;
        let percent = |share: f64| 100.0 * share;
        writeln!(f, "{} games, {} positions", self.games, self.positions)?;
        writeln!(
            f,
            "White won {} ({:.1} %), {} draws ({:.1} %), Black won {} ({:.1} %)",
            self.white_wins,
            of_games(self.white_wins),
            self.draws,
            of_games(self.draws),
            self.black_wins,
            of_games(self.black_wins)
        )?;
        let Lengths { mean, shortest, tenth, median, ninetieth, longest } = self.plies;
        writeln!(
            f,
            "length in plies: {mean:.1} on average, {shortest} to {longest}, median {median}, \
             tenths {tenth} and {ninetieth}"
        )?;
        writeln!(f, "refuted moves: {:.1} %", percent(self.refuted))?;
        if self.others > 0.0 {
            writeln!(f, "scored beside the best: {:.1} moves a position", self.others)?;
        }
        writeln!(
            f,
            "best moves: {:.1} % captures, {:.1} % checks; {:.1} % of the positions in check",
            percent(self.best_captures),
            percent(self.best_checks),
            percent(self.in_check)
        )?;
        writeln!(
            f,
            "phases: {:.1} % opening, {:.1} % middlegame, {:.1} % endgame",
            percent(self.opening),
            percent(self.middlegame),
            percent(self.endgame)
        )?;
        writeln!(f, "scores in pawns for the side to move:")?;
        self.scores.iter().try_for_each(|range| writeln!(f, "{range}"))?;
        writeln!(f, "  {:16} {:5.1} %", "mates", percent(self.mating))?;
        writeln!(f, "  {:16} {:5.1} %", "is mated", percent(self.mated))?;
        write!(
            f,
            "twice: {} games, {} positions that another game has too",
            self.same_games, self.same_positions
        )?;
        if self.illegal_plies > 0 {
            write!(f, "\nillegal: {} plies from an illegal move on", self.illegal_plies)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::{Candidate, Ply, pack};

    /// A game of these moves, of which those with a `?` were not the best.
    fn game(moves: &str, score: i16, result: u8) -> GameRecord {
        let start = Chess::default();
        let mut position = start.clone();
        let mut plies = Vec::new();
        for word in moves.split_whitespace() {
            let uci = word.trim_end_matches('?').parse::<shakmaty::uci::UciMove>().unwrap();
            let played = uci.to_move(&position).unwrap();
            let other = position.legal_moves().into_iter().find(|&m| m != played).unwrap();
            let best = if word.ends_with('?') { other } else { played };
            plies.push(Ply { played: pack(played), best: pack(best), score });
            position.play_unchecked(played);
        }
        GameRecord { start, result, plies, others: Vec::new() }
    }

    #[test]
    fn games_are_counted() {
        let mut statistics = Statistics::default();
        statistics.add(&game("e2e4 d7d5 e4d5 d8d5", 20, 1));
        statistics.add(&game("e2e4? f7f6 d2d4 g7g5 d1h5", 31_999, 2));
        statistics.add(&game("e2e4 d7d5 e4d5 d8d5", -500, 0));
        // There and back again: positions that a game repeats count once.
        statistics.add(&game("g1f3 g8f6 f3g1 f6g8 g1f3", 0, 1));
        let mut broken = game("a2a3 a7a6", 0, 1);
        broken.plies[1].played = 0;
        let other = Candidate { played: 0, score: 0 };
        broken.others = vec![vec![other; 19], vec![other; 5]];
        statistics.add(&broken);
        let summary = statistics.finish();
        assert_eq!((summary.games, summary.positions), (5, 19));
        assert_eq!((summary.white_wins, summary.draws, summary.black_wins), (1, 3, 1));
        assert_eq!((summary.same_games, summary.illegal_plies), (1, 1));
        // The start four times, the position after e4 twice, and the two after that.
        assert_eq!(summary.same_positions, 4 + 2 + 1 + 1);
        assert_eq!((summary.plies.shortest, summary.plies.longest), (1, 5));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(summary.refuted, 1.0 / 19.0) && near(summary.mating, 5.0 / 19.0));
        assert!(near(summary.best_captures, 4.0 / 19.0) && near(summary.best_checks, 1.0 / 19.0));
        assert!(near(summary.opening, 1.0) && near(summary.others, 1.0));
        let shares: f64 = summary.scores.iter().map(|range| range.share).sum();
        assert!(near(shares + summary.mating + summary.mated, 1.0));
        assert!(summary.to_string().contains("5 games, 19 positions"));
    }
}
