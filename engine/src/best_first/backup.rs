//! A node's value from its children's: minimax with proofs first, in one sweep after each batch.

use crate::best_first::cost::work;
use crate::best_first::error_model::Model;
use crate::chess::score::Verdict;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, ExpansionId, Goal, KNOWN, Node, PATH, UNEVALUATED};
use crate::tree::sweep::Backup;

/// A child's value for its parent's side to move; proven wins and losses count as 0 and 1.
pub fn child_value(child: &Node, model: &Model) -> f32 {
    match child.verdict {
        Verdict::Draw => 0.5,
        Verdict::Win(_) => 0.0,
        Verdict::Loss(_) => 1.0,
        Verdict::Open if child.has(UNEVALUATED) => prior_value(1.0 - child.value, model),
        Verdict::Open => 1.0 - child.value,
    }
}

/// Value of a move without an evaluation of its own: its action value less a penalty.
pub fn prior_value(action_value: f32, model: &Model) -> f32 {
    action_value - model.doubt
}

/// The children's values and proofs, summed up for their parent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Summary {
    /// The shortest mate given: its plies and its index.
    shortest_loss: Option<(u16, u8)>,
    /// The longest resistance when every move loses: its plies and its index.
    longest_win: Option<(u16, u8)>,
    /// The best child that is drawn or was searched: its value and its index.
    best: Option<(f32, u8)>,
    /// Some child is open.
    any_open: bool,
    /// Some child is drawn.
    any_draw: bool,
    /// Some drawn child is drawn by its path.
    any_path_draw: bool,
    /// Visits of all children.
    visits: u32,
    /// The evaluations behind their values, known ones included.
    work: f32,
    /// Values of the open and drawn children times those evaluations, and their sum.
    weighed: (f32, f32),
}

/// `any_left` = some move has no node.
fn summarise(children: &[Node], any_left: bool, model: &Model) -> Summary {
    let mut summary = Summary {
        shortest_loss: None,
        longest_win: None,
        best: None,
        any_open: any_left,
        any_draw: false,
        any_path_draw: false,
        visits: 0,
        work: 0.0,
        weighed: (0.0, 0.0),
    };
    for (index, child) in children.iter().enumerate() {
        let index = index as u8;
        summary.visits += child.visits;
        let work = work(child, model);
        summary.work += work;
        if child.has(EXCLUDED) {
            continue;
        }
        match child.verdict {
            Verdict::Loss(plies) => {
                if summary.shortest_loss.is_none_or(|(shortest, _)| plies < shortest) {
                    summary.shortest_loss = Some((plies, index));
                }
                continue;
            }
            Verdict::Win(plies) => {
                if summary.longest_win.is_none_or(|(longest, _)| plies > longest) {
                    summary.longest_win = Some((plies, index));
                }
                continue;
            }
            Verdict::Draw => {
                summary.any_draw = true;
                summary.any_path_draw |= child.has(PATH);
            }
            Verdict::Open => {
                summary.any_open = true;
                // Action values are too noisy for a maximum over dozens of them.
                if child.has(UNEVALUATED) {
                    continue;
                }
            }
        }
        let value = child_value(child, model);
        summary.weighed = (summary.weighed.0 + work * value, summary.weighed.1 + work);
        if summary.best.is_none_or(|(best, _)| value > best) {
            summary.best = Some((value, index));
        }
    }
    summary
}

/// Minimax, tempered where it is uncertain.
impl Backup for Model {
    fn recompute(&self, tree: &mut Tree, id: ExpansionId) {
        recompute(tree, self, id);
    }
}

