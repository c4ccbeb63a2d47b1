//! What one running search knows: its limits and counts, the path to the current node, and where
//! static values come from.

use std::time::Duration;

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, FromSetup, Move, Position, PositionError};
use tesla_nn::evaluator::EvalError;

use crate::chess::game::position_key;
use crate::chess::score::Verdict;
use crate::chess::tablebase::Tables;
use crate::chess::verdicts::repetitions;
use crate::search::table::{Entry, PackedMove, Table};
use crate::search::watch::Watched;
use crate::search::{Current, Info, Reporter, Task};

use super::account::Account;
use super::leaf::Leaf;
use super::ordering::History;
use super::value::{Bound, DRAW, Known, MAX_PLY, Remembered, TABLE_WIN, from_root};

/// Nodes, or a network's evaluations, that the first look at several lines may take at least.
const FIRST_LOOK: [u64; 2] = [200_000, 2_000];
/// Nodes between two looks at the clock and the stop token, at most …
const CLOCK_INTERVAL: u64 = 1_024;
/// … and at first, doubled while they take less time than this: the system clears a new table's
/// memory where it is touched, at up to milliseconds a node.
const FIRST_INTERVAL: u64 = 8;
const SHORT: Duration = Duration::from_millis(1);
/// Nodes that a network search may visit per allowed evaluation before it gives up: with every
/// position known already the tree could otherwise grow without a new evaluation.
const VISITS_PER_EVALUATION: u64 = 1_000;

/// A node to search: everything but its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) key: u64,
    pub(super) alpha: i32,
    pub(super) beta: i32,
    pub(super) depth: i32,
    pub(super) ply: usize,
    /// The move that led here; none at the root and after a null move.
    pub(super) before: Option<Move>,
    pub(super) may_null: bool,
}

impl Node {
    /// The node after a move, which has this key: the same window, a ply less of depth.
    pub(super) fn after(&self, played: Move, key: u64) -> Self {
        Self {
            key,
            alpha: -self.beta,
            beta: -self.alpha,
            depth: self.depth - 1,
            ply: self.ply + 1,
            before: Some(played),
            may_null: true,
        }
    }
}

