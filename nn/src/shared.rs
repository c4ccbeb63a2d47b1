//! One device for many searches: games that run side by side fill its batches together.
//!
//! A search alone on a GPU cannot fill it while its tree is small. Here every search has a client,
//! which is an [`Evaluator`] like any other; a hub thread owns the device, queues the positions of
//! all clients, and gives each its own answers back. What the hub was told lately it does not ask
//! again: the two sides of a game look at much the same positions.
//!
//! Clients never see each other: how many there are changes when answers come, not what they say,
//! wherever the device answers a position the same in any company (the CPU does, bit by bit).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use shakmaty::zobrist::Zobrist128;
use shakmaty::{EnPassantMode, Position};

use crate::evaluator::{EvalError, Evaluation, Evaluator, Request};

type Answer = Result<Vec<Evaluation>, EvalError>;

/// Batches that the device holds at once: one it works on and one that waits for it.
const IN_FLIGHT: usize = 2;

/// Largest batch, in batches of one search. Twice the size costs one search promptness and brings a
/// CPU 8 to 13 % more evaluations a second; four times brings nothing more.
pub(crate) const MERGED: usize = 2;

/// Answers that are remembered, about 400 bytes each.
const REMEMBERED: usize = 200_000;

/// What one client sent at once.
struct Parcel {
    batch: Vec<Request>,
    reply: Sender<Answer>,
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
        }
    }
}

/// One search's end of a [`SharedDevice`].
///
/// [`Evaluator::batch_size`] is what the search would have if it had the device alone, so that it
/// gathers the same batches in any company. [`Evaluator::forget_all`] does nothing: the others'
/// handles stay valid.
#[derive(Debug)]
pub struct SharedClient {
    parcels: Sender<Parcel>,
    /// One for each batch in flight, oldest first. Only the parcel holds the other end, so that a
    /// hub that is gone is heard of at once.
    answers: VecDeque<Receiver<Answer>>,
    description: String,
    batch_size: usize,
}

impl Evaluator for SharedClient {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let (reply, answer) = bounded(1);
        self.answers.push_back(answer);
        // A parcel that finds nobody is dropped, and its reply with it.
        let _ = self.parcels.send(Parcel { batch, reply });
    }

    fn in_flight(&self) -> usize {
        self.answers.len()
    }

    fn collect(&mut self) -> Answer {
        let answer = self.answers.pop_front().ok_or(EvalError::NothingInFlight)?;
        let lost = || EvalError::DeviceLost("the thread that shares it has ended".to_owned());
        answer.recv().map_err(|_| lost())?
    }
}

/// All that an answer depends on: placement, side to move, castling rights and a legal en-passant
/// square in the hash; the fifty-move clock and repetitions beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    position: u128,
    halfmoves: u32,
    repetitions: u8,
}

impl Key {
    fn of(request: &Request) -> Self {
        let position = &request.position;
        Self {
            position: position.zobrist_hash::<Zobrist128>(EnPassantMode::Legal).0,
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
    answers: Vec<Option<Evaluation>>,
    missing: usize,
    reply: Sender<Answer>,
}

/// What the hub thread owns.
struct Hub {
    device: Box<dyn Evaluator>,
    inbox: Receiver<Parcel>,
    counters: Arc<Counters>,
    memory: Memory,
    /// By number, in the order they came.
    open: HashMap<u64, Open>,
    next_parcel: u64,
    /// Positions that the device was not sent yet, oldest first.
    waiting: VecDeque<(Key, Request)>,
    /// Per batch on the device: its positions.
    flying: VecDeque<Vec<Key>>,
    /// Who wants to know about a position that waits or flies: parcel and place in it.
    wanted: HashMap<Key, Vec<(u64, usize)>>,
}

impl Hub {
    fn new(device: Box<dyn Evaluator>, inbox: Receiver<Parcel>, counters: Arc<Counters>) -> Self {
        Self {
            device,
            inbox,
            counters,
            memory: Memory::default(),
            open: HashMap::new(),
            next_parcel: 0,
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
            wanted: HashMap::new(),
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
            while self.should_send() {
                self.send();
            }
            self.receive();
        }
    }

    /// Answers what is known and queues the rest.
    fn take(&mut self, parcel: Parcel) {
        let number = self.next_parcel;
        self.next_parcel += 1;
        self.counters.asked.fetch_add(parcel.batch.len() as u64, Ordering::Relaxed);
        let mut answers = vec![None; parcel.batch.len()];
        let mut missing = 0;
        for (place, request) in parcel.batch.into_iter().enumerate() {
            let key = Key::of(&request);
            let known = self.memory.get(key);
            if let Some(answer) = known.filter(|known| known.moves.len() == request.moves.len()) {
                answers[place] = Some(answer);
                continue;
            }
            missing += 1;
            let wanted = self.wanted.entry(key).or_default();
            if wanted.is_empty() {
                self.waiting.push_back((key, request));
            }
            wanted.push((number, place));
        }
        self.open.insert(number, Open { answers, missing, reply: parcel.reply });
        self.close(number);
    }

    /// Sends a parcel's answers off if they are all there. A client that is gone is no reason to
    /// stop: its search was dropped in mid-flight.
    fn close(&mut self, number: u64) {
        if self.open.get(&number).is_some_and(|open| open.missing == 0)
            && let Some(open) = self.open.remove(&number)
        {
            let _ = open.reply.send(Ok(open.answers.into_iter().flatten().collect()));
        }
    }

    /// An idle device gets what there is. One that works gets a second batch only if that is worth
    /// sending: what comes while it works makes a small one larger.
    fn should_send(&self) -> bool {
        match self.flying.len() {
            _ if self.waiting.is_empty() => false,
            0 => true,
            flying => flying < IN_FLIGHT && 2 * self.waiting.len() >= self.device.batch_size(),
        }
    }

    fn send(&mut self) {
        let count = self.waiting.len().min(MERGED * self.device.batch_size().max(1));
        let (keys, batch): (Vec<Key>, Vec<Request>) = self.waiting.drain(..count).unzip();
        self.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.counters.evaluated.fetch_add(count as u64, Ordering::Relaxed);
        self.device.submit(batch);
        self.flying.push_back(keys);
    }

    /// Waits for the oldest batch and shares its answers out.
    fn receive(&mut self) {
        let Some(keys) = self.flying.pop_front() else { return };
        let answer = self.device.collect().and_then(|answers| {
            let lost = || EvalError::DeviceLost("it left positions unanswered".to_owned());
            (answers.len() == keys.len()).then_some(answers).ok_or_else(lost)
        });
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
                    self.memory.put(key, answer);
                }
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
            let request = Request {
                position: position.clone(),
                moves: moves.to_vec().into(),
                repetitions: 0,
                parent: None,
            };
            requests.push(request);
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
        assert_eq!(shared.usage(), Usage { asked: 14, evaluated: 6, batches: 1 });
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
        let key = |position| Key { position, halfmoves: 0, repetitions: 0 };
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
