//! Choosing the next batch: budget flows from the root to where one evaluation is worth most.
//!
//! At each node the child with the best value of computation is granted evaluations until another
//! child's is better, and passes them on in the same way. A leaf reached is queued and counts as
//! answered with its present value (*believer* update): work and depth grow along the path, which
//! sends the next grant elsewhere; the leaf itself is no candidate until its answer is in.
//!
//! Leaves that the rules decide (mate, stalemate, repetition, …) or that mate in one are proven on
//! the spot and cost no evaluation.

use shakmaty::{Chess, Move, Position};

use crate::backup::{recompute, worth};
use crate::estimate::Model;
use crate::expand::take_over;
use crate::history::position_key;
use crate::node::{
    BARE, BLOCKED, BranchId, EXCLUDED, KNOWN, NONE, Node, NodeId, PENDING, ROOT, Verdict,
};
use crate::params::Params;
use crate::rules::{decide, repetitions};
use crate::table::Table;
use crate::tree::Tree;

/// Longest line in the tree, plies.
pub const MAX_PLY: usize = 240;

/// A leaf on its way to the evaluator.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its node.
    pub node: NodeId,
    /// The branch the node belongs to; [`NONE`] at the root.
    pub parent: BranchId,
    /// The position.
    pub position: Chess,
    /// Key of the position.
    pub key: u64,
    /// Its legal moves, at least one.
    pub moves: Box<[Move]>,
    /// Earlier occurrences on the path and in the game, at most 2.
    pub repetitions: u8,
}

/// What a visit did.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    /// Evaluations queued.
    used: u32,
    /// Whether values below changed because something was proven.
    changed: bool,
}

/// The candidates at one node: the best two by value of computation.
#[derive(Clone, Copy, Debug)]
struct Pick {
    child: NodeId,
    rate: f32,
    next_rate: f32,
}

/// Best and second best worth among a node's children.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    /// The best child's place.
    pub best: usize,
    /// Its worth.
    pub first: f32,
    /// The worth of the next best; [`f32::NEG_INFINITY`] if there is none.
    pub second: f32,
}

impl Lead {
    /// The two best of these children that do not lose by force.
    pub fn of(children: &[Node], model: &Model) -> Self {
        let mut lead = Self { best: 0, first: f32::NEG_INFINITY, second: f32::NEG_INFINITY };
        for (place, child) in children.iter().enumerate() {
            if child.has(EXCLUDED) || matches!(child.verdict, Verdict::Win(_)) {
                continue;
            }
            let value = worth(child, model);
            if value > lead.first {
                lead = Self { best: place, first: value, second: lead.first };
            } else if value > lead.second {
                lead.second = value;
            }
        }
        lead
    }

    /// Distance of a child from what would make it decide differently: from the best, or for the
    /// best from the second.
    pub fn gap(&self, place: usize, value: f32) -> f32 {
        if place == self.best { self.first - self.second } else { self.first - value }
    }
}

/// Error scale of a child in a node of this desired depth.
pub fn error_scale(child: &Node, desired: f32, model: &Model) -> f32 {
    model.scale(desired - 1.0 - child.depth, child.spread, child.depth >= 0.0)
}

/// Evaluations that one more ply below this child costs.
pub fn cost(child: &Node, model: &Model) -> f32 {
    let work = child.work as f32;
    model.cost(if child.has(KNOWN) { work.max(model.work(child.depth)) } else { work })
}

/// What picking follows: the error model, the tunables, and what the table knows.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The error model.
    pub model: &'a Model,
    /// The tunables.
    pub params: &'a Params,
    /// Values of positions seen elsewhere.
    pub table: &'a Table,
}

/// Picks leaves for one batch. Made anew for each.
#[derive(Debug)]
pub struct Gatherer<'a> {
    tree: &'a mut Tree,
    model: &'a Model,
    params: &'a Params,
    table: &'a Table,
    /// Keys of the game, then of the path; the present node's ancestors.
    keys: Vec<u64>,
    /// Where the path begins among the keys.
    path_start: usize,
    leaves: Vec<Leaf>,
    blocked: Vec<NodeId>,
    /// Positions and legal moves already promised room in the tree.
    promised: (usize, usize),
    /// Whether a leaf was turned away for want of room.
    is_full: bool,
    /// Leaves that may still be proven on the spot before the gathering pauses.
    free_proofs: u32,
}

/// A batch, perhaps empty.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The leaves, in the order picked.
    pub leaves: Vec<Leaf>,
    /// Whether the tree had no room for more.
    pub is_full: bool,
    /// Whether the batch is small only because many leaves were proven on the way.
    pub is_paused: bool,
}

impl<'a> Gatherer<'a> {
    /// A gatherer for this tree, below a game whose earlier positions have these keys.
    /// `promised` = positions and legal moves in flight, which need room too.
    pub fn new(
        tree: &'a mut Tree,
        rules: Rules<'a>,
        earlier: &[u64],
        promised: (usize, usize),
    ) -> Self {
        let Rules { model, params, table } = rules;
        Self {
            tree,
            model,
            params,
            table,
            keys: earlier.to_vec(),
            path_start: earlier.len(),
            leaves: Vec::new(),
            blocked: Vec::new(),
            promised,
            is_full: false,
            free_proofs: 0,
        }
    }

