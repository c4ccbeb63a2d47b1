//! What is kept of a batch and what goes for it: everything but the arithmetic.

use std::collections::{HashMap, HashSet};

use shakmaty::{Move, Position as _};

use super::cache::Cache;
use super::node::{Node, Tokens};
use super::plan::{Job, Plan, Source};
use crate::evaluator::{CacheFigures, CacheNote, Handle, Request};

/// Rows of a child: one moved piece, two for castling, and the readout.
pub(crate) const CHILD_ROWS: usize = 3;
/// Positions in a chain at most, the anchor included: as far as the network was trained.
const LONGEST_CHAIN: usize = 9;

/// Positions between a node and an ancestor with tokens from which it is made again; from farther
/// away a whole encode costs little more.
const LONGEST_REMAKE: usize = 5;
/// Plies above a node whose chain is full at which an ancestor becomes an anchor: the lines that
/// share it are made again from it, and every one has as many plies to go before its chain is full.
const SHARED_ANCHOR: usize = 4;

/// When a kept position becomes an anchor: encoded whole, so that what comes below it is as fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnchorPolicy {
    /// Evaluations below it.
    pub work: u32,
    /// Plies since its own anchor.
    pub staleness: usize,
}

impl Default for AnchorPolicy {
    fn default() -> Self {
        Self { work: 128, staleness: 1 }
    }
}

/// What a node's tokens will be once its batch is prepared.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Positions in its chain.
    chain: usize,
    /// As of [`Stale`].
    level: usize,
}

/// A path from a node upwards as steps downwards, the first of them on the level after `level`.
fn steps(mut path: Vec<Stale>, level: usize) -> Vec<Stale> {
    path.reverse();
    for (place, step) in path.iter_mut().enumerate() {
        step.level = level + 1 + place;
    }
    path
}

/// The cache, and what was done with it. A slot holds a `T`.
#[derive(Debug)]
pub(crate) struct Books<T> {
    cache: Cache<T>,
    anchors: AnchorPolicy,
    keeps: bool,
    figures: CacheFigures,
}

/// A known position whose tokens are made anew before its next child: because they are gone, or
/// because it becomes an anchor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    pub(crate) session: u32,
    pub(crate) id: u32,
    /// The node that it is made from, where its tokens are gone and an ancestor's are not.
    base: Option<(u32, Move)>,
    /// What has a level is planned after all of the levels before are renewed. Anchors come first:
    /// they read no other tokens, but let old ones go that something could be made from.
    pub(crate) level: usize,
    /// Tokens that are made.
    rows: usize,
}

impl<T: Default> Books<T> {
    /// Empty books; if nothing is to be kept, every position will be encoded whole.
    pub(crate) fn new(cache: Cache<T>, anchors: AnchorPolicy, keeps: bool) -> Self {
        Self { cache, anchors, keeps, figures: CacheFigures::default() }
    }

    /// What is kept.
    pub(crate) fn cache(&self) -> &Cache<T> {
        &self.cache
    }

    /// What is kept, to note attention.
    pub(crate) fn cache_mut(&mut self) -> &mut Cache<T> {
        &mut self.cache
    }

    /// Whether anything is ever kept.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Forgets everything, and keeps nothing from now on.
    pub(crate) fn close(&mut self) {
        self.cache.clear();
        self.keeps = false;
    }

    /// What was done so far, and how full the cache is.
    pub(crate) fn figures(&self) -> CacheFigures {
        CacheFigures {
            evicted: self.cache.evicted(),
            used: self.cache.used() as u64,
            limit: self.cache.limit() as u64,
            ..self.figures
        }
    }

    /// Attention that a node's own tokens have received.
    #[cfg(test)]
    pub(crate) fn attention(&self, session: u32, handle: Handle) -> Vec<f64> {
        let node = self.cache.node(session, handle.0);
        let own = node.and_then(|node| node.tokens.as_ref()).into_iter();
        let own = own.flat_map(|tokens| &tokens.own);
        own.map(|&slot| self.cache.attention(slot)).collect()
    }

