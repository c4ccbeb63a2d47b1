//! From the children to the parent: minimax with proofs first, in one sweep after each batch.

use crate::estimate::Model;
use crate::node::{BARE, BranchId, EXCLUDED, KNOWN, NONE, Node, PATH, Verdict};
use crate::table::{Entry, PackedMove, Table};
use crate::tree::Tree;

/// What a child is worth to its parent's side to move, if it is an estimate or a draw.
pub fn worth(child: &Node, model: &Model) -> f32 {
    match child.verdict {
        Verdict::Draw => 0.5,
        Verdict::Win(_) => 0.0,
        Verdict::Loss(_) => 1.0,
        Verdict::Open if child.has(BARE) => 1.0 - child.value - model.doubt,
        Verdict::Open => 1.0 - child.value,
    }
}

/// What the children say of their parent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Summary {
    /// The shortest mate given: its plies and its place.
    shortest_loss: Option<(u16, u16)>,
    /// The longest resistance when every move loses: its plies and its place.
    longest_win: Option<(u16, u16)>,
    /// The best open or drawn child: its worth and its place.
    best: Option<(f32, u16)>,
    /// Some child is open.
    any_open: bool,
    /// Some child's position was looked at, so that the children know more than the parent.
    any_informed: bool,
    /// Some drawn child is drawn by its path.
    any_path_draw: bool,
    /// Work of all children.
    work: u32,
    /// Worth of the open and drawn children times their work, and that work.
    weighed: (f32, f32),
}

fn summarise(children: &[Node], model: &Model) -> Summary {
    let mut summary = Summary {
        shortest_loss: None,
        longest_win: None,
        best: None,
        any_open: false,
        any_informed: false,
        any_path_draw: false,
        work: 0,
        weighed: (0.0, 0.0),
    };
    for (place, child) in children.iter().enumerate() {
        let place = place as u16;
        summary.work += child.work;
        if child.has(EXCLUDED) {
            continue;
        }
        match child.verdict {
            Verdict::Loss(plies) => {
                if summary.shortest_loss.is_none_or(|(shortest, _)| plies < shortest) {
                    summary.shortest_loss = Some((plies, place));
                }
                continue;
            }
            Verdict::Win(plies) => {
                if summary.longest_win.is_none_or(|(longest, _)| plies > longest) {
                    summary.longest_win = Some((plies, place));
                }
                continue;
            }
            Verdict::Draw => {
                summary.any_informed = true;
                summary.any_path_draw |= child.has(PATH);
            }
            Verdict::Open => {
                summary.any_open = true;
                summary.any_informed |= !child.has(BARE);
            }
        }
        let value = worth(child, model);
        let work = child.work as f32;
        summary.weighed = (summary.weighed.0 + work * value, summary.weighed.1 + work);
        if summary.best.is_none_or(|(best, _)| value > best) {
            summary.best = Some((value, place));
        }
    }
    summary
}

/// How values come from the children to their parent.
pub trait Backup {
    /// Computes the node of a branch anew from its children.
    fn recompute(&self, tree: &mut Tree, id: BranchId);
}

/// Minimax.
impl Backup for Model {
    fn recompute(&self, tree: &mut Tree, id: BranchId) {
        recompute(tree, self, id);
    }
}

fn recompute(tree: &mut Tree, model: &Model, id: BranchId) {
    let branch = *tree.branch(id);
    let summary = summarise(tree.children(&branch), model);
    let best = [summary.shortest_loss, summary.longest_win];
    let (verdict, place) = match (best, summary.best) {
        ([Some((plies, place)), _], _) => (Verdict::Win(plies + 1), place),
        (_, Some((_, place))) if !summary.any_open => (Verdict::Draw, place),
        (_, Some((_, place))) => (Verdict::Open, place),
        ([None, Some((plies, place))], None) => (Verdict::Loss(plies + 1), place),
        ([None, None], None) => (Verdict::Open, branch.best),
    };
    let rests_on_path = match verdict {
        Verdict::Draw => summary.any_path_draw,
        Verdict::Open => tree.children(&branch)[usize::from(place)].has(PATH),
        Verdict::Win(_) | Verdict::Loss(_) => false,
    };
    let fresh_depth = model.depth(1 + summary.work);
    let is_known = branch.known_depth > fresh_depth;
    let value = match (verdict, summary.best) {
        (Verdict::Win(_), _) => 1.0,
        (Verdict::Loss(_), _) => 0.0,
        (Verdict::Draw, _) => 0.5,
        (Verdict::Open, _) if is_known => branch.known_value,
        (Verdict::Open, Some((value, _))) if summary.any_informed => {
            let value = value.clamp(0.0, 1.0);
            let (sum, work) = summary.weighed;
            let value =
                if work > 0.0 { value + model.average_share * (sum / work - value) } else { value };
            // Its own evaluation is one more opinion, and the highest of many is too high.
            let trust = model.static_weight / (model.static_weight + summary.work as f32).max(1.0);
            value + trust * (branch.static_value - value)
        }
        (Verdict::Open, _) => branch.static_value,
    };
    tree.branch_mut(id).best = place;
    let node = tree.node_mut(branch.node);
    node.verdict = verdict;
    node.value = value;
    node.depth = model.depth(node.work).max(branch.known_depth);
    node.mark(PATH, rests_on_path);
    node.mark(KNOWN, is_known);
}

