//! One device for many searches: games that run side by side fill its batches together.
//!
//! A search alone on a GPU cannot fill it while its tree is small. Here every search has a client,
//! which is an [`Evaluator`] like any other; a hub thread owns the device, queues the positions of
//! all clients, and gives each its own answers back.
//!
//! Clients never see each other: how many there are changes when answers come, not what they say,
//! wherever the device answers a session the same in any company (the CPU does, bit by bit). For
//! that, what a client sent at once goes to the device at once, and a batch holds no two parcels of
//! the same client. A device that keeps nothing of earlier positions is not asked about a position
//! twice: the two sides of a game look at much the same ones.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use shakmaty::zobrist::Zobrist128;
use shakmaty::{EnPassantMode, Position};

use crate::evaluator::{CacheFigures, EvalError, Evaluation, Evaluator, Handle, Request};

type Answer = Result<Vec<Evaluation>, EvalError>;

/// Batches that the device holds at once: one it works on and one that waits for it.
const IN_FLIGHT: usize = 2;

/// Largest batch, in batches of one search. Twice the size costs one search promptness and brings a
/// CPU 8 to 13 % more evaluations a second; four times brings nothing more.
pub(crate) const MERGED: usize = 2;

/// An idle device waits for those it has just answered this part of what their batch took …
const PATIENCE: u32 = 4;
/// … and no longer than this.
const LONGEST_PATIENCE: Duration = Duration::from_millis(5);

/// Answers that are remembered, about 400 bytes each.
const REMEMBERED: usize = 200_000;

/// What a client tells the device beside its positions.
#[derive(Debug)]
enum Note {
    Protect(Vec<Handle>),
    Retain(Vec<Handle>),
    Forget,
}

/// What one client sent at once: the notes are for the device before the positions.
struct Parcel {
    session: u32,
    notes: Vec<Note>,
    batch: Vec<Request>,
    /// Nothing where no answer is wanted: the client is gone.
    reply: Option<Sender<Answer>>,
}

/// What went through a shared device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Positions that the clients asked about.
    pub asked: u64,
    /// Positions that the device was sent; the answers to the others were known.
    pub evaluated: u64,
    /// Batches it was sent.
    pub batches: u64,
    /// Where the device makes positions from their parents.
    pub cache: Option<CacheFigures>,
}

impl Usage {
    /// Mean positions per batch; 0 before the first.
    pub fn mean_batch(&self) -> f64 {
        if self.batches == 0 { 0.0 } else { self.evaluated as f64 / self.batches as f64 }
    }
}

#[derive(Debug, Default)]
struct Counters {
    asked: AtomicU64,
    evaluated: AtomicU64,
    batches: AtomicU64,
    sessions: AtomicU32,
    cache: Mutex<Option<CacheFigures>>,
}

/// A device that several searches use; its thread ends with the last client.
#[derive(Debug)]
pub struct SharedDevice {
    parcels: Sender<Parcel>,
    description: String,
    batch_size: usize,
    counters: Arc<Counters>,
}

