//! PUCT on the same tree, batches and network: the control that the benefit/cost rule is measured
//! against.
//!
//! The rule is lc0's (its classic search), carried over to scores in [0, 1]; the constants are
//! tuned by games, and the preset `lc0` has lc0's. A visit goes to the child with the highest
//! `q + u`, `u = c(N) · p · √ΣN / (1 + n)`, where visits in flight count in `n` but not in `q`
//! (lc0's virtual loss); a child never visited has its parent's value less a reduction. Where the
//! descent meets a leaf in flight it is a *collision*: it counts as in flight too until the next
//! answers arrive, and a batch is sent as it is when its collisions are used up. A value is a
//! mixture of the average of all visits (lc0's) and of minimax (`puct_minimax`).
//!
//! Terminal positions, proofs and their backup, the cache of the device, batches in flight and
//! reuse of the tree are the same code as for the Tesla search.

mod formula;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use shakmaty::{Chess, Position};
use tesla_nn::evaluator::Evaluation;

use crate::best_first::backup::child_value;
use crate::best_first::device::count_root_move;
use crate::best_first::error_model::Model;
use crate::best_first::explain::Ratings;
use crate::best_first::lead::Child;
use crate::best_first::params::Params;
use crate::best_first::puct::formula::numbered;
use crate::best_first::root::{playable, queen_for};
use crate::best_first::rule::Rule;
use crate::best_first::spent::Spent;
use crate::chess::game::position_key;
use crate::chess::score::Verdict;
use crate::tree::arena::Tree;
use crate::tree::leaf::Leaf;
use crate::tree::leaf_queue::{BatchRequest, LeafQueue, Picked, Selected, give_up};
use crate::tree::node::{EXCLUDED, ExpansionId, NONE, Node, NodeId, ROOT, Slot};
use crate::tree::sweep::Backup;

/// Collisions that a batch may have: so many in a tree of this size …
const COLLISIONS_MOST: f32 = 80_000.0;
const COLLISIONS_END: f32 = 145_000.0;
/// … and one in a tree smaller than this; in between the growth has this power.
const COLLISIONS_START: f32 = 28.0;
const COLLISIONS_POWER: f32 = 1.25;
/// Visits to what is proven already, for each leaf of a batch.
const FREE_VISITS: f32 = 2.4;
/// The stop rule divides the evaluations that there is time for by this when it decides whether
/// another move can still become the most visited (lc0's `SmartPruningFactor`).
const SMART_PRUNING: f32 = 1.33;
/// Visits by which a move may lead while none of them costs an evaluation.
const MOST_LEAD: u64 = 10_000_000;

/// Visits in flight at and below a node.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    /// Visits whose answers are awaited.
    pending: u32,
    /// Visits that met those.
    collided: u32,
}

/// The rule and what it has in flight.
#[derive(Debug)]
pub struct Puct {
    params: Params,
    model: Model,
    /// Of nodes with anything in flight.
    in_flight: HashMap<Slot, InFlight>,
    /// Nodes that counted a collision, once for each.
    collided: Vec<Slot>,
    /// Visits of this search that cost no evaluation, by root move.
    free: Vec<u32>,
}

/// How one descent ended.
enum Descent {
    Queued,
    Visited,
    Collided,
    Full,
}

impl Puct {
    /// The rule with these tunables.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            model: Model::new(params),
            in_flight: HashMap::new(),
            collided: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The policy as the rule reads it, flattened by its temperature.
    fn flatten(&self, answer: &mut Evaluation) {
        let power = 1.0 / self.params.puct_temperature;
        for estimate in &mut answer.moves {
            estimate.policy = estimate.policy.powf(power);
        }
        let total: f32 = answer.moves.iter().map(|estimate| estimate.policy).sum();
        for estimate in &mut answer.moves {
            estimate.policy /= total.max(f32::MIN_POSITIVE);
        }
    }

    /// Visits that were answered.
    fn visits(&self, node: &Node, slot: Slot) -> u32 {
        node.visits.saturating_sub(self.in_flight_at(slot).pending)
    }

    /// Visits in flight at a node.
    fn in_flight_at(&self, slot: Slot) -> InFlight {
        self.in_flight.get(&slot).copied().unwrap_or_default()
    }

