//! The visits of PUCT are those of lc0's formula, which is written down here once more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use shakmaty::{Chess, Move, Position, Role};
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::{Game, position_key};
use tesla_engine::tree::arena::Tree;
use tesla_engine::tree::node::{NONE, Node, ROOT};
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, MoveEstimate, Request};

use crate::common::nodes;
use crate::{game, lc0, run};

/// All positions are even.
pub(crate) fn even(_: &Chess) -> f32 {
    0.5
}

/// A value from 0.4 to 0.6 that says nothing.
fn arbitrary(position: &Chess) -> f32 {
    0.4 + 0.2 * (position_key(position) >> 40) as f32 / (1 << 24) as f32
}

/// Values positions by a function, with a policy that falls by half from move to move, pawns
/// first, so that positions do not come back. Notes the sizes of its batches.
pub(crate) struct Fixed {
    value: fn(&Chess) -> f32,
    waiting: VecDeque<Vec<Request>>,
    batches: Arc<Mutex<Vec<usize>>>,
    most: usize,
}

impl Fixed {
    pub(crate) fn boxed(
        most: usize,
        value: fn(&Chess) -> f32,
    ) -> (Box<Self>, Arc<Mutex<Vec<usize>>>) {
        let batches = Arc::<Mutex<Vec<usize>>>::default();
        let evaluator =
            Self { value, waiting: VecDeque::new(), batches: Arc::clone(&batches), most };
        (Box::new(evaluator), batches)
    }
}

/// The policy of each of these moves.
fn policies(moves: &[Move]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..moves.len()).collect();
    order.sort_by_key(|&place| moves[place].role() != Role::Pawn);
    let mut policies = vec![0.0; moves.len()];
    for (rank, place) in order.into_iter().enumerate() {
        policies[place] = 0.5_f32.powi(rank as i32);
    }
    let total: f32 = policies.iter().sum();
    policies.iter().map(|policy| policy / total).collect()
}

impl Evaluator for Fixed {
    fn description(&self) -> String {
        "fixed".to_owned()
    }

    fn batch_size(&self) -> usize {
        self.most
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.batches.lock().unwrap().push(batch.len());
        self.waiting.push_back(batch);
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let batch = self.waiting.pop_front().ok_or(EvalError::NothingInFlight)?;
        let answer = |request: &Request| Evaluation {
            value: (self.value)(&request.position),
            error: 0.1,
            wdl: [0.25, 0.5, 0.25],
            moves: policies(&request.moves)
                .into_iter()
                .map(|policy| MoveEstimate { policy, action_value: 0.5 })
                .collect(),
            ..Evaluation::default()
        };
        Ok(batch.iter().map(answer).collect())
    }
}

/// What a reference search is told besides the formula.
#[derive(Clone, Copy)]
struct Constants {
    value: fn(&Chess) -> f32,
    temperature: f32,
}

/// lc0's search with single visits, in scores from 0 to 1: a score unit is two of lc0's.
struct Reference {
    constants: Constants,
    position: Chess,
    moves: Vec<Move>,
    policies: Vec<f32>,
    children: Vec<Option<Reference>>,
    own: f32,
    value: f32,
    visits: u32,
}

impl Reference {
    fn new(position: Chess, constants: Constants) -> Self {
        let moves: Vec<Move> = position.legal_moves().into_iter().collect();
        let flat = policies(&moves).into_iter().map(|p| p.powf(1.0 / constants.temperature));
        let mut policies: Vec<f32> = flat.collect();
        let total: f32 = policies.iter().sum();
        for policy in &mut policies {
            *policy /= total;
        }
        let own = (constants.value)(&position);
        let children = moves.iter().map(|_| None).collect();
        Self { constants, position, moves, policies, children, own, value: own, visits: 1 }
    }

    /// The tree of so many visits.
    fn searched(game: &Game, constants: Constants, visits: u32) -> Self {
        let mut root = Self::new(game.position().clone(), constants);
        for done in 1..visits {
            root.visit(Some(visits - done));
        }
        root
    }