fn recompute(tree: &mut Tree, model: &Model, id: ExpansionId) {
    let expansion = *tree.expansion(id);
    let id_of_node = tree.node_of(&expansion);
    let summary = summarise(tree.children(&expansion), expansion.has_edges_left(), model);
    let best = [summary.shortest_loss, summary.longest_win];
    // The opponent has a reply that is not mated in time, which is all that `go mate` asks of this
    // move.
    let is_refuted = tree.goal() != Goal::Result && expansion.ply % 2 == 1 && summary.any_draw;
    let (verdict, index) = match (best, summary.best) {
        ([Some((plies, index)), _], _) => (Verdict::Win(plies + 1), Some(index)),
        (_, Some((_, index))) if is_refuted => (Verdict::Draw, Some(index)),
        (_, Some((_, index))) if !summary.any_open => (Verdict::Draw, Some(index)),
        (_, Some((_, index))) => (Verdict::Open, Some(index)),
        ([None, Some((plies, index))], None) if !summary.any_open => {
            (Verdict::Loss(plies + 1), Some(index))
        }
        ([None, _], None) => (Verdict::Open, None),
    };
    let fresh_depth = model.branching.depth(1 + summary.visits);
    let is_known = expansion.known_depth > fresh_depth;
    let mut rests_on_path = match verdict {
        Verdict::Draw => summary.any_path_draw || is_refuted,
        Verdict::Open => {
            is_known && expansion.known_rests_on_path
                || index
                    .is_some_and(|index| tree.children(&expansion)[usize::from(index)].has(PATH))
        }
        Verdict::Win(_) | Verdict::Loss(_) => false,
    };
    let value = match (verdict, summary.best) {
        (Verdict::Win(_), _) => 1.0,
        (Verdict::Loss(_), _) => 0.0,
        (Verdict::Draw, _) => 0.5,
        (Verdict::Open, best) => {
            let value = match best {
                _ if is_known => expansion.known_value,
                Some((value, _)) => tempered(value, &summary, expansion.static_value, model),
                None => expansion.static_value,
            };
            // What is drawn is certain.
            let takes_draw = summary.any_draw && value < 0.5;
            rests_on_path |= takes_draw && summary.any_path_draw;
            if takes_draw { 0.5 } else { value }
        }
    };
    tree.expansion_mut(id).set_best(index);
    let node = tree.node_mut(id_of_node);
    node.verdict = verdict;
    node.value = value;
    node.depth = model.branching.depth(node.visits).max(expansion.known_depth);
    node.mark(PATH, rests_on_path);
    // A proof is this tree's own.
    node.mark(KNOWN, is_known && verdict == Verdict::Open);
}

/// The value of a node whose best child has the value `highest`. The highest of many uncertain
/// values is too high: the average of the children by evaluations and the node's own pull it
/// back, the latter as if it were `static_weight` evaluations.
fn tempered(highest: f32, summary: &Summary, static_value: f32, model: &Model) -> f32 {
    let highest = highest.clamp(0.0, 1.0);
    let (sum, work) = summary.weighed;
    let average = if work > 0.0 { sum / work } else { highest };
    let value = highest + model.average_share * (average - highest);
    let trust = model.static_weight / (model.static_weight + summary.work).max(1.0);
    value + trust * (static_value - value)
}

#[cfg(test)]
mod tests {
    use shakmaty::{Move, Square};

    use super::*;
    use crate::best_first::params::Params;
    use crate::search::table::Table;
    use crate::tree::edge::Edge;
    use crate::tree::expansion::Expansion;
    use crate::tree::node::{ROOT, Slot};
    use crate::tree::remember::{recall, remember_growth};

    fn child(value: f32, visits: u32) -> Node {
        let played = Move::EnPassant { from: Square::A1, to: Square::A1 };
        let mut node = Node::unevaluated(played, value, 0.2, 1.0);
        node.visits = visits;
        node.mark(UNEVALUATED, visits == 0);
        node
    }

    /// The root of these children, whose own evaluation is 0.4, computed.
    fn root(children: &[Node], model: &Model) -> Node {
        *tree(children, Expansion::new(1, Slot::ROOT, 0.4), model).node(ROOT)
    }

    /// A tree of these children below this root, computed.
    fn tree(children: &[Node], expansion: Expansion, model: &Model) -> Tree {
        let mut tree = Tree::new(1 << 20);
        let edges = vec![Edge::new(0.2, 0.5); children.len()];
        let id = tree.expand(expansion, edges.into_iter());
        for (edge, child) in children.iter().enumerate() {
            let index = tree.create_child(id, edge, child.played).unwrap();
            let node = tree.at(Slot { parent: id, index });
            *tree.node_mut(node) = Node { edge: edge as u8, ..*child };
        }
        model.recompute(&mut tree, id);
        tree
    }