    /// One visit from the root to a leaf.
    fn descend(&mut self, tree: &mut Tree, queue: &mut LeafQueue<'_>, root: &Chess) -> Descent {
        let left = queue.visits_left();
        let above = queue.keys.len();
        let mut position = root.clone();
        let mut path = vec![Slot::ROOT];
        let mut slot = Slot::ROOT;
        let picked = loop {
            let here = *tree.node(tree.at(slot));
            if here.is_proven() {
                queue.settle();
                break Picked::Settled;
            }
            if !here.is_expanded() {
                break queue.pick(
                    tree,
                    &self.model.branching,
                    slot,
                    (&position, position_key(&position)),
                );
            }
            let parent = here.expansion;
            queue.keys.push(tree.expansion(parent).key);
            let index = match self.best_child(tree, parent, left) {
                Some(Child::Node(index)) => Some(index as u8),
                Some(Child::Edge(edge)) => queue.create_child(tree, parent, edge, &position),
                None => None,
            };
            let Some(index) = index else { break Picked::Refused };
            slot = Slot { parent, index };
            position.play_unchecked(tree.node(tree.at(slot)).played);
            path.push(slot);
        };
        queue.keys.truncate(above);
        match picked {
            Picked::Queued => {
                for (index, &slot) in path.iter().enumerate() {
                    // The leaf's own visit is counted already.
                    let node = tree.at(slot);
                    tree.node_mut(node).visits += u32::from(index + 1 < path.len());
                    self.in_flight.entry(slot).or_default().pending += 1;
                }
                Descent::Queued
            }
            Picked::Settled => {
                self.visit_freely(tree, &path);
                Descent::Visited
            }
            Picked::Refused if queue.is_full => Descent::Full,
            Picked::Refused => {
                for &slot in &path {
                    self.in_flight.entry(slot).or_default().collided += 1;
                }
                self.collided.extend(path);
                Descent::Collided
            }
        }
    }

    /// A visit along this path that costs no evaluation.
    fn visit_freely(&mut self, tree: &mut Tree, path: &[Slot]) {
        count_root_move(&mut self.free, path.get(1).map(|slot| usize::from(slot.index)));
        for &slot in path.iter().rev() {
            let node = tree.at(slot);
            tree.node_mut(node).visits += 1;
            let expansion = tree.node(node).expansion;
            if expansion != NONE {
                self.recompute(tree, expansion);
            }
        }
    }

    /// A leaf is no longer in flight: answered, or given up.
    fn land(&mut self, tree: &Tree, leaf: &Leaf) {
        let land = |flight: &mut InFlight| flight.pending = flight.pending.saturating_sub(1);
        lower(&mut self.in_flight, leaf.slot, land);
        for id in tree.upwards(leaf.slot.parent) {
            lower(&mut self.in_flight, tree.expansion(id).slot(), land);
        }
    }
}

impl Backup for Puct {
    /// Recomputes the node of an expansion: proofs as in minimax, else the values of its visits.
    fn recompute(&self, tree: &mut Tree, id: ExpansionId) {
        // Proofs, and what a table knows, are minimax's; its value is not.
        self.model.recompute(tree, id);
        let expansion = *tree.expansion(id);
        let mut total = 1.0_f32;
        let mut sum = expansion.static_value;
        let mut highest: Option<f32> = None;
        let mut most: Option<(u32, f32, u8)> = None;
        for (slot, child) in numbered(tree, id) {
            if child.has(EXCLUDED) {
                continue;
            }
            let visits = self.visits(child, slot);
            if visits > 0 {
                let value = child_value(child, &self.model);
                total += visits as f32;
                sum += visits as f32 * value;
                highest = Some(highest.map_or(value, |highest| highest.max(value)));
            }
            if most.is_none_or(|(most, policy, _)| {
                visits > most || visits == most && child.policy > policy
            }) {
                most = Some((visits, child.policy, slot.index));
            }
        }
        let id_of_node = tree.node_of(&expansion);
        let node = tree.node(id_of_node);
        if node.is_proven() || expansion.known_depth > self.model.branching.depth(total as u32) {
            return;
        }
        let share = self.params.puct_minimax;
        let highest = highest.unwrap_or(expansion.static_value);
        let value = (1.0 - share) * sum / total + share * highest;
        tree.node_mut(id_of_node).value = value;
        tree.expansion_mut(id).set_best(most.map(|(_, _, index)| index));
    }
}