    /// One more visit; `left` = those of the whole search, at the root.
    fn visit(&mut self, left: Option<u32>) {
        let place = self.choose(left);
        match &mut self.children[place] {
            Some(child) => child.visit(None),
            empty => {
                let mut after = self.position.clone();
                after.play_unchecked(self.moves[place]);
                *empty = Some(Self::new(after, self.constants));
            }
        }
        self.visits += 1;
        let children = self.children.iter().flatten();
        let sum: f32 = children.map(|child| child.visits as f32 * (1.0 - child.value)).sum();
        self.value = (self.own + sum) / self.visits as f32;
    }

    fn choose(&self, left: Option<u32>) -> usize {
        let exploration = 1.745 + 3.894 * ((self.visits as f32 + 38739.0) / 38739.0).ln();
        let weight = 0.5 * exploration * ((self.visits - 1).max(1) as f32).sqrt();
        let visits = |place: usize| self.children[place].as_ref().map_or(0, |child| child.visits);
        let places = 0..self.moves.len();
        let seen: f32 =
            places.clone().filter(|&place| visits(place) > 0).map(|p| self.policies[p]).sum();
        let rank = |place: usize| {
            let child = self.children[place].as_ref();
            let value = child.map_or(self.value - 0.5 * 0.33 * seen.sqrt(), |c| 1.0 - c.value);
            value + weight * self.policies[place] / (1.0 + visits(place) as f32)
        };
        // At the root, what cannot become the most visited with what is left is passed over.
        let most = places.clone().map(visits).max().unwrap();
        let allowed = places.filter(|&place| left.is_none_or(|left| most - visits(place) <= left));
        allowed.reduce(|a, b| if rank(b) > rank(a) { b } else { a }).unwrap()
    }

    /// Compares a node and all below it; returns how many they are.
    fn assert_is(&self, tree: &Tree, node: &Node) -> usize {
        assert_eq!(node.visits, self.visits, "{:?}", self.position.board());
        assert!((node.value - self.value).abs() < 1e-5, "{} {}", node.value, self.value);
        if node.expansion == NONE {
            return 1;
        }
        let children = tree.children(tree.expansion(node.expansion));
        let compared = children.iter().map(|child| {
            let place = self.moves.iter().position(|&m| m == child.played).unwrap();
            match &self.children[place] {
                Some(reference) => reference.assert_is(tree, child),
                None => child.visits as usize,
            }
        });
        1 + compared.sum::<usize>()
    }
}

#[test]
fn visits_follow_the_formula() {
    let game = Game::new(Chess::new());
    for temperature in [1.0, 1.359] {
        let mut search = BestFirst::puct(Fixed::boxed(1, even).0);
        // A visit to a position that was evaluated before would be free.
        search.set_params(lc0(&[
            ("puct_temperature", temperature),
            ("batches_in_flight", 1.0),
            ("evaluations_share", 0.0),
        ]));
        run(&mut search, &game, &nodes(300));
        let reference = Reference::searched(&game, Constants { value: even, temperature }, 300);
        let tree = search.tree();
        let children = tree.children(tree.expansion_of(ROOT).unwrap());
        let visits: Vec<u32> = children.iter().map(|child| child.visits).collect();
        let wanted = reference.children.iter();
        let wanted: Vec<u32> =
            wanted.map(|child| child.as_ref().map_or(0, |child| child.visits)).collect();
        assert_eq!(visits, wanted);
    }
}

/// Pawns alone, so that no mate ends a line and, with their moves first, none repeats.
#[test]
fn visits_follow_the_formula_where_values_differ() {
    let game = game("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1");
    let constants = Constants { value: arbitrary, temperature: 1.0 };
    let reference = Reference::searched(&game, constants, 400);
    let mut search = BestFirst::puct(Fixed::boxed(1, arbitrary).0);
    // Each visit asks the evaluator, and nothing is known from elsewhere.
    search.set_params(lc0(&[
        ("puct_temperature", 1.0),
        ("batches_in_flight", 1.0),
        ("evaluations_share", 0.0),
        ("table_policy", 1.0),
    ]));
    run(&mut search, &game, &nodes(400));
    assert_eq!(reference.assert_is(search.tree(), search.tree().node(ROOT)), 400);
}
