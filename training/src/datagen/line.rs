//! Moves that are labelled as they stand: spans of games that were played before, and paths of our
//! own search's trees, which are the positions that a network is asked about.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use shakmaty::{Chess, Move, Position};
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search as _, StopToken, Task};
use tesla_engine::tree::node::ExpansionId;
use tesla_nn::files;
use tesla_nn::files::sha256;

use super::dice::Dice;
use crate::labelled::{GameRecord, RecordError, Room, find_learnable, read_within, unpack};

/// A line of moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub start: Chess,
    /// What was played; each position before a move gets a label.
    pub moves: Vec<Move>,
    /// Whether the position after the last move gets a label too.
    pub to_end: bool,
    /// Of the game, as files hold it.
    pub result: u8,
}

/// Largest file of games, bytes.
const LARGEST: u64 = 1 << 32;

/// Games that lines are taken from.
#[derive(Debug)]
pub struct Material {
    games: Vec<GameRecord>,
    /// SHA-256 of the files, one after another.
    pub hash: String,
}

impl Material {
    /// Reads the games that `path` names; of a folder, not those that are held out: a run that
    /// learnt from them under other labels would know them.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let (mut games, mut hashes) = (Vec::new(), String::new());
        let mut room = Room::of_machine();
        for file in find_learnable(path)? {
            let bytes = files::read_bounded(&file, LARGEST)?;
            hashes.push_str(&sha256(&bytes));
            games.extend(read_within(&file, &mut room)?);
        }
        games.retain(|game| !game.plies.is_empty());
        let hash = sha256(hashes.as_bytes());
        if games.is_empty() {
            Err(RecordError::Empty(path.to_owned()))
        } else {
            Ok(Self { games, hash })
        }
    }

    /// Number of games.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// `length` plies of game `number` in a row, drawn by the dice; the whole game where it is no
    /// longer or `length` is 0.
    pub fn span(&self, number: u64, length: u16, dice: &mut Dice) -> Line {
        let (game, line) = self.line(number);
        let length = usize::from(length);
        let spare = line.moves.len().saturating_sub(length);
        let skipped = if length == 0 || spare == 0 { 0 } else { dice.below(spare + 1) };
        let end = if length == 0 { line.moves.len() } else { skipped + length };
        let moves = line.moves[skipped..end.min(line.moves.len())].to_vec();
        let mut start = line.start;
        line.moves[..skipped].iter().for_each(|&played| start.play_unchecked(played));
        Line { start, moves, to_end: false, result: game.result }
    }

    /// A position of a game, drawn by the dice, that has legal moves, and a score of at most so
    /// many centipawns for either side where the game has such positions (0 = any score). There
    /// are as many draws as one likes: after the last game comes the first.
    fn position(&self, number: u64, within: u16, dice: &mut Dice) -> Chess {
        let (game, line) = self.line(number);
        let is_close = |&ply: &usize| {
            within == 0 || game.plies.get(ply).is_some_and(|it| it.score.unsigned_abs() <= within)
        };
        let count = line.moves.len().max(1);
        let close: Vec<usize> = (0..count).filter(is_close).collect();
        let drawn = dice.below(if close.is_empty() { count } else { close.len() });
        let plies = close.get(drawn).copied().unwrap_or(drawn);
        let mut position = line.start;
        line.moves[..plies].iter().for_each(|&played| position.play_unchecked(played));
        position
    }

    /// A game's moves, as far as they are legal.
    fn line(&self, number: u64) -> (&GameRecord, Line) {
        let game = &self.games[(number % self.games.len() as u64) as usize];
        let mut position = game.start.clone();
        let legal = game.plies.iter().map_while(|ply| {
            let played = unpack(&position, ply.played)?;
            position.play_unchecked(played);
            Some(played)
        });
        let moves = legal.collect();
        (game, Line { start: game.start.clone(), moves, to_end: false, result: game.result })
    }
}

/// Trees whose paths are taken in turn, so that several grow at once and fill each other's batches.
const TOGETHER: u64 = 4;
/// Trees whose paths are kept until they are taken.
const KEPT: u64 = 64;

/// The paths of a tree; `None` where the search was stopped, an error is a sentence.
type Paths = Result<Option<Vec<Line>>, String>;

/// Paths of trees for all workers, so that each tree is grown once.
#[derive(Debug)]
pub struct Forest {
    /// Of each tree.
    paths: u16,
    trees: Mutex<BTreeMap<u64, Arc<OnceLock<Paths>>>>,
}

impl Forest {
    /// So many paths of each tree.
    pub fn new(paths: u16) -> Self {
        Self { paths: paths.max(1), trees: Mutex::default() }
    }

