//! Batches of requests on all cores, and what becomes of the cache between them.

use std::collections::HashSet;

use shakmaty::Position as _;

use super::attention::MAX_KEYS;
use super::cache::{Cache, Node};
use super::forward::{self, Scratch};
use super::packed::Network;
use super::plan::{Job, Plan, Source};
use super::vectors::Aligned;
use crate::encode::MAX_PIECES;
use crate::evaluator::{CacheFigures, Evaluation, Handle, Request};
use crate::weights::WeightsError;

/// Rows that run through the layers together: more fall out of a core's second-level cache.
const CHUNK_ROWS: usize = 192;
/// Rows below which a second thread costs more than it brings.
const SHARE_ROWS: usize = 12;
/// Rows of a child: one moved piece, two for castling, and the readout.
const CHILD_ROWS: usize = 3;
/// Positions in a chain at most, the anchor included: as far as the network was trained.
const LONGEST_CHAIN: usize = 9;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads that share a batch.
    pub threads: usize,
    /// Bound of each session's cache, bytes; 0 = every position is encoded whole.
    pub cache_bytes: usize,
    /// A node with so many evaluations below it becomes an anchor before its next child.
    pub anchor_work: u32,
    /// Positions in its chain from which it does, the anchor included.
    pub anchor_chain: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, cache_bytes: 0, anchor_work: 32, anchor_chain: 2 }
    }
}

/// The network, its cache and its threads.
#[derive(Debug)]
pub struct Engine {
    network: Network,
    cache: Cache,
    options: Options,
    scratch: Vec<Scratch>,
    figures: CacheFigures,
}

/// The answer to one job before it is kept.
struct Answer {
    evaluation: Evaluation,
    plan: Plan,
    blocks: Vec<Aligned>,
    attention: Vec<f32>,
}

