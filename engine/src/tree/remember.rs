//! Values between the tree and the transposition table, and subtrees given up for memory.

use shakmaty::{Chess, Position as _};

use crate::chess::game::position_key;
use crate::chess::score::Verdict;
use crate::search::table::{Entry, PackedMove, Table};
use crate::tree::arena::Tree;
use crate::tree::evaluations::LONG;
use crate::tree::node::{EXCLUDED, ExpansionId, Goal, KNOWN, Node, PATH, ROOT, UNEVALUATED};

/// Plies that a principal variation from the table is walked down before it is believed.
const WALK: usize = 8;
/// Folding must free at least one part in this many.
const FOLD_DIVISOR: usize = 3;
/// Depth steps per ply in the table's eight bits.
const DEPTH_STEPS: f32 = 8.0;
/// Payloads at and above mean a win in (payload - this) plies; negated, a loss.
const PROOF: f32 = 2.0;
/// Payload of a proven draw.
const DRAW: f32 = 1.5;

/// Stores an expansion's value, unless its best move rests on the path, some of its moves are left
/// out, or the table knows a proof and this is none or a longer mate; returns whether it did.
pub fn remember(tree: &Tree, table: &mut Table, id: ExpansionId, is_pv: bool) -> bool {
    let expansion = tree.expansion(id);
    let node = tree.node(tree.node_of(expansion));
    if node.has(PATH | KNOWN) || tree.children(expansion).iter().any(|child| child.has(EXCLUDED)) {
        return false;
    }
    // What is proven stays so, until a shorter mate is: an estimate may come from where the
    // position was repeated, and of two mates the longer may lead back to where the game was.
    let is_worse = |known: Verdict| match (known, node.verdict) {
        (Verdict::Win(known), Verdict::Win(plies))
        | (Verdict::Loss(known), Verdict::Loss(plies)) => known < plies,
        (_, verdict) => verdict == Verdict::Open,
    };
    if table.probe(expansion.key).as_ref().and_then(proof).is_some_and(is_worse) {
        return false;
    }
    let payload = match node.verdict {
        Verdict::Open => node.value,
        Verdict::Win(plies) => PROOF + f32::from(plies),
        Verdict::Loss(plies) => -PROOF - f32::from(plies),
        Verdict::Draw => DRAW,
    };
    let best = expansion.best_child().map(|best| PackedMove::pack(tree.node(best).played));
    let depth = (node.depth.max(0.0) * DEPTH_STEPS).round().min(255.0) as u8;
    table.store(expansion.key, Entry { payload: payload.to_bits(), best, depth, is_pv });
    true
}

/// Stores an expansion in the table when it has reached a new whole depth.
pub fn remember_growth(tree: &mut Tree, table: &mut Table, id: ExpansionId, table_depth: f32) {
    let expansion = *tree.expansion(id);
    let node = tree.node(tree.node_of(&expansion));
    let depth = node.depth.max(0.0) as u8;
    // A proof may become a shorter mate.
    let is_due = node.is_proven() || depth > expansion.stored_depth && node.depth >= table_depth;
    if is_due && remember(tree, table, id, false) {
        tree.expansion_mut(id).stored_depth = depth;
    }
}

/// Value, verdict and depth in plies behind a table entry; `None` where the payload is none of
/// ours.
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

/// Stores the principal variation in the table, tagged as such.
pub fn remember_line(tree: &Tree, table: &mut Table) {
    if tree.goal() != Goal::Result {
        return;
    }
    for id in tree.principal_variation() {
        remember(tree, table, id, true);
    }
}

/// Drops the subtrees with the fewest visits and keeps their values in node and table. Returns the
/// evaluator's cache ids of what is gone, where that made room. Nothing may be in flight.
pub fn fold(tree: &mut Tree, table: &mut Table) -> Option<Vec<u32>> {
    let before = tree.expansion_count();
    let work_of = |id: ExpansionId| tree.node(tree.node_of(tree.expansion(id))).visits;
    let mut works: Vec<u32> = (0..tree.expansion_count() as ExpansionId).map(work_of).collect();
    if works.is_empty() {
        return None;
    }
    let middle = works.len() / 2;
    let (_, &mut threshold, _) = works.select_nth_unstable(middle);
    let line = tree.principal_variation();
    let mut is_doomed = vec![false; tree.expansion_count()];
    for (id, is_doomed) in (0..).zip(&mut is_doomed) {
        let node = tree.node(tree.node_of(tree.expansion(id)));
        *is_doomed = (node.visits <= threshold || node.is_proven()) && !line.contains(&id);
        if *is_doomed && node.visits > 1 && tree.goal() == Goal::Result {
            remember(tree, table, id, false);
        }
    }
    let gone = tree.retain(ROOT, |id, _| !is_doomed[id as usize]);
    (!gone.is_empty() && gone.len() >= before / FOLD_DIVISOR).then_some(gone)
}

/// The position's result if the entry proves it; it holds wherever the position is reached in time.
/// An estimate holds where the position is new. What the endgame tables win in unknown time is
/// none.
pub fn proof(entry: &Entry) -> Option<Verdict> {
    let (_, verdict, _) = recall(entry)?;
    let is_proven = match verdict {
        Verdict::Win(plies) | Verdict::Loss(plies) => plies < 100,
        Verdict::Draw => true,
        Verdict::Open => false,
    };
    is_proven.then_some(verdict)
}

/// Whether the entry proves the position's result.
pub fn is_proof(entry: &Entry) -> bool {
    proof(entry).is_some()
}