impl SharedDevice {
    /// Puts `device` on a hub thread of its own.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(device: Box<dyn Evaluator>) -> std::io::Result<Self> {
        let (parcels, inbox) = unbounded();
        let description = device.description();
        let batch_size = device.batch_size();
        let counters = Arc::new(Counters::default());
        let hub = Hub::new(device, inbox, Arc::clone(&counters));
        thread::Builder::new().name("hub".to_owned()).spawn(move || hub.run())?;
        Ok(Self { parcels, description, batch_size, counters })
    }

    /// An evaluator of its own for one more search, which gathers batches of this size; 0 = the
    /// device's.
    pub fn client(&self, batch_size: usize) -> SharedClient {
        SharedClient {
            parcels: self.parcels.clone(),
            session: self.counters.sessions.fetch_add(1, Ordering::Relaxed),
            notes: Vec::new(),
            answers: VecDeque::new(),
            description: self.description.clone(),
            batch_size: if batch_size == 0 { self.batch_size } else { batch_size },
        }
    }

    /// The device and its network, for people.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What went through so far.
    pub fn usage(&self) -> Usage {
        Usage {
            asked: self.counters.asked.load(Ordering::Relaxed),
            evaluated: self.counters.evaluated.load(Ordering::Relaxed),
            batches: self.counters.batches.load(Ordering::Relaxed),
            cache: *self.counters.cache.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// One search's end of a [`SharedDevice`].
///
/// [`Evaluator::batch_size`] is what the search would have if it had the device alone, so that it
/// gathers the same batches in any company. What it says of its positions holds for its own only.
#[derive(Debug)]
pub struct SharedClient {
    parcels: Sender<Parcel>,
    session: u32,
    /// For the device before the next batch.
    notes: Vec<Note>,
    /// One for each batch in flight, oldest first. Only the parcel holds the other end, so that a
    /// hub that is gone is heard of at once.
    answers: VecDeque<Receiver<Answer>>,
    description: String,
    batch_size: usize,
}

impl SharedClient {
    fn send(&mut self, batch: Vec<Request>, reply: Option<Sender<Answer>>) {
        let notes = std::mem::take(&mut self.notes);
        // A parcel that finds nobody is dropped, and its reply with it.
        let _ = self.parcels.send(Parcel { session: self.session, notes, batch, reply });
    }
}

impl Evaluator for SharedClient {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn submit(&mut self, mut batch: Vec<Request>) {
        for request in &mut batch {
            request.session = self.session;
        }
        let (reply, answer) = bounded(1);
        self.answers.push_back(answer);
        self.send(batch, Some(reply));
    }

    fn in_flight(&self) -> usize {
        self.answers.len()
    }

    fn collect(&mut self) -> Answer {
        let answer = self.answers.pop_front().ok_or(EvalError::NothingInFlight)?;
        let lost = || EvalError::DeviceLost("the thread that shares it has ended".to_owned());
        answer.recv().map_err(|_| lost())?
    }

    fn forget_all(&mut self) {
        // The session stays: it may have a share of the device's cache, which others want too.
        self.notes = vec![Note::Retain(Vec::new())];
    }

    fn protect(&mut self, _: u32, handles: Vec<Handle>) {
        self.notes.push(Note::Protect(handles));
    }

    fn retain(&mut self, _: u32, handles: Vec<Handle>) {
        self.notes.push(Note::Retain(handles));
    }
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.notes = vec![Note::Forget];
        self.send(Vec::new(), None);
    }
}

/// What tells positions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// All that an answer depends on: placement, side to move, castling rights and a legal
    /// en-passant square in the hash; the fifty-move clock and repetitions beside it.
    Position { hash: u128, halfmoves: u32, repetitions: u8 },
    /// Parcel and place: where the answer depends on the path too, every request is its own.
    Place(u64, usize),
}

impl Key {
    fn of(request: &Request) -> Self {
        let position = &request.position;
        Self::Position {
            hash: position.zobrist_hash::<Zobrist128>(EnPassantMode::Legal).0,
            halfmoves: position.halfmoves(),
            repetitions: request.repetitions,
        }
    }
}

/// Answers of late. Two halves: when the young one is full, the old one is forgotten.
#[derive(Debug, Default)]
struct Memory {
    young: HashMap<Key, Evaluation>,
    old: HashMap<Key, Evaluation>,
}

impl Memory {
    fn get(&mut self, key: Key) -> Option<Evaluation> {
        if let Some(answer) = self.young.get(&key) {
            return Some(answer.clone());
        }
        let answer = self.old.remove(&key)?;
        self.put(key, answer.clone());
        Some(answer)
    }

    fn put(&mut self, key: Key, answer: Evaluation) {
        if self.young.len() >= REMEMBERED / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, answer);
    }
}

/// A parcel whose answers are coming in.
struct Open {
    session: u32,
    answers: Vec<Option<Evaluation>>,
    missing: usize,
    reply: Sender<Answer>,
}

/// What the device was not told yet of a parcel.
struct Waiting {
    session: u32,
    notes: Vec<Note>,
    requests: Vec<(Key, Request)>,
}

