//! Searches side by side on one device, whose batches they fill together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use shakmaty::{Move, Position as _};
use tesla_nn::shared::SharedDevice;

use super::query::{Include, Position};
use super::reply::{Answer, Branch, NoResults, Refusal, Reply};
use crate::chess::notation::parse_move;
use crate::chess::score::Score;
use crate::console::output::win_draw_loss;
use crate::search::clock::Budget;
use crate::search::snapshot::{
    MoveSnapshot, NodeSnapshot, Outlook, Progress, Proof, Snapshot, Stop, fen, points, written,
    written_line,
};
use crate::search::watch::Watch;
use crate::search::{Outcome, Search, StopToken, Task};
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::setup::mode::SearchMode;

/// Positions that wait at most; the next query waits until one is begun.
const WAITING: usize = 4_096;
/// A tree has at most so many positions.
const LARGEST_TREE: usize = 20_000;
/// How long a partial answer is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who gets the answers. They come from all searches at once.
pub type Tell = Arc<dyn Fn(Reply) + Send + Sync>;

/// One position to search, and how to tell of it.
#[derive(Clone, Debug)]
pub struct Work {
    /// The query's name.
    pub id: String,
    /// The position.
    pub position: Position,
    /// The search mode.
    pub search: SearchMode,
    /// Most moves told of.
    pub multipv: usize,
    /// Time between partial answers.
    pub report_every: Option<Duration>,
    /// What else is told.
    pub include: Include,
    /// Ends it.
    pub stop: StopToken,
}

/// The searches. Dropped, they finish what was given to them.
pub struct Pool {
    queue: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("searches", &self.threads.len()).finish_non_exhaustive()
    }
}

/// What all searches of a pool have in common.
struct Shop {
    machine: Machine,
    device: SharedDevice,
    hash_mb: usize,
    tell: Tell,
}

impl Pool {
    /// So many searches on this machine, each with its share of the memory; and the device's
    /// description.
    ///
    /// # Errors
    /// A sentence, when the device or a thread cannot be had.
    pub fn start(
        machine: &Machine,
        (searches, hash_mb): (usize, usize),
        tell: Tell,
        note: fn(&str),
    ) -> Result<(Self, String), String> {
        // A thread keeps one search of each mode that it was asked for.
        let clients = searches * SearchMode::ANALYSING.len();
        let (evaluator, notes) = factory::shared_evaluator(machine, clients)?;
        for sentence in &notes {
            note(sentence);
        }
        let spares = factory::shared_fallbacks(machine, clients, note);
        let device = SharedDevice::start_with(evaluator, spares);
        let device = device.map_err(|error| error.to_string())?;
        let description = device.description();
        let (hash_mb, remark) = machine.affordable_hash(hash_mb);
        if let Some(sentence) = remark {
            note(&sentence);
        }
        let hash_mb = (hash_mb / searches).max(1);
        let shop = Arc::new(Shop { machine: machine.clone(), device, hash_mb, tell });
        let (queue, waiting) = bounded(WAITING);
        let threads = (0..searches).map(|number| {
            let (shop, waiting) = (Arc::clone(&shop), waiting.clone());
            let thread = thread::Builder::new().name(format!("search {number}"));
            thread.spawn(move || shop.work(&waiting)).map_err(|error| error.to_string())
        });
        let threads = threads.collect::<Result<Vec<_>, _>>()?;
        Ok((Self { queue: Some(queue), threads }, description))
    }

