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
const LEAST_CACHE: usize = 16 << 20;
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

/// Why a GPU is not used with its options.
#[derive(Debug)]
enum Fault {
    /// The network does not fit there, whatever the options.
    Refused(String),
    /// Its answers are wrong.
    Wrong(String),
    /// Its driver failed, mostly for want of memory.
    Failed(String),
}

impl Fault {
    fn why(self) -> String {
        match self {
            Self::Refused(why) | Self::Wrong(why) | Self::Failed(why) => why,
        }
    }

    /// What may work where the first options were `wanted` and these fail, and how to say it:
    /// 32-bit floats where 16-bit ones are wrong, a smaller cache where the driver failed.
    fn next(&self, wanted: DeviceOptions, now: DeviceOptions) -> Option<(DeviceOptions, String)> {
        let floats = |cache_bytes| {
            let options = DeviceOptions { storage: Storage::F32, cache_bytes, ..now };
            (now.storage != Storage::F32).then(|| (options, "in 32-bit floats".to_owned()))
        };
        match self {
            Self::Refused(_) => None,
            Self::Wrong(_) => floats(now.cache_bytes),
            Self::Failed(_) if now.cache_bytes == 0 => floats(wanted.cache_bytes),
            Self::Failed(_) => {
                let quarter = now.cache_bytes / 4;
                let cache_bytes = if quarter < LEAST_CACHE { 0 } else { quarter };
                let how = match cache_bytes >> 20 {
                    0 => "without GPUKVCache".to_owned(),
                    megabytes => format!("with GPUKVCache {megabytes}"),
                };
                Some((DeviceOptions { cache_bytes, ..now }, how))
            }
        }
    }
}