/// What the hub thread owns.
struct Hub {
    device: Box<dyn Evaluator>,
    inbox: Receiver<Parcel>,
    counters: Arc<Counters>,
    /// Where the device keeps nothing of earlier positions.
    memory: Option<Memory>,
    /// By number, in the order they came.
    open: HashMap<u64, Open>,
    next_parcel: u64,
    /// Oldest first.
    waiting: VecDeque<Waiting>,
    /// Per batch on the device: its positions.
    flying: VecDeque<Vec<Key>>,
    /// Who wants to know about a position that waits or flies: parcel and place in it.
    wanted: HashMap<Key, Vec<(u64, usize)>>,
    /// Clients that were just answered and will ask again.
    expected: HashSet<u32>,
    answered_at: Instant,
    /// How long they are waited for.
    patience: Duration,
}

impl Hub {
    fn new(device: Box<dyn Evaluator>, inbox: Receiver<Parcel>, counters: Arc<Counters>) -> Self {
        Self {
            memory: device.cache_figures().is_none().then(Memory::default),
            device,
            inbox,
            counters,
            open: HashMap::new(),
            next_parcel: 0,
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
            wanted: HashMap::new(),
            expected: HashSet::new(),
            answered_at: Instant::now(),
            patience: Duration::ZERO,
        }
    }

    fn run(mut self) {
        loop {
            if self.flying.is_empty() && self.waiting.is_empty() {
                match self.inbox.recv() {
                    Ok(parcel) => self.take(parcel),
                    Err(_) => return,
                }
            }
            while let Ok(parcel) = self.inbox.try_recv() {
                self.take(parcel);
            }
            self.linger();
            while self.should_send() {
                self.send();
            }
            self.receive();
        }
    }

    /// Before an idle device is given a batch that could be larger: whoever was just answered will
    /// ask again at once, and is waited for a moment.
    fn linger(&mut self) {
        if !self.flying.is_empty() {
            return;
        }
        let until = self.answered_at + self.patience;
        while !self.expected.is_empty() && self.positions() < self.device.batch_size() {
            match self.inbox.recv_deadline(until) {
                Ok(parcel) => self.take(parcel),
                Err(_) => return,
            }
        }
    }

