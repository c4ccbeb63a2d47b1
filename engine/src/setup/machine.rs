//! What decides which search and evaluator run.

use crate::best_first::params::Params;
use crate::minimax::Pruning;
use crate::setup::mode::{CLASSICAL, MINIMAX, THREE_STATE, judges_itself, keeps_tree};
use crate::setup::settings::Settings;
use crate::three_state;

/// The device that is always there.
const CPU: &str = "cpu";

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