/// The network on the GPU, or nothing where it does not work; sentences for the user go to `notes`.
pub(super) fn start(
    candidate: Candidate<'_>,
    reference: &mut Engine,
    notes: &mut Vec<String>,
) -> Option<(DeviceEngine, Speed)> {
    let Candidate { name, options: wanted, .. } = candidate;
    let expected = Canaries::by(reference);
    let mut options = wanted;
    let ready = loop {
        let fault = match checked(Candidate { options, ..candidate }, &expected) {
            Ok(ready) => break Ok(ready),
            Err(fault) => fault,
        };
        let Some((next, how)) = fault.next(wanted, options) else { break Err(fault.why()) };
        notes.push(format!("{name}: {}; tried again {how}", fault.why()));
        options = next;
    };
    let measured = ready.and_then(|(mut gpu, found)| {
        let speed = attempt(|| speed::measure(|batch| gpu.evaluate(batch), candidate.size))?;
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

/// The CPU's answers about the canary positions and their children.
struct Canaries {
    positions: Vec<Evaluation>,
    children: Vec<Evaluation>,
}

impl Canaries {
    fn by(cpu: &mut Engine) -> Self {
        let positions = cpu.evaluate(&canary::requests());
        let children = children_by(|requests| cpu.evaluate(requests));
        cpu.note(0, &CacheNote::ForgetAll);
        Self { positions, children }
    }
}

/// The network on the GPU, after it has agreed with the CPU on the canary positions, and perhaps a
/// sentence about why it keeps nothing.
fn checked(
    candidate: Candidate<'_>,
    expected: &Canaries,
) -> Result<(DeviceEngine, Option<String>), Fault> {
    let Candidate { name, open, options, .. } = candidate;
    let opened = attempt(|| open(options)).map_err(Fault::Failed)?;
    let mut gpu = opened.map_err(Fault::Refused)?;
    let actual = attempt(|| gpu.evaluate(&canary::requests())).map_err(Fault::Failed)?;
    close_enough(&expected.positions, &actual).map_err(Fault::Wrong)?;
    if !gpu.keeps() || gpu.figures().limit < LEAST_SLOTS {
        gpu.close_cache();
        let note = (options.cache_bytes > 0).then(|| {
            format!("{name}: GPUKVCache is too small for it, every position is encoded whole")
        });
        return Ok((gpu, note));
    }
    let actual = attempt(|| children_by(|requests| gpu.evaluate(requests)));
    let actual = actual.map_err(Fault::Failed)?;
    gpu.note(0, &CacheNote::ForgetAll);
    let Err(why) = close_enough(&expected.children, &actual) else { return Ok((gpu, None)) };
    if options.storage == Storage::F16 {
        return Err(Fault::Wrong(format!("its cache: {why}")));
    }
    gpu.close_cache();
    Ok((gpu, Some(format!("{name}: its cache: {why}; every position is encoded whole"))))
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
fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    guarded(work).map_err(|text| format!("it failed ({text})"))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::cpu::Options;
    use crate::model::ModelConfig;
    use crate::weights;

    /// What a device does with its options.
    #[derive(Clone, Copy, PartialEq)]
    enum Does {
        Work,
        /// No memory: the driver panics.
        Fail,
        /// Refuses the network.
        Refuse,
        /// Calculates with another network.
        Miscount,
        /// Calculates well, but not from its cache.
        Misremember,
    }

    /// Starts on a device that does so with 16-bit floats and a cache of 64 MiB. Whether it is
    /// used, whether it keeps anything, and what the user is told.
    fn drill(does: impl Fn(DeviceOptions) -> Does) -> (Option<bool>, Vec<String>) {
        let (config, tensors) = (ModelConfig::tiny(), Device::flex());
        let [bytes, other] =
            [(); 2].map(|()| weights::to_bytes(&config.init(&tensors), &config).unwrap());
        let cache_bytes = 1 << 26;
        let mut reference =
            Engine::load(&bytes, Options { cache_bytes, ..Options::default() }).unwrap();
        let open = |options: DeviceOptions| {
            let does = does(options);
            assert!(does != Does::Fail, "out of memory");
            if does == Does::Refuse {
                return Err("its heads are too wide".to_owned());
            }
            let bytes = if does == Does::Miscount { &other } else { &bytes };
            let engine = DeviceEngine::on_tensors(bytes, &tensors, options);
            let engine = engine.map_err(|error| error.to_string())?;
            Ok(if does == Does::Misremember { engine.with_faulty_cache() } else { engine })
        };
        let options =
            DeviceOptions { cache_bytes, storage: Storage::F16, ..DeviceOptions::default() };
        let candidate = Candidate { name: "Card 9", open: &open, options, size: 4, cpu_size: None };
        let mut notes = Vec::new();
        let found = start(candidate, &mut reference, &mut notes);
        notes.retain(|note| !note.contains("a batch takes"));
        // How far off is a matter of chance.
        let (digits, any) = (|c: char| c.is_ascii_digit() || c == '.', "off by ");
        for note in &mut notes {
            if let Some((before, after)) = note.split_once(any) {
                *note = format!("{before}far{}", after.trim_start_matches(digits));
            }
        }
        (found.map(|(gpu, _)| gpu.keeps()), notes)
    }

    /// A drill: the device has no memory for its cache or not even for the weights, calculates
    /// wrongly, always or only from its cache, fails with 16-bit floats only, or refuses the
    /// network.
    #[test]
    fn what_fails_is_tried_with_less_and_then_the_cpu_plays() {
        let failed = "it failed (out of memory); tried again";
        let [smaller, none, floats] =
            ["with GPUKVCache 16", "without GPUKVCache", "in 32-bit floats"]
                .map(|how| format!("Card 9: {failed} {how}"));
        let fail_if = |fails: bool| if fails { Does::Fail } else { Does::Work };
        let err_if = |errs: bool| if errs { Does::Miscount } else { Does::Work };
        let is_f16 = |it: DeviceOptions| it.storage == Storage::F16;

        assert_eq!(drill(|_| Does::Work), (Some(true), vec![]));
        // Memory: a smaller cache is tried in the same floats.
        let found = drill(|it| fail_if(it.cache_bytes > 1 << 24 || !is_f16(it)));
        assert_eq!(found, (Some(true), vec![smaller.clone()]));
        let found = drill(|it| fail_if(it.cache_bytes > 0 || !is_f16(it)));
        assert_eq!(found, (Some(false), vec![smaller.clone(), none.clone()]));
        // A driver that fails with 16-bit floats whatever the cache: the whole cache in others.
        let three = vec![smaller.clone(), none.clone(), floats.clone()];
        assert_eq!(drill(|it| fail_if(is_f16(it))), (Some(true), three.clone()));
        // Wrong: the same cache in 32-bit floats, and nothing else.
        let wrong = "Card 9: its answers are far; tried again in 32-bit floats".to_owned();
        let found = drill(|it| err_if(is_f16(it)));
        assert_eq!(found, (Some(true), vec![wrong.clone()]));
        let plays = |why: &str| format!("Card 9: {why}; the network runs on the CPU");
        let off = plays("its answers are far");
        assert_eq!(drill(|_| Does::Miscount), (None, vec![wrong.clone(), off]));
        // Wrong only from the cache: likewise, and in the end without it.
        let forget_if = |forgets| if forgets { Does::Misremember } else { Does::Work };
        let cache = wrong.replace("its answers", "its cache: its answers");
        let found = drill(|it| forget_if(is_f16(it)));
        assert_eq!(found, (Some(true), vec![cache.clone()]));
        let whole = "Card 9: its cache: its answers are far; every position is encoded whole";
        let found = drill(|_| Does::Misremember);
        assert_eq!(found, (Some(false), vec![cache, whole.to_owned()]));
        // Never.
        let never = plays("it failed (out of memory)");
        let all = [three, vec![smaller, none, never]].concat();
        assert_eq!(drill(|_| Does::Fail), (None, all));
        let refused = plays("its heads are too wide");
        assert_eq!(drill(|_| Does::Refuse), (None, vec![refused]));
    }
}
