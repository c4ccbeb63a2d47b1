//! Attention that is on its way: counted for a session two of its batches later, no sooner and no
//! later, so that nothing depends on when an answer is read.

use std::collections::{HashMap, VecDeque};

use crate::incremental::slots::Seen;

/// Batches that are queued at once.
pub(crate) const IN_FLIGHT: usize = 2;

/// What is not counted yet of one of a session's batches.
#[derive(Debug)]
struct Batch {
    number: u64,
    /// Nodes that were made.
    nodes: Vec<u32>,
    /// Attention that slots received; filled when the batch is read back.
    attention: Vec<(Seen, f32)>,
}

/// Each session's latest batches, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pending(HashMap<u32, VecDeque<Batch>>);

impl Pending {
    /// Begins with a session's part of a batch, which made these nodes.
    pub(super) fn push(&mut self, session: u32, number: u64, nodes: Vec<u32>) {
        let batch = Batch { number, nodes, attention: Vec::new() };
        self.0.entry(session).or_default().push_back(batch);
    }

    /// Adds what a batch of the session found, if it still counts.
    pub(super) fn add(
        &mut self,
        session: u32,
        number: u64,
        attention: impl Iterator<Item = (Seen, f32)>,
    ) {
        let mut batches = self.0.get_mut(&session).into_iter().flatten();
        if let Some(batch) = batches.find(|batch| batch.number == number) {
            batch.attention.extend(attention);
        }
    }

    /// What is to be counted before the session's next batch.
    pub(super) fn due(&mut self, session: u32) -> Vec<(Seen, f32)> {
        let mut due = Vec::new();
        if let Some(batches) = self.0.get_mut(&session) {
            while batches.len() >= IN_FLIGHT {
                due.extend(batches.pop_front().into_iter().flat_map(|batch| batch.attention));
            }
        }
        due
    }

    /// Nodes of the session whose attention is not counted yet.
    pub(super) fn nodes(&self, session: u32) -> impl Iterator<Item = u32> {
        let batches = self.0.get(&session).into_iter().flatten();
        batches.flat_map(|batch| batch.nodes.iter().copied())
    }

    /// Forgets a session.
    pub(super) fn forget(&mut self, session: u32) {
        self.0.remove(&session);
    }

    /// Forgets all sessions.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
