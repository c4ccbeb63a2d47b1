//! The thread that owns the device.

use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender};

use super::panics::guarded;
use crate::cpu::Engine;
use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Request};
use crate::gpu::DeviceEngine;

/// The answer to a batch.
pub(super) type Answer = Result<Vec<Evaluation>, EvalError>;

/// What the thread is sent.
pub(super) enum Message {
    Batch(Vec<Request>),
    Note(u32, CacheNote),
}

/// The network on its device.
pub(super) enum Network {
    Cpu(Box<Engine>),
    Gpu(Box<DeviceEngine>),
}

impl Network {
    /// Whether positions are kept for their children.
    pub(super) fn keeps(&self) -> bool {
        match self {
            Self::Cpu(engine) => engine.keeps(),
            Self::Gpu(engine) => engine.keeps(),
        }
    }

    /// What was done so far, and how full the cache is.
    pub(super) fn figures(&self) -> CacheFigures {
        match self {
            Self::Cpu(engine) => engine.figures(),
            Self::Gpu(engine) => engine.figures(),
        }
    }

    /// Serves until either end of the channels is dropped.
    pub(super) fn serve(
        self,
        inbox: &Receiver<Message>,
        outbox: &Sender<Answer>,
        figures: Option<&Mutex<CacheFigures>>,
    ) {
        match self {
            Self::Cpu(engine) => serve_on_cpu(*engine, inbox, outbox, figures),
            Self::Gpu(engine) => serve_on_gpu(*engine, inbox, outbox, figures),
        }
    }
}

fn serve_on_cpu(
    mut engine: Engine,
    inbox: &Receiver<Message>,
    outbox: &Sender<Answer>,
    figures: Option<&Mutex<CacheFigures>>,
) {
    for message in inbox {
        match message {
            Message::Batch(batch) => {
                let answer = guarded(|| engine.evaluate(&batch)).map_err(EvalError::DeviceLost);
                show(figures, engine.figures());
                if outbox.send(answer).is_err() {
                    return;
                }
            }
            Message::Note(session, note) => engine.note(session, &note),
        }
    }
}

/// Queues batch k + 1 before batch k is read back, where it is there in time.
fn serve_on_gpu(
    mut engine: DeviceEngine,
    inbox: &Receiver<Message>,
    outbox: &Sender<Answer>,
    figures: Option<&Mutex<CacheFigures>>,
) {
    let mut pending: Option<Result<(), String>> = None;
    loop {
        let waits = pending.is_none();
        let launched =
            next_batch(&mut engine, inbox, waits).map(|batch| guarded(|| engine.launch(&batch)));
        let finished = pending.take();
        if finished.is_none() && launched.is_none() {
            return;
        }
        if let Some(finished) = finished {
            let answer = finished.and_then(|()| guarded(|| engine.answer()));
            show(figures, engine.figures());
            if outbox.send(answer.map_err(EvalError::DeviceLost)).is_err() {
                return;
            }
        }
        pending = launched;
    }
}

/// The next batch, after the notes before it. `None` when the search is gone, or when no batch is
/// queued and `waits` is false.
fn next_batch(
    engine: &mut DeviceEngine,
    inbox: &Receiver<Message>,
    waits: bool,
) -> Option<Vec<Request>> {
    loop {
        let message = if waits { inbox.recv().ok() } else { inbox.try_recv().ok() };
        match message? {
            Message::Batch(batch) => return Some(batch),
            Message::Note(session, note) => engine.note(session, &note),
        }
    }
}

fn show(figures: Option<&Mutex<CacheFigures>>, now: CacheFigures) {
    if let Some(figures) = figures {
        *figures.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}