impl Engine {
    /// Reads the bytes of a weights file; the cache begins empty.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub fn load(weights: &[u8], options: Options) -> Result<Self, WeightsError> {
        let network = Network::load(weights)?;
        let options = Options { threads: options.threads.max(1), ..options };
        let cache = Cache::new(options.cache_bytes, network.entry_floats());
        let scratch = (0..options.threads).map(|_| Scratch::default()).collect();
        Ok(Self { network, cache, options, scratch, figures: CacheFigures::default() })
    }

    /// The network's name, for people.
    pub fn name(&self) -> &str {
        &self.network.config.name
    }

    /// What was done so far, and how full the cache is.
    pub fn figures(&self) -> CacheFigures {
        CacheFigures {
            evicted: self.cache.evicted(),
            used: self.cache.used() as u64,
            limit: self.cache.limit() as u64,
            ..self.figures
        }
    }

    /// From now on these nodes of the session are never evicted, and no others.
    pub fn protect(&mut self, session: u32, handles: &[Handle]) {
        self.cache.protect(session, handles.iter().map(|handle| handle.0));
    }

    /// Forgets all nodes of the session but these.
    pub fn retain(&mut self, session: u32, handles: &[Handle]) {
        self.cache.retain(session, &handles.iter().map(|handle| handle.0).collect());
    }

    /// Forgets a session.
    pub fn forget(&mut self, session: u32) {
        self.cache.forget(session);
    }

    /// Forgets all sessions and gives their memory back.
    pub fn forget_all(&mut self) {
        self.cache.clear();
    }

    /// Evaluates a batch. Parents are of earlier batches.
    ///
    /// A request's answer depends on its session's earlier batches and its own batch's requests of
    /// the same session, bit by bit, and on nobody else's.
    pub fn evaluate(&mut self, requests: &[Request]) -> Vec<Evaluation> {
        if self.options.cache_bytes > 0 {
            self.prepare(requests);
        }
        let jobs: Vec<Job<'_>> = requests
            .iter()
            .map(|request| Job {
                position: &request.position,
                moves: &request.moves,
                repetitions: request.repetitions,
                parent: request.parent.and_then(|(handle, played)| {
                    Some((self.cache.node(request.session, handle.0)?, played))
                }),
                keep: request.keep && self.options.cache_bytes > 0,
            })
            .collect();
        let answers = run(&self.network, &self.cache, self.options, &jobs, &mut self.scratch);
        let keep: Vec<bool> = jobs.iter().map(|job| job.keep).collect();
        let kept = requests.iter().zip(keep).zip(answers);
        kept.map(|((request, keep), answer)| self.finish(request, keep, answer)).collect()
    }

    /// Makes anchors and room for a batch.
    fn prepare(&mut self, requests: &[Request]) {
        let mut stale = Vec::new();
        let parent_of = |request: &Request| request.parent.map(|(handle, _)| handle.0);
        for request in requests {
            let Some(id) = parent_of(request) else { continue };
            self.cache.visit(request.session, id);
            let Some(node) = self.cache.node(request.session, id) else { continue };
            let chain = node.readouts.len();
            let is_stale = chain >= LONGEST_CHAIN
                || chain >= self.options.anchor_chain && node.work >= self.options.anchor_work;
            if is_stale && !stale.contains(&(request.session, id)) {
                stale.push((request.session, id));
            }
        }
        let sessions: HashSet<u32> = requests.iter().map(|request| request.session).collect();
        for &session in &sessions {
            let own = requests.iter().filter(|request| request.session == session);
            let needed: HashSet<u32> = own.clone().filter_map(parent_of).collect();
            let is_kept = |id: u32| self.cache.node(session, id).is_some();
            let rows = own.filter(|request| request.keep).map(|request| {
                match parent_of(request).filter(|&id| is_kept(id)) {
                    Some(_) => CHILD_ROWS,
                    None => request.position.board().occupied().count() + 1,
                }
            });
            let anchors = stale.iter().filter(|&&(of, _)| of == session).count();
            let wanted = rows.sum::<usize>() + anchors * (MAX_PIECES + 1);
            self.cache.make_room(session, wanted, &needed);
        }
        self.anchor(&stale);
    }

    /// Encodes these nodes whole: what comes below them starts a chain of its own.
    fn anchor(&mut self, nodes: &[(u32, u32)]) {
        let known = nodes.iter().filter_map(|&(session, id)| {
            let node = self.cache.node(session, id)?.clone();
            Some((session, id, node))
        });
        let nodes: Vec<(u32, u32, Node)> = known.collect();
        let jobs = nodes.iter().map(|(_, _, node)| Job {
            position: &node.position,
            moves: &[],
            repetitions: node.repetitions,
            parent: None,
            keep: true,
        });
        let jobs: Vec<Job<'_>> = jobs.collect();
        let answers = run(&self.network, &self.cache, self.options, &jobs, &mut self.scratch);
        for ((session, id, node), answer) in nodes.iter().zip(answers) {
            self.figures.anchored += 1;
            self.figures.tokens += answer.plan.rows() as u64;
            self.keep(*session, *id, node, answer);
        }
    }

    fn finish(&mut self, request: &Request, keep: bool, mut answer: Answer) -> Evaluation {
        let plan = &answer.plan;
        self.figures.evaluations += 1;
        self.figures.whole += u64::from(plan.is_whole());
        self.figures.tokens += plan.rows() as u64;
        let mut evaluation = std::mem::take(&mut answer.evaluation);
        if !keep {
            return evaluation;
        }
        for (source, &attention) in plan.sources.iter().zip(&answer.attention) {
            if let &Source::Cached(slot) = source {
                self.cache.attend(request.session, slot, attention);
            }
        }
        self.cache.tick(request.session);
        let id = self.cache.name();
        evaluation.handle = Handle(id);
        let node = Node {
            position: request.position.clone(),
            repetitions: request.repetitions,
            side: plan.side,
            pieces: Vec::new(),
            readouts: Vec::new(),
            own: Vec::new(),
            parent: request.parent.map(|(handle, _)| handle.0),
            work: 0,
        };
        self.keep(request.session, id, &node, answer);
        evaluation
    }

    /// Stores what `answer` found of the position of `node` under `id`, if there is room.
    fn keep(&mut self, session: u32, id: u32, node: &Node, answer: Answer) {
        let Answer { plan, blocks, attention, .. } = answer;
        let Some(own) = self.cache.store(session, blocks) else { return };
        let slot = |source: &Source| match *source {
            Source::Cached(slot) => slot,
            Source::New(token) => own[usize::from(token)],
            Source::Readout => own[plan.tokens.len()],
        };
        for (source, &attention) in plan.sources.iter().zip(&attention) {
            if !matches!(source, Source::Cached(_)) {
                self.cache.attend(session, slot(source), attention);
            }
        }
        let (pieces, readouts) = plan.sources.split_at(plan.pieces);
        let node = Node {
            position: node.position.clone(),
            side: plan.side,
            pieces: plan.standing.iter().copied().zip(pieces.iter().map(slot)).collect(),
            readouts: readouts.iter().map(slot).collect(),
            own,
            ..*node
        };
        self.cache.keep(session, id, node);
    }
}

