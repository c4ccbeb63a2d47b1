//! Alpha-beta: the baseline that the best-first search is compared with.
//!
//! Iterative deepening, principal-variation search and aspiration windows over the classical
//! evaluation at full CPU speed, or over a network that evaluates the leaves and whose policy
//! orders the moves.
//!
//! * `negamax` — the recursion and its cuts; `skip` — moves without a look;
//! * `quiescence` — the recursion's end with the classical evaluation, `calm` — with a network;
//! * `ordering` — move ordering; `value` — centipawns, mates, what the table keeps;
//! * `leaf` — where static values come from; `ask` — how a network is asked, in batches and from
//!   its cache; `worker` — limits, counts and the path;
//! * `account` — statistics of the root moves, for snapshots; `progress` — how far the search is.

mod account;
mod ask;
mod calm;
mod leaf;
mod negamax;
mod ordering;
mod progress;
mod quiescence;
mod skip;
mod value;
mod worker;

use shakmaty::{Move, Position as _};
use tesla_nn::evaluator::{CacheNote, Evaluator};

use crate::chess::game::position_key;
use crate::chess::mates;
use crate::chess::score::Verdict;
use crate::chess::tablebase::Tables;
use crate::search::snapshot::{Progress, Snapshot};
use crate::search::table::Table;
use crate::search::watch::{Watch, Watched};
use crate::search::{Fallbacks, Info, Outcome, Reporter, Search, Task, Variation};

use self::account::Account;
use self::leaf::{Leaf, Network};
use self::ordering::History;
use self::value::{INFINITE, MATE, MATE_BOUND, to_score};
use self::worker::{Node, Worker};

/// Deepest iteration; extensions go further.
const MAX_DEPTH: u32 = 100;
/// Half width of the first aspiration window, in centipawns, and from which depth there is one.
const WINDOW: i32 = 20;
const WINDOW_DEPTH: u32 = 5;

/// The alpha-beta search with its table and what it has learnt of move ordering.
#[derive(Debug)]
pub struct AlphaBeta {
    table: Table,
    history: History,
    leaf: Leaf,
    hash_mb: usize,
    endings: Option<Tables>,
    /// The watcher, if any.
    watched: Watched,
    /// The last search as it ended, and its move.
    ended: Option<(Account, Move)>,
}

impl AlphaBeta {
    /// With the classical evaluation. Nodes are positions searched, those in quiescence included.
    pub fn classical(hash_mb: usize) -> Self {
        let mut search = Self {
            table: Table::new(0),
            history: History::new(),
            leaf: Leaf::Classical,
            hash_mb,
            endings: None,
            watched: Watched::default(),
            ended: None,
        };
        search.set_hash_mb(hash_mb);
        search
    }

    /// With an evaluator's values and policy. Nodes are evaluations then. Half of the memory goes
    /// to the table, half to the answers.
    pub fn with_evaluator(evaluator: Box<dyn Evaluator>, hash_mb: usize) -> Self {
        let mut search = Self::classical(0);
        search.leaf = Leaf::Network(Box::new(Network::new(evaluator, 0)));
        search.set_hash_mb(hash_mb);
        search
    }

    /// Puts another evaluator in, `None` for the classical evaluation, forgets everything learnt
    /// with the one before, and gives that one back.
    pub fn replace_evaluator(
        &mut self,
        evaluator: Option<Box<dyn Evaluator>>,
    ) -> Option<Box<dyn Evaluator>> {
        let leaf = match evaluator {
            Some(evaluator) => Leaf::Network(Box::new(Network::new(evaluator, 0))),
            None => Leaf::Classical,
        };
        let before = std::mem::replace(&mut self.leaf, leaf);
        self.set_hash_mb(self.hash_mb);
        self.history.clear();
        match before {
            Leaf::Classical => None,
            Leaf::Network(network) => Some(network.evaluator),
        }
    }
}

