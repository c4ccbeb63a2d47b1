//! From the tree to the answer: the move to play, its score and line, and the statistics of each
//! root move.

use shakmaty::{Chess, Move, Position, Role};
use tesla_nn::evaluator::EvalError;

use crate::best_first::backup::child_value;
use crate::best_first::benefit_cost_ratio::error_scale;
use crate::best_first::cost::work;
use crate::best_first::error_model::Model;
use crate::best_first::params::Params;
use crate::chess::game::{Game, position_key};
use crate::chess::mates;
use crate::chess::score::{Score, Verdict};
use crate::chess::verdicts::mating_move;
use crate::search::table::Table;
use crate::search::{Info, Outcome, Task};
use crate::tree::arena::Tree;
use crate::tree::edge::Edge;
use crate::tree::expansion::Expansion;
use crate::tree::node::{EXCLUDED, NONE, Node, NodeId, ROOT, Slot, UNEVALUATED};

/// What a promotion to a queen may be worth less than a lesser one and be played, score units.
const QUEEN_TRAILS: f32 = 0.005;
/// Longest line reported, plies.
const MAX_LINE: usize = 64;

/// Desired depth at the root.
fn desired(tree: &Tree, params: &Params) -> f32 {
    tree.node(ROOT).depth + params.horizon
}

/// Error scale of a root move's value, score units.
pub(super) fn root_error(tree: &Tree, child: &Node, model: &Model, params: &Params) -> f32 {
    model.decay(tree.node(ROOT).visits) * error_scale(child, desired(tree, params), model)
}

/// The root's children, all of which have nodes, and the first one's id.
pub(super) fn root_children(tree: &Tree) -> (NodeId, &[Node]) {
    let children = |expansion| (tree.at(Slot { parent: 0, index: 0 }), tree.children(expansion));
    tree.expansion_of(ROOT).map_or((NONE, &[]), children)
}

/// The root moves that may be played: those that are neither excluded nor `taken`.
pub(super) fn playable<'a>(
    tree: &'a Tree,
    taken: &'a [NodeId],
) -> impl Iterator<Item = (NodeId, &'a Node)> {
    let (first, children) = root_children(tree);
    let is_left = |(id, child): &(NodeId, &Node)| !child.has(EXCLUDED) && !taken.contains(id);
    // In this order, for where there are no children there is no id after the first.
    children.iter().zip(first..).map(|(child, id)| (id, child)).filter(is_left)
}

/// The root move to play: a proven win, else the highest lower bound among the moves searched,
/// else the policy's first move or a draw that promises more, else the longest resistance. `None`
/// before the first evaluation, or where all are `taken`.
pub fn choose(tree: &Tree, model: &Model, params: &Params, taken: &[NodeId]) -> Option<NodeId> {
    let left = || playable(tree, taken);
    let most = root_children(tree).1.iter().map(|child| child.visits).max().unwrap_or(0) as f32;
    // What was known before is as settled as the most visited move at most: work that another
    // search spent is no sign of merit in this one.
    let bonus = |work: f32| params.final_work * work.min(most).ln_1p();
    let draw = if left().any(|(_, child)| is_evaluated(child)) {
        (4, 0.5 + bonus(most))
    } else {
        (if promise(left().map(|(_, child)| child), model) > 0.5 { 2 } else { 4 }, 0.5)
    };
    let rank = |child: &Node| -> (u8, f32) {
        match child.verdict {
            Verdict::Loss(plies) => (5, -f32::from(plies)),
            Verdict::Draw => draw,
            Verdict::Open if child.has(UNEVALUATED) => (3, child.policy),
            Verdict::Open => {
                let error = root_error(tree, child, model, params);
                let bonus = bonus(work(child, model));
                (4, child_value(child, model) - params.final_caution * error + bonus)
            }
            Verdict::Win(plies) => (1, f32::from(plies)),
        }
    };
    let mut best = None;
    for (id, child) in left() {
        let (class, merit) = rank(child);
        // Draws are alike, and have no visits: of them the likeliest.
        let merit = (class, merit, child.visits, child.policy);
        if best.is_none_or(|(most, _)| merit > most) {
            best = Some((merit, id));
        }
    }
    best.map(|(_, id)| queen_for(id, tree, model, taken))
}

