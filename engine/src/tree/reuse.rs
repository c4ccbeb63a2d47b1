//! What survives of the tree from one search to the next.

use shakmaty::{Chess, Move, Position as _};

use crate::chess::game::{Game, key_after};
use crate::chess::score::Verdict;
use crate::chess::verdicts::repetitions;
use crate::tree::arena::Tree;
use crate::tree::expand::path_keys;
use crate::tree::expansion::Expansion;
use crate::tree::node::{ExpansionId, KNOWN, NONE, NodeId, PATH, ROOT, UNEVALUATED};

/// Where in the tree of `old` the game `new` has arrived: at the root, a child or a grandchild.
pub fn find_game(tree: &Tree, old: &Game, new: &Game) -> Option<NodeId> {
    let is_same = |game: &Game| {
        let (old, new_position) = (game.position(), new.position());
        // Equal positions may differ in their clocks, which decide what a mate is worth.
        old == new_position
            && old.halfmoves() == new_position.halfmoves()
            && game.earlier_keys() == new.earlier_keys()
    };
    if is_same(old) {
        return Some(ROOT);
    }
    let below = |id: NodeId| tree.expansion_of(id).into_iter().flat_map(Expansion::children);
    for child in below(ROOT) {
        let mut game = old.clone();
        game.play(tree.node(child).played);
        if is_same(&game) {
            return Some(child);
        }
        for grandchild in below(child) {
            let mut game = game.clone();
            game.play(tree.node(grandchild).played);
            if is_same(&game) {
                return Some(grandchild);
            }
        }
    }
    None
}

/// A position that the game has left behind, and what the tree said of it.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    key: u64,
    value: f32,
    depth: f32,
}

/// Plies that the value of a position which the game has left behind counts for, at most: it was
/// found where the position had not been there yet, so what comes of it is searched anew.
const PASSED_DEPTH: f32 = 1.0;

/// The positions above this node, which is about to become the root.
pub fn passed(tree: &Tree, node: NodeId) -> Vec<Passed> {
    let above = tree.expansion_of(node).map_or(NONE, Expansion::parent);
    let said = |id| {
        let expansion = tree.expansion(id);
        let node = tree.node(tree.node_of(expansion));
        let depth = node.depth.min(PASSED_DEPTH);
        Passed { key: expansion.key, value: node.value, depth }
    };
    tree.upwards(above).map(said).collect()
}

/// Judges draws by repetition and the fifty-move rule anew after moves of the game; returns the
/// expansions that must be computed again. A leaf that repeats what has `passed` is open again, and
/// worth what was thought of that position. A folded subtree that rests on such draws keeps only
/// its action value.
pub fn judge_path_draws(tree: &mut Tree, game: &Game, passed: &[Passed]) -> Vec<ExpansionId> {
    let mut changed = Vec::new();
    for id in 0..tree.expansion_count() as ExpansionId {
        let expansion = *tree.expansion(id);
        let mut judge = None;
        for child in expansion.children() {
            let node = *tree.node(child);
            if !node.has(PATH) || node.is_expanded() {
                continue;
            }
            let (value, depth) = if node.verdict == Verdict::Draw {
                let judge = judge.get_or_insert_with(|| Judge::new(tree, game, id));
                let Some(reached) = judge.open(node.played) else { continue };
                let known = passed.iter().find(|passed| passed.key == reached);
                known.map_or((0.5, 0.0), |known| (known.value, known.depth))
            } else {
                (1.0 - tree.edges(&expansion)[usize::from(node.edge)].action_value(), 0.0)
            };
            let node = tree.node_mut(child);
            (node.value, node.depth, node.verdict) = (value, depth, Verdict::Open);
            node.mark(PATH | UNEVALUATED, false);
            node.mark(KNOWN, true);
            changed.push(id);
        }
        if expansion.known_rests_on_path {
            let expansion = tree.expansion_mut(id);
            (expansion.known_depth, expansion.known_rests_on_path) = (-1.0, false);
            changed.push(id);
        }
    }
    changed
}

/// Settles the root's moves that are drawn by repetition or the fifty-move rule as the game is now,
/// as those of a new root are.
pub fn settle_root_draws(tree: &mut Tree, game: &Game) {
    let Some(expansion) = tree.expansion_of(ROOT).copied() else { return };
    let judge = Judge::new(tree, game, 0);
    for id in expansion.children() {
        let node = tree.node_mut(id);
        // What was expanded repeats nothing: of a game that grows, fewer moves are draws.
        let is_judged = node.is_expanded() || node.is_proven();
        if !is_judged && judge.open(node.played).is_none() {
            node.verdict = Verdict::Draw;
            node.mark(PATH, true);
        }
    }
}

/// Judges the moves of an expansion by the rules of the path.
struct Judge {
    position: Chess,
    key: u64,
    /// Keys of the game and the path, the expansion's own last.
    keys: Vec<u64>,
    path_start: usize,
}