    /// Picks up to `budget` leaves below the root.
    pub fn gather(mut self, root: &Chess, budget: u32) -> Gathered {
        self.free_proofs = 256 + 16 * budget;
        let mut left = budget;
        while left > 0 && self.may_go_on() && !self.tree.node(ROOT).is_proven() {
            let desired = self.tree.node(ROOT).depth + self.params.horizon;
            let grant = self.visit(ROOT, NONE, root, left, desired);
            left -= grant.used;
            if grant.used == 0 && !grant.changed {
                break;
            }
        }
        for &node in &self.blocked {
            self.tree.node_mut(node).mark(BLOCKED, false);
        }
        let is_paused = self.free_proofs == 0 && !self.tree.node(ROOT).is_proven();
        Gathered { leaves: self.leaves, is_full: self.is_full, is_paused }
    }

    /// Spends up to `budget` evaluations at and below `node`.
    fn visit(
        &mut self,
        node: NodeId,
        parent: BranchId,
        position: &Chess,
        budget: u32,
        desired: f32,
    ) -> Grant {
        let id = self.tree.node(node).branch;
        if id == NONE {
            return self.pick(node, parent, position);
        }
        self.keys.push(self.tree.branch(id).key);
        let mut total = Grant::default();
        while total.used < budget && self.may_go_on() {
            let Some(pick) = self.best_pick(id, desired) else {
                self.block(node);
                break;
            };
            let grant = self.descend(id, pick, position, budget - total.used, desired);
            total.used += grant.used;
            let here = self.tree.node_mut(node);
            here.work += grant.used;
            here.depth = here.depth.max(self.model.depth(here.work));
            if grant.changed {
                total.changed = true;
                recompute(self.tree, self.model, id);
                if self.tree.node(node).is_proven() {
                    break;
                }
            }
        }
        self.keys.pop();
        total
    }

    /// Grants the picked child its share of `left` evaluations.
    fn descend(&mut self, id: BranchId, pick: Pick, at: &Chess, left: u32, desired: f32) -> Grant {
        let child = *self.tree.node(pick.child);
        let mut position = at.clone();
        position.play_unchecked(child.played);
        // The child's rate falls as 1/work: this is when the next child catches up.
        let lead = child.work as f32 * (pick.rate / pick.next_rate - 1.0);
        let most = (child.work as f32 * self.params.grant_share).max(1.0);
        let grant = (lead.clamp(1.0, most) as u32).max(1).min(left);
        let own = child.depth + self.params.horizon;
        let below = own + self.params.inherit * (desired - 1.0 - own);
        self.visit(pick.child, id, &position, grant, below)
    }

    /// The child whose next evaluation is worth most, if any child can take one.
    fn best_pick(&self, id: BranchId, desired: f32) -> Option<Pick> {
        let branch = self.tree.branch(id);
        let children = self.tree.children(branch);
        let lead = Lead::of(children, self.model);
        let is_root = branch.ply == 0;
        let verify = if is_root { self.params.verify_root } else { self.params.verify };
        let mut pick: Option<Pick> = None;
        for (place, child) in children.iter().enumerate() {
            if child.has(PENDING | BLOCKED | EXCLUDED) || child.is_proven() {
                continue;
            }
            let gap = lead.gap(place, worth(child, self.model));
            let mut overtake = self.model.overtake(gap, error_scale(child, desired, self.model));
            if place == lead.best {
                overtake += verify * (0.5 - overtake);
            }
            let cost = cost(child, self.model);
            let rate = self.model.value_of_computation(overtake, child.policy, cost);
            match &mut pick {
                Some(best) if rate <= best.rate => best.next_rate = best.next_rate.max(rate),
                _ => {
                    let next_rate = pick.map_or(f32::MIN_POSITIVE, |best| best.rate);
                    pick = Some(Pick { child: branch.first + place as NodeId, rate, next_rate });
                }
            }
        }
        pick
    }

    /// Queues a leaf for evaluation, or proves it where the rules or a mate in one decide it.
    fn pick(&mut self, node: NodeId, parent: BranchId, position: &Chess) -> Grant {
        if self.tree.node(node).has(PENDING) || self.keys.len() - self.path_start >= MAX_PLY {
            self.block(node);
            return Grant::default();
        }
        let moves = position.legal_moves();
        let key = position_key(position);
        let visits = repetitions(&self.keys, self.path_start, key, position.halfmoves());
        if node != ROOT
            && let Some((verdict, flags)) = decide(position, &moves, visits)
        {
            let leaf = self.tree.node_mut(node);
            leaf.verdict = verdict;
            leaf.mark(flags, true);
            self.free_proofs -= 1;
            return Grant { used: 0, changed: true };
        }
        // What the table knows changes what this leaf is worth; it may yet be picked again.
        let leaf = self.tree.node_mut(node);
        if node != ROOT && leaf.has(BARE) && take_over(leaf, self.table, key, position) {
            self.free_proofs -= 1;
            return Grant { used: 0, changed: true };
        }
        if !self.tree.has_room(self.promised.0 + 1, self.promised.1 + moves.len()) {
            self.is_full = true;
            return Grant::default();
        }
        self.promised.0 += 1;
        self.promised.1 += moves.len();
        let leaf = self.tree.node_mut(node);
        leaf.mark(PENDING, true);
        leaf.work += 1;
        leaf.depth = leaf.depth.max(self.model.depth(leaf.work));
        let repetitions = visits.in_all.min(2) as u8;
        let (position, moves) = (position.clone(), moves.iter().copied().collect());
        self.leaves.push(Leaf { node, parent, position, key, moves, repetitions });
        Grant { used: 1, changed: false }
    }

    /// False ends the gathering: it has proven enough for now, or the tree is full (to try every
    /// other leaf of a full tree would take as long as the tree is large).
    fn may_go_on(&self) -> bool {
        self.free_proofs > 0 && !self.is_full
    }

    fn block(&mut self, node: NodeId) {
        self.tree.node_mut(node).mark(BLOCKED, true);
        self.blocked.push(node);
    }
}
