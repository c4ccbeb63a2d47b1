//! The tree stays sound, whatever is done to it.

use proptest::prelude::*;

use super::compact::HEAD;
use super::*;
use crate::tree::node::KNOWN;

fn some_move(number: usize) -> Move {
    Move::EnPassant { from: Square::new(number as u32 % 64), to: Square::A1 }
}

/// Expands the node in this slot to so many moves.
fn expand(tree: &mut Tree, slot: Slot, moves: usize) -> ExpansionId {
    let edges: Vec<Edge> =
        (0..moves).map(|n| Edge::new(0.9 / (n + 1) as f32, 0.002 * n as f32)).collect();
    tree.expand(Expansion::new(7, slot, 0.5), edges.into_iter())
}

fn create_child(tree: &mut Tree, parent: ExpansionId, edge: usize) -> Slot {
    Slot { parent, index: tree.create_child(parent, edge, some_move(edge)).unwrap() }
}

/// Root with three moves, the second and third expanded, and one grandchild expanded.
fn small_tree() -> Tree {
    let mut tree = Tree::new(1 << 20);
    let top = expand(&mut tree, Slot::ROOT, 3);
    let second = create_child(&mut tree, top, 1);
    let below = expand(&mut tree, second, 2);
    let third = create_child(&mut tree, top, 2);
    expand(&mut tree, third, 4);
    let grandchild = create_child(&mut tree, below, 1);
    expand(&mut tree, grandchild, 5);
    tree
}

fn assert_sound(tree: &Tree) {
    let mut owned = std::collections::HashSet::from([ROOT]);
    for id in 0..tree.expansion_count() as ExpansionId {
        let here = tree.expansion(id);
        assert_eq!(tree.node(tree.node_of(here)).expansion, id);
        if here.parent == NONE {
            assert_eq!((id, here.ply), (0, 0));
        } else {
            assert!(here.parent < id);
            assert!(here.index < tree.expansion(here.parent).count);
            assert_eq!(here.ply, tree.expansion(here.parent).ply + 1);
        }
        for child in here.children() {
            assert!(owned.insert(child), "two positions share a node");
            assert!(!tree.node(child).has(HEAD));
        }
        let taken: Vec<usize> =
            (0..tree.edges(here).len()).filter(|&edge| tree.edges(here)[edge].is_taken()).collect();
        let mut promoted: Vec<usize> =
            tree.children(here).iter().map(|child| usize::from(child.edge)).collect();
        promoted.sort_unstable();
        assert_eq!(taken, promoted);
        for child in tree.children(here) {
            assert_eq!(child.played, some_move(usize::from(child.edge)));
        }
    }
    assert!(tree.bytes() <= tree.capacity_bytes());
}

#[test]
fn keeps_a_subtree() {
    let mut tree = small_tree();
    assert_sound(&tree);
    assert_eq!((tree.nodes().count(), tree.expansion_count()), (4, 4));
    tree.retain(tree.at(Slot { parent: 0, index: 0 }), |_, _| true);
    assert_sound(&tree);
    assert_eq!((tree.nodes().count(), tree.expansion_count()), (2, 2));
}

#[test]
fn folds_a_subtree() {
    let mut tree = small_tree();
    tree.retain(ROOT, |_, here| here.ply < 2 && here.moves != 4);
    assert_sound(&tree);
    assert_eq!((tree.nodes().count(), tree.expansion_count()), (4, 2));
    let third = tree.node(tree.at(Slot { parent: 0, index: 1 }));
    assert!(third.has(KNOWN) && !third.is_expanded());
}

#[test]
fn a_leaf_can_become_the_root() {
    let mut tree = small_tree();
    let leaf = create_child(&mut tree, 0, 0);
    tree.retain(tree.at(leaf), |_, _| true);
    assert_eq!((tree.nodes().count(), tree.expansion_count()), (1, 0));
    assert_eq!(tree.node(ROOT).played, some_move(0));
}

/// A root may have more moves than any block but the largest holds; and what is reserved is used.
#[test]
fn the_root_has_room_for_all_its_moves() {
    let mut tree = Tree::new(0);
    let moves: Vec<Move> = (0..218).map(some_move).collect();
    let id = expand(&mut tree, Slot::ROOT, moves.len());
    assert!(tree.reserve(id));
    let before = tree.bytes();
    assert!(tree.create_children(id, &moves));
    assert_eq!((tree.bytes(), tree.children(tree.expansion(id)).len()), (before, 218));
    assert_sound(&tree);
    tree.retain(ROOT, |_, _| true);
    assert_sound(&tree);
    assert_eq!(tree.children(tree.expansion(id)).len(), 218);
}

#[test]
fn stays_below_its_cap() {
    let mut tree = Tree::new(1 << 16);
    assert!(tree.capacity_bytes() <= 1 << 17);
    let mut slot = Slot::ROOT;
    while tree.has_room(1, 30) {
        let id = expand(&mut tree, slot, 30);
        let Some(index) = tree.create_child(id, 0, some_move(0)) else { break };
        slot = Slot { parent: id, index };
    }
    assert!(tree.bytes() <= tree.capacity_bytes());
    assert!(tree.permille() > 700);
}

proptest! {
    /// Whatever is looked at, expanded, folded and made the root: nodes belong to one position
    /// each, and keep what they know.
    #[test]
    fn stays_sound(
        steps in prop::collection::vec((0..100_u8, any::<u16>(), any::<u16>()), 1..200),
    ) {
        let mut tree = Tree::new(1 << 20);
        expand(&mut tree, Slot::ROOT, 20);
        for (kind, first, second) in steps {
            let expansions = tree.expansion_count();
            if expansions == 0 {
                expand(&mut tree, Slot::ROOT, 20);
                continue;
            }
            let id = (usize::from(first) % expansions) as ExpansionId;
            let expansion = *tree.expansion(id);
            match kind {
                0..70 => {
                    let edge = usize::from(second) % usize::from(expansion.moves);
                    if !tree.edges(&expansion)[edge].is_taken() {
                        let said = tree.edges(&expansion)[edge];
                        let slot = create_child(&mut tree, id, edge);
                        let node = *tree.node(tree.at(slot));
                        prop_assert!((node.value + said.action_value() - 1.0).abs() < 1e-6);
                        if kind < 40 {
                            expand(&mut tree, slot, 1 + usize::from(second) % 40);
                        }
                    }
                }
                70..95 => {
                    tree.retain(ROOT, |other, here| other != id && here.ply < 9);
                }
                _ => {
                    tree.retain(tree.node_of(&expansion), |_, _| true);
                }
            }
            assert_sound(&tree);
        }
    }
}
