//! What a search knew of moves, and what a search of each move by itself says: material for the
//! fits.
//!
//! A tree tells later values only of the moves that it went on with, which are those that looked
//! good. So moves are drawn at random from the tree, whether they looked good or not, and each gets
//! a search of its own with as many evaluations as its parent had: that is the depth which the rule
//! of promotion says it lacks.

use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use shakmaty::{Move, Position};
use tesla_engine::best_first::BestFirst;
use tesla_engine::best_first::lead::{Child, Lead};
use tesla_engine::best_first::params::Params;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search as _, StopToken, Task};
use tesla_engine::tree::node::{EXCLUDED, ExpansionId, Node, ROOT, UNEVALUATED};

/// Evaluations of the first look at a tree that grows by doubling.
const FIRST_LOOK: u32 = 32;
/// Minimum visits of a position whose moves are observed.
const LEAST_WORK: u32 = 16;
/// Positions inside a tree whose moves are observed, besides the root.
const INSIDE: usize = 2;
/// Moves drawn among those that were searched, besides the best two.
const DRAWN: usize = 2;

/// A move as the search knew it, and what it turned out to be worth. Scores are expected scores in
/// `[0, 1]` for the side that makes the move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoveSeen {
    /// Backed up, or the evaluator's action value where `work` is 0.
    pub value: f32,
    /// By a search of its own with as many evaluations as the position before it had.
    pub later: f32,
    /// Evaluations at and below; 0 = never searched.
    pub work: u32,
    /// The evaluator's policy.
    pub policy: f32,
    /// The evaluator's own error, of the position before the move where `work` is 0; bounded as the
    /// error model bounds it.
    pub error: f32,
}

/// A position in a tree and some of its moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Plies from the root.
    pub ply: u32,
    /// Evaluations at and below.
    pub work: u32,
    /// The move that the search held for the best.
    pub best: MoveSeen,
    /// Others, drawn at random.
    pub others: Vec<MoveSeen>,
}

/// What came of one position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Number of the position, from 0.
    pub position: u32,
    /// The position.
    pub fen: String,
    /// What was seen.
    #[serde(flatten)]
    pub seen: Seen,
}

/// What a search's tree showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// As the tree grew: its evaluations, and the mean of their plies from the root.
    pub growth: Vec<(u32, f32)>,
    /// Positions in the tree.
    pub choices: Vec<Choice>,
}

/// A move to search separately.
struct Pick {
    seen: MoveSeen,
    played: Move,
}

/// Positions whose moves were picked, and the moves that lead there.
struct Place {
    path: Vec<Move>,
    work: u32,
    best: Pick,
    others: Vec<Pick>,
}

/// Searches positions and their moves.
#[derive(Debug)]
pub struct Observer {
    search: BestFirst,
    stop: StopToken,
}

impl Observer {
    /// With this search; `stop` ends its thought.
    pub fn new(search: BestFirst, stop: StopToken) -> Self {
        Self { search, stop }
    }

    /// Searches a game's position with so many evaluations and looks at some of the moves in its
    /// tree by themselves; `None` = stopped. What is drawn depends on `rng` only.
    ///
    /// # Errors
    /// A sentence, when the evaluator fails.
    pub fn observe(
        &mut self,
        game: &Game,
        evaluations: u32,
        rng: &mut ChaCha8Rng,
    ) -> Result<Option<Seen>, String> {
        let growth = self.grow(game, evaluations)?;
        let mut choices = Vec::new();
        for place in self.places(game, rng) {
            let mut reached = game.clone();
            for &played in &place.path {
                reached.play(played);
            }
            let ply = place.path.len() as u32;
            let best = self.judge(&reached, &place.best, place.work)?;
            let mut others = Vec::new();
            for pick in &place.others {
                others.push(self.judge(&reached, pick, place.work)?);
            }
            choices.push(Choice { ply, work: place.work, best, others });
        }
        Ok((!self.stop.is_stopped()).then_some(Seen { growth, choices }))
    }

