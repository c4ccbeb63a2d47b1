//! A GPU before it is used: it must agree with the CPU, and its speed is measured.

use super::panics::guarded;
use super::speed::{self, Speed};
use crate::canary;
use crate::cpu::Engine;
use crate::evaluator::{CacheNote, Evaluation, Handle, Request};
use crate::gpu::{DeviceEngine, DeviceOptions, Storage};

/// A GPU's cache of fewer slots for each search is not worth its passes.
const LEAST_SLOTS: u64 = 256;
/// A smaller cache is not tried, bytes.
const LEAST_CACHE: usize = 64 << 20;
/// Largest difference in value or policy between a device and the CPU on the canary positions.
const CANARY_TOLERANCE: f32 = 0.01;

/// Loads the network onto a GPU; the error is a sentence.
pub(super) type Open<'a> = &'a dyn Fn(DeviceOptions) -> Result<DeviceEngine, String>;

/// A GPU to check.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// Its name, for people.
    pub(super) name: &'a str,
    pub(super) open: Open<'a>,
    pub(super) options: DeviceOptions,
    /// Positions of a batch that it will be sent.
    pub(super) size: usize,
    /// Of a CPU's batch, where it may take the GPU's place because it is faster.
    pub(super) cpu_size: Option<usize>,
}

impl Candidate<'_> {
    /// An error where the CPU evaluates more and may.
    fn is_worth_it(&self, speed: Speed, cpu: &mut Engine) -> Result<(), String> {
        let Some(cpu_size) = self.cpu_size else { return Ok(()) };
        let theirs = speed::measure(|batch| cpu.evaluate(batch), cpu_size).rate(cpu_size);
        cpu.note(0, &CacheNote::ForgetAll);
        let ours = speed.rate(self.size);
        if ours >= theirs {
            return Ok(());
        }
        Err(format!(
            "{ours:.0} evaluations a second are fewer than the CPU's {theirs:.0} (Device = gpu \
             takes it all the same)"
        ))
    }
}

/// The network on the GPU, or nothing where it does not work; sentences for the user go to `notes`.
pub(super) fn start(
    candidate: Candidate<'_>,
    reference: &mut Engine,
    notes: &mut Vec<String>,
) -> Option<(DeviceEngine, Speed)> {
    let Candidate { name, mut options, .. } = candidate;
    let mut ready = checked(candidate, reference);
    for (less, how) in with_less(options) {
        let Err(why) = &ready else { break };
        notes.push(format!("{name}: {why}; tried again {how}"));
        options = less;
        ready = checked(Candidate { options, ..candidate }, reference);
    }
    let measured = ready.and_then(|(mut gpu, found)| {
        let speed = attempt(|| Ok(speed::measure(|batch| gpu.evaluate(batch), candidate.size)))?;
        gpu.note(0, &CacheNote::ForgetAll);
        candidate.is_worth_it(speed, reference)?;
        Ok((gpu, found, speed))
    });
    match measured {
        Ok((gpu, found, speed)) => {
            notes.extend(found);
            let (fixed, each) = (speed.fixed.as_secs_f64() * 1e3, speed.each.as_secs_f64() * 1e6);
            let bits = if options.storage == Storage::F16 { 16 } else { 32 };
            notes.push(format!(
                "{name}: a batch takes {fixed:.2} ms and {each:.2} µs for each position, stored in \
                 {bits}-bit floats"
            ));
            Some((gpu, speed))
        }
        Err(why) => {
            notes.push(format!("{name}: {why}; the network runs on the CPU"));
            None
        }
    }
}

/// What may work where these options do not, in this order: a driver's 16-bit floats may be wrong,
/// and its memory too small for the cache.
fn with_less(options: DeviceOptions) -> Vec<(DeviceOptions, String)> {
    let storage = Storage::F32;
    let floats = DeviceOptions { storage, ..options };
    let mut all = Vec::new();
    if options.storage != storage {
        all.push((floats, "in 32-bit floats".to_owned()));
    }
    let quarter = |&bytes: &usize| Some(bytes / 4).filter(|&bytes| bytes >= LEAST_CACHE);
    for cache_bytes in std::iter::successors(Some(options.cache_bytes), quarter).skip(1) {
        let how = format!("with GPUKVCache {}", cache_bytes >> 20);
        all.push((DeviceOptions { cache_bytes, ..floats }, how));
    }
    if options.cache_bytes > 0 {
        let how = "without GPUKVCache".to_owned();
        all.push((DeviceOptions { cache_bytes: 0, ..floats }, how));
    }
    all
}

