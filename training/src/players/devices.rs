//! The devices that our own searches of a run share.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tesla_engine::best_first::BestFirst;
use tesla_engine::best_first::params::Params;
use tesla_engine::search::Search as _;
use tesla_engine::setup::factory;
use tesla_engine::setup::machine::Machine;
use tesla_engine::setup::mode::SearchMode;
use tesla_engine::setup::settings::Settings;
use tesla_nn::evaluator::Evaluator;
use tesla_nn::shared::{SharedDevice, Usage};
use tesla_nn::weights::short_hash;

use super::side::Side;

/// The devices of a match's own sides: one for each network and device, which all searches with
/// limits in evaluations or depth share. A search by time has one of its own: it may not wait for
/// others, nor profit from what they asked.
#[derive(Debug, Default)]
pub struct Devices {
    shared: Vec<(Machine, SharedDevice)>,
    /// The devices of searches by time, as they describe themselves.
    alone: Vec<(Machine, String)>,
}

/// The part of a machine that a device depends on.
fn device_of(machine: &Machine) -> Machine {
    let plain = Settings::default().machine();
    let params = Params {
        anchor_work: machine.params.anchor_work,
        anchor_staleness: machine.params.anchor_staleness,
        ..plain.params
    };
    Machine { search: plain.search, params, batch_size: None, ..machine.clone() }
}

/// Refuses a search that keeps no tree.
///
/// # Errors
/// A sentence.
pub fn check_tree(search: SearchMode) -> Result<(), String> {
    if search.keeps_tree() {
        Ok(())
    } else {
        Err(format!("{search} keeps no tree; leave option Search as it is"))
    }
}

impl Devices {
    /// Starts the devices that these sides need, each for so many clients at once. `say` gets a
    /// sentence on whatever is not as one might have hoped.
    ///
    /// # Errors
    /// A sentence, when a device or a network cannot be used.
    pub fn start(sides: &[Side], clients: usize, say: &dyn Fn(&str)) -> Result<Self> {
        let mut devices = Self::default();
        let mut said = HashSet::new();
        for side in sides.iter().filter(|side| side.is_own()) {
            let machine = device_of(&side.machine()?);
            let is_timed = side.limit.is_timed();
            if !machine.needs_device() || devices.description(&machine, is_timed).is_some() {
                continue;
            }
            let made = if is_timed {
                factory::evaluator(&machine)
            } else {
                factory::shared_evaluator(&machine, clients)
            };
            let (evaluator, notes) =
                made.map_err(|sentence| anyhow!("side {}: {sentence}", side.name))?;
            notes.into_iter().filter(|note| said.insert(note.clone())).for_each(|note| say(&note));
            if is_timed {
                devices.alone.push((machine, evaluator.description()));
                continue;
            }
            let shared = SharedDevice::start(evaluator)?;
            devices.shared.push((machine, shared));
        }
        Ok(devices)
    }

    fn find(&self, machine: &Machine) -> Option<&SharedDevice> {
        self.shared.iter().find(|(known, _)| known == machine).map(|(_, shared)| shared)
    }

    fn description(&self, machine: &Machine, is_timed: bool) -> Option<String> {
        if !is_timed {
            return self.find(machine).map(SharedDevice::description);
        }
        let known = self.alone.iter().find(|(known, _)| known == machine);
        known.map(|(_, description)| description.clone())
    }

    /// The shared devices' descriptions and what went through them.
    pub fn usage(&self) -> Vec<(String, Usage)> {
        self.shared.iter().map(|(_, shared)| (shared.description(), shared.usage())).collect()
    }

    /// An evaluator for one search, or for whoever asks one.
    ///
    /// # Errors
    /// A sentence, when it is not shared and cannot be started.
    pub fn evaluator(
        &self,
        machine: &Machine,
        is_timed: bool,
    ) -> Result<Box<dyn Evaluator>, String> {
        let shared = if is_timed { None } else { self.find(&device_of(machine)) };
        match shared {
            Some(shared) => Ok(Box::new(shared.client(machine.batch_size.unwrap_or(0)))),
            None => Ok(factory::evaluator(machine)?.0),
        }
    }

    /// The search of one of our own sides that keeps a tree.
    ///
    /// # Errors
    /// A sentence, when the side's search keeps none or its options cannot be used.
    pub fn tree_search(&self, side: &Side) -> Result<BestFirst, String> {
        let settings = side.settings().map_err(|error| error.to_string())?;
        let machine = settings.machine();
        check_tree(machine.search)?;
        let evaluator = self.evaluator(&machine, side.limit.is_timed())?;
        let mut search = factory::tree_search(&machine, evaluator);
        search.set_hash_mb(settings.hash_mb);
        Ok(search)
    }

    /// What evaluates for this side, without the device it runs on, and the hash of the tunables
    /// that it took from a file; `None` where there is neither, or the side is another program.
    pub fn network(&self, side: &Side) -> Option<String> {
        if !side.is_own() {
            return None;
        }
        let machine = side.machine().ok()?;
        let description = self.description(&device_of(&machine), side.limit.is_timed());
        let network =
            description.map(|text| text.split(" on ").next().unwrap_or_default().to_owned());
        // A file of this name may say something else tomorrow.
        let tunables = side
            .has_tunables_file()
            .then(|| format!("tunables {}", short_hash(machine.params.to_file("").as_bytes())));
        match (network, tunables) {
            (Some(network), Some(tunables)) => Some(format!("{network}, {tunables}")),
            (network, tunables) => network.or(tunables),
        }
    }
}

/// What went through the shared devices of a run that took this long.
pub(crate) fn device_lines(devices: &[(String, Usage)], time: Duration) -> String {
    let mut text = String::new();
    for (device, usage) in devices {
        let _ = writeln!(
            text,
            "{device}: {} evaluations asked for, {} done in batches of {:.1}, {:.0} a second. \
             Games that share it wait for each other, and the sides' times hold the wait.",
            usage.asked,
            usage.evaluated,
            usage.mean_batch(),
            usage.evaluated as f64 / time.as_secs_f64().max(1e-9)
        );
        if let Some(cache) = &usage.cache {
            let _ = writeln!(text, "{device}: {cache}.");
        }
    }
    text
}
