//! Names of searches and evaluators, and how the user's choice becomes one that runs.

use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::Evaluator;

use crate::alphabeta::AlphaBeta;
use crate::best_first::params::Params;
use crate::best_first::search::TeslaSearch;
use crate::minimax::{Minimax, Pruning};
use crate::search::{Search, Spares};
use crate::setup::options::Settings;
use crate::three_state::{self, Memory, ThreeState};

/// The search modes; the first is the default.
pub const SEARCHES: &[&str] = &[TESLA, ALPHA_BETA, PUCT, MINIMAX, THREE_STATE];

/// Best-first minimax.
const TESLA: &str = "Tesla";

/// The control: lc0's rule on Tesla's tree.
pub const PUCT: &str = "PUCT";

/// The baseline.
const ALPHA_BETA: &str = "AlphaBeta";

/// The foundation, on seed 002's piece values.
const MINIMAX: &str = "Minimax";

/// Acts, guesses or calculates, and remembers.
const THREE_STATE: &str = "ThreeState";

/// The evaluators: the network first, then the one that needs none.
pub const EVALUATORS: &[&str] = &[TRANSFORMER, CLASSICAL];

/// The network, which not every build has.
pub const TRANSFORMER: &str = "Transformer";

/// The evaluator that needs no network and works everywhere.
const CLASSICAL: &str = "Classical";

/// The device that is always there.
const CPU: &str = "cpu";

/// Memory of the bench, part of its signature.
const BENCH_HASH_MB: usize = 16;

/// Alpha-beta starts with this until `Hash` is set.
const SMALLEST_HASH_MB: usize = 1;

/// What decides which search and evaluator run; another one means loading anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// One of [`SEARCHES`].
    pub search: &'static str,
    /// One of [`EVALUATORS`].
    pub evaluator: &'static str,
    /// `auto`, `cpu`, `gpu` or, for tests, `software`.
    pub device: String,
    /// `None` = the embedded network.
    pub weights_file: Option<String>,
    /// `None` = the device's choice.
    pub batch_size: Option<usize>,
    /// Memory for keys and values of evaluated positions, MiB; 0 = all are encoded whole.
    pub kv_cache_mb: usize,
    /// The tunables.
    pub params: Params,
    /// What minimax leaves out; the default where another search was chosen.
    pub minimax_pruning: Pruning,
    /// The decider's experience; the default where another search was chosen.
    pub three_state: three_state::Settings,
}

impl Machine {
    /// The user's choice.
    pub fn of(settings: &Settings) -> Self {
        let search = settings.search;
        let (is_minimax, is_three_state) = (search == MINIMAX, search == THREE_STATE);
        Self {
            search,
            // What judges positions by itself needs no network.
            evaluator: if judges_itself(search) { CLASSICAL } else { settings.evaluator },
            device: settings.device.clone(),
            weights_file: settings.weights_file.clone(),
            batch_size: settings.batch_size,
            // Other positions have no children on the device.
            kv_cache_mb: if keeps_tree(search) { settings.kv_cache_mb } else { 0 },
            params: settings.params.clone(),
            // What this search does not use must not make it load anew.
            minimax_pruning: if is_minimax { settings.minimax_pruning } else { Pruning::None },
            three_state: if is_three_state {
                settings.three_state.clone()
            } else {
                three_state::Settings::default()
            },
        }
    }

    /// What to go on with when the device fails during a game: the CPU, and after that no network.
    #[must_use]
    pub fn stepped_down(&self) -> Self {
        if self.device == CPU || self.evaluator == CLASSICAL {
            self.without_network()
        } else {
            Self { device: CPU.to_owned(), ..self.clone() }
        }
    }

    /// Whether it needs a device; what counts pieces needs none.
    pub fn needs_device(&self) -> bool {
        self.evaluator != CLASSICAL
    }

    /// The same search on the evaluator that always works.
    #[must_use]
    pub fn without_network(&self) -> Self {
        Self { evaluator: CLASSICAL, ..self.clone() }
    }
}

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

/// Whether the search of this name keeps a tree.
pub fn keeps_tree(search: &str) -> bool {
    matches!(search, TESLA | PUCT)
}

/// Whether the search of this name has an evaluation of its own, and asks no evaluator.
fn judges_itself(search: &str) -> bool {
    matches!(search, MINIMAX | THREE_STATE)
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
    if settings.evaluator == TRANSFORMER && crate::setup::network::may_use_gpu(&settings.device) {
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

/// How much of what the option `name` wants this machine can give, in MiB, and a sentence where that
/// is less; `promised_mb` of what is free are for others. Known on Linux only; elsewhere the wish is
/// granted.
pub fn affordable(name: &str, wanted_mb: usize, promised_mb: usize) -> (usize, Option<String>) {
    let Some(free_mb) = free_memory_mb() else { return (wanted_mb, None) };
    let free_mb = free_mb.saturating_sub(promised_mb);
    // The rest is for the network, its batches and everybody else.
    let most = (free_mb / 4 * 3).max(1);
    if wanted_mb <= most {
        return (wanted_mb, None);
    }
    let sentence =
        format!("{name} {wanted_mb} MiB is more than this machine has free; {most} is used");
    (most, Some(sentence))
}

/// Memory that is free on this machine, MiB; known on Linux only.
pub fn free_memory_mb() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}
