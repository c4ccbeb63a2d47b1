//! What carries over from one search to the next: rule, memory and tree; and the final answer.

use std::time::Duration;
use std::{fmt, mem, thread};

use shakmaty::{Move, Position as _};
use tesla_nn::evaluator::Evaluator;

use crate::best_first::device::Device;
use crate::best_first::error_model::Model;
use crate::best_first::mate::{self, MateSearch};
use crate::best_first::params::Params;
use crate::best_first::puct::Puct;
use crate::best_first::report::{Counts, LastReport};
use crate::best_first::root;
use crate::best_first::search::{BestFirst, MakeRule};
use crate::best_first::tesla::Tesla;
use crate::chess::mates::is_repetitive;
use crate::chess::tablebase::Tables;
use crate::search::snapshot::{NodeSnapshot, Progress, Snapshot, Stop};
use crate::search::table::Table;
use crate::search::watch::{Watch, Watched};
use crate::search::{Fallbacks, Info, Outcome, RootMove, Search, Task};
use crate::tree::arena::Tree;
use crate::tree::evaluations::Evaluations;
use crate::tree::expand::Scratch;
use crate::tree::node::{Goal, NodeId, ROOT};
use crate::tree::sweep::Sweep;
use crate::tree::{remember, reuse};

/// Memory before anyone sets another, MiB.
const DEFAULT_HASH_MB: usize = 64;
/// Polling interval of the stop token once there is nothing left to search.
const IDLE: Duration = Duration::from_millis(2);

impl BestFirst {
    /// A search over this evaluator by benefit per cost, with the default tunables.
    pub fn new(evaluator: Box<dyn Evaluator>) -> Self {
        Self::with_rule(evaluator, |params| Box::new(Tesla::new(params)))
    }

    /// The same tree, batches and evaluator under PUCT.
    pub fn puct(evaluator: Box<dyn Evaluator>) -> Self {
        Self::with_rule(evaluator, |params| Box::new(Puct::new(params)))
    }

    fn with_rule(evaluator: Box<dyn Evaluator>, make_rule: MakeRule) -> Self {
        let params = Params::default();
        let mut search = Self {
            device: Device::new(evaluator),
            rule: make_rule(&params),
            params,
            make_rule,
            tree: Tree::new(0),
            table: Table::new(0),
            evaluations: Evaluations::new(0),
            hash_mb: DEFAULT_HASH_MB,
            game: None,
            sweep: Sweep::default(),
            scratch: Scratch::default(),
            allowed: Vec::new(),
            endings: None,
            counts: Counts::default(),
            last_report: LastReport::default(),
            mate_plies: 1,
            began: Duration::ZERO,
            taken_over: Vec::new(),
            watched: Watched::default(),
            set_aside: Vec::new(),
            ended: Progress::default(),
        };
        search.reset();
        search
    }

    /// The tunables.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Sets the tunables; forgets the tree, which was built with the old ones.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
        self.reset();
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

    /// A hash that is the same for the same tree.
    pub fn signature(&self) -> u64 {
        self.tree.signature()
    }

    /// Rebuilds the rule and divides the memory between tree, table and known evaluations; clears
    /// all three.
    fn reset(&mut self) {
        self.rule = (self.make_rule)(&self.params);
        let share = f64::from(self.params.table_share);
        let table_mb = (self.hash_mb as f64 * share) as usize;
        let rest = (self.hash_mb - table_mb) << 20;
        let all = (self.hash_mb << 20) as f64;
        let known = ((all * f64::from(self.params.evaluations_share)) as usize).min(rest / 2);
        // The old ones go before there are new ones.
        self.table = Table::new(0);
        self.tree = Tree::new(0);
        self.evaluations = Evaluations::new(0);
        self.table = Table::new(table_mb);
        self.evaluations = Evaluations::new(known);
        self.tree = Tree::new(rest - known);
        self.game = None;
        self.device.forget_all();
    }

    /// Makes the task's position the root; keeps what the tree knows of it.
    fn enter(&mut self, task: &Task<'_>) {
        (self.counts, self.last_report) = (Counts::default(), LastReport::default());
        self.device.drain();
        self.table.new_generation();
        self.aim(Goal::of(task.limits.mate));
        self.rule.clear();
        self.find_root(task);
        // Of the root every move has a node: it is reported, and may be excluded.
        let moves = task.game.position().legal_moves();
        if !self.tree.is_empty() && !self.tree.create_children(0, &moves) {
            let made_room = self.has_time_for_room(task)
                && self.make_room()
                && self.tree.create_children(0, &moves);
            if !made_room {
                self.tree.clear();
            }
        }
        self.game = Some(task.game.clone());
        reuse::settle_root_draws(&mut self.tree, task.game);
        self.exclude(task);
        // Looking for a mate knows no game: not where a position may occur for the third time.
        let earlier = task.game.earlier_keys();
        let is_safe = self.tree.goal() == Goal::Result
            && !is_repetitive(earlier, task.game.position().halfmoves());
        self.mate_plies = if is_safe { self.params.mate_plies as u16 } else { 1 };
        self.prove_root(task);
        self.recompute_root();
        self.rule.begin();
        self.watched.begin();
        let root = self.tree.expansion_of(ROOT);
        let children = root.map_or(&[][..], |root| self.tree.children(root));
        self.taken_over = children.iter().map(|child| child.visits).collect();
        self.began = task.budget.elapsed();
        self.device.start(self.began);
    }

