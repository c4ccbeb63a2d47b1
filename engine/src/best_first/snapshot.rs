//! Snapshots of the search: its tree at one position, and its progress.

use std::time::Duration;

use shakmaty::{Chess, Move, Position};

use crate::best_first::backup::{child_value, prior_value};
use crate::best_first::error_model::Model;
use crate::best_first::explain::Ratings;
use crate::best_first::lead::Child;
use crate::best_first::report::depth;
use crate::best_first::root::line_below;
use crate::best_first::search::BestFirst;
use crate::chess::game::position_key;
use crate::chess::score::Verdict;
use crate::search::report::Rating;
use crate::search::snapshot::{
    MoveSnapshot, NodeSnapshot, Progress, Proof, Snapshot, Stop, Worth, fen, points, written,
    written_line,
};
use crate::search::why::why;
use crate::search::{RootMove, Task};
use crate::tree::node::{EXCLUDED, ExpansionId, Node, NodeId, ROOT, UNEVALUATED};

/// What a move is worth, for people: where nothing was searched, the doubt may take more than there
/// is.
fn shown_value(child: &Node, model: &Model) -> f32 {
    child_value(child, model).clamp(0.0, 1.0)
}

/// A position of the tree, and how the search came to it.
struct Place {
    node: NodeId,
    position: Chess,
    /// Keys of the positions before it.
    seen: Vec<u64>,
    path: Vec<String>,
    /// Its desired depth, plies.
    desired: f32,
}

/// One move of a place.
struct Candidate<'a> {
    played: Move,
    rating: &'a Rating,
    visits: u64,
    is_evaluated: bool,
}