impl Judge {
    fn new(tree: &Tree, game: &Game, id: ExpansionId) -> Self {
        let mut keys = Vec::new();
        let path_start = path_keys(tree, id, game.earlier_keys(), &mut keys);
        let slots = tree.upwards(id).map(|id| tree.expansion(id).slot());
        let below_root = slots.take_while(|slot| !slot.is_root());
        let moves: Vec<Move> = below_root.map(|slot| tree.node(tree.at(slot)).played).collect();
        let mut position = game.position().clone();
        for &played in moves.iter().rev() {
            position.play_unchecked(played);
        }
        Self { position, key: tree.expansion(id).key, keys, path_start }
    }

    /// The key behind this move, unless the move is a draw by repetition or the fifty-move rule.
    fn open(&self, played: Move) -> Option<u64> {
        let reached = key_after(&self.position, self.key, played);
        let halfmoves = if played.is_zeroing() { 0 } else { self.position.halfmoves() + 1 };
        let visits = repetitions(&self.keys, self.path_start, reached, halfmoves);
        (halfmoves < 100 && !visits.is_draw()).then_some(reached)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;

    use super::*;
    use crate::chess::game::position_key;
    use crate::tree::edge::Edge;
    use crate::tree::node::Slot;

    fn parse(text: &str, game: &Game) -> Move {
        text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap()
    }

    /// A tree below this game, whose root's moves in UCI are searched or drawn by the path.
    fn tree_of(game: &Game, moves: &[(&str, Verdict)]) -> Tree {
        let mut tree = Tree::new(1 << 20);
        let legal = game.position().legal_moves();
        let key = position_key(game.position());
        let edges = legal.iter().map(|_| Edge::new(0.1, 0.25));
        let top = tree.expand(Expansion::new(key, Slot::ROOT, 0.5), edges);
        for &(text, verdict) in moves {
            let played = parse(text, game);
            let edge = legal.iter().position(|&other| other == played).unwrap();
            let slot = Slot { parent: top, index: tree.create_child(top, edge, played).unwrap() };
            let id = tree.at(slot);
            tree.node_mut(id).verdict = verdict;
            tree.node_mut(id).mark(PATH, true);
        }
        tree
    }

    /// The knights came back once; the rook may come back too.
    #[test]
    fn draws_by_the_path_are_judged_anew() {
        let mut game = Game::new(Chess::new());
        for text in ["g1f3", "g8f6"] {
            game.play(parse(text, &game));
        }
        let start = position_key(&Chess::new());
        let passed = [Passed { key: start, value: 0.6, depth: 7.0 }];
        for (text, other) in [("f3g1", "h1g1"), ("f6g8", "h8g8")] {
            let open = [(text, Verdict::Draw), (other, Verdict::Open)];
            let mut tree = tree_of(&game, &open);
            tree.expansion_mut(0).known_depth = 9.0;
            tree.expansion_mut(0).known_rests_on_path = true;
            assert!(judge_path_draws(&mut tree, &game, &passed).iter().all(|&id| id == 0));
            let expansion = *tree.expansion_of(ROOT).unwrap();
            assert!(expansion.known_depth < 0.0 && !expansion.known_rests_on_path);
            // Ng8 leads to the start position, Ng1 to one that nobody has seen.
            let (value, depth) = if text == "f6g8" { (0.6, 7.0) } else { (0.5, 0.0) };
            for (child, (value, depth)) in
                tree.children(&expansion).iter().zip([(value, depth), (0.75, 0.0)])
            {
                assert!(child.verdict == Verdict::Open && !child.has(PATH | UNEVALUATED));
                assert!(child.has(KNOWN) && (child.depth - depth).abs() < 1e-6);
                assert!((child.value - value).abs() < 0.01, "{child:?}");
            }
            game.play(parse(text, &game));
        }
        // The start position was there twice: to reach it for the third time is a draw still.
        for text in ["g1f3", "g8f6", "f3g1"] {
            game.play(parse(text, &game));
        }
        let mut tree = tree_of(&game, &[("f6g8", Verdict::Draw)]);
        assert!(judge_path_draws(&mut tree, &game, &passed).is_empty());
        assert!(tree.nodes().any(|node| node.verdict == Verdict::Draw && node.has(PATH)));
    }

    /// However deep it was searched: it had not been there yet.
    #[test]
    fn a_position_left_behind_counts_for_one_ply() {
        let game = Game::new(Chess::new());
        let mut tree = tree_of(&game, &[("g1f3", Verdict::Open)]);
        tree.node_mut(ROOT).depth = 9.0;
        let slot = Slot { parent: 0, index: 0 };
        tree.expand(Expansion::new(7, slot, 0.5), [Edge::new(1.0, 0.5)].into_iter());
        let [Passed { key, value, depth }] = passed(&tree, tree.at(slot))[..] else {
            panic!("one position is left behind");
        };
        assert_eq!(key, position_key(&Chess::new()));
        assert!((value - tree.node(ROOT).value).abs() < 1e-6);
        assert!((depth - 1.0).abs() < 1e-6, "{depth}");
    }
}