    /// Hands in a position; waits while too many wait.
    pub fn add(&self, work: Work) {
        if let Some(queue) = &self.queue {
            // The searches outlive their queue.
            let _ = queue.send(work);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shop {
    /// Searches what waits until nothing more comes.
    fn work(&self, waiting: &Receiver<Work>) {
        let mut searches: HashMap<SearchMode, Box<dyn Search>> = HashMap::new();
        for work in waiting {
            if let Err(error) = self.answer(&work, &mut searches) {
                // Whatever the fault was, the next search begins anew.
                searches.clear();
                let refusal = Refusal::new(&work.id, None, error);
                let turn = Some(work.position.turn);
                (self.tell)(Reply::Refusal(Refusal { turn, ..refusal }));
            }
        }
    }

    fn answer(
        &self,
        work: &Work,
        searches: &mut HashMap<SearchMode, Box<dyn Search>>,
    ) -> Result<(), String> {
        let turn = work.position.turn;
        let position = work.position.game.position();
        if position.legal_moves().is_empty() {
            let (told, fen) = ((turn, work.search.name()), fen(position));
            let over = Answer::of_the_end(&work.id, told, fen, position.is_check());
            (self.tell)(Reply::Answer(Box::new(over)));
            return Ok(());
        }
        if work.stop.is_stopped() {
            let id = work.id.clone();
            (self.tell)(Reply::NoResults(NoResults { id, turn, during: false, no_results: true }));
            return Ok(());
        }
        let search = match searches.entry(work.search) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(place) => place.insert(self.search(work.search)?),
        };
        // Nothing of an earlier position: an answer does not depend on what was asked before.
        search.new_game();
        let (outcome, is_time_over) = self.run(work, search.as_mut());
        if let Some(error) = &outcome.error {
            return Err(error.to_string());
        }
        let snapshot = search.snapshot(&[]).unwrap_or_else(|| result(work, &outcome, is_time_over));
        let tree = (work.include.tree > 0).then(|| {
            let mut room = LARGEST_TREE;
            branches(search.as_ref(), work, (&mut Vec::new(), &snapshot.root), &mut room)
        });
        let mut answer = told(work, snapshot);
        answer.tree = tree;
        (self.tell)(Reply::Answer(Box::new(answer)));
        Ok(())
    }

    /// A search of its own on a share of the device.
    fn search(&self, mode: SearchMode) -> Result<Box<dyn Search>, String> {
        let machine = Machine { search: mode, ..self.machine.clone() };
        let client = self.device.client(0);
        let successors = self.device.successors(&client);
        let mut search = factory::search_on(&machine, Box::new(client))?;
        search.set_fallbacks(successors);
        search.set_hash_mb(self.hash_mb);
        Ok(search)
    }

    /// Searches a position, with partial answers on the way; and whether its time was over.
    fn run(&self, work: &Work, search: &mut dyn Search) -> (Outcome, bool) {
        let Position { game, limits, .. } = &work.position;
        let budget = Budget::new(limits, Duration::ZERO);
        let task = Task { game, limits, budget: &budget, stop: &work.stop };
        let Some(every) = work.report_every else {
            let outcome = search.search(&task, &mut |_| {});
            return (outcome, budget.hard_over());
        };
        let watch = Watch::default();
        search.set_watch(Some(watch.clone()));
        let (running, ended) = bounded::<()>(0);
        let outcome = thread::scope(|scope| {
            scope.spawn(|| self.report(work, &watch, (every, &ended)));
            let outcome = search.search(&task, &mut |_| {});
            drop(running);
            outcome
        });
        search.set_watch(None);
        (outcome, budget.hard_over())
    }

    /// Partial answers until the search has ended.
    fn report(&self, work: &Work, watch: &Watch, (every, ended): (Duration, &Receiver<()>)) {
        // Nothing is ever sent: either the time is up or the search has ended.
        while ended.recv_timeout(every).is_err_and(|error| error.is_timeout()) {
            let snapshot = watch.next(PATIENCE);
            if let Some(snapshot) = snapshot.filter(|told| told.progress.stopped.is_none()) {
                (self.tell)(Reply::Answer(Box::new(told(work, snapshot))));
            }
        }
    }
}

/// What a search found that keeps no account of its moves: one line, and its value.
fn result(work: &Work, outcome: &Outcome, is_time_over: bool) -> Snapshot {
    let position = work.position.game.position();
    let info = &outcome.info;
    let value = Some(points(info.score.expected()));
    let proof = Proof::of(info.score);
    let ((uci, san), (pv, pv_san)) =
        (written(position, outcome.best), written_line(position, &info.pv));
    let why = format!("{san} is the best move {} plies deep.", info.depth);
    let best = MoveSnapshot {
        uci: uci.clone(),
        san,
        value,
        is_evaluated: true,
        proof,
        pv,
        pv_san,
        ..MoveSnapshot::default()
    };
    let root = NodeSnapshot {
        fen: fen(position),
        value,
        visits: info.nodes,
        proof,
        best: Some(uci),
        moves: vec![best],
        ..NodeSnapshot::default()
    };
    let limit = work.position.limits.nodes.filter(|&limit| info.nodes >= limit);
    let stopped = if proof.is_some() {
        Stop::Proof
    } else if work.stop.is_stopped() {
        Stop::Asked
    } else if limit.is_some() {
        Stop::Nodes
    } else if is_time_over {
        Stop::Time
    } else {
        Stop::Depth
    };
    let progress = Progress {
        time: info.time.as_millis() as u64,
        evaluations: info.nodes,
        per_second: (info.nodes as f64 / info.time.as_secs_f64().max(0.001)) as u64,
        depth: info.depth,
        selective_depth: info.selective_depth,
        stopped: Some(stopped),
        ..Progress::default()
    };
    Snapshot { search: work.search.name().to_owned(), progress, root, focus: None, why }
}

/// What a snapshot says, as the query wants it.
fn told(work: &Work, snapshot: Snapshot) -> Answer {
    let moves = &snapshot.root.moves;
    let policy = moves.iter().filter_map(|told| Some((told.uci.clone(), told.policy?)));
    let policy = work.include.policy.then(|| policy.collect());
    let wdl = snapshot.root.value.filter(|_| work.include.wdl).map(|value| {
        let is_draw = snapshot.root.proof.is_some_and(|proof| proof.result == Outlook::Draw);
        win_draw_loss(if is_draw { Score::Draw } else { Score::Estimate(value / 100.0) })
    });
    let mut answer = Answer::new(&work.id, work.position.turn, snapshot, work.multipv);
    answer.policy = policy;
    answer.wdl = wdl;
    answer
}

/// The moves of a node that were looked at, with what lies behind them; `path` leads to the node.
fn branches(
    search: &dyn Search,
    work: &Work,
    (path, node): (&mut Vec<Move>, &NodeSnapshot),
    room: &mut usize,
) -> Vec<Branch> {
    let mut position = work.position.game.position().clone();
    for &played in path.iter() {
        position.play_unchecked(played);
    }
    let mut found = Vec::new();
    for told in node.moves.iter().filter(|told| told.is_evaluated) {
        let Ok(played) = parse_move(&told.uci, &position) else { continue };
        if *room == 0 {
            break;
        }
        *room -= 1;
        let (pv, pv_san) = (Vec::new(), Vec::new());
        let played_as = MoveSnapshot { pv, pv_san, ..told.clone() };
        let mut branch = Branch { played: played_as, replies: Vec::new() };
        path.push(played);
        let is_deeper = path.len() < work.include.tree as usize && told.visits > 1;
        if let Some(below) = search.node(path).filter(|_| is_deeper) {
            branch.replies = branches(search, work, (path, &below), room);
        }
        path.pop();
        found.push(branch);
    }
    found
}

/// Which queries are being worked on, to end them by name.
#[derive(Clone, Debug, Default)]
pub struct Register(Arc<Mutex<HashMap<String, Vec<Ending>>>>);

/// The turn of a position, and what ends its search.
type Ending = (usize, StopToken);

impl Register {
    /// Notes a position of a query.
    pub fn add(&self, id: &str, turn: usize, stop: StopToken) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(id.to_owned()).or_default().push((turn, stop));
    }

    /// Whether a query of this name is being worked on.
    pub fn has(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// A position of a query is answered.
    pub fn remove(&self, id: &str, turn: usize) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = open.get_mut(id) {
            tokens.retain(|(other, _)| *other != turn);
            if tokens.is_empty() {
                open.remove(id);
            }
        }
    }

    /// Ends a query, or all; answers how many positions that are.
    pub fn stop(&self, id: Option<&str>) -> usize {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = open.iter().filter(|(name, _)| id.is_none_or(|id| id == name.as_str()));
        let tokens = wanted.flat_map(|(_, tokens)| tokens);
        tokens.map(|(_, stop)| stop.stop()).count()
    }
}
