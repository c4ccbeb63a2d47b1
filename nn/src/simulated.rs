//! A device made of any evaluator and a set latency, so that overlap, batching and failures can be
//! tried on a machine without a GPU.
//!
//! Reads the clock: it simulates a latency.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, unbounded};

use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Request};
use crate::meter::{Meter, Spent};

/// How a simulated device behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Time for a batch of any size, `t0`.
    pub base: Duration,
    /// Time added by each position of a batch, `t1`.
    pub per_position: Duration,
    /// Batches answered before the device is lost; `None` = it never is.
    pub fail_after: Option<u64>,
}

impl Behaviour {
    /// A device that is never lost; `t0` and `t1` in microseconds.
    pub fn of_micros(base: u64, per_position: u64) -> Self {
        let [base, per_position] = [base, per_position].map(Duration::from_micros);
        Self { base, per_position, fail_after: None }
    }

    /// Time that a batch of this many positions takes, `t0 + t1 · B`.
    pub fn latency(&self, positions: usize) -> Duration {
        let positions = u32::try_from(positions).unwrap_or(u32::MAX);
        self.base + self.per_position.saturating_mul(positions)
    }
}

/// What the device thread is sent.
enum TimedJob {
    Batch(Vec<Request>),
    Note(u32, CacheNote),
}

/// What it answers to a batch.
struct TimedAnswer {
    result: Result<Vec<Evaluation>, EvalError>,
    spent: Spent,
    cache_figures: Option<CacheFigures>,
}

/// Any evaluator on a thread of its own, which answers each batch `t0 + t1 · B` after it was
/// submitted or after its predecessor was answered, whichever is later, and in order. Where the
/// evaluator itself needs longer than that, its own time counts.
#[derive(Debug)]
pub struct SimulatedDevice {
    jobs: Sender<TimedJob>,
    answers: Receiver<TimedAnswer>,
    description: String,
    batch_size: usize,
    behaviour: Behaviour,
    in_flight: usize,
    meter: Meter,
    /// As of the answer collected last.
    cache_figures: Option<CacheFigures>,
}

impl SimulatedDevice {
    /// Puts `evaluator` on a thread of its own.
    pub fn new(evaluator: impl Evaluator + 'static, behaviour: Behaviour) -> Self {
        Self::over(Box::new(evaluator), behaviour)
    }

    /// The same for a boxed evaluator.
    pub fn over(evaluator: Box<dyn Evaluator>, behaviour: Behaviour) -> Self {
        let (jobs, todo) = unbounded();
        let (done, answers) = unbounded();
        let description = format!(
            "simulated device, {:?} + {:?} per position: {}",
            behaviour.base,
            behaviour.per_position,
            evaluator.description()
        );
        let batch_size = evaluator.batch_size();
        let cache_figures = evaluator.cache_figures();
        let device = Device { evaluator, behaviour, todo, done };
        // Without a thread the channels are closed, which reads as a lost device.
        let _ = thread::Builder::new().name("simulated device".to_owned()).spawn(|| device.run());
        let meter = Meter::default();
        let in_flight = 0;
        Self { jobs, answers, description, batch_size, behaviour, in_flight, meter, cache_figures }
    }

    /// What it spends its time on.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

impl Evaluator for SimulatedDevice {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn fixed_cost(&self) -> f32 {
        let Behaviour { base, per_position, .. } = self.behaviour;
        base.as_secs_f32() / per_position.as_secs_f32().max(1e-9)
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.in_flight += 1;
        let _ = self.jobs.send(TimedJob::Batch(batch)); // a lost device is reported by `collect`
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        if self.in_flight == 0 {
            return Err(EvalError::NothingInFlight);
        }
        let Ok(answer) = self.answers.recv() else {
            self.in_flight = 0;
            return Err(EvalError::DeviceLost("the simulated device failed".to_owned()));
        };
        self.in_flight -= 1;
        self.meter.note(answer.spent);
        self.cache_figures = answer.cache_figures;
        answer.result
    }

    fn watch<'a>(&'a self, select: &mut Select<'a>) -> bool {
        select.recv(&self.answers);
        true
    }