/// Starts an unevaluated node from what the table knows of its position, if that can be believed,
/// and returns whether it did. `halfmoves` = the position's; `position` makes it, which is rarely
/// needed.
pub fn start_from(
    child: &mut Node,
    table: &Table,
    entry: &Entry,
    halfmoves: u32,
    position: impl FnOnce() -> Chess,
) -> bool {
    let Some((value, verdict, depth)) = recall(entry) else { return false };
    if entry.is_pv && !line_is_legal(table, entry, position()) {
        return false;
    }
    // The fifty-move rule may come first: the table knows no clocks.
    let may_be_late = match verdict {
        Verdict::Open => halfmoves >= LONG,
        Verdict::Win(plies) | Verdict::Loss(plies) => halfmoves + u32::from(plies) >= 100,
        Verdict::Draw => false,
    };
    if may_be_late {
        return false;
    }
    child.value = value;
    child.verdict = verdict;
    child.depth = depth;
    child.mark(UNEVALUATED, false);
    child.mark(KNOWN, true);
    true
}

/// Walks the line that the table gives for a position on a principal variation: a move that is not
/// legal there betrays a key that two positions share.
fn line_is_legal(table: &Table, entry: &Entry, mut position: Chess) -> bool {
    let mut entry = *entry;
    for _ in 0..WALK {
        let Some(best) = entry.best else { return true };
        let Some(played) = best.find(&position.legal_moves()) else { return false };
        position.play_unchecked(played);
        let Some(next) = table.probe(position_key(&position)) else { return true };
        entry = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use shakmaty::Move;

    use super::*;
    use crate::tree::edge::Edge;
    use crate::tree::expansion::Expansion;
    use crate::tree::node::Slot;

    fn entry(best: Move, is_pv: bool) -> Entry {
        Entry { payload: 0.7_f32.to_bits(), best: Some(PackedMove::pack(best)), depth: 24, is_pv }
    }

    /// With few moves left to the fifty-move rule a position is worth less than it was.
    #[test]
    fn an_estimate_is_not_believed_where_the_clock_is_long() {
        let start = Chess::new();
        let played = start.legal_moves()[0];
        for (halfmoves, is_believed) in [(0, true), (LONG - 1, true), (LONG, false), (95, false)] {
            let mut child = Node::unevaluated(played, 0.5, 0.1, 1.0);
            let entry = entry(played, false);
            let is_started =
                start_from(&mut child, &Table::new(1), &entry, halfmoves, || start.clone());
            assert_eq!((is_started, child.has(KNOWN)), (is_believed, is_believed), "{halfmoves}");
        }
    }

    /// What is drawn on this path need not be on another.
    #[test]
    fn a_draw_by_the_path_stays_out_of_the_table() {
        let mut table = Table::new(1);
        for (key, mark) in [(1, None), (2, Some(PATH)), (3, Some(KNOWN)), (4, Some(EXCLUDED))] {
            let mut tree = Tree::new(1 << 20);
            let edges = [Edge::new(1.0, 0.5)];
            let id = tree.expand(Expansion::new(key, Slot::ROOT, 0.5), edges.into_iter());
            let played = Chess::new().legal_moves()[0];
            let index = tree.create_child(id, 0, played).unwrap();
            let child = tree.at(Slot { parent: id, index });
            if let Some(mark) = mark {
                let marked = if mark == EXCLUDED { child } else { ROOT };
                tree.node_mut(marked).mark(mark, true);
            }
            assert_eq!(remember(&tree, &mut table, id, false), mark.is_none(), "{key}");
            assert_eq!(table.probe(key).is_some(), mark.is_none(), "{key}");
        }
    }

    /// What is thought of a position that was repeated does not replace what is proven of it.
    #[test]
    fn an_estimate_leaves_a_proof() {
        let mut tree = Tree::new(1 << 20);
        let id = tree.expand(Expansion::new(1, Slot::ROOT, 0.5), [Edge::new(1.0, 0.5)].into_iter());
        let late = Verdict::Win(10_000);
        for (proof, stays) in [(Verdict::Win(5), true), (Verdict::Draw, true), (late, false)] {
            let mut table = Table::new(1);
            for verdict in [proof, Verdict::Open] {
                tree.node_mut(ROOT).verdict = verdict;
                assert_eq!(remember(&tree, &mut table, id, false), verdict == proof || !stays);
            }
            let known = table.probe(1).as_ref().and_then(recall);
            assert_eq!(known.map(|(_, verdict, _)| verdict == proof), Some(stays), "{proof:?}");
        }
    }

    #[test]
    fn a_colliding_principal_variation_is_not_believed() {
        let mut table = Table::new(1);
        let start = Chess::new();
        let played = start.legal_moves()[3];
        let mut after = start.clone();
        after.play_unchecked(played);
        let mut child = Node::unevaluated(played, 0.5, 0.1, 1.0);
        // White's move is not legal for Black: the entry belongs to another position.
        let key = position_key(&after);
        table.store(key, entry(played, true));
        let probed = table.probe(key).unwrap();
        assert!(!start_from(&mut child, &table, &probed, 1, || after.clone()));
        assert!(child.has(UNEVALUATED) && !child.has(KNOWN));
        table.store(key, entry(after.legal_moves()[0], true));
        let probed = table.probe(key).unwrap();
        assert!(start_from(&mut child, &table, &probed, 1, || after.clone()));
        assert!(child.has(KNOWN) && (child.value - 0.7).abs() < 1e-6);
        assert!((child.depth - 3.0).abs() < 1e-6);
    }
}