impl Search for AlphaBeta {
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome {
        self.table.new_generation();
        self.history.new_search();
        let cache_before = self.leaf.cache_figures();
        if let Leaf::Network(network) = &mut self.leaf {
            network.begin();
        }
        let root_moves = task.root_moves();
        let only_move = root_moves.len() == 1;
        let mut worker =
            Worker::new(task, &mut self.table, &mut self.leaf, &mut self.history, root_moves);
        worker.endings = self.endings.as_ref();
        self.watched.begin();
        worker.watched = Some(&mut self.watched);
        worker.reporter = Some(Reporter::new(report));
        let count = task.limits.multipv.clamp(1, worker.root_moves.len());
        let (mut lines, mut done) = (vec![Best::default(); count], Vec::new());
        let deepest = task.limits.depth.unwrap_or(MAX_DEPTH).clamp(1, MAX_DEPTH);
        for depth in 1..=deepest {
            worker.iterate_lines(depth, &mut lines);
            if worker.stopped {
                break;
            }
            lines.sort_by_key(|line| -line.value);
            done.clone_from(&lines);
            if let Some(network) = worker.network() {
                network.protect(task.game.position(), &lines[0].line);
            }
            worker.report(worker.info(&lines));
            if is_enough(task, depth, &lines[0], only_move) {
                break;
            }
        }
        let is_proven = done.first().is_some_and(|best: &Best| best.value.abs() >= MATE_BOUND);
        let stopped = worker.reason(is_proven);
        if worker.stopped {
            done = merged(lines, done, worker.iteration);
        }
        if done.is_empty() {
            done.push(worker.blind_choice());
        }
        let info = worker.info(&done);
        let best = done[0].line[0];
        let ponder = done[0].line.get(1).copied().or_else(|| worker.reply(best));
        // Of the line that is played, not of an iteration that has found nothing yet.
        let progress = Progress { depth: done[0].depth.max(1), ..worker.progress(Some(stopped)) };
        let (error, mut account) = (worker.error, worker.account);
        let cache = || Some(self.leaf.cache_figures()?.since(&cache_before?));
        let cache = cache();
        account.set_progress(progress);
        account::show_end(&self.watched, &account, best);
        if error.is_none() {
            task.wait_for_stop();
        }
        self.ended = Some((account, best));
        Outcome { best, ponder, info, error, cache, notes: Vec::new() }
    }

    fn clear(&mut self) {
        self.table.clear();
        self.history.clear();
        if let Leaf::Network(network) = &mut self.leaf {
            network.cache.clear();
            network.evaluator.note(0, CacheNote::ForgetAll);
        }
    }

    fn set_hash_mb(&mut self, megabytes: usize) {
        self.hash_mb = megabytes;
        self.table = Table::new(0); // gives the memory back before more is asked for
        let mut table_mb = megabytes;
        if let Leaf::Network(network) = &mut self.leaf {
            table_mb = megabytes.div_ceil(2);
            network.cache = leaf::Cache::new(megabytes / 2);
        }
        self.table = Table::new(table_mb);
    }

    fn snapshot(&self, _: &[Move]) -> Option<Snapshot> {
        let (account, best) = self.ended.as_ref()?;
        account.snapshot(Some(*best))
    }

    fn set_watch(&mut self, watch: Option<Watch>) {
        self.watched.set(watch);
    }

    fn set_fallbacks(&mut self, spares: Fallbacks) {
        if let Leaf::Network(network) = &mut self.leaf {
            network.spares = Some(spares);
        }
    }

    fn set_tables(&mut self, tables: Option<Tables>) {
        self.endings = tables;
        self.table.clear();
    }
}

/// The best line so far, its value and the iteration that found it; empty before the first.
#[derive(Clone, Debug, Default)]
struct Best {
    depth: u32,
    value: i32,
    /// Whether the line is worth that at least: the search ended before it was known how much more.
    is_bound: bool,
    line: Vec<Move>,
}

/// What an unfinished iteration has found, the best first, and the lines of the last one behind it.
fn merged(mut lines: Vec<Best>, mut done: Vec<Best>, iteration: u32) -> Vec<Best> {
    let count = lines.len();
    lines.retain(|line| line.depth == iteration);
    if lines.len() > 1 {
        lines.pop_if(|line| line.is_bound);
    }
    lines.sort_by_key(|line| -line.value);
    done.retain(|old| lines.iter().all(|new| new.line[0] != old.line[0]));
    lines.append(&mut done);
    lines.truncate(count);
    lines
}

