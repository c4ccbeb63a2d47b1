//! No position is evaluated twice: not in one tree, not in the trees of a game's next moves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{nodes, walk};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Position as _};
use tesla_engine::best_first::BestFirst;
use tesla_engine::best_first::params::Params;
use tesla_engine::chess::game::{Game, position_key};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Outcome, Search, StopToken, Task};
use tesla_engine::tree::evaluations::evaluation_key;
use tesla_engine::tree::node::ROOT;
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{CacheNote, EvalError, Evaluation, Evaluator, Request};

/// What an evaluator was asked for.
#[derive(Default)]
struct Asked {
    keys: HashSet<u64>,
    all: usize,
    again: usize,
    /// Names of positions in what its cache was told, but for the principal variation.
    told: usize,
}

/// The classical evaluation, which notes what it is asked.
struct Noting {
    inner: ClassicalEvaluator,
    asked: Arc<Mutex<Asked>>,
}

impl Evaluator for Noting {
    fn description(&self) -> String {
        "noting".to_owned()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.inner.batch_size() as f32
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let mut asked = self.asked.lock().unwrap();
        for Request { position, repetitions, .. } in &batch {
            let key = evaluation_key(position_key(position), *repetitions, position.halfmoves());
            asked.all += 1;
            asked.again += usize::from(!asked.keys.insert(key));
        }
        self.inner.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn note(&mut self, _: u32, note: CacheNote) {
        self.asked.lock().unwrap().told += match note {
            CacheNote::Retain(names) | CacheNote::DropTokens(names) => names.len(),
            CacheNote::Reached(names) => names.len(),
            CacheNote::Protect(_) | CacheNote::Forget | CacheNote::ForgetAll => 0,
        };
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.inner.collect()
    }
}

/// Both rules over one such evaluator each; `share` of 64 MiB remembers evaluations.
fn searches(batch: usize, share: f32) -> Vec<(BestFirst, Arc<Mutex<Asked>>)> {
    [BestFirst::new as fn(_) -> _, BestFirst::puct as fn(_) -> _]
        .map(|make| {
            let asked = Arc::<Mutex<Asked>>::default();
            let inner = ClassicalEvaluator::with_batch_size(batch);
            let mut search: BestFirst =
                make(Box::new(Noting { inner, asked: Arc::clone(&asked) }) as Box<dyn Evaluator>);
            let mut params = Params::default();
            params.set("evaluations_share", share).unwrap();
            search.set_params(params);
            (search, asked)
        })
        .into()
}

fn run(search: &mut BestFirst, game: &Game, count: u64) -> Outcome {
    let (limits, stop) = (nodes(count), StopToken::default());
    let budget = Budget::new(&limits, Duration::ZERO);
    let outcome =
        search.search(&Task { game, limits: &limits, budget: &budget, stop: &stop }, &mut |_| {});
    assert_eq!(outcome.info.nodes, count);
    outcome
}

#[test]
fn a_tree_of_12800_asks_for_each_position_once() {
    let game = walk(&[12, 14, 3, 9, 21, 11, 6]).unwrap();
    for batch in [1, 64] {
        for (share, is_once) in [(0.15, true), (0.0, false)] {
            for (mut search, asked) in searches(batch, share) {
                run(&mut search, &game, 12_800);
                let asked = asked.lock().unwrap();
                assert_eq!(asked.all, 12_800);
                // What happens without them shows that the test could fail.
                assert!(if is_once { asked.again == 0 } else { asked.again > 400 });
                let positions = search.tree().expansion_count();
                assert!(if is_once { positions > 13_200 } else { positions <= 12_800 });
            }
        }
    }
}

#[test]
fn a_game_asks_for_each_position_once() {
    for (mut search, asked) in searches(8, 0.15) {
        let mut game = walk(&[12, 14, 3, 9]).unwrap();
        for _ in 0..12 {
            let outcome = run(&mut search, &game, 500);
            game.play(outcome.best);
            // Another tree over the same game, as when a GUI goes back and forth.
            let again = asked.lock().unwrap().again;
            assert_eq!(again, 0);
        }
        search.clear();
        let before = asked.lock().unwrap().all;
        run(&mut search, &game, 100);
        let asked = asked.lock().unwrap();
        assert!(asked.all == before + 100 && asked.again > 50, "a new game knows nothing");
    }
}

/// What was evaluated stays known where the tree cannot be kept: when a move is taken back, and
/// with other `searchmoves`.
#[test]
fn another_tree_knows_what_was_evaluated() {
    for (mut search, asked) in searches(8, 0.15) {
        let begin = walk(&[12, 14, 3, 9]).unwrap();
        let mut game = begin.clone();
        for _ in 0..2 {
            game.play(run(&mut search, &game, 800).best);
        }
        run(&mut search, &game, 100);
        run(&mut search, &begin, 300);
        let few = begin.position().legal_moves()[..3].to_vec();
        let limits = Limits { search_moves: few, ..nodes(300) };
        let (budget, stop) = (Budget::new(&limits, Duration::ZERO), StopToken::default());
        search.search(
            &Task { game: &begin, limits: &limits, budget: &budget, stop: &stop },
            &mut |_| {},
        );
        let asked = asked.lock().unwrap();
        assert_eq!((asked.all, asked.again), (800 + 800 + 100 + 300 + 300, 0));
    }
}

/// What a search tells the device when it goes on with a tree is in proportion to what has left the
/// tree, not to all that is known: the clock runs.
#[test]
fn the_device_is_told_what_has_left_the_tree() {
    for (mut search, asked) in searches(8, 0.15) {
        let mut game = walk(&[12, 14, 3, 9]).unwrap();
        game.play(run(&mut search, &game, 3000).best);
        let before = search.tree().expansion_count();
        let before_told = asked.lock().unwrap().told;
        run(&mut search, &game, 1);
        let gone = before - (search.tree().expansion_count() - 1);
        assert!(gone > 100, "{gone}");
        let told = asked.lock().unwrap().told - before_told;
        assert!((gone..gone + 10).contains(&told), "{told} of {gone}");
    }
}

/// Behind a wall of pawns two kings have a few hundred positions: the limit is never reached.
#[test]
fn a_search_of_a_fortress_ends() {
    let fen: Fen = "8/4k3/p1p1p3/PpPpPp1p/1P1P1P1P/8/2K5/8 w - - 0 1".parse().unwrap();
    let game = Game::new(fen.into_position(CastlingMode::Standard).unwrap());
    let by_evaluations = nodes(2000);
    // The same counted as time: 100 ms of 20 evaluations.
    let by_time = Limits { move_time: Some(Duration::from_millis(100)), ..Limits::default() };
    let counted = Budget::by_evaluations(&by_time, NonZeroU32::new(20).unwrap());
    let plain = Budget::new(&by_evaluations, Duration::ZERO);
    for (limits, budget) in [(&by_evaluations, &plain), (&by_time, &counted)] {
        for (mut search, asked) in searches(8, 0.15) {
            let stop = StopToken::default();
            let task = Task { game: &game, limits, budget, stop: &stop };
            let outcome = search.search(&task, &mut |_| {});
            let asked = asked.lock().unwrap();
            assert!(asked.again == 0 && outcome.info.nodes < 2000, "{}", outcome.info.nodes);
            let visits = search.tree().node(ROOT).visits;
            assert!((32_000..50_000).contains(&visits), "{visits}");
        }
    }
}

#[test]
fn the_tree_is_kept_between_moves() {
    // Without known evaluations, so that visits are evaluations.
    for (mut search, _) in searches(16, 0.0) {
        let begin = walk(&[12, 14]).unwrap();
        let mut game = begin.clone();
        let outcome = run(&mut search, &game, 800);
        game.play(outcome.best);
        let kept = search.root_moves()[0].visits;
        assert!(kept > 20, "{kept}");
        run(&mut search, &game, 1);
        assert_eq!(search.tree().node(ROOT).visits, kept + 1);
        // A game that did not come this way starts anew.
        run(&mut search, &begin, 1);
        assert_eq!(search.tree().node(ROOT).visits, 1);
    }
}