/// One search over one position.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) table: &'a mut Table,
    pub(super) leaf: &'a mut Leaf,
    pub(super) history: &'a mut History,
    pub(super) root_moves: Vec<Move>,
    /// Root moves whose lines this iteration has found already.
    pub(super) taken: Vec<Move>,
    /// The root move that is searched first: the best so far. Another one takes its place only when
    /// it is better in a window in which this one was seen.
    pub(super) root_first: Option<Move>,
    /// Endgame tables.
    pub(super) endings: Option<&'a Tables>,
    /// The statistics of the root moves, and the watcher.
    pub(super) account: Account,
    pub(super) watched: Option<&'a mut Watched>,
    /// The receiver of the reports.
    pub(super) reporter: Option<Reporter<'a>>,
    /// The depth of this iteration, plies.
    pub(super) iteration: u32,
    pub(super) nodes: u64,
    pub(super) selective_depth: usize,
    /// Whether this iteration began while the opponent was to move, when no time was planned.
    pub(super) began_pondering: bool,
    pub(super) stopped: bool,
    pub(super) error: Option<EvalError>,
    /// What the root's policy, or else the order of moves, puts first: the move of a search that
    /// ends before it has seen one.
    pub(super) likeliest: Option<Move>,
    /// Best line found from each ply of the current path.
    pub(super) lines: Vec<Vec<Move>>,
    /// Value of the first line so far in this iteration.
    pub(super) root_value: i32,
    /// Static values along the path; none in check.
    pub(super) statics: Vec<Option<i32>>,
    pub(super) visits: u64,
    /// The visit at which to look at the clock next, and the number of visits since the last look.
    next_look: u64,
    interval: u64,
    /// When that was.
    looked: Duration,
    /// The visit after which captures end where they stand.
    pub(super) last_quiet_visit: u64,
    /// Keys of the positions before the current one, game and path.
    keys: Vec<u64>,
    /// The positions above the current one and the moves made there; none for a null move.
    pub(super) path: Vec<(u64, Option<Move>)>,
    /// Keys of the game proper, without the root's.
    game_keys: usize,
    /// Positions before this index lie behind a null move.
    null_floor: usize,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        task: &'a Task<'a>,
        table: &'a mut Table,
        leaf: &'a mut Leaf,
        history: &'a mut History,
        root_moves: Vec<Move>,
    ) -> Self {
        let keys = task.game.earlier_keys().to_vec();
        Self {
            task,
            table,
            leaf,
            history,
            account: Account::new(task.game.position(), &root_moves),
            watched: None,
            root_moves,
            taken: Vec::new(),
            root_first: None,
            endings: None,
            reporter: None,
            iteration: 0,
            nodes: 0,
            selective_depth: 0,
            began_pondering: false,
            stopped: false,
            error: None,
            likeliest: None,
            lines: vec![Vec::new(); MAX_PLY + 2],
            root_value: DRAW,
            statics: vec![None; MAX_PLY + 2],
            visits: 0,
            next_look: FIRST_INTERVAL,
            interval: FIRST_INTERVAL,
            looked: task.budget.elapsed(),
            last_quiet_visit: 0,
            game_keys: keys.len(),
            keys,
            path: Vec::new(),
            null_floor: 0,
        }
    }

    /// Tells what an iteration has found.
    pub(super) fn report(&mut self, info: Info) {
        if let Some(reporter) = &mut self.reporter {
            reporter.report(info);
        }
    }

    /// Reports the root move being searched; `index` = how many of its line came before.
    pub(super) fn looks_at(&mut self, played: Move, index: usize) {
        if let Some(reporter) = &mut self.reporter {
            let number = self.taken.len() + index + 1;
            let current = Current { played, number, depth: self.iteration };
            reporter.looks_at(current, self.task.budget.elapsed());
        }
    }

    /// Whether the root has not all its moves.
    pub(super) fn is_narrowed(&self) -> bool {
        !self.taken.is_empty() || !self.task.limits.search_moves.is_empty()
    }

    /// The value that endgame tables give a position; none where a mate is looked for.
    pub(super) fn ending(&self, position: &Chess, ply: usize) -> Option<i32> {
        let endings = self.endings.filter(|_| self.task.limits.mate.is_none())?;
        match endings.verdict(position)? {
            Verdict::Win(_) => Some(TABLE_WIN - ply as i32),
            Verdict::Loss(_) => Some(-TABLE_WIN + ply as i32),
            Verdict::Draw => Some(DRAW),
            Verdict::Open => None,
        }
    }

    /// The node limit; it is more generous while some of several lines have not been searched yet.
    pub(super) fn node_limit(&self) -> u64 {
        let is_first_look = self.iteration == 1 && self.task.limits.multipv > 1;
        let least = if is_first_look { FIRST_LOOK[usize::from(self.is_network())] } else { 0 };
        self.task.limits.nodes.map_or(u64::MAX, |nodes| nodes.max(least))
    }

    pub(super) fn is_network(&self) -> bool {
        matches!(self.leaf, Leaf::Network(_))
    }

    /// Counts a node. `false` = the search is over and the node must not be searched.
    pub(super) fn enter(&mut self) -> bool {
        let limit = self.node_limit();
        self.visits += 1;
        if self.is_network() {
            self.stopped |= self.visits / VISITS_PER_EVALUATION > limit;
        } else if self.nodes >= limit {
            self.stopped = true;
        } else if !self.stopped {
            self.nodes += 1;
        }
        if self.visits >= self.next_look {
            let now = self.task.budget.elapsed();
            let is_short = now.saturating_sub(self.looked) < SHORT;
            self.interval = if is_short { 2 * self.interval } else { FIRST_INTERVAL };
            self.interval = self.interval.min(CLOCK_INTERVAL);
            (self.looked, self.next_look) = (now, self.visits + self.interval);
            self.look_at_clock();
        }
        !self.stopped
    }

    pub(super) fn look_at_clock(&mut self) {
        self.stopped |= self.task.stop.is_stopped() || self.task.budget.hard_over();
        // An iteration may have begun that would not be begun on this clock.
        self.stopped |= self.began_pondering && self.iteration > 1 && self.task.is_late();
        self.show();
    }

    /// Draws by rule: fifty moves, material, repetition. One repetition within the search counts,
    /// of positions of the game before it two are needed.
    pub(super) fn is_draw(&self, position: &Chess, key: u64) -> bool {
        let reversible = position.halfmoves();
        if reversible >= 100 && !position.is_checkmate() {
            return true;
        }
        let reversible = reversible.min((self.keys.len() - self.null_floor) as u32);
        if repetitions(&self.keys, self.game_keys, key, reversible).is_draw() {
            return true;
        }
        position.board().occupied().count() <= 8 && position.is_insufficient_material()
    }

    /// Goes one move down; [`Worker::leave`] takes it back.
    pub(super) fn descend(&mut self, from: u64, played: Move) {
        self.keys.push(from);
        self.path.push((from, Some(played)));
    }

    /// Takes [`Worker::descend`] back.
    pub(super) fn leave(&mut self) {
        self.keys.pop();
        self.path.pop();
    }

    /// Passes the move; gives what [`Worker::leave_null`] needs.
    pub(super) fn descend_null(&mut self, from: u64) -> usize {
        self.keys.push(from);
        self.path.push((from, None));
        std::mem::replace(&mut self.null_floor, self.keys.len())
    }

    /// Takes [`Worker::descend_null`] back.
    pub(super) fn leave_null(&mut self, floor: usize) {
        self.keys.pop();
        self.path.pop();
        self.null_floor = floor;
    }

    pub(super) fn remembered(&self, node: &Node) -> Option<Remembered> {
        self.table.probe(node.key).and_then(|entry| Remembered::new(entry, node.ply))
    }

    /// Writes the result of a node into the table.
    pub(super) fn remember(&mut self, node: &Node, best: Option<Move>, value: i32, bound: Bound) {
        if node.ply == 0 && self.is_narrowed() {
            return; // true only for some of the moves
        }
        let known = Known {
            value: from_root(value, node.ply),
            bound,
            static_value: self.statics[node.ply],
        };
        // Where every move failed low, the best of an earlier look is still the one to try first.
        let earlier = || self.table.probe(node.key)?.best;
        let entry = Entry {
            payload: known.pack(),
            best: best.map(PackedMove::pack).or_else(earlier),
            depth: node.depth.clamp(0, 255) as u8,
            is_pv: bound == Bound::Exact,
        };
        self.table.store(node.key, entry);
    }
}

