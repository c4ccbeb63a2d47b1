//! The Tesla search: gather, submit, collect, expand, back up, with one or two batches in flight.
//!
//! While the device works on one batch the search applies the one before and gathers the next.
//! Batches are applied in the order sent, so the tree depends on nothing but position, tunables,
//! evaluator and node limit; the clock only decides when to stop.

mod batch_size;
mod flight;
mod report;
mod stop;

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use shakmaty::{Move, Position as _};
use tesla_nn::evaluator::{CacheFigures, CacheNote, EvalError, Evaluator};

use self::batch_size::Pace;
use crate::best_first::mate;
use crate::best_first::model::Model;
use crate::best_first::params::Params;
use crate::best_first::root;
use crate::best_first::rule::Rule;
use crate::chess::game::Game;
use crate::chess::tablebase::Tables;
use crate::search::RootMove;
use crate::search::table::Table;
use crate::search::{Info, Outcome, Search, Spares, Task};
use crate::tree::arena::Tree;
use crate::tree::expand::Scratch;
use crate::tree::leaf::Leaf;
use crate::tree::node::{EXCLUDED, ROOT};
use crate::tree::remember;
use crate::tree::reuse;
use crate::tree::sweep::{Sweep, recompute_all};

/// Memory before anyone sets another, MiB.
const DEFAULT_HASH_MB: usize = 64;
/// Pause between looks at the stop token once there is nothing left to search.
const IDLE: Duration = Duration::from_millis(2);

/// The best-first search of seed 003, and its control on the same tree.
pub struct TeslaSearch {
    evaluator: Box<dyn Evaluator>,
    rule: Rule,
    tree: Tree,
    table: Table,
    hash_mb: usize,
    /// The game whose position is the root; `None` while the tree is empty.
    game: Option<Game>,
    in_flight: VecDeque<Vec<Leaf>>,
    sweep: Sweep,
    scratch: Scratch,
    progress: Progress,
    pace: Pace,
    /// Endgame tables; none where a mate is looked for.
    endings: Option<Tables>,
    /// What to go on with when the evaluator fails.
    spares: Option<Spares>,
}

/// What one search has done so far.
#[derive(Debug, Default)]
struct Progress {
    /// Evaluations answered.
    nodes: u64,
    /// Evaluations asked for.
    asked: u64,
    /// Deepest leaf.
    selective_depth: u32,
    /// Best root move, and the count of evaluations when it became so.
    best: Option<Move>,
    best_since: u64,
    /// What the last report said.
    reported_depth: u32,
    reported_at: Duration,
    /// When the search proper began.
    entered_at: Duration,
    /// When the last batch came back, or else the next was sent; whether that was the device's moment, not ours.
    collected_at: Duration,
    is_seen: bool,
    /// What the evaluator had done before.
    cache_before: Option<CacheFigures>,
    /// The tree had no room at the last gathering.
    is_full: bool,
    /// The last gathering only settled leaves, and there are more.
    is_paused: bool,
}

impl fmt::Debug for TeslaSearch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TeslaSearch")
            .field("evaluator", &self.evaluator.description())
            .field("positions", &self.tree.branch_count())
            .field("is_puct", &self.rule.is_puct())
            .field("hash_mb", &self.hash_mb)
            .finish_non_exhaustive()
    }
}

impl TeslaSearch {
    /// A search over this evaluator with the default tunables.
    pub fn new(evaluator: Box<dyn Evaluator>) -> Self {
        Self::with_rule(evaluator, Rule::new(Params::default(), false))
    }

    /// The same tree, batches and evaluator under PUCT.
    pub fn puct(evaluator: Box<dyn Evaluator>) -> Self {
        Self::with_rule(evaluator, Rule::new(Params::default(), true))
    }

    fn with_rule(evaluator: Box<dyn Evaluator>, rule: Rule) -> Self {
        let mut search = Self {
            evaluator,
            rule,
            tree: Tree::new(0),
            table: Table::new(0),
            hash_mb: DEFAULT_HASH_MB,
            game: None,
            in_flight: VecDeque::new(),
            sweep: Sweep::default(),
            scratch: Scratch::default(),
            progress: Progress::default(),
            pace: Pace::default(),
            endings: None,
            spares: None,
        };
        search.allot();
        search
    }

    /// The tunables.
    pub fn params(&self) -> &Params {
        self.rule.params()
    }

    /// Plays by other tunables from now on; forgets the tree, which was built by the old ones.
    pub fn set_params(&mut self, params: Params) {
        self.rule = Rule::new(params, self.rule.is_puct());
        self.allot();
    }

    /// The tree of the last search.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree, to be examined or altered between searches.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// The error model in use.
    pub fn model(&self) -> &Model {
        self.rule.model()
    }

    /// The same number for the same tree.
    pub fn signature(&self) -> u64 {
        self.tree.signature()
    }

    /// What is known of each root move, best first.
    pub fn root_moves(&self) -> Vec<RootMove> {
        root::root_moves(
            &self.tree,
            self.rule.model(),
            self.rule.params(),
            self.rule.choose(&self.tree),
        )
    }

    /// Divides the memory between tree and table; forgets both.
    fn allot(&mut self) {
        let share = f64::from(self.rule.params().table_share);
        let table_mb = (self.hash_mb as f64 * share) as usize;
        self.table = Table::new(0);
        self.tree = Tree::new(0);
        self.table = Table::new(table_mb);
        self.tree = Tree::new((self.hash_mb - table_mb) << 20);
        self.game = None;
    }

