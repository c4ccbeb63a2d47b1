//! Network and device, started as for play.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tesla_nn::evaluator::{Evaluator, Request};

use super::{Finding, system};
use crate::commands::bench;
use crate::search::clock::Stopwatch;
use crate::setup::factory;
use crate::setup::settings::Settings;

/// Batches of each size that are timed, behind one that is not.
const BATCHES: usize = 5;

/// Starts what the settings ask for and times batches.
pub(super) fn check(settings: &Settings, tell: &mut dyn FnMut(Finding)) {
    let machine = settings.machine();
    // A driver's fault may come as a panic from below.
    let started = catch_unwind(AssertUnwindSafe(|| factory::evaluator(&machine)));
    match started {
        Ok(Ok((mut evaluator, notes))) => {
            tell(Finding::fine("evaluator", evaluator.description()));
            for note in notes {
                if note.contains("a batch takes") {
                    tell(Finding::fine("evaluator", note));
                    continue;
                }
                let advice = advice_on(&note);
                tell(Finding::weak("evaluator", note, advice));
            }
            tell(speed(evaluator.as_mut()));
        }
        Ok(Err(sentence)) => {
            let advice = advice_on(&sentence);
            tell(Finding::broken("evaluator", sentence, advice));
        }
        Err(_) => tell(Finding::broken(
            "evaluator",
            "internal error while starting".to_owned(),
            "try --device cpu; if that works, update the GPU's driver, or set Device = cpu; \
             please report it",
        )),
    }
}

/// What to do about a sentence of the evaluator's.
fn advice_on(sentence: &str) -> &'static str {
    if sentence.contains("not built into") {
        "leave out --weights and --device, or build with: cargo build --release"
    } else if sentence.contains("built without") {
        "nothing, if the CPU is enough; for a GPU see program above"
    } else if sentence.contains("no GPU") || sentence.contains("no gpu") {
        "if there is one, install its Vulkan driver (see drivers above); else nothing: the CPU \
         plays"
    } else if sentence.contains("tried again") {
        "play on; update the GPU's driver, and if that does not help, set GPUStorage or GPUKVCache \
         to what worked"
    } else if sentence.contains("no 16-bit floats") {
        "set GPUStorage to auto"
    } else if sentence.contains("too small for it") {
        "raise the option that it names"
    } else if sentence.contains("KVCache") {
        "lower the option that it names, or end other programs"
    } else if sentence.contains("cache") {
        "play on: positions are then evaluated whole, which is slower; update the GPU's driver \
         and try again"
    } else if sentence.contains("software") {
        "set Device to auto or cpu for play"
    } else {
        "name another network with --weights or another device with --device, as the sentence says"
    }
}

/// Evaluations a second in small, middling and full batches, each the median of several.
fn speed(evaluator: &mut dyn Evaluator) -> Finding {
    // Before the measurement adds to it.
    let busy = system::busy();
    let full = evaluator.batch_size().max(4);
    let mut parts = Vec::new();
    for size in [1, full / 4, full] {
        match median(evaluator, size) {
            Ok(seconds) => parts.push(format!(
                "{:.0} in batches of {size} ({:.2} ms)",
                size as f64 / seconds.max(1e-9),
                seconds * 1e3
            )),
            Err(broken) => return broken,
        }
    }
    let found = format!("full evaluations a second: {}", parts.join(", "));
    match busy {
        None => Finding::fine("speed", found),
        Some(load) => {
            let advice = "other programs were computing, so this is less than the machine can do; \
                          try again when they have ended";
            Finding::weak("speed", format!("{found}; {load}"), advice)
        }
    }
}

/// Median time of a batch of so many positions, s.
fn median(evaluator: &mut dyn Evaluator, size: usize) -> Result<f64, Finding> {
    let positions: Vec<_> = bench::positions().map(|(_, position)| position).collect();
    let mut times = Vec::new();
    // The first one is not counted: what a size needs is set up in it.
    for _ in 0..=BATCHES {
        let batch = positions.iter().cycle().take(size).map(Request::single).collect();
        let watch = Stopwatch::start();
        evaluator.submit(batch);
        let answers = evaluator.collect().map_err(|error| {
            let advice = "try --device cpu; if that works, update the GPU's driver";
            Finding::broken("speed", error.to_string(), advice)
        })?;
        times.push(watch.elapsed().as_secs_f64());
        if !answers.iter().all(|answer| answer.value.is_finite()) {
            let advice = "use another device with --device, and please report this one";
            return Err(Finding::broken("speed", "its answers are not numbers".to_owned(), advice));
        }
    }
    let counted = &mut times[1..];
    counted.sort_by(f64::total_cmp);
    Ok(counted[counted.len() / 2])
}