impl Worker<'_> {
    /// One iteration for each line: each is the best of the moves that the ones before it leave.
    fn iterate_lines(&mut self, depth: u32, lines: &mut [Best]) {
        let (before, mut deepest) = (self.selective_depth, 0);
        self.iteration = depth;
        self.began_pondering = self.task.budget.is_pondering();
        self.taken.clear();
        for line in lines {
            self.iterate(depth, line);
            deepest = deepest.max(self.selective_depth);
            if self.stopped {
                deepest = deepest.max(before);
                break;
            }
            self.taken.extend(line.line.first());
        }
        self.selective_depth = deepest;
    }

    /// The opponent's best move after this one, where the table knows it.
    fn reply(&self, played: Move) -> Option<Move> {
        let mut position = self.task.game.position().clone();
        position.play_unchecked(played);
        let best = self.table.probe(position_key(&position))?.best?;
        best.find(&position.legal_moves())
    }

    /// The move to play when no move was searched.
    fn blind_choice(&mut self) -> Best {
        let position = self.task.game.position();
        let value = self.static_value(position, position_key(position));
        let line = vec![self.likeliest.unwrap_or(self.root_moves[0])];
        Best { depth: 0, value, is_bound: false, line }
    }

    /// One iteration, with a window around the last value that is widened until it holds.
    fn iterate(&mut self, depth: u32, best: &mut Best) {
        self.selective_depth = 0;
        let position = self.task.game.position();
        let (mut alpha, mut beta, mut width) = (-INFINITE, INFINITE, WINDOW);
        if depth >= WINDOW_DEPTH && best.value.abs() < MATE_BOUND {
            (alpha, beta) = (best.value - width, best.value + width);
        }
        loop {
            let node = Node {
                key: position_key(position),
                alpha,
                beta,
                depth: depth as i32,
                ply: 0,
                before: None,
                may_null: false,
            };
            self.root_first = best.line.first().copied();
            let value = self.negamax(position, node);
            let is_bound = value >= beta;
            // A move that is better than thought keeps its line until it is known by how much.
            let is_old =
                is_bound && !best.is_bound && self.lines[0].first() == self.root_first.as_ref();
            if !self.lines[0].is_empty() && !is_old {
                best.line.clone_from(&self.lines[0]);
                (best.depth, best.value, best.is_bound) = (depth, self.root_value, is_bound);
            }
            if self.stopped || value > alpha && value < beta {
                return;
            }
            width *= 3;
            let limit = if width > 500 { INFINITE } else { width };
            if value <= alpha {
                alpha = (value - limit).max(-INFINITE);
            } else {
                beta = (value + limit).min(INFINITE);
            }
        }
    }

    /// A line and, where it is a mate that the search over captures saw, the moves up to it.
    fn whole_line(&self, best: &Best) -> Vec<Move> {
        let mut line = best.line.clone();
        let left = (MATE - best.value.abs()) as usize;
        if best.value.abs() >= MATE_BOUND && line.len() < left {
            let mut position = self.task.game.position().clone();
            for &played in &line {
                position.play_unchecked(played);
            }
            let is_ours = line.len().is_multiple_of(2) == (best.value > 0);
            let left = (left - line.len()) as u16;
            let verdict = if is_ours { Verdict::Win(left) } else { Verdict::Loss(left) };
            line.extend(mates::line(&position, verdict));
        }
        line
    }

    fn info(&self, lines: &[Best]) -> Info {
        let (best, others) = (&lines[0], &lines[1..]);
        let told = |line: &Best| Variation {
            depth: line.depth,
            score: to_score(line.value),
            pv: self.whole_line(line),
        };
        let pv = self.whole_line(best);
        let variations: Vec<Variation> = others.iter().map(told).collect();
        let longest = variations.iter().map(|line| line.pv.len()).fold(pv.len(), usize::max);
        Info {
            depth: best.depth,
            selective_depth: best.depth.max(self.selective_depth.max(longest) as u32),
            score: to_score(best.value),
            is_bound: best.is_bound,
            nodes: self.nodes,
            hashfull: self.table.hashfull(),
            time: self.task.budget.elapsed(),
            pv,
            variations,
            current: None,
        }
    }
}

/// Whether another iteration would be of no use or would not end in time.
fn is_enough(task: &Task<'_>, depth: u32, best: &Best, only_move: bool) -> bool {
    let plies_to_mate = (MATE - best.value.abs()) as u32;
    let is_mate = best.value.abs() >= MATE_BOUND;
    if is_mate && depth > plies_to_mate {
        return true; // a shorter one would have been found
    }
    if let Some(moves) = task.limits.mate
        && is_mate
        && best.value > 0
        && plies_to_mate.div_ceil(2) <= moves
    {
        return true;
    }
    let is_obvious = only_move && depth >= 6 && !task.budget.is_pondering();
    is_obvious && task.limits.is_planned() || task.is_late()
}
