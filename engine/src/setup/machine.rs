//! What decides which search and evaluator run.

use tesla_nn::memory::affordable;

use crate::best_first::params::Params;
use crate::minimax::Pruning;
use crate::setup::mode::{EvaluatorKind, SearchMode};
use crate::three_state;

/// The device that is always there.
const CPU: &str = "cpu";

/// What decides which search and evaluator run; a change means reloading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The search mode.
    pub search: SearchMode,
    /// The evaluator.
    pub evaluator: EvaluatorKind,
    /// Where the network runs: `auto`, `cpu`, `gpu`, `gpu:` with a number or a part of its name or,
    /// for tests, `software`.
    pub device: String,
    /// A network's file; `None` = the embedded one.
    pub weights_file: Option<String>,
    /// Most positions in a batch; `None` = the device's choice.
    pub batch_size: Option<usize>,
    /// Threads for the network on a CPU; 0 = one per core.
    pub threads: usize,
    /// Memory for keys and values of evaluated positions on a CPU, MiB; 0 = all are encoded whole.
    pub kv_cache_mb: usize,
    /// The same on a GPU.
    pub gpu_kv_cache_mb: usize,
    /// How a GPU stores weights and cache: `auto`, `f32` or `f16`.
    pub gpu_storage: &'static str,
    /// The tunables.
    pub params: Params,
    /// Of `Search` = `Minimax`.
    pub minimax_pruning: Pruning,
    /// Of `Search` = `ThreeState`.
    pub three_state: three_state::ThreeStateSettings,
}

impl Machine {
    /// The same without what its search does not use, so that a change of that causes no reload.
    #[must_use]
    pub fn used(mut self) -> Self {
        if self.search.has_own_evaluation() {
            self.evaluator = EvaluatorKind::Classical;
            (self.batch_size, self.params) = (None, Params::default());
        }
        if self.evaluator == EvaluatorKind::Classical {
            let Self { device, weights_file, gpu_storage, .. } = Self::default();
            self = Self { device, weights_file, gpu_storage, ..self };
            (self.threads, self.kv_cache_mb, self.gpu_kv_cache_mb) = (0, 0, 0);
        }
        if self.search != SearchMode::Minimax {
            self.minimax_pruning = Pruning::default();
        }
        if self.search != SearchMode::ThreeState {
            self.three_state = three_state::ThreeStateSettings::default();
        }
        self
    }

    /// What to go on with when the device fails during a game: the CPU, and after that no network.
    #[must_use]
    pub fn stepped_down(&self) -> Self {
        if self.device == CPU || self.evaluator == EvaluatorKind::Classical {
            self.without_network()
        } else {
            Self { device: CPU.to_owned(), ..self.clone() }
        }
    }

    /// The same search on the evaluator of another machine, where its own cannot be had.
    #[must_use]
    pub fn with_evaluator_of(&self, other: &Self) -> Self {
        Self {
            evaluator: other.evaluator,
            device: other.device.clone(),
            weights_file: other.weights_file.clone(),
            ..self.clone()
        }
        .used()
    }

    /// How much of what `Hash` wants can be had beside the cache of keys and values, MiB, and a
    /// sentence where that is less.
    pub fn affordable_hash(&self, wanted_mb: usize) -> (usize, Option<String>) {
        // The cache takes its memory as it fills.
        let (promised, _) = affordable("KVCache", self.kv_cache_mb, 0);
        affordable("Hash", wanted_mb, promised)
    }

    /// Whether an option changes nothing in this search: a tunable that it does not read, a file of
    /// such, or what belongs to another search. Names of options in any case.
    pub fn ignores(&self, option: &str) -> bool {
        let is = |name: &str| option.eq_ignore_ascii_case(name);
        if is("TunablesFile") {
            let usual = Params::default();
            let names = Params::TUNABLES.iter().map(|row| row.name);
            let mut changed =
                names.filter(|name| self.params.get(name) != usual.get(name)).peekable();
            return changed.peek().is_some() && !changed.any(|name| self.search.reads(name));
        }
        is("MinimaxPruning") && self.search != SearchMode::Minimax
            || (is("ExperienceFile") || is("Seed")) && self.search != SearchMode::ThreeState
            || Params::TUNABLES.iter().any(|row| is(row.name) && !self.search.reads(row.name))
    }

    /// Whether it needs a device; the classical evaluation needs none.
    pub fn needs_device(&self) -> bool {
        self.evaluator != EvaluatorKind::Classical
    }

    /// The same search on the evaluator that always works.
    #[must_use]
    pub fn without_network(&self) -> Self {
        Self { evaluator: EvaluatorKind::Classical, ..self.clone() }
    }
}