    /// Path `number`; `grow` is given the number of its tree, and of the paths that are wanted of
    /// it, where that is not grown yet. `None` where the search was stopped.
    ///
    /// # Errors
    /// A sentence, when the evaluator fails.
    pub fn path(
        &self,
        number: u64,
        grow: impl FnOnce(u64, u16) -> Paths,
    ) -> Result<Option<Line>, String> {
        let round = u64::from(self.paths) * TOGETHER;
        let tree = number / round * TOGETHER + number % TOGETHER;
        let paths = {
            let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
            trees.retain(|&earlier, _| earlier + KEPT > tree);
            Arc::clone(trees.entry(tree).or_default())
        };
        let paths = paths.get_or_init(|| grow(tree, self.paths)).as_ref().map_err(String::clone)?;
        let path = (number % round / TOGETHER) as usize;
        Ok(paths.as_ref().and_then(|lines| lines.get(path)).cloned())
    }
}

/// Our own search, for paths of its trees.
#[derive(Debug)]
pub struct Trees {
    search: BestFirst,
    evaluations: u32,
    /// Roots' largest score for either side in their games, centipawns; 0 = any.
    within: u16,
    stop: StopToken,
}

impl Trees {
    /// Trees of so many evaluations, from roots whose games scored them `within` so many
    /// centipawns for either side (0 = any); `stop` ends a search.
    pub fn new(search: BestFirst, evaluations: u32, within: u16, stop: StopToken) -> Self {
        Self { search, evaluations, within, stop }
    }

    /// So many paths of tree `number`: each from its root, a position of the material, to a
    /// position drawn among all that were evaluated. `None` where the search was stopped.
    ///
    /// # Errors
    /// A sentence, when the evaluator fails.
    pub fn paths(&mut self, material: &Material, seed: u64, number: u64, count: u16) -> Paths {
        let root = material.position(number, self.within, &mut Dice::new(seed, number));
        self.grow(&root)?;
        let mut dice = Dice::new(seed ^ u64::MAX, number);
        let line =
            |_| Line { start: root.clone(), moves: self.draw(&mut dice), to_end: true, result: 1 };
        let lines = (0..count).map(line).collect();
        Ok((!self.stop.is_stopped()).then_some(lines))
    }

    fn grow(&mut self, root: &Chess) -> Result<(), String> {
        self.search.clear();
        let limits = Limits { nodes: Some(u64::from(self.evaluations)), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let game = Game::new(root.clone());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &self.stop };
        let error = self.search.search(&task, &mut |_| {}).error;
        error.map_or(Ok(()), |error| Err(error.to_string()))
    }

    /// The moves from the root to a position.
    fn draw(&self, dice: &mut Dice) -> Vec<Move> {
        let tree = self.search.tree();
        let count = tree.expansion_count();
        if count == 0 {
            return Vec::new();
        }
        let drawn = dice.below(count) as ExpansionId;
        let above = tree.upwards(drawn).filter(|&id| id != 0);
        let mut moves: Vec<Move> =
            above.map(|id| tree.node(tree.node_of(tree.expansion(id))).played).collect();
        moves.reverse();
        moves
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::labelled::{Ply, pack};

    fn line(result: u8) -> Line {
        Line { start: Chess::default(), moves: Vec::new(), to_end: true, result }
    }

    #[test]
    fn trees_are_grown_once_and_take_turns() {
        let (forest, grown) = (Forest::new(2), RefCell::new(Vec::new()));
        let path = |number| {
            let taken = forest.path(number, |tree, wanted| {
                assert_eq!(wanted, 2);
                grown.borrow_mut().push(tree);
                let first = tree as u8 * 2;
                Ok(Some(vec![line(first), line(first + 1)]))
            });
            taken.unwrap().unwrap().result
        };
        // Two paths each of trees 0 to 3, then of 4 to 7.
        let taken: Vec<u8> = (0..12).map(path).collect();
        assert_eq!(taken, [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14]);
        assert_eq!(*grown.borrow(), [0, 1, 2, 3, 4, 5, 6, 7]);

        assert_eq!(Forest::new(1).path(0, |_, _| Ok(None)), Ok(None));
        let failed = Forest::new(1);
        assert!(failed.path(0, |_, _| Err("lost".to_owned())).is_err());
    }

    /// A game whose positions have these scores.
    fn material(scores: &[i16]) -> Material {
        let mut position = Chess::default();
        let plies = scores.iter().map(|&score| {
            let played = position.legal_moves()[0];
            position.play_unchecked(played);
            Ply { played: pack(played), best: pack(played), score }
        });
        let plies = plies.collect();
        let game = GameRecord { start: Chess::default(), result: 1, plies, others: Vec::new() };
        Material { games: vec![game], hash: String::new() }
    }

    #[test]
    fn roots_are_close_positions_where_there_are_any() {
        let drawn = |scores: &[i16], within| {
            let material = material(scores);
            let ply = |seed| {
                let root = material.position(0, within, &mut Dice::new(seed, 0));
                (u32::from(root.fullmoves()) - 1) as usize * 2 + usize::from(root.turn().is_black())
            };
            let mut plies: Vec<usize> = (0..60).map(ply).collect();
            plies.sort_unstable();
            plies.dedup();
            plies
        };
        let scores = [20, 500, -300, -800, 301];
        assert_eq!(drawn(&scores, 300), [0, 2]);
        assert_eq!(drawn(&scores, 0), [0, 1, 2, 3, 4]);
        assert_eq!(drawn(&scores, 10), [0, 1, 2, 3, 4]);
    }
}
