//! Whatever is evicted and rebuilt, what a position sees stands on its board.

use std::collections::HashMap;

use proptest::prelude::*;
use shakmaty::{Board, Chess, Piece, Position as _, Square};

use super::*;
use crate::canary;

/// A cache without a network, and what stands in every slot.
struct Shadow {
    manager: CacheManager<()>,
    pieces: HashMap<u32, (Square, Piece)>,
    /// What was evaluated, by handle.
    positions: HashMap<u32, Chess>,
}

impl Shadow {
    fn new(manager: CacheManager<()>) -> Self {
        Self { manager, pieces: HashMap::new(), positions: HashMap::new() }
    }

    fn note(&mut self, plan: &Plan, own: Option<&Vec<u32>>, board: &Board) {
        let Some(own) = own else { return };
        for (&square, source) in plan.standing.iter().zip(&plan.sources) {
            if let &Source::New(token) = source {
                let piece = board.piece_at(square);
                self.pieces.extend(piece.map(|piece| (own[usize::from(token)], (square, piece))));
            }
        }
    }

    /// As the CPU does: everything of a level is planned before any of it is kept.
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Handle> {
        let rebuilds = self.manager.prepare(requests, |_| []);
        for level in rebuilds.chunk_by(|a, b| a.level == b.level) {
            let job = |&rebuild: &Rebuild| {
                let job = self.manager.job(rebuild)?;
                let position = &self.positions[&rebuild.id];
                let asked = Subject::Asked { position, moves: &[], repetitions: 0 };
                let plan = Plan::new(&job);
                // Nothing is lost with the moves and the clock.
                assert_eq!(plan, Plan::new(&Job { subject: asked, ..job }));
                Some((rebuild, position.board().clone(), plan))
            };
            let plans: Vec<_> = level.iter().filter_map(job).collect();
            for (rebuild, board, plan) in plans {
                let own = self.manager.rebuild(rebuild, &plan, vec![(); plan.rows()], &[]);
                self.note(&plan, own.as_ref(), &board);
            }
        }
        let plans: Vec<Plan> = self.manager.jobs(requests).iter().map(Plan::new).collect();
        let keep = |(request, plan): (&Request, Plan)| {
            self.manager.count(&plan);
            let attention = vec![0.1; plan.sources.len()];
            let blocks = vec![(); plan.rows()];
            let (handle, own) = self.manager.admit(request, &plan, blocks, &attention);
            self.note(&plan, own.as_ref(), request.position.board());
            self.positions.insert(handle.0, request.position.clone());
            handle
        };
        requests.iter().zip(plans).map(keep).collect()
    }

    /// The child of a kept position by the move between these squares.
    fn play(&mut self, parent: &(Handle, Chess), from: Square, to: Square) -> (Handle, Chess) {
        let played = found(&parent.1, from, to);
        let position = parent.1.clone().play(played).unwrap();
        let parent = Some((parent.0, played));
        let request = Request { keep: true, parent, ..Request::single(&position) };
        (self.evaluate(&[request])[0], position)
    }
}

/// The legal move between these squares.
fn found(position: &Chess, from: Square, to: Square) -> Move {
    let moves = position.legal_moves();
    *moves.iter().find(|played| played.from() == Some(from) && played.to() == to).unwrap()
}

/// A position that is reached again by other moves is rebuilt from its new parent: it costs a
/// child's tokens, not a whole board's.
#[test]
fn what_is_reached_again_is_rebuilt_from_there() {
    let manager = CacheManager::new(Cache::new(400, 1), AnchorPolicy::default(), true);
    let mut shadow = Shadow::new(manager);
    let root = Request { keep: true, ..Request::single(&Chess::new()) };
    let start = (shadow.evaluate(std::slice::from_ref(&root))[0], root.position);
    let (e2, e4, e7, e5) = (Square::E2, Square::E4, Square::E7, Square::E5);
    let (d7, d5, g1, f3) = (Square::D7, Square::D5, Square::G1, Square::F3);
    let one = shadow.play(&start, e2, e4);
    let two = shadow.play(&one, e7, e5);
    let dropped = shadow.play(&two, g1, f3);
    let other = shadow.play(&start, g1, f3);
    let parent = shadow.play(&other, e7, e5);
    let manager = &mut shadow.manager;
    let outside: Vec<Handle> = [&one, &two, &dropped].map(|position| position.0).into();
    let mut kept = outside.clone();
    kept.extend([start.0, other.0, parent.0]);
    manager.note(0, &CacheNote::Retain(kept));
    manager.note(0, &CacheNote::DropTokens(outside.clone()));
    assert!(outside.iter().all(|id| manager.cache().node(0, id.0).unwrap().tokens.is_none()));
    let pawn = found(&parent.1, e2, e4);
    manager.note(0, &CacheNote::Reached(vec![(dropped.0, (parent.0, pawn))]));
    let before = manager.figures();
    let child = shadow.play(&dropped, d7, d5);
    let manager = &mut shadow.manager;
    let cost = manager.figures().since(&before);
    assert_eq!((cost.whole, cost.anchored, cost.rebuilt), (0, 0, 1));
    assert!(cost.tokens <= 2 * CHILD_ROWS as u64);
    // One that has its tokens keeps its parent.
    manager.note(0, &CacheNote::Reached(vec![(child.0, (start.0, pawn))]));
    assert_eq!(manager.cache().node(0, child.0.0).unwrap().parent.unwrap().0, (dropped.0).0);
}

