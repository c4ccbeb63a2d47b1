//! The Tesla search: gather, submit, collect, expand, back up, with one or two batches in flight.
//!
//! While the device works on one batch the search applies the one before and gathers the next.
//! Batches are applied in the order sent, so the tree depends on nothing but position, tunables,
//! evaluator and node limit; the clock only decides when to stop.

mod limits;
mod pace;

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use shakmaty::{Move, Position as _};
use tesla_nn::evaluator::{CacheFigures, EvalError, Evaluator, Handle, Request};

use self::pace::Pace;
use crate::answer::{self, RootMove};
use crate::backup::{Sweep, recompute_all};
use crate::estimate::Model;
use crate::expand::{Knowledge, Scratch};
use crate::history::Game;
use crate::leaf::{Gathered, Leaf};
use crate::mate;
use crate::node::{BranchId, EXCLUDED, NONE, NodeId, ROOT};
use crate::params::Params;
use crate::reuse;
use crate::rule::{Order, Rule};
use crate::search_api::{Info, Outcome, Search, Spares, Task, Variation, discard};
use crate::table::Table;
use crate::tablebase::Tables;
use crate::tree::Tree;

/// Memory before anyone sets another, MiB.
const DEFAULT_HASH_MB: usize = 64;
/// Time between reports when nothing else is new.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);
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
    /// When the last batch came back.
    collected_at: Duration,
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
        answer::root_moves(
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
            reuse::remember_line(&self.tree, &mut self.table);
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
            self.evaluator.forget_all();
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
            reuse::fold(&mut self.tree, &mut Table::new(0))
        } else {
            reuse::fold(&mut self.tree, &mut self.table)
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

    /// Gathers and submits until enough batches are in flight.
    fn fill(&mut self, task: &Task<'_>) {
        loop {
            let batches = self.batches(task);
            if self.in_flight.len() >= batches.in_flight {
                return;
            }
            (self.progress.is_full, self.progress.is_paused) = (false, false);
            let size = batches.size.min(self.affordable(task));
            if size == 0 {
                return;
            }
            let pending = self.in_flight.iter().flatten();
            let promised = pending
                .fold((0, 0), |(positions, moves), leaf| (positions + 1, moves + leaf.moves.len()));
            let gathered = self.gather(task, size, promised);
            self.progress.is_full = gathered.is_full;
            if gathered.leaves.is_empty() {
                self.progress.is_paused = gathered.is_paused;
                return;
            }
            self.progress.asked += gathered.leaves.len() as u64;
            let requests = gathered.leaves.iter().map(|leaf| self.request(leaf)).collect();
            let line = reuse::best_branches(&self.tree);
            self.evaluator.protect(0, line.into_iter().map(|id| self.handle(id)).collect());
            if self.in_flight.is_empty() {
                // What came before was not the device's time.
                self.progress.collected_at = task.budget.elapsed();
            }
            self.evaluator.submit(requests);
            self.in_flight.push_back(gathered.leaves);
        }
    }

    /// Picks up to `size` leaves. `promised` = positions and legal moves in flight.
    fn gather(&mut self, task: &Task<'_>, size: u32, promised: (usize, usize)) -> Gathered {
        let nodes = task.limits.nodes.unwrap_or(u64::MAX);
        let remaining = nodes.saturating_sub(self.progress.asked);
        let order = Order {
            root: task.game.position(),
            earlier: task.game.earlier_keys(),
            promised,
            size,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            endings: self.endings.as_ref().filter(|_| task.limits.mate.is_none()),
        };
        self.rule.gather(&mut self.tree, &self.table, &order)
    }

    fn request(&self, leaf: &Leaf) -> Request {
        let played = self.tree.node(self.tree.at(leaf.spot)).played;
        let parent = leaf.spot.parent;
        Request {
            position: leaf.position.clone(),
            moves: leaf.moves.clone(),
            repetitions: leaf.repetitions,
            parent: (parent != NONE).then(|| (self.handle(parent), played)),
            keep: true,
            session: 0,
        }
    }

    /// The device's name of an expanded position.
    fn handle(&self, branch: BranchId) -> Handle {
        Handle(self.tree.branch(branch).handle)
    }

    /// Lets the device forget what the tree has dropped.
    fn retain_handles(&mut self) {
        let branches = 0..self.tree.branch_count() as BranchId;
        self.evaluator.retain(0, branches.map(|id| self.handle(id)).collect());
    }

    /// Waits for the oldest batch, expands its leaves and backs the values up.
    fn collect(&mut self, task: &Task<'_>) -> Result<(), EvalError> {
        let mut answers = match self.evaluator.collect() {
            Ok(answers) => answers,
            Err(error) => {
                self.abandon();
                return self.replace_evaluator(task, error);
            }
        };
        let Some(leaves) = self.in_flight.pop_front() else { return Ok(()) };
        let now = task.budget.elapsed();
        self.pace.note(leaves.len(), now.saturating_sub(self.progress.collected_at));
        self.progress.collected_at = now;
        let earlier = task.game.earlier_keys();
        for (leaf, answer) in leaves.iter().zip(&mut answers) {
            self.rule.receive(&self.tree, leaf, answer);
            let (model, table_policy) = (self.rule.model(), self.rule.table_policy());
            let known = Knowledge { model, table: &self.table, table_policy, earlier };
            let id = known.expand(&mut self.tree, leaf, answer, &mut self.scratch);
            self.progress.nodes += 1;
            let ply = u32::from(self.tree.branch(id).ply);
            self.progress.selective_depth = self.progress.selective_depth.max(ply + 1);
            self.sweep.add(&mut self.tree, id);
        }
        if leaves.first().is_some_and(|leaf| leaf.spot.is_root()) {
            self.exclude(task);
        }
        for leaf in leaves.get(answers.len()..).unwrap_or_default() {
            self.rule.give_up(&mut self.tree, leaf);
        }
        self.rule.end_batch();
        self.sweep.run(&mut self.tree, &self.rule, &mut self.table, self.rule.table_depth());
        let best = self.rule.choose(&self.tree);
        let best = best.map(|best| self.tree.node(best).played);
        if best != self.progress.best {
            self.progress.best = best;
            self.progress.best_since = self.progress.nodes;
        }
        Ok(())
    }

    /// Goes on in the same tree with the next evaluator. It has no names of positions yet: a parent that it does not know
    /// costs a whole encode.
    ///
    /// # Errors
    /// With the same error, where there is none or no time for it. The root's first evaluation is worth any time.
    fn replace_evaluator(&mut self, task: &Task<'_>, error: EvalError) -> Result<(), EvalError> {
        let is_worth_it = task.has_time_for_another() || !self.tree.node(ROOT).is_expanded();
        let spare = self.spares.as_mut().filter(|_| is_worth_it).and_then(|spares| spares(&error));
        let Some(evaluator) = spare else { return Err(error) };
        discard(std::mem::replace(&mut self.evaluator, evaluator));
        for id in 0..self.tree.branch_count() as BranchId {
            self.tree.branch_mut(id).handle = 0;
        }
        self.pace = Pace::default();
        self.progress.asked = self.progress.nodes;
        self.progress.collected_at = task.budget.elapsed();
        self.progress.cache_before = self.evaluator.cache_figures();
        Ok(())
    }

    /// Takes back every leaf in flight: the device failed, or nobody waits for it any more.
    fn abandon(&mut self) {
        for leaf in std::mem::take(&mut self.in_flight).iter().flatten() {
            self.rule.give_up(&mut self.tree, leaf);
            self.sweep.add(&mut self.tree, leaf.spot.parent);
        }
        self.rule.end_batch();
        self.sweep.run(&mut self.tree, &self.rule, &mut self.table, self.rule.table_depth());
    }

    /// The best root move's node, as of the last batch.
    fn best_child(&self) -> Option<NodeId> {
        let mut children = self.tree.branch_of(ROOT)?.children();
        children.find(|&child| Some(self.tree.node(child).played) == self.progress.best)
    }

    /// Depth of the root, whole plies.
    fn depth(&self) -> u32 {
        self.tree.node(ROOT).depth.max(0.0).round() as u32
    }

    /// Reports when the best move or the depth changed, or when it has been quiet for long.
    fn news(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) {
        let depth = self.depth();
        let is_new_best = self.progress.best_since == self.progress.nodes;
        let time = task.budget.elapsed();
        let is_quiet = time < self.progress.reported_at + REPORT_INTERVAL;
        if depth <= self.progress.reported_depth && !is_new_best && is_quiet {
            return;
        }
        self.progress.reported_depth = depth;
        self.progress.reported_at = time;
        if let Some(best) = self.best_child() {
            report(&self.info(task, best));
        }
    }

    /// The lines behind the best one, as many as are wanted.
    fn variations(&self, task: &Task<'_>, best: NodeId) -> Vec<Variation> {
        let others = self.rule.others(&self.tree, best, task.limits.lines.saturating_sub(1));
        let told = |&id: &NodeId| Variation {
            score: self.rule.score(&self.tree, id),
            pv: answer::line(&self.tree, &self.table, task.game, id),
        };
        others.iter().map(told).collect()
    }

    fn info(&self, task: &Task<'_>, best: NodeId) -> Info {
        let table = self.table.hashfull() as usize * self.table.bytes();
        let tree = self.tree.permille() as usize * self.tree.capacity_bytes();
        let bytes = (self.table.bytes() + self.tree.capacity_bytes()).max(1);
        let line = answer::line(&self.tree, &self.table, task.game, best);
        Info {
            depth: self.depth().max(1),
            selective_depth: self.progress.selective_depth.max(line.len() as u32),
            score: self.rule.score(&self.tree, best),
            nodes: self.progress.nodes,
            hashfull: ((table + tree) / bytes) as u32,
            time: task.budget.elapsed(),
            pv: line,
            variations: self.variations(task, best),
            current: None,
        }
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
            reuse::remember_line(&self.tree, &mut self.table);
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
            None => answer::unsearched(task, trouble),
        }
    }

    fn clear(&mut self) {
        self.tree.clear();
        self.table.clear();
        self.game = None;
        self.evaluator.forget_all();
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