/// Plays a legal move: the new position and its key.
pub(super) fn play(position: &Chess, key: u64, played: Move) -> (u64, Chess) {
    let mut child = position.clone();
    child.play_unchecked(played);
    let updated = position.update_zobrist_hash(Zobrist64(key), played, EnPassantMode::Legal);
    (updated.map_or_else(|| position_key(&child), |key| key.0), child)
}

/// The position with the move passed; `None` where that is not legal (in check).
pub(super) fn pass(position: &Chess) -> Option<Chess> {
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.ep_square = None;
    setup.swap_turn();
    let passed = Chess::from_setup(setup, position.castles().mode());
    passed.or_else(PositionError::ignore_too_much_material).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_equal_recomputed_ones(choices in prop::collection::vec(any::<u16>(), 0..150)) {
            let mut position = Chess::default();
            let mut key = position_key(&position);
            for choice in choices {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    break;
                }
                (key, position) = play(&position, key, legal[usize::from(choice) % legal.len()]);
                prop_assert_eq!(key, position_key(&position));
            }
        }
    }

    #[test]
    fn the_move_can_be_passed_after_a_double_step() {
        let (_, position) = play(
            &Chess::default(),
            0,
            "e2e4".parse::<shakmaty::uci::UciMove>().unwrap().to_move(&Chess::default()).unwrap(),
        );
        assert_eq!(pass(&position).map(|passed| passed.turn()), Some(shakmaty::Color::White));
    }
}
