//! Many searches on one device.

use std::time::Duration;

use crossbeam_channel::{Receiver, Select};
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

/// A search goes on with the device that takes over, also one that had nothing in flight: what it
/// knows of its positions means nothing to the new one.
#[test]
fn another_device_takes_over() {
    let lost_after = |batches| -> Box<dyn Evaluator> {
        let behaviour = Behaviour { fail_after: Some(batches), ..Behaviour::default() };
        Box::new(SimulatedDevice::new(ClassicalEvaluator::with_batch_size(7), behaviour))
    };
    let mut left = vec![lost_after(u64::MAX), lost_after(1)];
    let replace = move |_: &EvalError| left.pop();
    let shared = SharedDevice::start_with(lost_after(2), Box::new(replace)).unwrap();
    let (mut one, mut other) = (shared.client(0), shared.client(3));
    let [mut after_one, mut after_other] = [&one, &other].map(|it| shared.successors(it));
    let lost = EvalError::DeviceLost(String::new());
    let ask = |client: &mut dyn Evaluator, seed| {
        client.submit(requests(seed, 5));
        client.collect().map(|answers| answers.len())
    };
    assert_eq!([ask(&mut one, 1), ask(&mut other, 2)], [Ok(5), Ok(5)]);
    assert!(after_one(&lost).is_none(), "the device is the same");
    assert!(matches!(ask(&mut one, 3), Err(EvalError::DeviceLost(_))));
    let mut one = after_one(&lost).unwrap();
    assert_eq!(ask(one.as_mut(), 4), Ok(5));
    // What the lost device knew is not asked for again in its name.
    assert!(matches!(ask(&mut other, 1), Err(EvalError::DeviceLost(_))));
    let mut other = after_other(&lost).unwrap();
    assert!(after_other(&lost).is_none());
    assert_eq!(other.batch_size(), 7);
    // The second one is lost too, with both waiting for it.
    one.submit(requests(5, 5));
    other.submit(requests(6, 5));
    assert!(one.collect().is_err() && other.collect().is_err());
    let (mut one, mut other) = (after_one(&lost).unwrap(), after_other(&lost).unwrap());
    assert_eq!([ask(one.as_mut(), 5), ask(other.as_mut(), 6)], [Ok(5), Ok(5)]);
}

/// Answers a batch each time that it is told to.
struct Held {
    evaluator: ClassicalEvaluator,
    told: Receiver<()>,
    submitted: Arc<AtomicU64>,
}

impl Evaluator for Held {
    fn description(&self) -> String {
        self.evaluator.description()
    }

    fn batch_size(&self) -> usize {
        self.evaluator.batch_size()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.evaluator.submit(batch);
        self.submitted.fetch_add(1, Ordering::Relaxed);
    }

    fn in_flight(&self) -> usize {
        self.evaluator.in_flight()
    }

    fn collect(&mut self) -> Answer {
        self.told.recv().unwrap();
        self.evaluator.collect()
    }

    fn watch<'a>(&'a self, select: &mut Select<'a>) -> bool {
        select.recv(&self.told);
        true
    }
}

/// A full batch that comes while the device works waits on the device, not in the hub; a smaller
/// one may still grow.
#[test]
fn a_full_batch_is_sent_while_another_is_worked_on() {
    let submitted = Arc::new(AtomicU64::new(0));
    let (tell, told) = unbounded();
    let evaluator = ClassicalEvaluator::with_batch_size(8);
    let device = Held { evaluator, told, submitted: Arc::clone(&submitted) };
    let shared = SharedDevice::start(Box::new(device)).unwrap();
    let mut clients: Vec<_> = (0..4).map(|_| shared.client(0)).collect();
    let is_sent = |batches| {
        (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            submitted.load(Ordering::Relaxed) == batches
        })
    };
    // All games begin alike: without the first ply these are positions of its own.
    let mut ask = |client: usize, count: usize| {
        clients[client].submit(requests(client + 1, count + 1).split_off(1));
    };
    ask(0, 4);
    assert!(is_sent(1));
    ask(1, 4);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(submitted.load(Ordering::Relaxed), 1);
    ask(2, 4);
    assert!(is_sent(2));
    ask(3, 8);
    (0..3).for_each(|_| tell.send(()).unwrap());
    for (client, count) in clients.iter_mut().zip([4, 4, 4, 8]) {
        assert_eq!(client.collect().unwrap().len(), count);
    }
    assert_eq!(shared.usage().batches, 3);
}

/// Counts the notes that it is given.
struct Counting(ClassicalEvaluator, Arc<AtomicU64>);

impl Evaluator for Counting {
    fn description(&self) -> String {
        self.0.description()
    }

    fn batch_size(&self) -> usize {
        self.0.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.0.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.0.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn collect(&mut self) -> Answer {
        self.0.collect()
    }

    fn note(&mut self, _: u32, _: CacheNote) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn notes_do_not_pile_up_where_nothing_is_asked() {
    let noted = Arc::new(AtomicU64::new(0));
    let device = Counting(ClassicalEvaluator::new(), Arc::clone(&noted));
    let shared = SharedDevice::start(Box::new(device)).unwrap();
    let mut client = shared.client(0);
    for _ in 0..200 {
        client.note(0, CacheNote::Protect(Vec::new()));
    }
    let is_there = |_: &u32| {
        thread::sleep(Duration::from_millis(1));
        noted.load(Ordering::Relaxed) == 192
    };
    assert!((0..10_000).any(|wait| is_there(&wait)), "{noted:?}");
    client.submit(requests(1, 1));
    assert_eq!(client.collect().unwrap().len(), 1);
    assert_eq!(noted.load(Ordering::Relaxed), 200);
}