    /// Positions that wait.
    fn positions(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.requests.len()).sum()
    }

    /// Answers what is known and queues the rest.
    fn take(&mut self, parcel: Parcel) {
        let Parcel { session, notes, batch, reply } = parcel;
        self.expected.remove(&session);
        let number = self.next_parcel;
        self.next_parcel += 1;
        self.counters.asked.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let mut answers = vec![None; batch.len()];
        let mut requests = Vec::new();
        let mut missing = 0;
        for (place, request) in batch.into_iter().enumerate() {
            let key = match &mut self.memory {
                None => Key::Place(number, place),
                Some(memory) => {
                    let key = Key::of(&request);
                    let known = memory.get(key);
                    if let Some(answer) =
                        known.filter(|known| known.moves.len() == request.moves.len())
                    {
                        answers[place] = Some(answer);
                        continue;
                    }
                    key
                }
            };
            missing += 1;
            let wanted = self.wanted.entry(key).or_default();
            if wanted.is_empty() {
                requests.push((key, request));
            }
            wanted.push((number, place));
        }
        if !notes.is_empty() || !requests.is_empty() {
            self.waiting.push_back(Waiting { session, notes, requests });
        }
        if let Some(reply) = reply {
            self.open.insert(number, Open { session, answers, missing, reply });
            self.close(number);
        }
    }

    /// Sends a parcel's answers off if they are all there. A client that is gone is no reason to
    /// stop: its search was dropped in mid-flight.
    fn close(&mut self, number: u64) {
        if self.open.get(&number).is_some_and(|open| open.missing == 0)
            && let Some(open) = self.open.remove(&number)
        {
            let is_new = self.waiting.iter().all(|waiting| waiting.session != open.session);
            let answers = open.answers.into_iter().flatten().collect();
            if open.reply.send(Ok(answers)).is_ok() && is_new {
                self.expected.insert(open.session);
            }
        }
    }

    /// An idle device gets what there is. One that works gets a second batch only if that is full:
    /// what comes while it works makes a small one larger.
    fn should_send(&self) -> bool {
        match self.flying.len() {
            _ if self.waiting.is_empty() => false,
            0 => true,
            flying => flying < IN_FLIGHT && self.positions() >= self.device.batch_size(),
        }
    }

    /// Gives the device the oldest parcels that fit together, one of each client.
    fn send(&mut self) {
        let most = MERGED * self.device.batch_size().max(1);
        let (mut keys, mut batch) = (Vec::new(), Vec::new());
        let mut sessions = HashSet::new();
        let mut later = VecDeque::new();
        for waiting in std::mem::take(&mut self.waiting) {
            let fits = batch.is_empty() || batch.len() + waiting.requests.len() <= most;
            let is_first = sessions.insert(waiting.session);
            if !fits || !is_first {
                later.push_back(waiting);
                continue;
            }
            let session = waiting.session;
            for note in waiting.notes {
                match note {
                    Note::Protect(handles) => self.device.protect(session, handles),
                    Note::Retain(handles) => self.device.retain(session, handles),
                    Note::Forget => self.device.forget(session),
                }
            }
            for (key, request) in waiting.requests {
                keys.push(key);
                batch.push(request);
            }
        }
        self.waiting = later;
        if batch.is_empty() {
            return;
        }
        self.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.counters.evaluated.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.device.submit(batch);
        self.flying.push_back(keys);
    }

    /// Waits for the oldest batch and shares its answers out.
    fn receive(&mut self) {
        let Some(keys) = self.flying.pop_front() else { return };
        self.expected.clear();
        let began = Instant::now();
        let answer = self.device.collect().and_then(|answers| {
            let lost = || EvalError::DeviceLost("it left positions unanswered".to_owned());
            (answers.len() == keys.len()).then_some(answers).ok_or_else(lost)
        });
        *self.counters.cache.lock().unwrap_or_else(PoisonError::into_inner) =
            self.device.cache_figures();
        match answer {
            Ok(answers) => {
                for (key, answer) in keys.into_iter().zip(answers) {
                    for (number, place) in self.wanted.remove(&key).unwrap_or_default() {
                        if let Some(open) = self.open.get_mut(&number) {
                            open.answers[place] = Some(answer.clone());
                            open.missing -= 1;
                        }
                        self.close(number);
                    }
                    if let Some(memory) = &mut self.memory {
                        memory.put(key, answer);
                    }
                }
                self.answered_at = Instant::now();
                self.patience = ((self.answered_at - began) / PATIENCE).min(LONGEST_PATIENCE);
            }
            Err(error) => {
                for key in keys {
                    for (number, _) in self.wanted.remove(&key).unwrap_or_default() {
                        if let Some(open) = self.open.remove(&number) {
                            let _ = open.reply.send(Err(error.clone()));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{Chess, Position};

    use super::*;
    use crate::classical::ClassicalEvaluator;
    use crate::simulated::{Behaviour, SimulatedDevice};

    /// Positions of a game that depends on `seed`.
    fn requests(seed: usize, count: usize) -> Vec<Request> {
        let mut position = Chess::default();
        let mut requests = Vec::new();
        for ply in 0..count {
            let moves = position.legal_moves();
            requests.push(Request::single(&position));
            position.play_unchecked(moves[(seed * 7 + ply * 5) % moves.len()]);
            if position.legal_moves().is_empty() {
                position = Chess::default();
            }
        }
        requests
    }

    fn values(answers: &[Evaluation]) -> Vec<f32> {
        answers.iter().map(|answer| answer.value).collect()
    }

    #[test]
    fn everybody_gets_their_own_answers() {
        let behaviour = Behaviour { base: Duration::from_millis(1), ..Behaviour::default() };
        let device = SimulatedDevice::new(ClassicalEvaluator::with_batch_size(8), behaviour);
        let shared = SharedDevice::start(Box::new(device)).unwrap();
        thread::scope(|scope| {
            for seed in 0..8 {
                let mut client = shared.client(0);
                scope.spawn(move || {
                    let mut alone = ClassicalEvaluator::new();
                    for round in 0..20 {
                        let sizes = [round % 4, (seed + round) % 13];
                        for size in sizes {
                            client.submit(requests(seed + round, size));
                            alone.submit(requests(seed + round, size));
                        }
                        assert_eq!(client.in_flight(), 2);
                        for size in sizes {
                            let answers = client.collect().unwrap();
                            assert_eq!(answers.len(), size);
                            assert_eq!(values(&answers), values(&alone.collect().unwrap()));
                        }
                    }
                    assert_eq!(client.collect(), Err(EvalError::NothingInFlight));
                });
            }
        });
        let usage = shared.usage();
        let sent: usize = (0..8_usize)
            .flat_map(|seed| (0..20).map(move |round| round % 4 + (seed + round) % 13))
            .sum();
        assert_eq!(usage.asked, sent as u64);
        assert!(usage.evaluated < usage.asked / 2, "asked again: {usage:?}");
        assert!(usage.batches < 8 * 40, "nothing was merged: {usage:?}");
    }

    #[test]
    fn batches_are_merged_up_to_the_devices_size() {
        let behaviour = Behaviour { base: Duration::from_millis(20), ..Behaviour::default() };
        let device = SimulatedDevice::new(ClassicalEvaluator::with_batch_size(8), behaviour);
        let shared = SharedDevice::start(Box::new(device)).unwrap();
        let mut clients: Vec<_> = (0..9).map(|_| shared.client(0)).collect();
        // The first keeps the device busy while the others' four halves of a batch queue up.
        for (index, client) in clients.iter_mut().enumerate() {
            // All games begin alike: without the first ply these are four positions of its own.
            client.submit(requests(index + 1, 5).split_off(1));
            thread::sleep(Duration::from_millis(1));
        }
        for client in &mut clients {
            assert_eq!(client.collect().unwrap().len(), 4);
        }
        let usage = shared.usage();
        assert_eq!(usage.asked, 36);
        assert!(usage.evaluated > 30 && (3..=4).contains(&usage.batches), "{usage:?}");
    }

    #[test]
    fn what_is_known_is_not_asked_again() {
        let shared = SharedDevice::start(Box::new(ClassicalEvaluator::new())).unwrap();
        let (mut one, mut other) = (shared.client(0), shared.client(1));
        assert_eq!((one.batch_size() > 1, other.batch_size()), (true, 1));
        let mut batch = requests(3, 6);
        batch.push(batch[2].clone());
        one.submit(batch.clone());
        let first = one.collect().unwrap();
        assert_eq!(first[2], first[6]);
        other.submit(batch.clone());
        assert_eq!(other.collect().unwrap(), first);
        assert_eq!(shared.usage(), Usage { asked: 14, evaluated: 6, batches: 1, cache: None });
        // A position that occurs again on its path is another question.
        batch[0].repetitions = 1;
        other.submit(batch[..1].to_vec());
        assert_eq!(other.collect().unwrap().len(), 1);
        assert_eq!(shared.usage().evaluated, 7);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        let mut evaluator = ClassicalEvaluator::new();
        evaluator.submit(requests(0, 1));
        let answer = evaluator.collect().unwrap().remove(0);
        let key = |hash| Key::Position { hash, halfmoves: 0, repetitions: 0 };
        for position in 0..3 * REMEMBERED as u128 {
            memory.put(key(position), Evaluation { moves: Box::new([]), ..answer.clone() });
            assert!(memory.get(key(0)).is_some(), "in use and forgotten");
        }
        assert!(memory.young.len() + memory.old.len() <= REMEMBERED);
        assert!(memory.get(key(1)).is_none());
    }

    #[test]
    fn a_lost_device_is_told_to_all_and_a_lost_client_stops_nobody() {
        let behaviour = Behaviour { fail_after: Some(3), ..Behaviour::default() };
        let device = SimulatedDevice::new(ClassicalEvaluator::new(), behaviour);
        let shared = SharedDevice::start(Box::new(device)).unwrap();
        let mut gone = shared.client(0);
        gone.submit(requests(1, 3));
        drop(gone);
        let mut clients = [shared.client(0), shared.client(0)];
        for round in 0..4 {
            for client in &mut clients {
                client.submit(requests(2 + round, 5));
                let _ = client.collect();
            }
        }
        drop(shared);
        for client in &mut clients {
            client.submit(requests(9, 9));
            assert!(matches!(client.collect(), Err(EvalError::DeviceLost(_))));
            assert_eq!(client.in_flight(), 0);
        }
    }
}