    /// Does what the search says of its positions.
    pub(crate) fn note(&mut self, session: u32, note: &CacheNote) {
        let ids = |handles: &[Handle]| handles.iter().map(|handle| handle.0).collect();
        match note {
            CacheNote::Protect(handles) => self.cache.protect(session, ids(handles)),
            CacheNote::Retain(handles) => self.cache.retain(session, &ids(handles)),
            CacheNote::Forget => self.cache.forget(session),
            CacheNote::ForgetAll => self.cache.clear(),
        }
    }

    /// Makes room for a batch, and names the nodes whose tokens must be made before it is planned.
    /// Nodes that are `fresh` in a session stay, whatever attention they have received.
    pub(crate) fn prepare<I>(
        &mut self,
        requests: &[Request],
        fresh: impl Fn(u32) -> I,
    ) -> Vec<Stale>
    where
        I: IntoIterator<Item = u32>,
    {
        if !self.keeps {
            return Vec::new();
        }
        let mut stale: Vec<Stale> = Vec::new();
        let mut planned = HashMap::new();
        let parent_of = |request: &Request| request.parent.map(|(handle, _)| handle.0);
        for request in requests {
            let Some(id) = parent_of(request) else { continue };
            self.cache.visit(request.session, id);
            if !planned.contains_key(&(request.session, id)) {
                for made in self.stale(request.session, id, &planned) {
                    let chain = self.chain_of(&made, &planned);
                    planned.insert((made.session, made.id), Planned { chain, level: made.level });
                    stale.push(made);
                }
            }
        }
        stale.sort_by_key(|stale| stale.level);
        let sessions: HashSet<u32> = requests.iter().map(|request| request.session).collect();
        for &session in &sessions {
            let own = requests.iter().filter(|request| request.session == session);
            let mut needed: HashSet<u32> = own.clone().filter_map(parent_of).collect();
            let anew = stale.iter().filter(|stale| stale.session == session);
            needed.extend(anew.clone().filter_map(|stale| Some(stale.base?.0)));
            needed.extend(fresh(session));
            let is_known = |id: u32| self.cache.node(session, id).is_some();
            let rows = own.filter(|request| request.keep).map(|request| {
                match parent_of(request).filter(|&id| is_known(id)) {
                    Some(_) => CHILD_ROWS,
                    None => request.position.board().occupied().count() + 1,
                }
            });
            let rows: usize = rows.sum();
            self.cache.make_room(
                session,
                rows + anew.map(|stale| stale.rows).sum::<usize>(),
                &needed,
            );
            // What finds no room is not worth its work: those children are encoded whole.
            let mut room = self.cache.room(session).saturating_sub(rows);
            stale.retain(|stale| {
                let fits = stale.session != session || stale.rows <= room;
                if fits && stale.session == session {
                    room -= stale.rows;
                }
                fits
            });
        }
        stale
    }

    /// What must be made anew before the next child of a node, beside what is `planned` already:
    /// the node itself, whole, or step by step from its nearest ancestor that has tokens and a chain
    /// short enough. Where all chains are too long, an ancestor becomes an anchor.
    fn stale(&self, session: u32, id: u32, planned: &HashMap<(u32, u32), Planned>) -> Vec<Stale> {
        let Some(node) = self.cache.node(session, id) else { return Vec::new() };
        let whole = |id: u32, node: &Node| {
            let rows = node.position.board().occupied().count() + 1;
            Stale { session, id, base: None, level: 0, rows }
        };
        let chain = node.tokens.as_ref().map(|tokens| tokens.readouts.len());
        let is_stale = chain.is_none_or(|chain| chain > self.anchors.staleness);
        if node.work >= self.anchors.work && is_stale {
            return vec![whole(id, node)];
        }
        if chain.is_some_and(|chain| chain < LONGEST_CHAIN) {
            return Vec::new();
        }
        let mut path = Vec::new();
        let (mut below, mut below_id) = (node, id);
        let mut is_too_long = chain.is_some();
        let mut anchor = None;
        while path.len() < LONGEST_REMAKE
            && let Some((above_id, played)) = below.parent
            && let Some(above) = self.cache.node(session, above_id)
        {
            let base = Some((above_id, played));
            path.push(Stale { session, id: below_id, base, level: 0, rows: CHILD_ROWS });
            let present = above.tokens.as_ref().map(|tokens| tokens.readouts.len());
            let present = present.map(|chain| Planned { chain, level: 0 });
            let planned = planned.get(&(session, above_id)).copied();
            if let Some(from) = planned.or(present) {
                // The children of the last must fit into the chain too.
                if from.chain + path.len() < LONGEST_CHAIN {
                    return steps(path, from.level);
                }
                if planned.is_some() {
                    // What two requests of a batch need is made in one way only.
                    return vec![whole(id, node)];
                }
                is_too_long = true;
            }
            if path.len() <= SHARED_ANCHOR {
                anchor = Some(whole(above_id, above));
            }
            (below, below_id) = (above, above_id);
        }
        match anchor.filter(|_| is_too_long) {
            Some(anchor) => {
                path.truncate(SHARED_ANCHOR);
                let mut made = vec![anchor];
                made.extend(steps(path, 0));
                made
            }
            None => vec![whole(id, node)],
        }
    }