/// One bottom-up sweep over the unique ancestors of what changed. Keeps its buckets between calls.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Branches waiting, by ply.
    by_ply: Vec<Vec<BranchId>>,
}

impl Sweep {
    /// Notes that this branch must be computed anew.
    pub fn add(&mut self, tree: &mut Tree, id: BranchId) {
        if id == NONE || tree.branch(id).is_dirty {
            return;
        }
        let branch = tree.branch_mut(id);
        branch.is_dirty = true;
        let ply = usize::from(branch.ply);
        if self.by_ply.len() <= ply {
            self.by_ply.resize_with(ply + 1, Vec::new);
        }
        self.by_ply[ply].push(id);
    }

    /// Computes everything noted and its ancestors, deepest first, and stores what grew deeper.
    pub fn run(
        &mut self,
        tree: &mut Tree,
        backup: &dyn Backup,
        table: &mut Table,
        table_depth: f32,
    ) {
        for ply in (0..self.by_ply.len()).rev() {
            let mut waiting = std::mem::take(&mut self.by_ply[ply]);
            for id in waiting.drain(..) {
                backup.recompute(tree, id);
                tree.branch_mut(id).is_dirty = false;
                remember_growth(tree, table, id, table_depth);
                let parent = tree.branch(id).parent;
                self.add(tree, parent);
            }
            self.by_ply[ply] = waiting;
        }
    }
}

/// Computes the whole tree anew, children before parents.
pub fn recompute_all(tree: &mut Tree, backup: &dyn Backup) {
    for id in (0..tree.branch_count() as BranchId).rev() {
        backup.recompute(tree, id);
    }
}

/// Stores a branch in the table when it has reached a new whole depth.
fn remember_growth(tree: &mut Tree, table: &mut Table, id: BranchId, table_depth: f32) {
    let branch = *tree.branch(id);
    let node = tree.node(branch.node);
    let depth = if node.is_proven() { u8::MAX } else { node.depth.max(0.0) as u8 };
    let is_due = depth > branch.stored_depth && (node.is_proven() || node.depth >= table_depth);
    if is_due && remember(tree, table, id, false) {
        tree.branch_mut(id).stored_depth = depth;
    }
}

/// Depth steps per ply in the table's eight bits.
const DEPTH_STEPS: f32 = 8.0;
/// Payloads at and above mean a win in (payload - this) plies; negated, a loss.
const PROOF: f32 = 2.0;
/// Payload of a proven draw.
const DRAW: f32 = 1.5;

/// Stores a branch's value, unless its best move rests on the path or it rests on `searchmoves`;
/// says whether it did.
pub fn remember(tree: &Tree, table: &mut Table, id: BranchId, is_pv: bool) -> bool {
    let branch = tree.branch(id);
    let node = tree.node(branch.node);
    if node.has(PATH | KNOWN) || tree.children(branch).iter().any(|child| child.has(EXCLUDED)) {
        return false;
    }
    let payload = match node.verdict {
        Verdict::Open => node.value,
        Verdict::Win(plies) => PROOF + f32::from(plies),
        Verdict::Loss(plies) => -PROOF - f32::from(plies),
        Verdict::Draw => DRAW,
    };
    let best = Some(PackedMove::pack(tree.node(branch.best_child()).played));
    let depth = (node.depth.max(0.0) * DEPTH_STEPS).round().min(255.0) as u8;
    table.store(branch.key, Entry { payload: payload.to_bits(), best, depth, is_pv });
    true
}

/// Value, verdict and depth in plies behind a table entry; `None` where the payload is none of ours.
pub fn recall(entry: &Entry) -> Option<(f32, Verdict, f32)> {
    let payload = f32::from_bits(entry.payload);
    let depth = f32::from(entry.depth) / DEPTH_STEPS;
    let plies = (payload.abs() - PROOF) as u16;
    if (0.0..=1.0).contains(&payload) {
        Some((payload, Verdict::Open, depth))
    } else if payload.total_cmp(&DRAW).is_eq() {
        Some((0.5, Verdict::Draw, depth))
    } else if payload >= PROOF {
        Some((1.0, Verdict::Win(plies), depth))
    } else if payload <= -PROOF {
        Some((0.0, Verdict::Loss(plies), depth))
    } else {
        None
    }
}
