//! Builds the search that a mode names, its evaluator, and those that replace one that fails.

use std::path::Path;

use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::Evaluator;

use crate::alphabeta::AlphaBeta;
use crate::best_first::BestFirst;
use crate::minimax::Minimax;
use crate::search::{Fallbacks, Search};
use crate::setup::machine::Machine;
use crate::setup::mode::{EvaluatorKind, SearchMode};
use crate::setup::settings::Settings;
use crate::three_state::{Memory, ThreeState};

/// Memory of the bench, part of its signature.
const BENCH_HASH_MB: usize = 16;

/// Alpha-beta starts with this until `Hash` is set.
const SMALLEST_HASH_MB: usize = 1;

/// A search, and a one-line description of it for the user.
pub struct Made {
    /// Ready to search, with a table of its own size; the caller sets `Hash`.
    pub search: Box<dyn Search>,
    /// For `info string`.
    pub description: String,
    /// Sentences on what is not as the user might have hoped, a missing GPU for example.
    pub notes: Vec<String>,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Made").field(&self.description).finish()
    }
}

/// Makes the search the user chose. An error is a sentence for people, without a full stop.
///
/// # Errors
/// When the device or the network cannot be used.
pub fn search(machine: &Machine) -> Result<Made, String> {
    match machine.search {
        SearchMode::ThreeState => Ok(three_state_search(machine)),
        SearchMode::Minimax => {
            let description = format!("Minimax search; pruning {}", machine.minimax_pruning.name());
            let search = Box::new(Minimax::new(machine.minimax_pruning));
            Ok(Made { search, description, notes: Vec::new() })
        }
        SearchMode::Tesla | SearchMode::Puct | SearchMode::AlphaBeta => {
            let (evaluator, notes) = evaluator(machine)?;
            let description = format!("{} search; {}", machine.search, evaluator.description());
            Ok(Made { search: search_on(machine, evaluator)?, description, notes })
        }
    }
}

/// The decider; where its experience cannot be used, with one that ends with the session, and where
/// its book cannot be, without one.
fn three_state_search(machine: &Machine) -> Made {
    let mut settings = machine.three_state.clone();
    let book = settings.book.take();
    let (mut search, note) = ThreeState::open(&settings).unwrap_or_else(|error| {
        let note = format!("{error}; this session starts from nothing and keeps nothing");
        (ThreeState::new(Memory::in_memory(settings.size), settings.seed), Some(note))
    });
    let mut notes: Vec<String> = note.into_iter().collect();
    if let Some(Err(error)) = book.map(|book| search.know(Path::new(&book))) {
        notes.push(error.to_string());
    }
    let description = format!("ThreeState search; {} positions known", search.positions());
    Made { search: Box::new(search), description, notes }
}

/// Makes the search the user chose on an evaluator that is there already, a share of one for
/// example.
///
/// # Errors
/// When the experience of `ThreeState` cannot be used.
pub fn search_on(
    machine: &Machine,
    evaluator: Box<dyn Evaluator>,
) -> Result<Box<dyn Search>, String> {
    Ok(match machine.search {
        SearchMode::Tesla | SearchMode::Puct => Box::new(tree_search(machine, evaluator)),
        // Without the detour through batches, at full speed.
        SearchMode::AlphaBeta if machine.evaluator == EvaluatorKind::Classical => {
            Box::new(AlphaBeta::classical(SMALLEST_HASH_MB))
        }
        SearchMode::AlphaBeta => Box::new(AlphaBeta::with_evaluator(evaluator, SMALLEST_HASH_MB)),
        SearchMode::Minimax => Box::new(Minimax::new(machine.minimax_pruning)),
        SearchMode::ThreeState => {
            let opened = ThreeState::open(&machine.three_state);
            Box::new(opened.map_err(|error| error.to_string())?.0)
        }
    })
}

/// The search that keeps a tree, by PUCT's rule where the user chose that, else by Tesla's.
pub fn tree_search(machine: &Machine, evaluator: Box<dyn Evaluator>) -> BestFirst {
    let mut search = match machine.search {
        SearchMode::Puct => BestFirst::puct(evaluator),
        _ => BestFirst::new(evaluator),
    };
    search.set_params(machine.params.clone());
    search
}

/// Makes the evaluator the user chose, and sentences for the user on how that went.
///
/// # Errors
/// When the device or the network cannot be used.
pub fn evaluator(machine: &Machine) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    make_evaluator(machine, None)
}

/// The same, for many searches that will share it, so many at most: a position gets the same answer
/// whatever the others ask.
///
/// # Errors
/// When the device or the network cannot be used.
pub fn shared_evaluator(
    machine: &Machine,
    searches: usize,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    make_evaluator(machine, Some(searches))
}