impl BestFirst {
    /// What is known of each root move: the one to play first, then by value.
    pub fn root_moves(&self) -> Vec<RootMove> {
        let Some(expansion) = self.tree.expansion_of(ROOT) else { return Vec::new() };
        let ratings = self.rule.ratings(&self.tree, 0, self.desired_at_root());
        let pending = self.device.pending_by_root_move(&self.tree);
        let chosen = self.best();
        let mut rows: Vec<(bool, RootMove)> = Vec::new();
        for (index, id) in expansion.children().enumerate() {
            let child = self.tree.node(id);
            if child.has(EXCLUDED) && !self.set_aside.contains(&child.played) {
                continue;
            }
            let uncounted = self.taken_over.get(index).copied().unwrap_or_default()
                + self.rule.free_visits(index)
                + self.counts.known.get(index).copied().unwrap_or_default()
                + pending.get(index).copied().unwrap_or_default();
            let row = RootMove {
                mv: child.played,
                score: child.score().before_move(),
                value: shown_value(child, self.rule.model()),
                visits: child.visits,
                evaluations: child.visits.saturating_sub(uncounted),
                is_evaluated: !child.has(UNEVALUATED) || child.is_proven(),
                policy: child.policy,
                rating: ratings.nodes.get(index).copied().unwrap_or_default(),
            };
            rows.push((chosen == Some(id), row));
        }
        rows.sort_by(|(chosen, left), (other, right)| {
            let by_value = right.value.total_cmp(&left.value);
            other.cmp(chosen).then(by_value).then(right.visits.cmp(&left.visits))
        });
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// The progress of the search.
    pub(super) fn progress(&self, task: &Task<'_>, stopped: Option<Stop>) -> Progress {
        let time = task.budget.elapsed();
        let searched = time.saturating_sub(self.began).max(Duration::from_millis(1));
        Progress {
            time: time.as_millis() as u64,
            evaluations: self.counts.answered,
            per_second: (self.counts.answered as f64 / searched.as_secs_f64()) as u64,
            depth: depth(&self.tree),
            selective_depth: self.counts.selective_depth,
            hashfull: self.view().hashfull(),
            worth: self.worth(task),
            stopped,
        }
    }

    /// What twice the evaluations would be worth.
    fn worth(&self, task: &Task<'_>) -> Option<Worth> {
        let size = self.tree.node(ROOT).visits as f32;
        let gain = |evaluations: f32| {
            self.rule.gains(&self.tree, evaluations).into_iter().reduce(f32::max)
        };
        let spent = self.spent(task).filter(|spent| {
            task.limits.clock.is_some() && spent.visits > 0 && !spent.searched.is_zero()
        });
        Some(Worth {
            next: 100.0 * gain(1.0)?,
            evaluations: size,
            gain: 100.0 * gain(size)?,
            price: spent.map(|spent| 100.0 * spent.price(&self.params, size)),
        })
    }

    /// The search as it stands, with the position behind this path, if the tree has it.
    pub(super) fn snapshot_now(&self, progress: Progress, path: &[Move]) -> Option<Snapshot> {
        let root = self.root_snapshot(&progress)?;
        let mut snapshot = Snapshot {
            search: self.rule.name().to_owned(),
            progress,
            root,
            focus: self.node_behind(path).filter(|_| !path.is_empty()),
            why: String::new(),
        };
        snapshot.why = why(&snapshot);
        Some(snapshot)
    }

    /// The position behind this path, if the tree has it.
    pub(super) fn node_behind(&self, path: &[Move]) -> Option<NodeSnapshot> {
        self.place(path).map(|place| self.node_snapshot(&place))
    }

    /// The root, with what is known of it alone.
    fn root_snapshot(&self, progress: &Progress) -> Option<NodeSnapshot> {
        let place = self.place(&[]).filter(|place| self.tree.node(place.node).is_expanded())?;
        let mut root = self.node_snapshot(&place);
        root.evaluations = Some(progress.evaluations);
        let planned = progress.worth.map_or(0.0, |worth| worth.evaluations);
        let gains = self.rule.gains(&self.tree, planned);
        let mut ordered = Vec::with_capacity(root.moves.len());
        for row in self.root_moves() {
            let uci = written(&place.position, row.mv).0;
            let Some(at) = root.moves.iter().position(|told| told.uci == uci) else { continue };
            let mut told = root.moves.swap_remove(at);
            told.evaluations = Some(u64::from(row.evaluations));
            let expansion = self.tree.expansion_of(ROOT)?;
            let index = expansion.children().position(|id| self.tree.node(id).played == row.mv);
            told.gain = index.and_then(|index| gains.get(index)).map(|gain| 100.0 * gain);
            ordered.push(told);
        }
        root.best = ordered.first().map(|told| told.uci.clone());
        root.error = ordered.first().and_then(|told| told.error);
        root.moves = ordered;
        if let Some(best) = self.best().filter(|_| !self.set_aside.is_empty()) {
            // The tree's own root knows only the other moves.
            let score = self.tree.node(best).score().before_move();
            (root.value, root.proof) = (Some(points(score.expected())), Proof::of(score));
            root.leader.clone_from(&root.best);
        }
        Some(root)
    }

    fn desired_at_root(&self) -> f32 {
        self.tree.node(ROOT).depth + self.params.horizon
    }

    /// Where a path leads.
    fn place(&self, path: &[Move]) -> Option<Place> {
        let game = self.game.as_ref()?;
        let mut place = Place {
            node: ROOT,
            position: game.position().clone(),
            seen: game.earlier_keys().to_vec(),
            path: Vec::new(),
            desired: self.desired_at_root(),
        };
        for &played in path {
            let mut children = self.tree.expansion_of(place.node)?.children();
            place.node = children.find(|&id| self.tree.node(id).played == played)?;
            place.seen.push(position_key(&place.position));
            place.path.push(written(&place.position, played).0);
            place.position.play_unchecked(played);
            let own = self.tree.node(place.node).depth + self.params.horizon;
            place.desired = own + self.params.inherit * (place.desired - 1.0 - own);
        }
        Some(place)
    }

    fn node_snapshot(&self, place: &Place) -> NodeSnapshot {
        let node = self.tree.node(place.node);
        let mut told = NodeSnapshot {
            path: place.path.clone(),
            fen: fen(&place.position),
            value: Some(points(node.score().expected())),
            visits: u64::from(node.visits),
            proof: Proof::of(node.score()),
            ..NodeSnapshot::default()
        };
        let Some(expansion) = self.tree.expansion_of(place.node) else { return told };
        let id = node.expansion;
        let ratings = self.rule.ratings(&self.tree, id, place.desired);
        told.static_value = Some(points(expansion.static_value));
        told.moves = self.moves(place, id, &ratings);
        let leader = ratings.leader.and_then(|leader| match leader {
            Child::Node(index) => self.tree.children(expansion).get(index).map(|n| n.played),
            Child::Edge(index) => place.position.legal_moves().get(index).copied(),
        });
        told.leader = leader.map(|leader| written(&place.position, leader).0);
        let best = expansion.best_child().map(|id| self.tree.node(id).played);
        let best = best.map(|best| written(&place.position, best).0);
        told.moves.sort_by(|left, right| {
            let is_best = |told: &MoveSnapshot| Some(&told.uci) == best.as_ref();
            let rank = |told: &MoveSnapshot| (is_best(told), told.is_evaluated);
            let by_value = right.value.unwrap_or(0.0).total_cmp(&left.value.unwrap_or(0.0));
            rank(right).cmp(&rank(left)).then(by_value)
        });
        // Of several mates the shortest leads.
        if told.leader.is_some() && matches!(node.verdict, Verdict::Win(_)) {
            told.leader.clone_from(&best);
        }
        told.error = told.moves.first().filter(|_| best.is_some()).and_then(|told| told.error);
        told.best = best;
        told
    }

    /// Every move of a place, in no order.
    fn moves(&self, place: &Place, id: ExpansionId, ratings: &Ratings) -> Vec<MoveSnapshot> {
        let expansion = self.tree.expansion(id);
        let model = self.rule.model();
        let mut moves = Vec::new();
        for (child, rating) in expansion.children().zip(&ratings.nodes) {
            let node = self.tree.node(child);
            let candidate = Candidate {
                played: node.played,
                rating,
                visits: u64::from(node.visits),
                is_evaluated: !node.has(UNEVALUATED) || node.is_proven(),
            };
            let line = if candidate.is_evaluated {
                line_below(&self.tree, &self.table, (&place.position, &place.seen), child)
            } else {
                vec![node.played]
            };
            let below = self.tree.expansion_of(child);
            moves.push(MoveSnapshot {
                value: Some(points(shown_value(node, model))),
                static_value: below.map(|below| points(1.0 - below.static_value)),
                policy: Some(node.policy),
                proof: Proof::of(node.score().before_move()),
                ..candidate.told(&place.position, &line)
            });
        }
        let legal = place.position.legal_moves();
        let edges = self.tree.edges(expansion);
        for ((&played, edge), rating) in legal.iter().zip(edges).zip(&ratings.edges) {
            if edge.is_taken() {
                continue;
            }
            let candidate = Candidate { played, rating, visits: 0, is_evaluated: false };
            moves.push(MoveSnapshot {
                value: Some(points(prior_value(edge.action_value(), model).clamp(0.0, 1.0))),
                policy: Some(edge.policy()),
                ..candidate.told(&place.position, &[played])
            });
        }
        let visits: u64 = moves.iter().map(|told| told.visits).sum();
        for told in &mut moves {
            told.work = told.visits as f32 / visits.max(1) as f32;
        }
        moves
    }
}

impl Candidate<'_> {
    /// What is told of it without a value.
    fn told(&self, position: &Chess, line: &[Move]) -> MoveSnapshot {
        let (uci, san) = written(position, self.played);
        let (pv, pv_san) = written_line(position, line);
        let Rating { error, overtake, benefit, cost, rate, next, exploration } = *self.rating;
        MoveSnapshot {
            uci,
            san,
            error: error.map(points),
            is_evaluated: self.is_evaluated,
            visits: self.visits,
            next,
            overtake,
            benefit,
            cost,
            rate,
            exploration,
            pv,
            pv_san,
            ..MoveSnapshot::default()
        }
    }
}