    fn note(&mut self, session: u32, note: CacheNote) {
        let _ = self.jobs.send(TimedJob::Note(session, note));
    }

    fn cache_figures(&self) -> Option<CacheFigures> {
        self.cache_figures
    }
}

/// The thread's side.
struct Device {
    evaluator: Box<dyn Evaluator>,
    behaviour: Behaviour,
    todo: Receiver<TimedJob>,
    done: Sender<TimedAnswer>,
}

impl Device {
    /// Answers until nobody asks any more or the drill says that the device is lost.
    fn run(mut self) {
        let mut answered = 0;
        let mut finished = None;
        while let Ok(job) = self.todo.recv() {
            let batch = match job {
                TimedJob::Batch(batch) => batch,
                TimedJob::Note(session, note) => {
                    self.evaluator.note(session, note);
                    continue;
                }
            };
            if self.behaviour.fail_after.is_some_and(|limit| answered >= limit) {
                return;
            }
            let started = Instant::now();
            let positions = batch.len();
            let latency = self.behaviour.latency(positions);
            self.evaluator.submit(batch);
            let result = self.evaluator.collect();
            thread::sleep(latency.saturating_sub(started.elapsed()));
            let idle = finished.map_or(Duration::ZERO, |earlier| started - earlier);
            let spent = Spent { positions, busy: started.elapsed(), idle };
            let cache_figures = self.evaluator.cache_figures();
            let answer = TimedAnswer { result, spent, cache_figures };
            finished = Some(Instant::now());
            answered += 1;
            if self.done.send(answer).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;
    use crate::classical::ClassicalEvaluator;

    const BASE: Duration = Duration::from_millis(60);

    fn device(fail_after: Option<u64>) -> SimulatedDevice {
        let per_position = Duration::from_millis(2);
        let behaviour = Behaviour { base: BASE, per_position, fail_after };
        SimulatedDevice::new(ClassicalEvaluator::new(), behaviour)
    }

    fn requests(count: usize) -> Vec<Request> {
        vec![Request::single(&Chess::default()); count]
    }

    #[test]
    fn the_caller_is_free_while_the_device_works() {
        let mut device = device(None);
        let start = Instant::now();
        device.submit(requests(1));
        device.submit(requests(1));
        assert!(start.elapsed() < BASE / 2, "submit waited");
        assert_eq!(device.in_flight(), 2);
        thread::sleep(BASE * 2); // our own work, hidden behind the device's
        device.collect().unwrap();
        device.collect().unwrap();
        let both = (BASE + Duration::from_millis(2)) * 2;
        assert!(start.elapsed() >= both, "{:?}", start.elapsed());
        assert!(start.elapsed() < both + BASE * 3 / 2, "{:?}", start.elapsed());
        let meter = device.meter();
        assert!(meter.busy_share() > 0.9, "{}", meter.busy_share());
    }

    #[test]
    fn waiting_for_work_counts_as_idle() {
        let mut device = device(None);
        for _ in 0..2 {
            device.submit(requests(1));
            device.collect().unwrap();
            thread::sleep(BASE);
        }
        let meter = device.meter();
        assert!(meter.idle_time() >= BASE && meter.busy_share() < 0.8);
        assert!(meter.busy_time() >= BASE * 2);
    }

    #[test]
    fn batches_are_answered_in_order() {
        let mut device = device(None);
        for count in [2, 0, 3] {
            device.submit(requests(count));
        }
        let mut handles = Vec::new();
        for count in [2, 0, 3] {
            let answers = device.collect().unwrap();
            assert_eq!(answers.len(), count);
            handles.extend(answers.iter().map(|answer| answer.handle.0));
        }
        assert_eq!(handles, [0, 1, 2, 3, 4]);
        assert_eq!(device.collect(), Err(EvalError::NothingInFlight));
    }

    #[test]
    fn a_lost_device_is_reported() {
        let mut device = device(Some(1));
        device.submit(requests(1));
        device.submit(requests(1));
        assert!(device.collect().is_ok());
        for _ in 0..2 {
            assert!(matches!(device.collect(), Err(EvalError::DeviceLost(_))));
            device.submit(requests(1));
        }
    }
}