    /// Shows the search as it ended.
    fn show_end(&self, watch: Option<&Watch>) {
        if let Some(watch) = watch
            && let Some(last) = self.snapshot(&watch.path())
        {
            watch.put(last);
        }
    }

    /// Sets the goal of the tree. A search for a mate marks positions as drawn that need not be, so
    /// the tree is not kept when the goal changes.
    fn aim(&mut self, goal: Goal) {
        if goal == Goal::Result && self.tree.goal() == Goal::Result {
            return;
        }
        self.tree.clear_for(goal);
        self.game = None;
        let rule = (self.make_rule)(&self.params);
        self.rule = if goal == Goal::Result { rule } else { Box::new(MateSearch(rule)) };
    }

    /// Makes the task's position the root of the tree, which is empty where it is not known.
    fn find_root(&mut self, task: &Task<'_>) {
        let found =
            self.game.as_ref().and_then(|game| reuse::find_game(&self.tree, game, task.game));
        let allowed = task.limits.search_moves.clone();
        let before = mem::replace(&mut self.allowed, allowed);
        // The work on other moves would count as depth of those that are allowed now.
        let is_allowed_alike = |node: NodeId| match node {
            ROOT => is_same_set(&before, &self.allowed),
            _ => self.allowed.is_empty(),
        };
        // A leaf is no use as a root, and a proven one would end the search before
        // there is a move to answer with.
        let is_root = |&node: &NodeId| self.tree.node(node).is_expanded() && is_allowed_alike(node);
        let found = found.filter(is_root);
        // Every position of the old tree is visited; its evaluations are known without it.
        let Some(node) = found.filter(|&node| node == ROOT || self.has_time_for_room(task)) else {
            return self.tree.clear();
        };
        remember::remember_line(&self.tree, &mut self.table);
        if node != ROOT {
            let passed = reuse::passed(&self.tree, node);
            let gone = self.tree.retain(node, |_, _| true);
            self.device.drop_tokens(gone);
            // What was tree then may be game now. Computed at once: making room renames expansions.
            for id in reuse::judge_path_draws(&mut self.tree, task.game, &passed) {
                self.sweep.add(&mut self.tree, id);
            }
            self.recompute_changed();
        }
        // Depth that came from the table is not depth of this search.
        let root = self.tree.node(ROOT).expansion;
        self.tree.expansion_mut(root).known_depth = -1.0;
    }
}

/// Whether two lists hold the same moves.
fn is_same_set(some: &[Move], others: &[Move]) -> bool {
    some.iter().all(|m| others.contains(m)) && others.iter().all(|m| some.contains(m))
}

impl Search for BestFirst {
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome {
        self.enter(task);
        let (stop, error) = match self.think_of_lines(task, report) {
            Ok(stop) => (stop, None),
            Err(error) => (Stop::Failed, Some(error)),
        };
        self.ended = self.progress(task, Some(stop));
        self.show_end(self.watched.watch());
        let cache = self.device.cache_figures();
        while task.limits.infinite && !task.stop.is_stopped() {
            let due = self.watched.due(|| task.budget.elapsed());
            self.show_end(due.as_ref());
            thread::sleep(IDLE);
        }
        remember::remember_line(&self.tree, &mut self.table);
        let Some(best) = self.rule.choose(&self.tree, &[]) else {
            return root::unsearched(task, error);
        };
        let info = self.view().info(task, best);
        Outcome {
            best: self.tree.node(best).played,
            ponder: info.pv.get(1).copied(),
            info,
            error,
            cache,
            notes: mate::refuted(&self.tree, task).into_iter().collect(),
        }
    }

    fn clear(&mut self) {
        self.tree.clear();
        self.table.clear();
        self.evaluations.clear();
        self.game = None;
        self.device.forget_all();
    }

    fn set_hash_mb(&mut self, megabytes: usize) {
        self.hash_mb = megabytes.max(1);
        self.reset();
    }

    fn root_moves(&self) -> Vec<RootMove> {
        Self::root_moves(self)
    }

    fn snapshot(&self, path: &[Move]) -> Option<Snapshot> {
        self.snapshot_now(self.ended.clone(), path)
    }

    fn node(&self, path: &[Move]) -> Option<NodeSnapshot> {
        self.node_behind(path)
    }

    fn set_watch(&mut self, watch: Option<Watch>) {
        self.watched.set(watch);
    }

    fn set_fallbacks(&mut self, spares: Fallbacks) {
        self.device.fallbacks = Some(spares);
    }

    fn set_tables(&mut self, tables: Option<Tables>) {
        self.endings = tables;
        self.clear();
    }
}

impl fmt::Debug for BestFirst {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BestFirst")
            .field("rule", &self.rule)
            .field("evaluator", &self.device.description())
            .field("positions", &self.tree.expansion_count())
            .field("hash_mb", &self.hash_mb)
            .finish_non_exhaustive()
    }
}