    /// A root of which the table or a folded subtree said this, at a depth that no number of visits
    /// here reaches.
    fn known(value: f32, rests_on_path: bool) -> Expansion {
        let mut expansion = Expansion::new(1, Slot::ROOT, 0.4);
        (expansion.known_value, expansion.known_depth) = (value, 20.0);
        expansion.known_rests_on_path = rests_on_path;
        expansion
    }

    fn model(average_share: f32, static_weight: f32) -> Model {
        let mut params = Params::default();
        params.set("average_share", average_share).unwrap();
        params.set("static_weight", static_weight).unwrap();
        Model::new(&params)
    }

    #[test]
    fn guesses_lend_no_value_and_the_highest_is_tempered() {
        let close = |node: Node, value: f32| (node.value - value).abs() < 1e-6;
        let plain = model(0.0, 0.0);
        assert!(close(root(&[child(0.0, 0), child(0.3, 0)], &plain), 0.4));
        let children = [child(0.0, 0), child(0.3, 6), child(0.7, 2)];
        assert!(close(root(&children, &plain), 0.7));
        // The average of 0.7 six times and 0.3 twice is 0.6.
        assert!(close(root(&children, &model(0.5, 0.0)), 0.65));
        assert!(close(root(&children, &model(0.0, 2.0)), 0.8 * 0.7 + 0.2 * 0.4));
    }

    /// What the table knows of a child counts as the evaluations that its depth amounts to.
    #[test]
    fn a_known_child_weighs_what_it_took() {
        let plain = model(0.0, 1.0);
        let known = |depth| {
            let mut child = child(0.2, 0);
            child.mark(UNEVALUATED, false);
            child.mark(KNOWN, true);
            child.depth = depth;
            child
        };
        // As much as one evaluation, and as many: 0.8 against the node's own 0.4.
        for (depth, expected) in [(0.0, 0.6), (20.0, 0.8)] {
            let value = root(&[known(depth)], &plain).value;
            assert!((value - expected).abs() < 1e-3, "{depth} {value}");
        }
    }

    #[test]
    fn a_draw_is_a_floor_and_says_so() {
        let mut draw = child(0.5, 0);
        draw.verdict = Verdict::Draw;
        draw.mark(UNEVALUATED, false);
        let tempered = model(0.0, 1.0);
        // 0.51 once and the node's own 0.4 come to less than a draw.
        let children = [draw, child(0.49, 1)];
        let node = root(&children, &tempered);
        assert!((node.value - 0.5).abs() < 1e-6 && !node.has(PATH) && !node.is_proven());
        draw.mark(PATH, true);
        assert!(root(&[draw, child(0.49, 1)], &tempered).has(PATH));
        assert!(!root(&[draw, child(0.1, 5)], &tempered).has(PATH));
    }

    #[test]
    fn what_is_proven_goes_before_what_was_known() {
        let model = model(0.5, 1.0);
        let mut draw = child(0.5, 0);
        draw.verdict = Verdict::Draw;
        draw.mark(UNEVALUATED, false);
        let children = [draw, child(0.9, 3)];
        for (value, expected) in [(0.2, 0.5), (0.7, 0.7)] {
            let node = *tree(&children, known(value, false), &model).node(ROOT);
            assert!((node.value - expected).abs() < 1e-6 && node.has(KNOWN) && !node.has(PATH));
        }
        // What rests on the path does so until it is found anew.
        assert!(tree(&children, known(0.7, true), &model).node(ROOT).has(PATH));
        // A mate found here goes into the table, and so does a shorter one.
        let mut table = Table::new(1);
        let mut mate = child(0.0, 1);
        for plies in [4, 2] {
            mate.verdict = Verdict::Loss(plies);
            let mut tree = tree(&[mate, child(0.9, 3)], known(0.2, true), &model);
            tree.expansion_mut(0).stored_depth = 7;
            remember_growth(&mut tree, &mut table, 0, 2.0);
            let told = recall(&table.probe(1).unwrap()).unwrap();
            assert_eq!(told.1, Verdict::Win(plies + 1));
        }
    }
}
