//! Moves that are labelled as they stand: spans of games that were played before, and paths of our
//! own search's trees, which are the positions that a network is asked about.

use std::path::Path;
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
use crate::labelled::{GameRecord, RecordError, Room, find_files, read_within, unpack};

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
    /// Reads all games that `path` names.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let (mut games, mut hashes) = (Vec::new(), String::new());
        let mut room = Room::of_machine();
        for file in find_files(path)? {
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

    /// A position of a game, drawn by the dice, that has legal moves. There are as many draws as
    /// one likes: after the last game comes the first.
    fn position(&self, number: u64, dice: &mut Dice) -> Chess {
        let (_, line) = self.line(number);
        let mut position = line.start;
        let plies = dice.below(line.moves.len().max(1));
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

/// Our own search, for paths of its trees.
#[derive(Debug)]
pub struct Trees {
    search: BestFirst,
    evaluations: u32,
    stop: StopToken,
    /// Number of the tree that is grown, from 0, and its root.
    grown: Option<(u64, Chess)>,
}

/// Paths of each tree.
const PATHS: u64 = 8;

impl Trees {
    /// Trees of so many evaluations; `stop` ends a search.
    pub fn new(search: BestFirst, evaluations: u32, stop: StopToken) -> Self {
        Self { search, evaluations, stop, grown: None }
    }

    /// Path `number`: from the root of a tree, a position of the material, to a position drawn
    /// among all that were evaluated. `None` where the search was stopped.
    ///
    /// # Errors
    /// A sentence, when the evaluator fails.
    pub fn path(
        &mut self,
        material: &Material,
        seed: u64,
        number: u64,
    ) -> Result<Option<Line>, String> {
        let tree = number / PATHS;
        let root = match self.grown.take() {
            Some((known, root)) if known == tree => root,
            _ => self.grow(material.position(tree, &mut Dice::new(seed, tree)))?,
        };
        let mut dice = Dice::new(seed ^ u64::MAX, number);
        let moves = self.draw(&mut dice);
        self.grown = Some((tree, root.clone()));
        let line = Line { start: root, moves, to_end: true, result: 1 };
        Ok((!self.stop.is_stopped()).then_some(line))
    }

    fn grow(&mut self, root: Chess) -> Result<Chess, String> {
        self.search.clear();
        let limits = Limits { nodes: Some(u64::from(self.evaluations)), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let game = Game::new(root.clone());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &self.stop };
        let error = self.search.search(&task, &mut |_| {}).error;
        error.map_or(Ok(root), |error| Err(error.to_string()))
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
