//! Games to batches: windows of an anchor and the plies that follow it, with their labels.

#[cfg(test)]
mod tests;

use std::path::Path;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shakmaty::{Chess, Move, Position};
use tesla_nn::batch::Batch;
use tesla_nn::encode::Window;
use tesla_nn::evaluator::centipawns_from_score;

use crate::labelled::{
    GameRecord, MATE_CENTIPAWNS, Ply, RecordError, Room, file_name, find_files, key, read_within,
    unpack,
};
use crate::train::labels::{Known, Labels};

/// Centipawns beyond which a position counts as decided.
const DECIDED: i32 = 300;

/// Games in memory, each checked move by move.
#[derive(Debug)]
pub struct Dataset {
    games: Vec<GameRecord>,
    /// Pieces on the board before each ply, per game.
    pieces: Vec<Vec<u8>>,
    /// Weights of readouts that follow the teacher's best move and another one.
    path_weights: [f32; 2],
    /// Share that a plan takes of the windows in which one side is ahead all along.
    decided: f32,
    /// Plies dropped because a move was illegal (the game is cut there).
    pub dropped_plies: usize,
}

/// Names a window: the positions `start .. start + length` of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRef {
    /// Index of the game.
    pub game: u32,
    /// Ply of the anchor.
    pub start: u16,
    /// Positions, the anchor included.
    pub length: u16,
}

/// Whole encodes of the last positions of a batch's windows.
#[derive(Debug)]
pub struct Whole {
    /// One position per window.
    pub batch: Batch,
    /// The readouts of these positions in the windows' own batch.
    pub readouts: Vec<i32>,
}

impl Default for Dataset {
    fn default() -> Self {
        Self {
            games: Vec::new(),
            pieces: Vec::new(),
            path_weights: [1.0; 2],
            decided: 1.0,
            dropped_plies: 0,
        }
    }
}

