//! One device for many searches: games that run side by side fill its batches together.
//!
//! A search alone on a GPU cannot fill it while its tree is small. Here every search has a client,
//! which is an [`Evaluator`] like any other; a hub thread owns the device, queues the positions of
//! all clients, and gives each its own answers back.
//!
//! Clients never see each other: how many there are changes when answers come, not what they say,
//! wherever the device answers a session the same whatever else is in the batch (the CPU does, bit
//! by bit). For that, what a client submitted together goes to the device together, and a batch
//! holds no two submissions of the same client. A device that keeps nothing of earlier positions is
//! not asked about a position twice: the two sides of a game look at much the same ones.
//!
//! In reading order:
//!
//! * [`SharedDevice`] — starts the hub and makes clients;
//! * [`SharedClient`] — one search's end;
//! * `hub` — the thread that owns the device;
//! * `memory` — the cache of recent answers.

mod client;
mod hub;
mod memory;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use crossbeam_channel::{Sender, unbounded};

pub use self::client::SharedClient;
use self::hub::Hub;
use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Request};
use crate::fallback::Fallbacks;

/// Largest batch, in batches of one search. Twice the size costs one search promptness and brings a
/// CPU 8 to 13 % more evaluations a second; four times brings nothing more.
pub(crate) const MERGED: usize = 2;

type Answer = Result<Vec<Evaluation>, EvalError>;

/// What one client submits together: the notes are for the device before the positions.
struct Submission {
    session: u32,
    notes: Vec<CacheNote>,
    batch: Vec<Request>,
    /// Nothing where no answer is wanted: these are notes only.
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

/// The device as it is at present.
#[derive(Debug)]
struct Facts {
    description: String,
    batch_size: usize,
    fixed_cost: f32,
    /// The first client that knows no other device than this.
    first: u32,
}

impl Facts {
    fn of(device: &dyn Evaluator, first: u32) -> Self {
        Self {
            description: device.description(),
            batch_size: device.batch_size(),
            fixed_cost: device.fixed_cost(),
            first,
        }
    }
}

/// What clients are made from and the hub changes.
#[derive(Debug)]
struct Present {
    facts: Mutex<Facts>,
    counters: Counters,
}

impl Present {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device that several searches use; its thread ends with the last client.
#[derive(Clone, Debug)]
pub struct SharedDevice {
    submissions: Sender<Submission>,
    present: Arc<Present>,
}

impl SharedDevice {
    /// Puts `device` on a hub thread of its own.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(device: Box<dyn Evaluator>) -> io::Result<Self> {
        Self::spawn(device, None)
    }

    /// The same; when the device fails, the hub goes on with what `spares` supply. Clients made
    /// before are told that theirs was lost, also those that had nothing in flight: positions they
    /// name are unknown to the new one. See [`Self::successors`].
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start_with(device: Box<dyn Evaluator>, spares: Fallbacks) -> io::Result<Self> {
        Self::spawn(device, Some(spares))
    }

    fn spawn(device: Box<dyn Evaluator>, spares: Option<Fallbacks>) -> io::Result<Self> {
        let (submissions, inbox) = unbounded();
        let facts = Mutex::new(Facts::of(device.as_ref(), 0));
        let present = Arc::new(Present { facts, counters: Counters::default() });
        let hub = Hub::new((device, spares), inbox, Arc::clone(&present));
        thread::Builder::new().name("hub".to_owned()).spawn(move || hub.run())?;
        Ok(Self { submissions, present })
    }

    /// An evaluator of its own for one more search, which gathers batches of this size; 0 = the
    /// device's.
    pub fn client(&self, batch_size: usize) -> SharedClient {
        let facts = self.present.facts();
        let session = self.present.counters.sessions.fetch_add(1, Ordering::Relaxed);
        let batch_size = if batch_size == 0 { facts.batch_size } else { batch_size };
        let (submissions, description) = (self.submissions.clone(), facts.description.clone());
        SharedClient::new(submissions, session, description, batch_size, facts.fixed_cost)
    }

    /// What the search of `client` goes on with each time that the device has been replaced.
    pub fn successors(&self, client: &SharedClient) -> Fallbacks {
        let (shared, mut session) = (self.clone(), client.session());
        Box::new(move |_| {
            let is_replaced = session < shared.present.facts().first;
            is_replaced.then(|| -> Box<dyn Evaluator> {
                let client = shared.client(0);
                session = client.session();
                Box::new(client)
            })
        })
    }

    /// The device and its network, for people.
    pub fn description(&self) -> String {
        self.present.facts().description.clone()
    }

    /// What went through so far.
    pub fn usage(&self) -> Usage {
        let Counters { asked, evaluated, batches, cache, .. } = &self.present.counters;
        Usage {
            asked: asked.load(Ordering::Relaxed),
            evaluated: evaluated.load(Ordering::Relaxed),
            batches: batches.load(Ordering::Relaxed),
            cache: *cache.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}
