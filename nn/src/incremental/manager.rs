//! What the cache keeps of each batch, rebuilds and evicts: everything but the arithmetic.

use std::collections::HashSet;

use shakmaty::{Move, Position as _};

use super::cache::Cache;
use super::node::{Node, Tokens};
use super::plan::{CHILD_ROWS, Job, Plan, Source, Subject, whole_rows};
use super::rebuild::{AnchorPolicy, LONGEST_CHAIN, Rebuild, Schedule};
use crate::evaluator::{CacheFigures, CacheNote, Handle, Request};

/// The cache, its policy and its statistics. A slot holds a `T`.
#[derive(Debug)]
pub(crate) struct CacheManager<T> {
    cache: Cache<T>,
    anchors: AnchorPolicy,
    keeps: bool,
    figures: CacheFigures,
}

impl<T: Default> CacheManager<T> {
    /// An empty cache; where it `keeps` nothing, every position will be encoded whole.
    pub(crate) fn new(cache: Cache<T>, anchors: AnchorPolicy, keeps: bool) -> Self {
        Self { cache, anchors, keeps, figures: CacheFigures::default() }
    }

    /// What is kept.
    pub(crate) fn cache(&self) -> &Cache<T> {
        &self.cache
    }

    /// The cache, to record attention.
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

    /// Applies a note of the search on its positions.
    pub(crate) fn note(&mut self, session: u32, note: &CacheNote) {
        let ids = |handles: &[Handle]| handles.iter().map(|handle| handle.0).collect();
        match note {
            CacheNote::Protect(handles) => self.cache.protect(session, ids(handles)),
            CacheNote::Retain(handles) => self.cache.retain(session, &ids(handles)),
            CacheNote::DropTokens(handles) => {
                for handle in handles {
                    self.cache.drop_tokens(session, handle.0);
                }
            }
            CacheNote::Reached(positions) => {
                for &(handle, (parent, played)) in positions {
                    self.cache.reach(session, handle.0, (parent.0, played));
                }
            }
            CacheNote::Forget => self.cache.forget(session),
            CacheNote::ForgetAll => self.cache.clear(),
        }
    }

    /// Makes room for a batch, and returns the nodes to rebuild before it is planned. Nodes that
    /// are `recent` in a session are not evicted, whatever attention they have received.
    pub(crate) fn prepare<I>(
        &mut self,
        requests: &[Request],
        recent: impl Fn(u32) -> I,
    ) -> Vec<Rebuild>
    where
        I: IntoIterator<Item = u32>,
    {
        if !self.keeps {
            return Vec::new();
        }
        let mut schedule = Schedule::new(self.anchors);
        for request in requests {
            if let Some(id) = parent_of(request) {
                self.cache.visit(request.session, id);
                schedule.add(&self.cache, request.session, id);
            }
        }
        let mut rebuilds = schedule.finish();
        let sessions: HashSet<u32> = requests.iter().map(|request| request.session).collect();
        for session in sessions {
            let own: Vec<&Request> =
                requests.iter().filter(|request| request.session == session).collect();
            self.make_room(session, &own, recent(session), &mut rebuilds);
        }
        rebuilds
    }

    /// Makes room for a session's requests and rebuilds, and cancels the rebuilds that find none:
    /// they are not worth their cost, and their children are encoded whole.
    fn make_room(
        &mut self,
        session: u32,
        requests: &[&Request],
        recent: impl IntoIterator<Item = u32>,
        rebuilds: &mut Vec<Rebuild>,
    ) {
        let own = rebuilds.iter().filter(|rebuild| rebuild.session == session);
        let mut needed: HashSet<u32> =
            requests.iter().filter_map(|request| parent_of(request)).collect();
        needed.extend(own.clone().filter_map(|rebuild| Some(rebuild.base?.0)));
        needed.extend(recent);
        let is_known = |&id: &u32| self.cache.node(session, id).is_some();
        let kept = requests.iter().filter(|request| request.keep);
        let rows = kept.map(|request| match parent_of(request).filter(is_known) {
            Some(_) => CHILD_ROWS,
            None => whole_rows(request.position.board().occupied().count()),
        });
        let rows: usize = rows.sum();
        let wanted = rows + own.map(|rebuild| rebuild.rows).sum::<usize>();
        self.cache.make_room(session, wanted, &needed);
        let mut room = self.cache.room(session).saturating_sub(rows);
        rebuilds.retain(|rebuild| {
            let is_other = rebuild.session != session;
            let fits = is_other || rebuild.rows <= room;
            if fits && !is_other {
                room -= rebuild.rows;
            }
            fits
        });
    }

