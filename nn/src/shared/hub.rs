//! The thread that owns a shared device: gathers batches and gives everybody their own answers.
//!
//! Reads the clock: an idle device waits a moment for a fuller batch.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError};

use super::memory::{Key, Memory};
use super::{Answer, Facts, MERGED, Present, Submission};
use crate::evaluator::{CacheNote, EvalError, Evaluation, Evaluator, Request};
use crate::fallback::{Fallbacks, replace};

/// Batches that the device holds at once: one it works on and one that waits for it.
const IN_FLIGHT: usize = 2;

/// An idle device waits for those it has just answered this part of what their batch took …
const PATIENCE: u32 = 4;
/// … and no longer than this.
const LONGEST_PATIENCE: Duration = Duration::from_millis(5);
/// How long it is watched while it works, before `collect` waits for it: that knows when to give a
/// device up.
const LONGEST_WATCH: Duration = Duration::from_secs(1);

/// A submission whose answers are coming in.
struct Open {
    session: u32,
    answers: Vec<Option<Evaluation>>,
    missing: usize,
    reply: Sender<Answer>,
}

/// What was not sent yet of a submission.
struct Waiting {
    session: u32,
    notes: Vec<CacheNote>,
    requests: Vec<(Key, Request)>,
}

/// What the hub thread owns.
pub(super) struct Hub {
    device: Box<dyn Evaluator>,
    spares: Option<Fallbacks>,
    inbox: Receiver<Submission>,
    present: Arc<Present>,
    /// Where the device keeps nothing of earlier positions.
    memory: Option<Memory>,
    /// By number, in the order they came.
    open: HashMap<u64, Open>,
    next_number: u64,
    /// Oldest first.
    waiting: VecDeque<Waiting>,
    /// Per batch on the device: its positions.
    in_flight: VecDeque<Vec<Key>>,
    /// Who asked for a position that waits or is in flight: submission and place in it.
    wanted: HashMap<Key, Vec<(u64, usize)>>,
    /// Clients that were just answered and will ask again.
    expected: HashSet<u32>,
    answered_at: Instant,
    /// How long they are waited for.
    patience: Duration,
}

impl Hub {
    /// A hub with nothing to do yet.
    pub(super) fn new(
        (device, spares): (Box<dyn Evaluator>, Option<Fallbacks>),
        inbox: Receiver<Submission>,
        present: Arc<Present>,
    ) -> Self {
        Self {
            memory: device.cache_figures().is_none().then(Memory::default),
            device,
            spares,
            inbox,
            present,
            open: HashMap::new(),
            next_number: 0,
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            wanted: HashMap::new(),
            expected: HashSet::new(),
            answered_at: Instant::now(),
            patience: Duration::ZERO,
        }
    }

    /// Serves until the last client is gone.
    pub(super) fn run(mut self) {
        loop {
            if self.in_flight.is_empty() && self.waiting.is_empty() {
                match self.inbox.recv() {
                    Ok(submission) => self.take(submission),
                    Err(_) => return,
                }
            }
            while let Ok(submission) = self.inbox.try_recv() {
                self.take(submission);
            }
            self.linger();
            while self.should_send() {
                self.send();
            }
            self.watch();
            self.receive();
        }
    }

    /// Before an idle device is given a batch that could be larger: whoever was just answered will
    /// ask again at once, and is waited for a moment.
    fn linger(&mut self) {
        if !self.in_flight.is_empty() {
            return;
        }
        let until = self.answered_at + self.patience;
        while !self.expected.is_empty() && self.positions() < self.device.batch_size() {
            match self.inbox.recv_deadline(until) {
                Ok(submission) => self.take(submission),
                Err(_) => return,
            }
        }
    }

    /// Takes what comes while the device works: a full batch is sent on to it before it answers, so
    /// that it never waits for one.
    fn watch(&mut self) {
        let until = Instant::now() + LONGEST_WATCH;
        while (1..IN_FLIGHT).contains(&self.in_flight.len()) {
            let mut select = Select::new();
            if !self.device.watch(&mut select) {
                return;
            }
            let inbox = select.recv(&self.inbox);
            if select.ready_deadline(until) != Ok(inbox) {
                return;
            }
            match self.inbox.try_recv() {
                Ok(submission) => self.take(submission),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            if self.should_send() {
                self.send();
            }
        }
    }

    /// Positions that wait.
    fn positions(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.requests.len()).sum()
    }

    /// Answers what is known and queues the rest.
    fn take(&mut self, submission: Submission) {
        let Submission { session, notes, batch, reply } = submission;
        self.expected.remove(&session);
        if session < self.present.facts().first {
            if let Some(reply) = reply {
                let _ =
                    reply.send(Err(EvalError::DeviceLost("another has replaced it".to_owned())));
            }
            return;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.present.counters.asked.fetch_add(batch.len() as u64, Ordering::Relaxed);
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

    /// Sends a submission's answers off if they are all there. A client that is gone is no reason
    /// to stop: its search was dropped in mid-flight.
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
        match self.in_flight.len() {
            _ if self.waiting.is_empty() => false,
            0 => true,
            in_flight => in_flight < IN_FLIGHT && self.positions() >= self.device.batch_size(),
        }
    }

    /// Gives the device the oldest submissions that fit together, one of each client.
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
                self.device.note(session, note);
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
        self.present.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.present.counters.evaluated.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.device.submit(batch);
        self.in_flight.push_back(keys);
    }

    /// Waits for the oldest batch and shares its answers out.
    fn receive(&mut self) {
        let Some(keys) = self.in_flight.pop_front() else { return };
        self.expected.clear();
        let began = Instant::now();
        let answer = self.device.collect().and_then(|answers| {
            let lost = || EvalError::DeviceLost("it left positions unanswered".to_owned());
            (answers.len() == keys.len()).then_some(answers).ok_or_else(lost)
        });
        *self.present.counters.cache.lock().unwrap_or_else(PoisonError::into_inner) =
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
                if replace(&mut self.device, &mut self.spares, &error) {
                    self.begin_anew(&error);
                    return;
                }
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

    /// Another device has taken over. All that was asked is given up: it names positions that the
    /// new one does not know.
    fn begin_anew(&mut self, error: &EvalError) {
        let mut facts = self.present.facts();
        let first = self.present.counters.sessions.load(Ordering::Relaxed);
        *facts = Facts::of(self.device.as_ref(), first);
        drop(facts);
        self.memory = self.device.cache_figures().is_none().then(Memory::default);
        self.waiting.clear();
        self.in_flight.clear();
        self.wanted.clear();
        self.expected.clear();
        for (_, open) in self.open.drain() {
            let _ = open.reply.send(Err(error.clone()));
        }
    }
}
