//! The attention that a device reports, and a device with a faulty cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;

use super::passes::{Flight, Item, Passes};
use super::reading::Reading;
use super::{DeviceEngine, DeviceOptions};
use crate::evaluator::{Evaluation, Handle, Request};
use crate::incremental::plan::Source;
use crate::model::{ModelConfig, VALUE_BINS};
use crate::{canary, cpu, weights};

/// The canary positions, then a child of each, all kept.
fn family(mut evaluate: impl FnMut(&[Request]) -> Vec<Evaluation>) -> Vec<Handle> {
    let mut handles = |requests: &[Request]| -> Vec<Handle> {
        evaluate(requests).iter().map(|answer| answer.handle).collect()
    };
    let parents = handles(&canary::parents());
    let children: Vec<Request> = canary::children(&parents)
        .into_iter()
        .map(|child| Request { keep: true, ..child })
        .collect();
    [parents, handles(&children)].concat()
}

/// What a token has received is what the kernels say it did, from its own position and from
/// children; and it counts two batches later.
#[test]
fn attention_is_the_kernels() {
    let config = ModelConfig::tiny();
    let device = Device::flex();
    device.seed(5);
    let bytes = weights::to_bytes(&config.init(&device), &config).unwrap();
    let cache_bytes = 1 << 26;
    let options = cpu::Options { cache_bytes, ..cpu::Options::default() };
    let mut kernels = cpu::Engine::load(&bytes, options).unwrap();
    let options = DeviceOptions { cache_bytes, ..DeviceOptions::default() };
    let mut tensors = DeviceEngine::on_tensors(&bytes, &device, options).unwrap();
    let made = family(|requests| kernels.evaluate(requests));
    assert_eq!(made, family(|requests| tensors.evaluate(requests)));

    let nothing = |attention: Vec<f64>| attention.iter().all(|&x| x == 0.0);
    assert!(made.iter().all(|&handle| nothing(tensors.attention(0, handle))));
    tensors.evaluate(&canary::requests()[..1]);
    assert!(!nothing(tensors.attention(0, made[0])) && nothing(tensors.attention(0, made[6])));
    tensors.evaluate(&canary::requests()[..1]);
    for handle in made {
        let (ours, theirs) = (tensors.attention(0, handle), kernels.attention(0, handle));
        assert!(ours.len() == theirs.len() && ours.len() >= 2);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // What is newer weighs a little more.
            assert!(*theirs > 0.0 && (ours / theirs - 1.0).abs() < 0.01, "{ours} {theirs}");
        }
    }
}

/// A device that calculates well, but not from its cache.
#[derive(Debug)]
pub(super) struct FaultyCache(pub(super) Box<dyn Passes>);

impl Passes for FaultyCache {
    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn begin(&mut self, items: &[Item]) -> Flight {
        let Flight { places, reading } = self.0.begin(items);
        let mut found = reading.wait();
        let is_cached = |source: &Source| matches!(source, Source::Cached(_));
        for (item, at) in items.iter().zip(&places) {
            if item.plan.sources.iter().any(is_cached) {
                // A win for certain.
                found[at.bins..at.bins + VALUE_BINS].fill(0.0);
                found[at.bins + VALUE_BINS - 1] = 99.0;
            }
        }
        Flight { places, reading: Reading::Ready(Ok(found)) }
    }

    fn close_cache(&mut self) {
        self.0.close_cache();
    }
}

/// A device that takes so long for a batch, one after the other.
#[derive(Debug)]
pub(super) struct Slow {
    inner: Box<dyn Passes>,
    time: Duration,
    /// When the last batch will be done.
    free: Instant,
    launched: Arc<AtomicUsize>,
}

impl Slow {
    pub(super) fn new(inner: Box<dyn Passes>, time: Duration, launched: Arc<AtomicUsize>) -> Self {
        Self { inner, time, free: Instant::now(), launched }
    }
}

impl Passes for Slow {
    fn slots(&self) -> usize {
        self.inner.slots()
    }

    fn begin(&mut self, items: &[Item]) -> Flight {
        let Flight { places, reading } = self.inner.begin(items);
        let mut found = Some(reading.wait());
        self.free = self.free.max(Instant::now()) + self.time;
        self.launched.fetch_add(1, Ordering::SeqCst);
        let done = self.free;
        let reading = Reading::begin(std::future::poll_fn(move |context| {
            let left = done.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Poll::Ready(Ok(found.take().unwrap_or_default()));
            }
            let waker = context.waker().clone();
            thread::spawn(move || {
                thread::sleep(left);
                waker.wake();
            });
            Poll::Pending
        }));
        Flight { places, reading }
    }

    fn close_cache(&mut self) {
        self.inner.close_cache();
    }
}