    /// Positions in the chain of a node that will be made like this.
    fn chain_of(&self, made: &Stale, planned: &HashMap<(u32, u32), Planned>) -> usize {
        let Some((base, _)) = made.base else { return 1 };
        let planned = planned.get(&(made.session, base)).map(|planned| planned.chain);
        let tokens = || self.cache.node(made.session, base)?.tokens.as_ref();
        1 + planned.or_else(|| Some(tokens()?.readouts.len())).unwrap_or(0)
    }

    /// What makes the tokens of a stale node; nothing if its ancestor found no room after all.
    pub(crate) fn job(&self, stale: Stale) -> Option<Job<'_>> {
        let node = self.cache.node(stale.session, stale.id)?;
        let parent = match stale.base {
            Some((id, played)) => {
                let base = self.cache.node(stale.session, id)?;
                // Its chain is too long only where what should have come before found no room.
                let chain = base.tokens.as_ref()?.readouts.len();
                if chain >= LONGEST_CHAIN {
                    return None;
                }
                Some((base, played))
            }
            None => None,
        };
        let (position, repetitions) = (&node.position, node.repetitions);
        Some(Job { position, moves: &[], repetitions, parent, keep: true })
    }

    /// The batch as jobs.
    pub(crate) fn jobs<'a>(&'a self, requests: &'a [Request]) -> Vec<Job<'a>> {
        let job = |request: &'a Request| Job {
            position: &request.position,
            moves: &request.moves,
            repetitions: request.repetitions,
            parent: request.parent.and_then(|(handle, played)| {
                let node = self.cache.node(request.session, handle.0)?;
                let chain = node.tokens.as_ref()?.readouts.len();
                (chain < LONGEST_CHAIN).then_some((node, played))
            }),
            keep: request.keep && self.keeps,
        };
        requests.iter().map(job).collect()
    }

    /// Keeps the new tokens of a stale node in place of its old ones; answers with their slots, if
    /// there was room.
    pub(crate) fn renew(
        &mut self,
        stale: Stale,
        plan: &Plan,
        blocks: Vec<T>,
        attention: &[f32],
    ) -> Option<Vec<u32>> {
        let kind =
            if plan.is_whole() { &mut self.figures.anchored } else { &mut self.figures.remade };
        *kind += 1;
        self.figures.tokens += plan.rows() as u64;
        let tokens = self.store(stale.session, plan, blocks, attention)?;
        let own = tokens.own.clone();
        self.cache.set_tokens(stale.session, stale.id, tokens);
        Some(own)
    }

    /// Counts an answer.
    pub(crate) fn count(&mut self, plan: &Plan) {
        self.figures.evaluations += 1;
        self.figures.whole += u64::from(plan.is_whole());
        self.figures.tokens += plan.rows() as u64;
    }

    /// Names the position of `request` and keeps what was found of it, if there is room: the slots
    /// of its tokens. `attention` is what its sources received; empty if that is not known yet.
    pub(crate) fn admit(
        &mut self,
        request: &Request,
        plan: &Plan,
        blocks: Vec<T>,
        attention: &[f32],
    ) -> (Handle, Option<Vec<u32>>) {
        for (source, &attention) in plan.sources.iter().zip(attention) {
            if let &Source::Cached(slot) = source {
                self.cache.attend(request.session, slot, attention);
            }
        }
        self.cache.tick(request.session);
        let id = self.cache.name();
        let tokens = self.store(request.session, plan, blocks, attention);
        let own = tokens.as_ref().map(|tokens| tokens.own.clone());
        let node = Node {
            position: request.position.clone(),
            repetitions: request.repetitions,
            parent: request.parent.map(|(handle, played)| (handle.0, played)),
            work: 0,
            tokens: tokens.map(Box::new),
        };
        self.cache.keep(request.session, id, node);
        (Handle(id), own)
    }

    /// Stores a position's new tokens, if there is room.
    fn store(
        &mut self,
        session: u32,
        plan: &Plan,
        blocks: Vec<T>,
        attention: &[f32],
    ) -> Option<Tokens> {
        let own = self.cache.store(session, blocks)?;
        let slot = |source: &Source| plan.slot(*source, &own);
        for (source, &attention) in plan.sources.iter().zip(attention) {
            if !matches!(source, Source::Cached(_)) {
                self.cache.attend(session, slot(source), attention);
            }
        }
        let (pieces, readouts) = plan.sources.split_at(plan.pieces);
        Some(Tokens {
            side: plan.side,
            pieces: plan.standing.iter().copied().zip(pieces.iter().map(slot)).collect(),
            readouts: readouts.iter().map(slot).collect(),
            own,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::{Chess, Piece, Square};

    use super::*;
    use crate::canary;

    /// Books without a network, and what stands in every slot.
    struct Shadow {
        books: Books<()>,
        pieces: HashMap<u32, (Square, Piece)>,
    }

    impl Shadow {
        fn note(&mut self, plan: &Plan, own: Option<&Vec<u32>>, position: &Chess) {
            let Some(own) = own else { return };
            for (&square, source) in plan.standing.iter().zip(&plan.sources) {
                if let &Source::New(token) = source {
                    let piece = position.board().piece_at(square);
                    self.pieces
                        .extend(piece.map(|piece| (own[usize::from(token)], (square, piece))));
                }
            }
        }

        /// As the CPU does: everything of a level is planned before any of it is kept.
        fn evaluate(&mut self, requests: &[Request]) -> Vec<Handle> {
            let stale = self.books.prepare(requests, |_| []);
            for level in stale.chunk_by(|a, b| a.level == b.level) {
                let job = |&stale: &Stale| {
                    let job = self.books.job(stale)?;
                    Some((stale, job.position.clone(), Plan::new(&job)))
                };
                let plans: Vec<_> = level.iter().filter_map(job).collect();
                for (stale, position, plan) in plans {
                    let own = self.books.renew(stale, &plan, vec![(); plan.rows()], &[]);
                    self.note(&plan, own.as_ref(), &position);
                }
            }
            let plans: Vec<Plan> = self.books.jobs(requests).iter().map(Plan::new).collect();
            let keep = |(request, plan): (&Request, Plan)| {
                let attention = vec![0.1; plan.sources.len()];
                let blocks = vec![(); plan.rows()];
                let (handle, own) = self.books.admit(request, &plan, blocks, &attention);
                self.note(&plan, own.as_ref(), &request.position);
                handle
            };
            requests.iter().zip(plans).map(keep).collect()
        }
    }

    proptest! {
        /// Whatever was evicted and made again, a kept node's slots hold the pieces that stand in
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
            let books = Books::new(cache, AnchorPolicy { work: 6, staleness: 1 }, true);
            let mut shadow = Shadow { books, pieces: HashMap::new() };
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
                let cache = shadow.books.cache();
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
            let figures = shadow.books.figures();
            prop_assert!(figures.remade == 0 || figures.evicted + figures.anchored > 0);
        }
    }
}