/// A search comes back to positions near its root, long after others took the place of their
/// tokens: their children still cost a child's tokens, and the tokens of what is between.
#[test]
fn old_positions_stay_known() {
    let manager = CacheManager::new(Cache::new(200, 1), AnchorPolicy::default(), true);
    let mut shadow = Shadow::new(manager);
    let root = Request { keep: true, ..Request::single(&Chess::new()) };
    let start = (shadow.evaluate(std::slice::from_ref(&root))[0], root.position);
    let first = shadow.play(&start, Square::A2, Square::A3);
    let mut line = vec![shadow.play(&start, Square::E2, Square::E4)];
    for number in 0..1_500 {
        let (parent, position) = &line[line.len() - 1 - number % 7 % line.len()];
        let moves = position.legal_moves();
        let played = moves[number % moves.len()];
        let (from, to) = (played.from().unwrap(), played.to());
        let node = shadow.play(&(*parent, position.clone()), from, to);
        if node.1.legal_moves().is_empty() {
            continue;
        }
        line.push(node);
    }
    let before = shadow.manager.figures();
    shadow.play(&first, Square::E7, Square::E5);
    let cost = shadow.manager.figures().since(&before);
    // The root has become an anchor again, or has its tokens.
    assert!(cost.whole == 0 && cost.anchored <= 1 && cost.rebuilt <= 1, "{cost:?}");
    let before = shadow.manager.figures();
    shadow.play(&first, Square::D7, Square::D5);
    let cost = shadow.manager.figures().since(&before);
    assert!(cost.whole == 0 && cost.tokens <= 2 * CHILD_ROWS as u64, "{cost:?}");
}

proptest! {
    /// Whatever was evicted and rebuilt, a kept node's slots hold the pieces that stand in
    /// its position, each on its square, and no others.
    #[test]
    fn what_is_visible_stands_on_the_board(
        start in 0..6_usize,
        slots in 64..400_usize,
        steps in proptest::collection::vec(
            proptest::collection::vec((0..1_000_usize, 0..60_usize), 1..6),
            1..60,
        ),
    ) {
        let cache = Cache::new(slots, 1);
        let manager = CacheManager::new(cache, AnchorPolicy { work: 6, staleness: 1 }, true);
        let mut shadow = Shadow::new(manager);
        let starts = canary::requests();
        let root = Request { keep: true, ..starts[start % starts.len()].clone() };
        let handle = shadow.evaluate(std::slice::from_ref(&root))[0];
        let mut nodes = vec![(handle, root.position)];
        for batch in steps {
            let child = |(from, choice): (usize, usize)| {
                // Late nodes more often than early ones, as in a search.
                let from = nodes.len() - 1 - from % nodes.len().min(1 + from / 10);
                let (parent, position) = &nodes[from];
                let moves = position.legal_moves();
                let played = *moves.get(choice % moves.len().max(1))?;
                let position = position.clone().play(played).ok()?;
                let parent = Some((*parent, played));
                Some(Request { keep: true, parent, ..Request::single(&position) })
            };
            let requests: Vec<Request> = batch.into_iter().filter_map(child).collect();
            let handles = shadow.evaluate(&requests);
            let positions = requests.into_iter().map(|request| request.position);
            nodes.extend(handles.into_iter().zip(positions));
            let cache = shadow.manager.cache();
            prop_assert!(cache.used() <= cache.limit());
            for (handle, position) in &nodes {
                let node = cache.node(0, handle.0);
                let Some(tokens) = node.and_then(|node| node.tokens.as_ref()) else { continue };
                prop_assert!((1..=LONGEST_CHAIN).contains(&tokens.readouts.len()));
                let mut seen: Vec<(Square, Piece)> = Vec::new();
                for (square, slot) in &tokens.pieces {
                    prop_assert_eq!(shadow.pieces[slot].0, *square);
                    seen.push(shadow.pieces[slot]);
                }
                seen.sort_by_key(|&(square, _)| square);
                prop_assert_eq!(seen, position.board().into_iter().collect::<Vec<_>>());
            }
        }
        let figures = shadow.manager.figures();
        prop_assert!(figures.rebuilt == 0 || figures.evicted + figures.anchored > 0);
    }
}
