//! The thread that owns the device.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, select};

use super::panics::guarded;
use crate::cpu::Engine;
use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Request};
use crate::gpu::{DeviceEngine, IN_FLIGHT};

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

/// Rings when a batch may be done.
struct Bell(Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Once is enough.
        let _ = self.0.try_send(());
    }
}

/// What the device's thread does next.
enum Next {
    /// Queue a batch.
    Launch(Vec<Request>),
    /// Do what the search says of its positions.
    Note(u32, CacheNote),
    /// Read the oldest batch back.
    Answer,
    /// The search is gone, and nothing is queued.
    End,
}

impl From<Message> for Next {
    fn from(message: Message) -> Self {
        match message {
            Message::Batch(batch) => Self::Launch(batch),
            Message::Note(session, note) => Self::Note(session, note),
        }
    }
}

/// Queues batch k + 1 while batch k runs, whenever it comes: the device never waits for a batch
/// that is there. The search makes it when it has the answers of batch k - 1.
fn serve_on_gpu(
    mut engine: DeviceEngine,
    inbox: &Receiver<Message>,
    outbox: &Sender<Answer>,
    figures: Option<&Mutex<CacheFigures>>,
) {
    let (bell, rung) = bounded(1);
    let waker = Waker::from(Arc::new(Bell(bell)));
    // By batch, whether it could be queued.
    let mut queued: VecDeque<Result<(), String>> = VecDeque::new();
    loop {
        match next(&mut engine, &queued, (inbox, &rung), &waker) {
            Next::Launch(batch) => queued.push_back(guarded(|| engine.launch(&batch))),
            Next::Note(session, note) => engine.note(session, &note),
            Next::Answer => {
                let Some(oldest) = queued.pop_front() else { continue };
                let answer = oldest.and_then(|()| guarded(|| engine.answer()));
                show(figures, engine.figures());
                if outbox.send(answer.map_err(EvalError::DeviceLost)).is_err() {
                    return;
                }
            }
            Next::End => return,
        }
    }
}

/// Waits for a message or, where a batch is queued, for its end.
fn next(
    engine: &mut DeviceEngine,
    queued: &VecDeque<Result<(), String>>,
    (inbox, rung): (&Receiver<Message>, &Receiver<()>),
    waker: &Waker,
) -> Next {
    let Some(oldest) = queued.front() else {
        return inbox.recv().map_or(Next::End, Next::from);
    };
    // What could not be queued never ends.
    if queued.len() >= IN_FLIGHT || oldest.is_err() {
        return Next::Answer;
    }
    loop {
        // Another batch comes before an answer: the device has work while that is read.
        match inbox.try_recv() {
            Ok(message) => return message.into(),
            Err(TryRecvError::Disconnected) => return Next::Answer,
            Err(TryRecvError::Empty) => {}
        }
        if guarded(|| engine.has_answer(waker)).unwrap_or(true) {
            return Next::Answer;
        }
        select! {
            recv(inbox) -> message => return message.map_or(Next::Answer, Next::from),
            recv(rung) -> _ => {}
        }
    }
}

fn show(figures: Option<&Mutex<CacheFigures>>, now: CacheFigures) {
    if let Some(figures) = figures {
        *figures.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use burn::tensor::Device;
    use crossbeam_channel::unbounded;

    use super::*;
    use crate::canary;
    use crate::gpu::DeviceOptions;
    use crate::model::ModelConfig;
    use crate::weights;

    /// The search makes batch k + 2 from the answers of batch k: it is queued while batch k + 1
    /// runs, not behind its answers.
    #[test]
    fn a_batch_is_queued_while_another_runs() {
        let (config, device) = (ModelConfig::tiny(), Device::flex());
        device.seed(5);
        let bytes = weights::to_bytes(&config.init(&device), &config).unwrap();
        let launched = Arc::new(AtomicUsize::new(0));
        let engine = DeviceEngine::on_tensors(&bytes, &device, DeviceOptions::default()).unwrap();
        let engine = engine.taking(Duration::from_millis(300), Arc::clone(&launched));
        let ((messages, inbox), (outbox, answers)) = (unbounded(), unbounded());
        let serving = thread::spawn(move || serve_on_gpu(engine, &inbox, &outbox, None));
        let send = || messages.send(Message::Batch(canary::requests()[..2].to_vec())).unwrap();
        (0..IN_FLIGHT).for_each(|_| send());
        let mut in_time = 0;
        for answered in 1..=6 {
            assert_eq!(answers.recv().unwrap().unwrap().len(), 2);
            // All that were sent, this one's successor among them, were queued before it ended.
            in_time += usize::from(launched.load(Ordering::SeqCst) == answered + 1);
            send();
        }
        assert!(in_time >= 5, "{in_time} of 6");
        drop(messages);
        // What is queued is answered, though nobody sends any more.
        assert_eq!(answers.iter().flatten().count(), IN_FLIGHT);
        serving.join().unwrap();
    }
}
