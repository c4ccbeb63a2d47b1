//! Network and device, started as for play.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tesla_nn::evaluator::{Evaluator, Request};

use super::Finding;
use crate::commands::bench;
use crate::search::clock::Stopwatch;
use crate::setup::factory;
use crate::setup::settings::Settings;

/// Batches that are timed, behind one that is not.
const BATCHES: u32 = 3;

/// Starts what the settings ask for and times a batch.
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
    } else if sentence.contains("no GPU") || sentence.contains("no gpu") {
        "if there is one, install its Vulkan driver (see drivers above); else nothing: the CPU \
         plays"
    } else if sentence.contains("KVCache") {
        "lower the option KVCache, or end other programs"
    } else if sentence.contains("cache") {
        "play on: positions are then evaluated whole, which is slower; update the GPU's driver \
         and try again"
    } else if sentence.contains("software") {
        "set Device to auto or cpu for play"
    } else {
        "name another network with --weights or another device with --device, as the sentence says"
    }
}

/// Evaluations a second, in batches of the device's size.
fn speed(evaluator: &mut dyn Evaluator) -> Finding {
    let size = evaluator.batch_size().max(1);
    let positions: Vec<_> = bench::positions().map(|(_, position)| position).collect();
    let mut asked = || {
        let batch = positions.iter().cycle().take(size).map(Request::single).collect();
        evaluator.submit(batch);
        evaluator.collect().map(|answers| answers.iter().all(|answer| answer.value.is_finite()))
    };
    let mut watch = Stopwatch::start();
    for number in 0..=BATCHES {
        if number == 1 {
            watch = Stopwatch::start();
        }
        match asked() {
            Ok(true) => {}
            Ok(false) => {
                let advice = "use another device with --device, and please report this one";
                return Finding::broken("speed", "its answers are not numbers".to_owned(), advice);
            }
            Err(error) => {
                let advice = "try --device cpu; if that works, update the GPU's driver";
                return Finding::broken("speed", error.to_string(), advice);
            }
        }
    }
    let milliseconds = watch.elapsed().as_secs_f64() * 1e3 / f64::from(BATCHES);
    let rate = size as f64 / milliseconds.max(1e-6) * 1e3;
    let found = format!("{rate:.0} full evaluations a second ({size} in {milliseconds:.2} ms)");
    Finding::fine("speed", found)
}