/// Runs `jobs` on all threads.
fn run(
    network: &Network,
    cache: &Cache,
    options: Options,
    jobs: &[Job<'_>],
    scratch: &mut [Scratch],
) -> Vec<Answer> {
    let rows = |job: &Job<'_>| match job.parent {
        Some(_) => CHILD_ROWS,
        None => job.position.board().occupied().count() + 1,
    };
    let rows: Vec<usize> = jobs.iter().map(rows).collect();
    let threads = options.threads.min(rows.iter().sum::<usize>() / SHARE_ROWS);
    let shares = split(jobs, &rows, threads.clamp(1, jobs.len().max(1)));
    let mut answers: Vec<Vec<Answer>> = shares.iter().map(|_| Vec::new()).collect();
    rayon::scope(|scope| {
        let mut places = shares.into_iter().zip(&mut answers).zip(scratch);
        let own = places.next();
        for ((jobs, answers), scratch) in places {
            scope.spawn(move |_| *answers = share(network, cache, jobs, scratch));
        }
        if let Some(((jobs, answers), scratch)) = own {
            *answers = share(network, cache, jobs, scratch);
        }
    });
    answers.into_iter().flatten().collect()
}

/// Cuts the jobs into `parts` runs of about the same weight.
fn split<'a, T>(jobs: &'a [T], weights: &[usize], parts: usize) -> Vec<&'a [T]> {
    let total: usize = weights.iter().sum();
    let (mut start, mut sum, mut cuts) = (0, 0, Vec::with_capacity(parts));
    for (index, weight) in weights.iter().enumerate() {
        sum += weight;
        if cuts.len() + 1 < parts && sum * parts >= total * (cuts.len() + 1) {
            cuts.push(&jobs[start..=index]);
            start = index + 1;
        }
    }
    cuts.push(&jobs[start..]);
    cuts
}

/// One thread's share, in chunks.
fn share(network: &Network, cache: &Cache, jobs: &[Job<'_>], scratch: &mut Scratch) -> Vec<Answer> {
    let watch = jobs.iter().any(|job| job.keep);
    let mut plans: Vec<Plan> = jobs.iter().map(Plan::new).collect();
    let mut answers = Vec::with_capacity(jobs.len());
    let mut jobs = jobs.iter();
    while !plans.is_empty() {
        let mut rows = 0;
        let fits = plans.iter().take_while(|plan| {
            rows += plan.rows();
            rows <= CHUNK_ROWS
        });
        let count = fits.count().max(1);
        let rest = plans.split_off(count);
        let chunk = std::mem::replace(&mut plans, rest);
        let evaluations = forward::run(network, cache, &chunk, watch, scratch);
        let blocks: Vec<Vec<Aligned>> = jobs
            .by_ref()
            .take(count)
            .enumerate()
            .map(|(index, job)| {
                let blocks = || forward::blocks(network, cache, &chunk, index, scratch);
                if job.keep { blocks() } else { Vec::new() }
            })
            .collect();
        let parts = chunk.into_iter().zip(evaluations).zip(blocks).enumerate();
        answers.extend(parts.map(|(index, ((plan, evaluation), blocks))| {
            let attention = scratch.attention.get(index * MAX_KEYS..(index + 1) * MAX_KEYS);
            let attention = attention.unwrap_or_default().to_vec();
            Answer { evaluation, plan, blocks, attention }
        }));
    }
    answers
}