/// The promotion to a queen where the same pawn's to a rook or a bishop is no better. Once it is
/// taken back all are one position, and the move with the most visits is the policy's.
pub(super) fn queen_for(best: NodeId, tree: &Tree, model: &Model, taken: &[NodeId]) -> NodeId {
    let lesser = tree.node(best);
    if !matches!(lesser.played.promotion(), Some(Role::Rook | Role::Bishop)) {
        return best;
    }
    let is_queen = |queen: &Node| {
        let (one, other) = (queen.played, lesser.played);
        one.promotion() == Some(Role::Queen) && (one.from(), one.to()) == (other.from(), other.to())
    };
    let is_as_good = |queen: &Node| match queen.verdict {
        Verdict::Open if lesser.verdict == Verdict::Open => {
            let trails = child_value(lesser, model) - child_value(queen, model);
            !queen.has(UNEVALUATED) && trails <= QUEEN_TRAILS
        }
        verdict => verdict == lesser.verdict,
    };
    let queen = playable(tree, taken).find(|(_, node)| is_queen(node) && is_as_good(node));
    queen.map_or(best, |(id, _)| id)
}

fn is_evaluated(child: &Node) -> bool {
    child.verdict == Verdict::Open && !child.has(UNEVALUATED)
}

/// What the move with the highest policy among those never looked at promises, score units; 0
/// without any.
fn promise<'a>(children: impl Iterator<Item = &'a Node>, model: &Model) -> f32 {
    let open = children.filter(|child| child.verdict == Verdict::Open && child.has(UNEVALUATED));
    let likeliest = open.max_by(|one, other| one.policy.total_cmp(&other.policy));
    likeliest.map_or(0.0, |child| child_value(child, model))
}

/// Root moves that are searched.
pub fn searched_moves(tree: &Tree) -> usize {
    root_children(tree).1.iter().filter(|child| !child.has(EXCLUDED)).count()
}

/// The node of this root move.
pub fn child(tree: &Tree, played: Option<Move>) -> Option<NodeId> {
    let mut children = tree.expansion_of(ROOT)?.children();
    children.find(|&child| Some(tree.node(child).played) == played)
}

/// The root's score if it plays `best`.
pub fn score(tree: &Tree, best: NodeId) -> Score {
    tree.node(best).score().before_move()
}

/// The line from the root through `best`, along best children, continued from the table where the
/// tree ends. All moves are legal, and none comes after the end of the game.
pub fn line(tree: &Tree, table: &Table, game: &Game, best: NodeId) -> Vec<Move> {
    line_below(tree, table, (game.position(), game.earlier_keys()), best)
}

/// The same from any position of the tree through `first`, a move of it; `seen` holds the keys of
/// the positions before it.
pub(super) fn line_below(
    tree: &Tree,
    table: &Table,
    (position, seen): (&Chess, &[u64]),
    first: NodeId,
) -> Vec<Move> {
    let (mut position, mut seen) = (position.clone(), seen.to_vec());
    let (mut line, mut mate) = (Vec::new(), Vec::new());
    let mut node = first;
    while line.len() < MAX_LINE {
        let played = tree.node(node).played;
        line.push(played);
        seen.push(position_key(&position));
        position.play_unchecked(played);
        let expansion = tree.expansion_of(node);
        if let Some(next) = expansion.and_then(Expansion::best_child) {
            node = next;
            continue;
        }
        mate = mates::line(&position, tree.node(node).verdict);
        // Nothing below was searched: the likeliest move is a guess at the reply.
        if mate.is_empty()
            && line.len() < MAX_LINE
            && let Some(reply) = expansion.and_then(|own| likeliest_move(tree, own, &position))
        {
            line.push(reply);
            seen.push(position_key(&position));
            position.play_unchecked(reply);
        }
        break;
    }
    let verdict = tree.node(node).verdict;
    if !mate.is_empty() {
        line.extend(mate);
    } else if matches!(verdict, Verdict::Open | Verdict::Win(_) | Verdict::Loss(_)) {
        extend_from_table(&mut line, (position, verdict), seen, table);
    }
    line
}

/// The move with the highest policy among those without a node; the expansion is the position's.
fn likeliest_move(tree: &Tree, expansion: &Expansion, position: &Chess) -> Option<Move> {
    let (index, _) = Edge::likeliest(tree.edges(expansion))?;
    position.legal_moves().get(index).copied()
}