    /// What makes a node's new tokens; nothing if its ancestor found no room after all.
    pub(crate) fn job(&self, rebuild: Rebuild) -> Option<Job<'_>> {
        let node = self.cache.node(rebuild.session, rebuild.id)?;
        let parent = match rebuild.base {
            // A chain is too long only where what should have come before found no room.
            Some(base) => Some(self.parent(rebuild.session, base)?),
            None => None,
        };
        Some(Job { subject: Subject::Kept(&node.standing), parent, keep: true })
    }

    /// The batch as jobs.
    pub(crate) fn jobs<'a>(&'a self, requests: &'a [Request]) -> Vec<Job<'a>> {
        let job = |request: &'a Request| {
            let parent = request.parent.map(|(handle, played)| (handle.0, played));
            let Request { position, moves, repetitions, .. } = request;
            let subject = Subject::Asked { position, moves, repetitions: *repetitions };
            Job {
                subject,
                parent: parent.and_then(|parent| self.parent(request.session, parent)),
                keep: request.keep && self.keeps,
            }
        };
        requests.iter().map(job).collect()
    }

    /// A node from which a child can be made: it has tokens and a chain that is not full.
    fn parent(&self, session: u32, (id, played): (u32, Move)) -> Option<(&Node, Move)> {
        let node = self.cache.node(session, id)?;
        (node.chain()? < LONGEST_CHAIN).then_some((node, played))
    }

    /// Keeps the new tokens of a node in place of its old ones; answers with their slots, if there
    /// was room.
    pub(crate) fn rebuild(
        &mut self,
        rebuild: Rebuild,
        plan: &Plan,
        blocks: Vec<T>,
        attention: &[f32],
    ) -> Option<Vec<u32>> {
        self.figures.anchored += u64::from(plan.is_whole());
        self.figures.rebuilt += u64::from(!plan.is_whole());
        self.figures.tokens += plan.rows() as u64;
        let tokens = self.store(rebuild.session, plan, blocks, attention)?;
        let own = tokens.own.clone();
        self.cache.set_tokens(rebuild.session, rebuild.id, tokens);
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
        let seen = plan.sources.iter().zip(attention).filter_map(|(source, &attention)| {
            if let Source::Cached(slot) = source { Some((*slot, attention)) } else { None }
        });
        self.cache.attend_all(request.session, seen);
        self.cache.tick(request.session);
        let id = self.cache.name();
        let tokens = self.store(request.session, plan, blocks, attention);
        let own = tokens.as_ref().map(|tokens| tokens.own.clone());
        let node = Node {
            standing: plan.standing(&request.position),
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
        let new = plan.sources.iter().zip(attention);
        let new = new.filter(|(source, _)| !matches!(source, Source::Cached(_)));
        self.cache.attend_all(session, new.map(|(source, &attention)| (slot(source), attention)));
        let (pieces, readouts) = plan.sources.split_at(plan.pieces);
        Some(Tokens {
            side: plan.side,
            pieces: plan.standing.iter().copied().zip(pieces.iter().map(slot)).collect(),
            readouts: readouts.iter().map(slot).collect(),
            own,
        })
    }
}

/// The node that a request names as its position's parent.
fn parent_of(request: &Request) -> Option<u32> {
    request.parent.map(|(handle, _)| handle.0)
}

#[cfg(test)]
mod tests;