    /// Makes the task's position the root; keeps what the tree knows of it.
    fn enter(&mut self, task: &Task<'_>) {
        self.progress = Progress::default();
        while self.evaluator.in_flight() > 0 {
            // An earlier search's batches, which nobody waits for: neither answers nor errors.
            let _ = self.evaluator.collect();
        }
        self.in_flight.clear();
        self.rule.clear();
        self.table.new_generation();
        // What a search for a mate calls a draw may be anything else, so neither side of it keeps the other's tree.
        let is_other = self.rule.seeks_mate() || task.limits.mate.is_some();
        self.rule.seek_mate(task.limits.mate);
        let old = self.game.as_ref().filter(|_| !is_other);
        let found = old.and_then(|game| reuse::find_game(&self.tree, game, task.game));
        // A leaf is worth nothing as a root, and one that is proven would end the search before
        // there is a move to answer with.
        if let Some(node) = found.filter(|&node| self.tree.node(node).is_expanded()) {
            remember::remember_line(&self.tree, &mut self.table);
            self.tree.retain(node, |_, _| true);
            // What the table once said of it is no depth of this search.
            let root = self.tree.node(ROOT).branch;
            self.tree.branch_mut(root).known_depth = -1.0;
            // Draws by repetition are judged anew: what was tree then may be game now.
            reuse::forget_path_draws(&mut self.tree);
            self.retain_handles();
        } else {
            self.tree.clear();
        }
        // Of the root, every move is told of, and may be excluded.
        let moves = task.game.position().legal_moves();
        let has_room = !self.tree.is_empty()
            && (self.tree.promote_all(0, &moves)
                || self.fold() && self.tree.promote_all(0, &moves));
        if !has_room {
            self.tree.clear();
            self.evaluator.note(0, CacheNote::ForgetAll);
        }
        self.game = Some(task.game.clone());
        self.exclude(task);
        recompute_all(&mut self.tree, &self.rule);
        self.progress.entered_at = task.budget.elapsed();
        self.progress.collected_at = self.progress.entered_at;
        self.progress.cache_before = self.evaluator.cache_figures();
    }

    /// Makes room in the tree; `false` where there is little to be had.
    fn fold(&mut self) -> bool {
        if self.rule.seeks_mate() {
            // Its values are true of this search only.
            remember::fold(&mut self.tree, &mut Table::new(0))
        } else {
            remember::fold(&mut self.tree, &mut self.table)
        }
    }

    /// Leaves only the moves of `searchmoves` at the root.
    fn exclude(&mut self, task: &Task<'_>) {
        let wanted = &task.limits.search_moves;
        let Some(branch) = self.tree.branch_of(ROOT) else { return };
        for id in branch.children() {
            let node = self.tree.node_mut(id);
            let is_out = !wanted.is_empty() && !wanted.contains(&node.played);
            node.mark(EXCLUDED, is_out);
        }
    }

    /// The loop, until a limit is reached or nothing is left to search.
    fn think(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Result<(), EvalError> {
        while !self.is_done(task) {
            self.fill(task);
            if self.in_flight.is_empty() {
                if self.progress.is_paused {
                    self.rule.end_batch();
                    if self.is_settled(task) {
                        break;
                    }
                    continue;
                }
                let has_more = self.progress.is_full && self.fold();
                if !has_more {
                    break;
                }
                self.rule.clear();
                self.retain_handles();
                continue;
            }
            self.collect(task)?;
            self.news(task, report);
        }
        if task.stop.is_stopped() {
            // One batch was waited for; what else is under way must not delay the answer.
            self.abandon();
        }
        while !self.in_flight.is_empty() {
            let asked = self.progress.asked;
            self.collect(task)?;
            if self.progress.asked < asked {
                // Another evaluator has taken over: what the old one owed is asked for again.
                return self.think(task, report);
            }
        }
        Ok(())
    }
}

impl Search for TeslaSearch {
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome {
        self.enter(task);
        let trouble = self.think(task, report).err();
        let after = self.evaluator.cache_figures();
        let cache =
            self.progress.cache_before.zip(after).map(|(before, after)| after.since(&before));
        while task.limits.infinite && !task.stop.is_stopped() {
            std::thread::sleep(IDLE);
        }
        if !self.rule.seeks_mate() {
            remember::remember_line(&self.tree, &mut self.table);
        }
        let best = self.rule.choose(&self.tree);
        match best {
            Some(best) => {
                let info = self.info(task, best);
                let ponder = info.pv.get(1).copied();
                let best = self.tree.node(best).played;
                let notes =
                    task.limits.mate.and_then(|moves| mate::refuted(&self.tree, task, moves));
                let notes = notes.into_iter().collect();
                Outcome { best, ponder, info, trouble, cache, notes }
            }
            None => root::unsearched(task, trouble),
        }
    }

    fn clear(&mut self) {
        self.tree.clear();
        self.table.clear();
        self.game = None;
        self.evaluator.note(0, CacheNote::ForgetAll);
    }

    fn set_hash_mb(&mut self, megabytes: usize) {
        self.hash_mb = megabytes.max(1);
        self.allot();
    }

    fn root_moves(&self) -> Vec<RootMove> {
        Self::root_moves(self)
    }

    fn set_spares(&mut self, spares: Spares) {
        self.spares = Some(spares);
    }

    fn set_tables(&mut self, tables: Option<Tables>) {
        self.endings = tables;
        self.clear();
    }
}
