//! A walk through the tree of moves: its limits, its counts and the way from the game's start to
//! the position.

use shakmaty::{Chess, Move, Position};

use super::Line;
use super::ends::{DRAW, MATE, has_move, is_draw};
use super::statics::StaticValue;
use crate::chess::game::Game;
use crate::search::clock::Budget;
use crate::search::{Current, Info, Reporter, Task};

/// Positions between two looks at the clock and the stop token: about a tenth of a millisecond.
const CLOCK_INTERVAL: u64 = 1_024;

/// What ends a walk from outside.
struct Bounds<'a> {
    task: &'a Task<'a>,
    /// Whether time is over.
    is_over: fn(&Budget) -> bool,
}

/// See the module.
pub struct Walk<'a, S> {
    pub(super) statics: S,
    bounds: Option<Bounds<'a>>,
    node_limit: u64,
    /// Set while no node limit holds, because some of the lines to report have not been searched
    /// yet.
    pub(super) is_first_look: bool,
    /// Whether this depth began while the opponent was to move, when no time was planned.
    pub(super) began_pondering: bool,
    nodes: u64,
    /// Keys of the positions before the current one, game and path.
    keys: Vec<u64>,
    /// How many of them are the game's.
    game_keys: usize,
    was_cut: bool,
    /// The receiver of the reports.
    pub(super) reporter: Option<Reporter<'a>>,
    /// Lines of this depth that are found already.
    pub(super) lines: usize,
}

impl<S> std::fmt::Debug for Walk<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl<'a, S: StaticValue> Walk<'a, S> {
    /// A walk from the game's position that nothing ends but the tree itself.
    pub fn new(game: &Game, statics: S) -> Self {
        let keys = game.earlier_keys().to_vec();
        let game_keys = keys.len();
        let (nodes, node_limit) = (0, u64::MAX);
        Self {
            statics,
            bounds: None,
            node_limit,
            is_first_look: false,
            began_pondering: false,
            nodes,
            keys,
            game_keys,
            was_cut: false,
            reporter: None,
            lines: 0,
        }
    }

    /// A walk that ends with the task's nodes, with `stop`, and when `is_over` says so.
    pub fn within(task: &'a Task<'a>, statics: S, is_over: fn(&Budget) -> bool) -> Self {
        Self {
            bounds: Some(Bounds { task, is_over }),
            node_limit: task.limits.nodes.unwrap_or(u64::MAX),
            ..Self::new(task.game, statics)
        }
    }

    /// Positions searched, all walks together; the root does not count.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Whether a line was cut short by the depth since this was last asked; if none was, the value
    /// is that of the whole game.
    pub(super) fn take_was_cut(&mut self) -> bool {
        std::mem::take(&mut self.was_cut)
    }

    /// Tells what a depth has found.
    pub(super) fn report(&mut self, info: Info) {
        if let Some(reporter) = &mut self.reporter {
            reporter.report(info);
        }
    }

    /// At the root: reports the move being searched, the one at this place of its line, `depth`
    /// plies deep.
    pub(super) fn looks_at(&mut self, played: Move, place: usize, depth: u32) {
        if self.keys.len() == self.game_keys
            && let Some(reporter) = &mut self.reporter
            && let Some(bounds) = &self.bounds
        {
            let current = Current { played, number: self.lines + place + 1, depth };
            reporter.looks_at(current, bounds.task.budget.elapsed());
        }
    }

    /// Plies from the root to the current position.
    fn ply(&self) -> i32 {
        (self.keys.len() - self.game_keys) as i32
    }

    /// Counts a position; `None` where the walk is over.
    pub(super) fn enter(&mut self) -> Option<()> {
        if self.nodes >= self.node_limit && !self.is_first_look {
            return None;
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(CLOCK_INTERVAL) && self.is_over() {
            return None;
        }
        Some(())
    }

    fn is_over(&self) -> bool {
        self.bounds.as_ref().is_some_and(|Bounds { task, is_over }| {
            let is_late = self.began_pondering && task.is_late();
            task.stop.is_stopped() || is_over(task.budget) || is_late
        })
    }

    /// The value of a position where the search goes no further.
    pub(super) fn leaf(&mut self, position: &Chess) -> i32 {
        if !has_move(position) {
            return self.without_moves(position);
        }
        if is_draw(position, &self.keys) {
            return DRAW;
        }
        self.was_cut = true;
        self.statics.of(position)
    }

    /// The value of a position that has these legal moves, if the game ends there.
    pub(super) fn end(&self, position: &Chess, moves: &[Move]) -> Option<i32> {
        if moves.is_empty() {
            Some(self.without_moves(position))
        } else {
            is_draw(position, &self.keys).then_some(DRAW)
        }
    }

    /// Mate or stalemate.
    fn without_moves(&self, position: &Chess) -> i32 {
        if position.is_check() { self.ply() - MATE } else { DRAW }
    }

    /// Plays one of the moves of a position with this key, looks further, and answers from the
    /// position's side to move; the line is what `look` gave.
    pub(super) fn behind(
        &mut self,
        position: &Chess,
        key: u64,
        played: Move,
        look: impl FnOnce(&mut Self, &Chess) -> Option<(i32, Line)>,
    ) -> Option<(i32, Line)> {
        let mut after = position.clone();
        after.play_unchecked(played);
        self.keys.push(key);
        let found = look(self, &after);
        self.keys.pop();
        let (value, line) = found?;
        Some((-value, line))
    }
}