impl Dataset {
    /// Reads every file that `path` names; of a folder, not those whose names begin with `skip`,
    /// where that says something.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn read(path: &Path, skip: &str) -> Result<Self, RecordError> {
        Self::read_within(path, skip, Room::of_machine())
    }

    /// The same, in so much memory.
    ///
    /// # Errors
    /// As [`Self::read`], and when the games need more.
    pub fn read_within(path: &Path, skip: &str, room: Room) -> Result<Self, RecordError> {
        let is_whole = !path.is_dir() || skip.is_empty();
        let is_wanted = |file: &Path| is_whole || !file_name(file).starts_with(skip);
        let dataset = Self::read_named(path, is_wanted, room)?;
        if dataset.positions() == 0 {
            return Err(RecordError::Empty(path.to_owned()));
        }
        Ok(dataset)
    }

    /// Reads the files that `path` names, as far as `is_wanted` says so; perhaps none.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged, or the games need more memory than `room`.
    pub fn read_named(
        path: &Path,
        is_wanted: impl Fn(&Path) -> bool,
        mut room: Room,
    ) -> Result<Self, RecordError> {
        let mut dataset = Self::default();
        for file in find_files(path)? {
            if is_wanted(&file) {
                read_within(&file, &mut room)?.into_iter().for_each(|game| dataset.push(game));
            }
        }
        Ok(dataset)
    }

    /// Adds a game, cut before its first illegal move.
    pub fn push(&mut self, mut game: GameRecord) {
        let mut position = game.start.clone();
        let mut pieces = Vec::with_capacity(game.plies.len());
        for ply in &game.plies {
            let (Some(played), Some(_)) =
                (unpack(&position, ply.played), unpack(&position, ply.best))
            else {
                break;
            };
            pieces.push(position.board().occupied().count() as u8);
            position.play_unchecked(played);
        }
        self.dropped_plies += game.plies.len() - pieces.len();
        game.plies.truncate(pieces.len());
        game.others.truncate(pieces.len());
        self.games.push(game);
        self.pieces.push(pieces);
    }

    /// Number of games.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// A game.
    pub fn game(&self, index: usize) -> &GameRecord {
        &self.games[index]
    }

    /// Pieces on the board before each ply of a game.
    pub fn pieces(&self, index: usize) -> &[u8] {
        &self.pieces[index]
    }

    /// Number of labelled positions.
    pub fn positions(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    /// Share of the moves played that were not the teacher's best.
    pub fn refuted(&self) -> f32 {
        let plies = self.games.iter().flat_map(|game| &game.plies);
        let refuted = plies.filter(|ply| ply.played != ply.best).count();
        refuted as f32 / self.positions().max(1) as f32
    }

    /// From now on readouts weigh as much as if this share of the moves were refuted.
    ///
    /// A network that sees few refuted moves learns that moves on a path are good, and trusts a
    /// search's leaves too much: most of its moves are tried to be refuted.
    pub fn weigh_as_refuted(&mut self, share: f32) {
        let actual = self.refuted();
        if actual > 0.0 && actual < 1.0 {
            self.path_weights = [(1.0 - share) / (1.0 - actual), share / actual];
        }
    }

    /// From now on a plan leaves out all but `share` of the windows whose every score is beyond
    /// three pawns: most positions of a game are such, and least is to be learnt from them.
    pub fn keep_decided(&mut self, share: f32) {
        self.decided = share;
    }

    fn is_decided(&self, window: WindowRef) -> bool {
        let start = usize::from(window.start);
        let plies = &self.games[window.game as usize].plies;
        let plies = &plies[start..start + usize::from(window.length)];
        // Scores are the side to move's, which takes turns.
        let lead = |(ply, of): (usize, &Ply)| i32::from(of.score) * [1, -1][ply % 2];
        let mut leads = plies.iter().enumerate().map(lead).peekable();
        let side = leads.peek().map_or(0, |lead| lead.signum());
        leads.all(|lead| lead * side > DECIDED)
    }

    /// Leaves out the games for which `is_unwanted`, which gets their numbers; says how many.
    pub fn leave_out(&mut self, is_unwanted: impl Fn(&Self, usize) -> bool) -> usize {
        let keep: Vec<bool> = (0..self.games()).map(|game| !is_unwanted(self, game)).collect();
        let before = self.games();
        let (mut games, mut pieces) = (keep.iter(), keep.iter());
        self.games.retain(|_| games.next() == Some(&true));
        self.pieces.retain(|_| pieces.next() == Some(&true));
        before - self.games()
    }

    /// From now on scores are averages along the game, as long as the teacher's best moves were
    /// played: the score `k` plies on, which comes from a search that looked `k` plies deeper,
    /// counts `share^k` as much as the position's own. Mates stay as they are.
    pub fn look_ahead(&mut self, share: f32) {
        if share <= 0.0 {
            return;
        }
        for game in &mut self.games {
            // Of the position and those after it, for its side to move.
            let (mut sum, mut weight) = (0.0, 0.0);
            for ply in game.plies.iter_mut().rev() {
                if ply.played != ply.best {
                    (sum, weight) = (0.0, 0.0);
                }
                sum = share * (weight - sum) + ply.expected();
                weight = share * weight + 1.0;
                if ply.score.abs() <= MATE_CENTIPAWNS {
                    ply.score = centipawns_from_score(sum / weight).round() as i16;
                }
            }
        }
    }

    /// The batches of an epoch: every position once (but for decided ones that are left out), in
    /// windows of `length` positions cut at a random offset per game; a game that fits into one is
    /// not cut, for a path of a tree was labelled for its end. `length` and `batch` are at least 1.
    /// Windows of a batch have about the same number of pieces, so that little is padding. Depends
    /// on `seed` and `epoch` only.
    pub fn plan(&self, length: u16, batch: usize, seed: u64, epoch: u64) -> Vec<Vec<WindowRef>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ epoch.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut buckets: [Vec<WindowRef>; 9] = Default::default();
        for (game, pieces) in self.pieces.iter().enumerate() {
            let mut start = 0;
            // Drawn for short games too: the other games' windows do not depend on them.
            let cut = rng.random_range(1..=length);
            let mut end = if pieces.len() as u16 <= length { length } else { cut };
            while start < pieces.len() as u16 {
                end = end.min(pieces.len() as u16);
                let bucket = usize::from(pieces[usize::from(start)].div_ceil(4)).min(8);
                let window = WindowRef { game: game as u32, start, length: end - start };
                let is_rare = self.decided < 1.0 && self.is_decided(window);
                if !is_rare || rng.random::<f32>() < self.decided {
                    buckets[bucket].push(window);
                }
                start = end;
                end = start.saturating_add(length);
            }
        }
        let mut batches = Vec::new();
        for mut bucket in buckets {
            bucket.shuffle(&mut rng);
            batches.extend(bucket.chunks(batch).map(<[WindowRef]>::to_vec));
        }
        batches.shuffle(&mut rng);
        batches
    }

    /// Encodes a window and collects its labels.
    fn window(&self, window: WindowRef, labels: &mut Labels) -> Window {
        let game = &self.games[window.game as usize];
        let start = usize::from(window.start);
        let end = start + usize::from(window.length);
        let mut position = game.start.clone();
        let mut seen = Vec::with_capacity(end);
        let mut encoded: Option<Window> = None;
        let mut last: Option<Move> = None;
        for (index, ply) in game.plies[..end].iter().enumerate() {
            if index >= start {
                let key = key(&position);
                let repetitions = seen.iter().filter(|&&other| other == key).count() as u8;
                let moves = position.legal_moves();
                match (&mut encoded, last) {
                    (Some(encoded), Some(last)) => {
                        encoded.push(last, &position, repetitions, &moves);
                    }
                    _ => encoded = Some(Window::new(&position, repetitions, &moves)),
                }
                let after = after_ply(game, index, &position);
                let was_refuted = index > 0 && {
                    let last = game.plies[index - 1];
                    last.played != last.best
                };
                let weight = self.path_weights[usize::from(was_refuted)];
                let others = game.others_at(index);
                labels.push(Known { ply: *ply, weight, after, others }, &moves);
            }
            let Some(played) = unpack(&position, ply.played) else { break };
            if played.is_zeroing() {
                seen.clear();
            } else {
                seen.push(key(&position));
            }
            position.play_unchecked(played);
            last = Some(played);
        }
        encoded.unwrap_or_else(|| Window::new(&Chess::default(), 0, &[]))
    }

    /// The last position of every window, encoded whole: what a stale readout could have known.
    pub fn whole(&self, windows: &[WindowRef]) -> Whole {
        let longest = windows.iter().map(|w| usize::from(w.length)).max().unwrap_or(0);
        let last = windows.iter().map(|&WindowRef { game, start, length }| {
            let start = start + length.max(1) - 1;
            self.window(WindowRef { game, start, length: 1 }, &mut Labels::new(1))
        });
        let batch = Batch::pack(&last.collect::<Vec<_>>());
        let row = |(index, window): (usize, &WindowRef)| {
            (index * longest + usize::from(window.length.max(1)) - 1) as i32
        };
        Whole { batch, readouts: windows.iter().enumerate().map(row).collect() }
    }

    /// Packs windows into a batch with its labels.
    pub fn batch(&self, windows: &[WindowRef]) -> (Batch, Labels) {
        let readouts = windows.iter().map(|w| usize::from(w.length)).max().unwrap_or(0);
        let mut labels = Labels::new(readouts);
        let encoded: Vec<Window> = windows
            .iter()
            .map(|&window| {
                let encoded = self.window(window, &mut labels);
                labels.end_window();
                encoded
            })
            .collect();
        let batch = Batch::pack(&encoded);
        labels.finish(&batch);
        (batch, labels)
    }
}

/// Expected score, for the side that played ply `index`, of the position after it, where known.
fn after_ply(game: &GameRecord, index: usize, position: &Chess) -> Option<f32> {
    if let Some(next) = game.plies.get(index + 1) {
        return Some(1.0 - next.expected());
    }
    let mut after = position.clone();
    after.play_unchecked(unpack(position, game.plies[index].played)?);
    if after.is_checkmate() {
        Some(1.0)
    } else if after.is_stalemate() || after.is_insufficient_material() {
        Some(0.5)
    } else {
        None
    }
}