fn make_evaluator(
    machine: &Machine,
    shared_by: Option<usize>,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    match (machine.evaluator, machine.batch_size) {
        (EvaluatorKind::Transformer, _) => network(machine, shared_by),
        (EvaluatorKind::Classical, None) => Ok((Box::new(ClassicalEvaluator::new()), Vec::new())),
        (EvaluatorKind::Classical, Some(size)) => {
            Ok((Box::new(ClassicalEvaluator::with_batch_size(size)), Vec::new()))
        }
    }
}

/// What `make` makes in place of what cannot be made for this machine, and why (`sentence`): the
/// same with the network on the CPU or, where that fails too, without a network. With it, the
/// machine it is made for and a sentence for the user.
///
/// # Errors
/// When that cannot be made either.
pub fn stand_in<T>(
    machine: &Machine,
    sentence: &str,
    make: impl Fn(&Machine) -> Result<T, String>,
) -> Result<(T, Machine, String), String> {
    let on_cpu = machine.stepped_down();
    if on_cpu.needs_device()
        && let Ok(made) = make(&on_cpu)
    {
        return Ok((made, on_cpu, format!("{sentence}; the CPU is used instead")));
    }
    let without = machine.without_network();
    let made = make(&without)?;
    Ok((made, without, format!("{sentence}; the classical evaluator is used instead")))
}

/// What a search on this machine goes on with when its evaluator fails: the network on the CPU and,
/// where that fails too, what needs none. Each time, `tell` gets a sentence.
pub fn fallbacks(machine: &Machine, tell: impl Fn(&str) + Send + 'static) -> Fallbacks {
    make_fallbacks(machine, None, tell)
}

/// The same, for many searches that will share each of them.
pub fn shared_fallbacks(
    machine: &Machine,
    searches: usize,
    tell: impl Fn(&str) + Send + 'static,
) -> Fallbacks {
    make_fallbacks(machine, Some(searches), tell)
}

fn make_fallbacks(
    machine: &Machine,
    shared_by: Option<usize>,
    tell: impl Fn(&str) + Send + 'static,
) -> Fallbacks {
    let mut machine = machine.clone();
    Box::new(move |error| {
        while machine.needs_device() {
            machine = machine.stepped_down();
            match make_evaluator(&machine, shared_by) {
                Ok((fallback, _)) => {
                    tell(&format!("{error}; the search goes on with {}", fallback.description()));
                    return Some(fallback);
                }
                Err(sentence) => tell(&sentence),
            }
        }
        None
    })
}

#[cfg(feature = "net")]
fn network(
    machine: &Machine,
    shared_by: Option<usize>,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    crate::setup::network::start(machine, shared_by)
}

#[cfg(not(feature = "net"))]
fn network(
    machine: &Machine,
    _: Option<usize>,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    Err(format!("the evaluator {} is not built into this program", machine.evaluator))
}

/// Looks for the GPU that a search chosen later would want. Only a process' first look takes long,
/// and it must not be on a clock.
#[cfg(feature = "net")]
pub fn look_for_gpu(settings: &Settings) {
    let Machine { evaluator, device, .. } = &settings.machine;
    if *evaluator == EvaluatorKind::Transformer && crate::setup::network::may_use_gpu(device) {
        let _ = crate::setup::network::device();
    }
}

/// A program without the network wants none.
#[cfg(not(feature = "net"))]
pub fn look_for_gpu(_: &Settings) {}

/// The search behind the bench signature: the same on every machine.
pub fn bench_search() -> Box<dyn Search> {
    let mut search = BestFirst::new(Box::new(ClassicalEvaluator::new()));
    search.set_hash_mb(BENCH_HASH_MB);
    Box::new(search)
}

/// The same for this search mode, on the evaluator that every build has.
///
/// # Errors
/// When the search cannot be made.
pub fn bench_search_of(search: SearchMode) -> Result<Box<dyn Search>, String> {
    let machine = Machine { search, ..Settings::default().machine() };
    let mut search = self::search(&machine.without_network())?.search;
    search.set_hash_mb(BENCH_HASH_MB);
    Ok(search)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_stands_in_before_the_classical_evaluator() {
        let wanted = Machine { device: "gpu".to_owned(), ..Machine::default() };
        assert!(wanted.needs_device());
        let of = |works: fn(&Machine) -> bool| {
            stand_in(&wanted, "there is no GPU", |machine| {
                if works(machine) { Ok(()) } else { Err("no".to_owned()) }
            })
        };
        let ((), machine, sentence) = of(|machine| machine.device == "cpu").unwrap();
        assert_eq!((machine.evaluator, machine.device.as_str()), (wanted.evaluator, "cpu"));
        assert_eq!(sentence, "there is no GPU; the CPU is used instead");
        let ((), machine, sentence) = of(|machine| !machine.needs_device()).unwrap();
        assert!(!machine.needs_device());
        assert_eq!(sentence, "there is no GPU; the classical evaluator is used instead");
        assert_eq!(of(|_| false).unwrap_err(), "no");
    }
}
