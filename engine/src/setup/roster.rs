//! Names of searches and evaluators, and how the user's choice becomes one that runs.

use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::Evaluator;

use crate::alphabeta::AlphaBeta;
use crate::best_first::search::TeslaSearch;
use crate::minimax::Minimax;
use crate::search::{Search, Spares};
use crate::setup::machine::Machine;
use crate::setup::mode::{ALPHA_BETA, CLASSICAL, MINIMAX, PUCT, TESLA, THREE_STATE};
use crate::setup::settings::Settings;
use crate::three_state::{Memory, ThreeState};

/// Memory of the bench, part of its signature.
const BENCH_HASH_MB: usize = 16;

/// Alpha-beta starts with this until `Hash` is set.
const SMALLEST_HASH_MB: usize = 1;

/// A search, and one line for people on what it runs.
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
        THREE_STATE => return Ok(three_state_search(machine)),
        MINIMAX => {
            let description = format!("Minimax search; pruning {}", machine.minimax_pruning.name());
            let search = Box::new(Minimax::new(machine.minimax_pruning));
            return Ok(Made { search, description, notes: Vec::new() });
        }
        _ => {}
    }
    let (evaluator, notes) = evaluator(machine)?;
    let description = format!("{} search; {}", machine.search, evaluator.description());
    Ok(Made { search: search_on(machine, evaluator)?, description, notes })
}

/// The decider; where its experience cannot be used, with one that ends with the session.
fn three_state_search(machine: &Machine) -> Made {
    let settings = &machine.three_state;
    let (search, note) = ThreeState::open(settings).unwrap_or_else(|error| {
        let note = format!("{error}; this session starts from nothing and keeps nothing");
        (ThreeState::new(Memory::in_memory(settings.size), settings.seed), Some(note))
    });
    let description = format!("ThreeState search; {} positions known", search.positions());
    Made { search: Box::new(search), description, notes: note.into_iter().collect() }
}

/// Makes the search the user chose on an evaluator that is there already, a share of one for
/// example.
///
/// # Errors
/// When there is no such search, or its experience cannot be used.
pub fn search_on(
    machine: &Machine,
    evaluator: Box<dyn Evaluator>,
) -> Result<Box<dyn Search>, String> {
    Ok(match machine.search {
        TESLA | PUCT => Box::new(tree_search(machine, evaluator)),
        // Without the detour through batches, at full speed.
        ALPHA_BETA if machine.evaluator == CLASSICAL => {
            Box::new(AlphaBeta::classical(SMALLEST_HASH_MB))
        }
        ALPHA_BETA => Box::new(AlphaBeta::with_evaluator(evaluator, SMALLEST_HASH_MB)),
        MINIMAX => Box::new(Minimax::new(machine.minimax_pruning)),
        THREE_STATE => {
            let opened = ThreeState::open(&machine.three_state);
            Box::new(opened.map_err(|error| error.to_string())?.0)
        }
        other => return Err(format!("there is no search named {other}")),
    })
}

/// The search that keeps a tree, by PUCT's rule where the user chose that, else by Tesla's.
pub fn tree_search(machine: &Machine, evaluator: Box<dyn Evaluator>) -> TeslaSearch {
    let mut search = if machine.search == PUCT {
        TeslaSearch::puct(evaluator)
    } else {
        TeslaSearch::new(evaluator)
    };
    search.set_params(machine.params.clone());
    search
}

/// Makes the evaluator the user chose, and sentences for the user on how that went.
///
/// # Errors
/// When the device or the network cannot be used.
pub fn evaluator(machine: &Machine) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    make_evaluator(machine, false)
}

/// The same, for many searches that will share it: a position gets the same answer whatever the
/// others ask.
///
/// # Errors
/// When the device or the network cannot be used.
pub fn shared_evaluator(machine: &Machine) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    make_evaluator(machine, true)
}

fn make_evaluator(
    machine: &Machine,
    is_shared: bool,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    match machine.evaluator {
        CLASSICAL => {
            let evaluator = match machine.batch_size {
                Some(size) => ClassicalEvaluator::with_batch_size(size),
                None => ClassicalEvaluator::new(),
            };
            Ok((Box::new(evaluator), Vec::new()))
        }
        _ => network(machine, is_shared),
    }
}

/// What a search on this machine goes on with when its evaluator fails: the network on the CPU and, where that fails
/// too, what needs none. Each time, `tell` gets a sentence.
pub fn spares(machine: &Machine, tell: impl Fn(&str) + Send + 'static) -> Spares {
    let mut machine = machine.clone();
    Box::new(move |error| {
        while machine.needs_device() {
            machine = machine.stepped_down();
            match evaluator(&machine) {
                Ok((spare, _)) => {
                    tell(&format!("{error}; the search goes on with {}", spare.description()));
                    return Some(spare);
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
    is_shared: bool,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    crate::setup::network::start(machine, is_shared)
}

#[cfg(not(feature = "net"))]
fn network(machine: &Machine, _: bool) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    Err(format!("the evaluator {} is not built into this program", machine.evaluator))
}

/// Looks for the GPU that a search chosen later would want. Only a process' first look takes long, and it must not be on a
/// clock.
#[cfg(feature = "net")]
pub fn look_for_gpu(settings: &Settings) {
    if settings.evaluator == crate::setup::mode::TRANSFORMER
        && crate::setup::network::may_use_gpu(&settings.device)
    {
        let _ = crate::setup::network::device();
    }
}

/// A program without the network wants none.
#[cfg(not(feature = "net"))]
pub fn look_for_gpu(_: &Settings) {}

/// The search behind the bench signature: the same on every machine.
pub fn bench_search() -> Box<dyn Search> {
    let mut search = TeslaSearch::new(Box::new(ClassicalEvaluator::new()));
    search.set_hash_mb(BENCH_HASH_MB);
    Box::new(search)
}

/// The same for the search mode of this name, on the evaluator that every build has.
///
/// # Errors
/// When there is no such search.
pub fn bench_search_of(search: &'static str) -> Result<Box<dyn Search>, String> {
    let machine = Machine { search, ..Machine::of(&Settings::default()) };
    let mut search = self::search(&machine.without_network())?.search;
    search.set_hash_mb(BENCH_HASH_MB);
    Ok(search)
}