impl Rule for Puct {
    fn name(&self) -> &'static str {
        "PUCT"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn select(&mut self, tree: &mut Tree, request: &BatchRequest<'_>) -> Selected {
        let BatchRequest { root, size, .. } = *request;
        let mut queue = LeafQueue::new(tree, request);
        let mut collisions = collisions_allowed(tree.node(ROOT).visits as f32);
        let mut free_visits = 1 + (FREE_VISITS * size as f32) as u32;
        while queue.left() > 0 && queue.may_go_on() && !tree.node(ROOT).is_proven() {
            match self.descend(tree, &mut queue, root) {
                Descent::Queued => {}
                Descent::Visited => {
                    free_visits -= 1;
                    if free_visits == 0 {
                        queue.pause();
                    }
                }
                Descent::Collided => {
                    collisions -= 1;
                    if collisions == 0 {
                        break;
                    }
                }
                Descent::Full => break,
            }
        }
        queue.finish(tree)
    }

    fn receive(&mut self, tree: &Tree, leaf: &Leaf, answer: &mut Evaluation) {
        self.land(tree, leaf);
        self.flatten(answer);
    }

    fn give_up(&mut self, tree: &mut Tree, leaf: &Leaf) {
        self.land(tree, leaf);
        give_up(tree, &self.model.branching, leaf);
    }

    /// Forgets the collisions.
    fn end_batch(&mut self) {
        for slot in self.collided.drain(..) {
            lower(&mut self.in_flight, slot, |flight| flight.collided -= 1);
        }
    }

    fn clear(&mut self) {
        self.in_flight.clear();
        self.collided.clear();
    }

    fn ratings(&self, tree: &Tree, id: ExpansionId, _: f32) -> Ratings {
        self.formula(tree, id).ratings(self, tree, id)
    }

    fn begin(&mut self) {
        self.free.clear();
    }

    fn free_visits(&self, index: usize) -> u32 {
        self.free.get(index).copied().unwrap_or_default()
    }

    /// The root move to play: the shortest mate, else the most visited that does not lose, else the
    /// longest resistance.
    fn choose(&self, tree: &Tree, taken: &[NodeId]) -> Option<NodeId> {
        let rank = |child: &Node| -> (u8, u32, f32) {
            match child.verdict {
                Verdict::Loss(plies) => (2, u32::from(u16::MAX - plies), 0.0),
                Verdict::Win(plies) => (0, u32::from(plies), 0.0),
                Verdict::Draw | Verdict::Open if child.visits == 0 => (1, 0, child.policy),
                Verdict::Draw | Verdict::Open => (1, child.visits, child_value(child, &self.model)),
            }
        };
        let best = playable(tree, taken)
            .reduce(|best, next| if rank(next.1) > rank(best.1) { next } else { best });
        best.map(|(id, _)| queen_for(id, tree, &self.model, taken))
    }

    /// lc0's smart pruning: no other move can become the most visited one.
    fn is_enough(&self, tree: &Tree, spent: &Spent) -> bool {
        let possible = spent.possible.map(|visits| visits / SMART_PRUNING);
        spent.elapsed >= spent.planned
            || possible.is_some_and(|possible| lead(tree) as f32 > possible)
    }

    /// Visits go to a drawn move for as long as it is the best, and no other one can become the
    /// most visited any more.
    fn is_endless(&self, tree: &Tree, visits: u64) -> bool {
        u64::from(lead(tree)) > visits.min(MOST_LEAD)
    }
}

/// Lowers what is in flight at a node; a node with nothing left is forgotten.
fn lower(in_flight: &mut HashMap<Slot, InFlight>, slot: Slot, take: impl FnOnce(&mut InFlight)) {
    if let Entry::Occupied(mut entry) = in_flight.entry(slot) {
        let flight = entry.get_mut();
        take(flight);
        if flight.pending + flight.collided == 0 {
            entry.remove();
        }
    }
}

/// Collisions that a batch may have in a tree with this many visits.
fn collisions_allowed(visits: f32) -> u32 {
    let range = COLLISIONS_END - COLLISIONS_START;
    let index = ((visits - COLLISIONS_START) / range).clamp(0.0, 1.0);
    (COLLISIONS_MOST * index.powf(COLLISIONS_POWER)).max(1.0) as u32
}

/// By how many visits the most visited root move leads the next of those that are still open. What
/// is proven lost leads nobody: it is not played.
pub fn lead(tree: &Tree) -> u32 {
    let Some(expansion) = tree.expansion_of(ROOT) else { return 0 };
    let is_out = |child: &&Node| child.has(EXCLUDED) || matches!(child.verdict, Verdict::Win(_));
    let allowed = tree.children(expansion).iter().filter(|child| !is_out(child));
    let Some(first) = allowed.clone().max_by_key(|child| child.visits) else { return 0 };
    let others = allowed.filter(|child| child.played != first.played && !child.is_proven());
    first.visits - others.map(|child| child.visits).max().unwrap_or(0)
}