    /// Searches by doubling, so that the tree can be measured on the way.
    fn grow(&mut self, game: &Game, evaluations: u32) -> Result<Vec<(u32, f32)>, String> {
        self.search.clear();
        let (mut growth, mut asked) = (Vec::new(), 0);
        let mut next = FIRST_LOOK.min(evaluations);
        while asked < evaluations && !self.stop.is_stopped() {
            self.think(game, next - asked)?;
            let tree = self.search.tree();
            let count = tree.expansion_count();
            let plies: u64 = (0..count).map(|id| u64::from(tree.expansion(id as u32).ply)).sum();
            if growth.last().is_some_and(|&(before, _)| before as usize == count) {
                break; // nothing is left to search
            }
            growth.push((count as u32, plies as f32 / count.max(1) as f32));
            asked = next;
            next = (2 * next).min(evaluations);
        }
        Ok(growth)
    }

    fn think(&mut self, game: &Game, evaluations: u32) -> Result<(), String> {
        let limits = Limits { nodes: Some(u64::from(evaluations)), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let task = Task { game, limits: &limits, budget: &budget, stop: &self.stop };
        let error = self.search.search(&task, &mut |_| {}).error;
        error.map_or(Ok(()), |error| Err(format!("{error}; the same command resumes")))
    }

    /// The root and some positions below it, of little and of much work alike.
    fn places(&self, game: &Game, rng: &mut ChaCha8Rng) -> Vec<Place> {
        let tree = self.search.tree();
        let mut by_octave: Vec<Vec<ExpansionId>> = vec![Vec::new(); 32];
        for id in 1..tree.expansion_count() as ExpansionId {
            let work = tree.node(tree.node_of(tree.expansion(id))).visits;
            if work >= LEAST_WORK {
                by_octave[work.ilog2() as usize].push(id);
            }
        }
        by_octave.retain(|ids| !ids.is_empty());
        let mut ids: Vec<ExpansionId> = if tree.is_empty() { Vec::new() } else { vec![0] };
        for _ in 0..INSIDE {
            ids.extend(by_octave.choose(rng).and_then(|ids| ids.choose(rng)));
        }
        ids.dedup();
        ids.into_iter().filter_map(|id| self.place(game, id, rng)).collect()
    }

    /// A position of the tree with some of its moves; `None` where it has no best move that is an
    /// estimate, or no others.
    fn place(&self, game: &Game, id: ExpansionId, rng: &mut ChaCha8Rng) -> Option<Place> {
        let tree = self.search.tree();
        let branch = tree.expansion(id);
        let node = tree.node(tree.node_of(branch));
        let mut path: Vec<Move> = tree
            .upwards(id)
            .filter(|&above| above != 0)
            .map(|above| tree.node(tree.node_of(tree.expansion(above))).played)
            .collect();
        path.reverse();
        let mut position = game.position().clone();
        for &played in &path {
            position.play_unchecked(played);
        }
        let moves = position.legal_moves();

        let (children, edges) = (tree.children(branch), tree.edges(branch));
        let Child::Node(best) = Lead::of(children, edges, self.search.model()).best else {
            return None;
        };
        let of_node = |child: &Node| Pick {
            seen: MoveSeen {
                value: 1.0 - child.value,
                later: 0.0,
                work: if child.has(UNEVALUATED) { 0 } else { child.visits },
                policy: child.policy,
                error: self.own_error(child.spread),
            },
            played: child.played,
        };
        let is_open = |child: &&Node| !child.is_proven() && !child.has(EXCLUDED);
        let best = children.get(best).filter(is_open).filter(|best| !best.has(UNEVALUATED))?;
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for child in children.iter().filter(is_open).filter(|other| other.played != best.played) {
            if child.has(UNEVALUATED) { &mut unseen } else { &mut seen }.push(of_node(child));
        }
        for (edge, &played) in edges.iter().zip(&moves).filter(|(edge, _)| !edge.is_taken()) {
            let (value, policy) = (edge.action_value(), edge.policy());
            let error = self.own_error(node.spread);
            let seen = MoveSeen { value, later: 0.0, work: 0, policy, error };
            unseen.push(Pick { seen, played });
        }
        let others = draw(seen, unseen, rng);
        let best = of_node(best);
        (!others.is_empty()).then_some(Place { path, work: node.visits, best, others })
    }

    /// The evaluator's own error from its factor on the error scale, which is what a tree keeps;
    /// the average one where the tunables make nothing of it.
    fn own_error(&self, spread: f32) -> f32 {
        let Params { error_trust, error_reference, .. } = *self.search.params();
        if error_trust > 0.0 {
            error_reference * (1.0 + (spread - 1.0) / error_trust)
        } else {
            error_reference
        }
    }

    /// A move with what it is worth by a search of its own.
    fn judge(&mut self, game: &Game, pick: &Pick, evaluations: u32) -> Result<MoveSeen, String> {
        let mut game = game.clone();
        game.play(pick.played);
        let position = game.position();
        let later = if position.is_checkmate() {
            1.0
        } else if position.is_stalemate()
            || position.is_insufficient_material()
            || game.repetitions() > 0
        {
            0.5
        } else {
            self.search.clear();
            self.think(&game, evaluations)?;
            1.0 - self.search.tree().node(ROOT).score().expected()
        };
        Ok(MoveSeen { later, ..pick.seen })
    }
}

/// The second best move, some random ones of those that were searched, and two that were not: one
/// by its policy, one whatever its policy.
fn draw(mut seen: Vec<Pick>, mut unseen: Vec<Pick>, rng: &mut ChaCha8Rng) -> Vec<Pick> {
    let mut drawn = Vec::new();
    let second = seen.iter().map(|pick| pick.seen.value).enumerate();
    if let Some((second, _)) = second.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        drawn.push(seen.swap_remove(second));
    }
    for _ in 0..DRAWN.min(seen.len()) {
        drawn.push(seen.swap_remove(rng.random_range(0..seen.len())));
    }
    let total: f32 = unseen.iter().map(|pick| pick.seen.policy).sum();
    let mut left = total * rng.random::<f32>();
    let likely = unseen.iter().position(|pick| {
        left -= pick.seen.policy;
        left <= 0.0
    });
    if let Some(likely) = likely {
        drawn.push(unseen.swap_remove(likely));
    }
    if !unseen.is_empty() {
        drawn.push(unseen.swap_remove(rng.random_range(0..unseen.len())));
    }
    drawn
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;
    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, Chess};
    use tesla_nn::classical::ClassicalEvaluator;

    use super::*;

    fn observe(fen: &str, evaluations: u32) -> Seen {
        let position: Chess =
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        let search = BestFirst::new(Box::new(ClassicalEvaluator::new()));
        let mut observer = Observer::new(search, StopToken::default());
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        observer.observe(&Game::new(position), evaluations, &mut rng).unwrap().unwrap()
    }

    #[test]
    fn moves_seen_and_unseen_are_drawn_and_judged() {
        let fen = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 w - - 0 9";
        let seen = observe(fen, 400);
        assert_eq!(seen, observe(fen, 400), "what is drawn depends on the seed only");
        let sizes: Vec<u32> = seen.growth.iter().map(|&(work, _)| work).collect();
        for (size, evaluations) in sizes.iter().zip([32, 64, 128, 256, 400]) {
            // What was evaluated before is in the tree again for nothing.
            assert!((evaluations..=evaluations * 11 / 10).contains(size), "{sizes:?}");
        }
        assert_eq!(sizes.len(), 5);
        assert!(seen.growth.windows(2).all(|pair| pair[0].1 < pair[1].1), "{:?}", seen.growth);
        assert_eq!((seen.choices[0].ply, Some(&seen.choices[0].work)), (0, sizes.last()));
        for choice in &seen.choices {
            assert!(choice.work >= LEAST_WORK && choice.best.work > 0);
            assert!(choice.others.iter().any(|other| other.work == 0));
            for other in &choice.others {
                assert!((0.0..=1.0).contains(&other.value) && (0.0..=1.0).contains(&other.later));
                assert!(other.error > 0.0 && other.policy > 0.0);
            }
        }
        // A look at a move of the root by itself is another search of it: near, not the same.
        let best = seen.choices[0].best;
        assert!((best.value - best.later).abs() < 0.3, "{best:?}");
    }

    #[test]
    fn a_game_that_ends_is_judged_by_the_rules() {
        // One move mates, the others go on.
        let seen = observe("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", 200);
        assert!(seen.choices.is_empty(), "a proven root has nothing to choose: {seen:?}");
    }
}
