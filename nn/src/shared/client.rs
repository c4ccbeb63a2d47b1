//! One search's end of a shared device.

use std::collections::VecDeque;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Answer, Submission};
use crate::evaluator::{CacheNote, EvalError, Evaluator, Request};

/// Notes that wait for the next batch at most. A search that knows the evaluations of all that it
/// reaches submits nothing for a long time.
const MOST_NOTES: usize = 64;

/// One search's end of a [`SharedDevice`](super::SharedDevice).
///
/// [`Evaluator::batch_size`] is what the search would have if it had the device alone, so that it
/// gathers the same batches however many others there are. Its notes concern its own positions
/// only.
#[derive(Debug)]
pub struct SharedClient {
    submissions: Sender<Submission>,
    session: u32,
    /// For the device, with the next batch or when they are many.
    notes: Vec<CacheNote>,
    /// One for each batch in flight, oldest first. Only the submission holds the other end, so
    /// that a hub that is gone shows at once.
    answers: VecDeque<Receiver<Answer>>,
    description: String,
    batch_size: usize,
    fixed_cost: f32,
}

impl SharedClient {
    /// A client that has sent nothing yet, under a number of its own.
    pub(super) fn new(
        submissions: Sender<Submission>,
        session: u32,
        description: String,
        batch_size: usize,
        fixed_cost: f32,
    ) -> Self {
        let (notes, answers) = (Vec::new(), VecDeque::new());
        Self { submissions, session, notes, answers, description, batch_size, fixed_cost }
    }

    /// The number under which the device knows it.
    pub(super) fn session(&self) -> u32 {
        self.session
    }

    fn send(&mut self, batch: Vec<Request>, reply: Option<Sender<Answer>>) {
        let notes = std::mem::take(&mut self.notes);
        // A submission that finds nobody is dropped, and its reply with it.
        let _ = self.submissions.send(Submission { session: self.session, notes, batch, reply });
    }
}

impl Evaluator for SharedClient {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn fixed_cost(&self) -> f32 {
        self.fixed_cost
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

    fn note(&mut self, _: u32, note: CacheNote) {
        if note == CacheNote::ForgetAll {
            // The session stays: it may have a share of the device's cache, which others want too.
            self.notes = vec![CacheNote::Retain(Vec::new())];
        } else {
            self.notes.push(note);
        }
        if self.notes.len() >= MOST_NOTES {
            self.send(Vec::new(), None);
        }
    }
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.notes = vec![CacheNote::Forget];
        self.send(Vec::new(), None);
    }
}