/// The network on the GPU, after it has agreed with the CPU on the canary positions, and perhaps a
/// sentence about why it keeps nothing.
fn checked(
    candidate: Candidate<'_>,
    reference: &mut Engine,
) -> Result<(DeviceEngine, Option<String>), String> {
    let Candidate { name, open, options, .. } = candidate;
    let expected = attempt(|| Ok(reference.evaluate(&canary::requests())))?;
    let mut gpu = attempt(|| {
        let mut gpu = open(options)?;
        let actual = gpu.evaluate(&canary::requests());
        close_enough(&expected, &actual)?;
        Ok(gpu)
    })?;
    if !gpu.keeps() || gpu.figures().limit < LEAST_SLOTS {
        gpu.close_cache();
        let note = (options.cache_bytes > 0).then(|| {
            format!("{name}: GPUKVCache is too small for it, every position is encoded whole")
        });
        return Ok((gpu, note));
    }
    let expected = children_by(|requests| reference.evaluate(requests));
    let checked = attempt(|| {
        let actual = children_by(|requests| gpu.evaluate(requests));
        close_enough(&expected, &actual)
    });
    reference.note(0, &CacheNote::ForgetAll);
    gpu.note(0, &CacheNote::ForgetAll);
    let note = match checked {
        // 32-bit floats may keep it: they are tried next.
        Err(why) if options.storage == Storage::F16 => return Err(format!("its cache: {why}")),
        checked => checked.err(),
    };
    let note = note.map(|why| {
        gpu.close_cache();
        format!("{name}: its cache: {why}; every position is encoded whole")
    });
    Ok((gpu, note))
}

/// The answers to the canary positions' children, made from their parents.
fn children_by(mut evaluate: impl FnMut(&[Request]) -> Vec<Evaluation>) -> Vec<Evaluation> {
    let parents = evaluate(&canary::parents());
    let handles: Vec<Handle> = parents.iter().map(|parent| parent.handle).collect();
    evaluate(&canary::children(&handles))
}

fn close_enough(expected: &[Evaluation], actual: &[Evaluation]) -> Result<(), String> {
    let difference = canary::difference(expected, actual);
    if difference < CANARY_TOLERANCE {
        Ok(())
    } else {
        Err(format!("its answers are off by {difference}"))
    }
}

/// Tries something with a driver that may panic.
fn attempt<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    guarded(work).unwrap_or_else(|text| Err(format!("it failed ({text})")))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::cpu::Options;
    use crate::model::ModelConfig;
    use crate::weights;

    /// Starts on a device whose driver panics, as drivers do, where `fails` says so of the cache's
    /// bytes. Whether it is used, whether it keeps anything, and what the user is told.
    fn drill(fails: impl Fn(DeviceOptions) -> bool) -> (Option<bool>, Vec<String>) {
        let (config, tensors) = (ModelConfig::tiny(), Device::flex());
        let bytes = weights::to_bytes(&config.init(&tensors), &config).unwrap();
        let cache_bytes = 1 << 28;
        let mut reference =
            Engine::load(&bytes, Options { cache_bytes, ..Options::default() }).unwrap();
        let open = |options: DeviceOptions| {
            assert!(!fails(options), "out of memory");
            DeviceEngine::on_tensors(&bytes, &tensors, options).map_err(|error| error.to_string())
        };
        let options =
            DeviceOptions { cache_bytes, storage: Storage::F16, ..DeviceOptions::default() };
        let candidate = Candidate { name: "Card 9", open: &open, options, size: 4, cpu_size: None };
        let mut notes = Vec::new();
        let found = start(candidate, &mut reference, &mut notes);
        notes.retain(|note| !note.contains("a batch takes"));
        (found.map(|(gpu, _)| gpu.keeps()), notes)
    }

    /// A drill: the device calculates wrongly with 16-bit floats, has no memory for the cache, or
    /// not even for the weights.
    #[test]
    fn what_fails_is_tried_with_less_and_then_the_cpu_plays() {
        let failed = |how: &&str| format!("Card 9: it failed (out of memory); {how}");
        let steps = [
            "tried again in 32-bit floats",
            "tried again with GPUKVCache 64",
            "tried again without GPUKVCache",
            "the network runs on the CPU",
        ];
        let said = |steps: &[&str]| steps.iter().map(failed).collect::<Vec<String>>();
        assert_eq!(drill(|_| false), (Some(true), vec![]));
        assert_eq!(drill(|it| it.storage == Storage::F16), (Some(true), said(&steps[..1])));
        assert_eq!(drill(|it| it.cache_bytes > 1 << 26), (Some(true), said(&steps[..2])));
        assert_eq!(drill(|it| it.cache_bytes > 0), (Some(false), said(&steps[..3])));
        assert_eq!(drill(|_| true), (None, said(&steps)));
    }
}