/// Follows the table's best moves until it knows none, the line is long or the game may be drawn:
/// a position comes back (`seen` holds the keys so far), fifty moves, too little material. A mate
/// that the `verdict` on the position promises is shown to its end where the rules alone find it:
/// the table holds no position that was proven as a leaf.
fn extend_from_table(
    line: &mut Vec<Move>,
    (mut position, mut verdict): (Chess, Verdict),
    mut seen: Vec<u64>,
    table: &Table,
) {
    let mut key = position_key(&position);
    while line.len() < MAX_LINE {
        if seen.contains(&key) || position.halfmoves() >= 100 || position.is_insufficient_material()
        {
            return;
        }
        seen.push(key);
        let best = table.probe(key).and_then(|entry| entry.best);
        let Some(played) = best.and_then(|best| best.find(&position.legal_moves())) else {
            line.extend(mates::line(&position, verdict));
            return;
        };
        position.play_unchecked(played);
        key = position_key(&position);
        line.push(played);
        verdict = match verdict {
            Verdict::Win(plies @ 1..) => Verdict::Loss(plies - 1),
            Verdict::Loss(plies @ 1..) => Verdict::Win(plies - 1),
            _ => Verdict::Open,
        };
    }
}

/// The answer before anything was evaluated: a mate in one, else the first move allowed.
pub fn unsearched(task: &Task<'_>, error: Option<EvalError>) -> Outcome {
    let position = task.game.position();
    let legal = position.legal_moves();
    let wanted = &task.limits.search_moves;
    let allowed = if wanted.is_empty() { &legal[..] } else { &wanted[..] };
    let mate = mating_move(position, allowed);
    // A task's position has a legal move; were that broken, a null move is the honest answer.
    let nothing = Move::EnPassant { from: shakmaty::Square::A1, to: shakmaty::Square::A1 };
    let best = mate.or(allowed.first().copied()).unwrap_or(nothing);
    let info = Info {
        depth: 1,
        selective_depth: 1,
        score: if mate.is_some() { Score::Win(1) } else { Score::Estimate(0.5) },
        nodes: 0,
        hashfull: 0,
        time: task.budget.elapsed(),
        pv: vec![best],
        variations: Vec::new(),
        is_bound: false,
        current: None,
    };
    Outcome { best, ponder: None, info, error, cache: None, notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::Square;
    use tesla_nn::classical::ClassicalEvaluator;

    use super::*;
    use crate::best_first::BestFirst;
    use crate::chess::notation::from_fen;
    use crate::search::clock::Budget;
    use crate::search::table::{Entry, PackedMove};
    use crate::search::{Limits, Search as _, StopToken};
    use crate::tree::node::KNOWN;

    /// A search of the start position that has evaluated nothing else.
    fn one_evaluation() -> BestFirst {
        let mut search = BestFirst::new(Box::new(ClassicalEvaluator::new()));
        evaluate_once(&mut search, Chess::default());
        search
    }

    fn evaluate_once(search: &mut BestFirst, position: Chess) {
        let limits = Limits { nodes: Some(1), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let (game, stop) = (Game::new(position), StopToken::default());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        search.search(&task, &mut |_| {});
    }

    fn chosen(search: &BestFirst) -> NodeId {
        search.rule.choose(search.tree(), &[]).unwrap()
    }

    #[test]
    fn after_one_evaluation_the_policy_decides() {
        let mut search = one_evaluation();
        let unlikely = chosen(&search) + 3;
        search.tree_mut().node_mut(unlikely).policy = 0.9;
        assert_eq!(chosen(&search), unlikely);
        // A rival that was looked at is known to be good; the likely one is not.
        let rival = unlikely + 1;
        search.tree_mut().node_mut(rival).mark(UNEVALUATED, false);
        assert_eq!(chosen(&search), rival);
    }

    /// The game steps back: what was thought of the move that had been played is known still.
    #[test]
    fn what_was_known_before_counts_as_the_work_that_it_took() {
        let mut search = one_evaluation();
        let (known, searched) = (chosen(&search), chosen(&search) + 1);
        let depth = search.model().branching.depth(3_000);
        let tree = search.tree_mut();
        for (id, value, visits) in [(known, 0.47, 0), (searched, 0.48, 250)] {
            let node = tree.node_mut(id);
            (node.value, node.visits, node.depth) = (value, visits, 4.0);
            node.mark(UNEVALUATED, false);
        }
        assert_eq!(chosen(&search), searched);
        let node = search.tree_mut().node_mut(known);
        node.depth = depth;
        node.mark(KNOWN, true);
        assert_eq!(chosen(&search), known);
    }

    /// 1...dxc1 is taken back whatever it becomes.
    #[test]
    fn a_pawn_becomes_a_queen_where_a_rook_is_no_better() {
        for search in [BestFirst::new, BestFirst::puct] {
            promotes(search(Box::new(ClassicalEvaluator::new())));
        }
    }

    fn promotes(mut search: BestFirst) {
        let fen = "r4rk1/5ppp/8/8/8/8/3p1PPP/2BR2K1 b - - 0 1";
        evaluate_once(&mut search, from_fen(fen, false).unwrap());
        let played = |search: &BestFirst| search.tree().node(chosen(search)).played.promotion();
        let promoted = |role| {
            let (first, children) = root_children(search.tree());
            let is_it = |child: &Node| {
                child.played.promotion() == Some(role) && child.played.to() == Square::C1
            };
            first + children.iter().position(is_it).unwrap() as NodeId
        };
        let (queen, rook) = (promoted(Role::Queen), promoted(Role::Rook));
        for (id, visits) in [(queen, 20), (rook, 200)] {
            let node = search.tree_mut().node_mut(id);
            (node.value, node.visits, node.depth) = (0.05, visits, 4.0);
            node.mark(UNEVALUATED, false);
        }
        assert_eq!(played(&search), Some(Role::Queen));
        search.tree_mut().node_mut(queen).value = 0.2;
        assert_eq!(played(&search), Some(Role::Rook));
        // A mate is a mate, but not a slower one.
        for (plies, role) in [(3, Role::Queen), (5, Role::Rook)] {
            search.tree_mut().node_mut(rook).verdict = Verdict::Loss(3);
            search.tree_mut().node_mut(queen).verdict = Verdict::Loss(plies);
            assert_eq!(played(&search), Some(role));
        }
    }

    /// Behind Kg8 the mate in two was seen in a leaf, which the table does not hold.
    #[test]
    fn a_mate_is_shown_beyond_the_table() {
        let position = from_fen("8/7k/R7/1R6/8/8/8/6K1 b - - 0 1", false).unwrap();
        let moves = position.legal_moves();
        let king = moves.iter().find(|played| played.to() == Square::G8).unwrap();
        let mut table = Table::new(1);
        let best = Some(PackedMove::pack(*king));
        let entry = Entry { payload: 0.5_f32.to_bits(), best, depth: 8, is_pv: false };
        table.store(position_key(&position), entry);
        for (verdict, plies) in [(Verdict::Loss(4), 4), (Verdict::Open, 1)] {
            let mut line = Vec::new();
            extend_from_table(&mut line, (position.clone(), verdict), Vec::new(), &table);
            assert_eq!(line.len(), plies, "{line:?}");
        }
    }

    #[test]
    fn of_draws_the_likeliest_is_played() {
        for search in [BestFirst::new, BestFirst::puct] {
            let mut search = search(Box::new(ClassicalEvaluator::new()));
            evaluate_once(&mut search, Chess::default());
            let (first, likely) = (root_children(search.tree()).0, chosen(&search) + 3);
            for id in first..first + 20 {
                search.tree_mut().node_mut(id).verdict = Verdict::Draw;
            }
            search.tree_mut().node_mut(likely).policy = 0.9;
            assert_eq!(chosen(&search), likely);
        }
    }

    #[test]
    fn a_draw_is_played_blindly_only_where_the_likeliest_move_promises_less() {
        let mut search = one_evaluation();
        let likeliest = chosen(&search);
        let draw = likeliest + 1;
        search.tree_mut().node_mut(draw).verdict = Verdict::Draw;
        for (value, played) in [(0.8, likeliest), (0.2, draw)] {
            // Values are the mover's of the position behind the move.
            search.tree_mut().node_mut(likeliest).value = 1.0 - value;
            assert_eq!(chosen(&search), played, "{value}");
        }
    }
}
