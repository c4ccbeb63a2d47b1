//! The searches of the page, on one device.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use shakmaty::Move;
use tesla_nn::evaluator::Evaluator;
use tesla_nn::shared::SharedDevice;

use super::hub::Hub;
use super::lockstep::InStep;
use super::messages::BoardLine;
use super::review::{self, Review};
use super::runner::{Run, Runner};
use crate::search::{Fallbacks, Limits, Search, StopToken};
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::setup::mode::SearchMode;

/// Memory for each search, MiB.
const HASH_MB: usize = 128;
/// Searches at once: one of each mode, and a review.
const SEARCHES: usize = SearchMode::WATCHABLE.len() + 1;

/// What the controller's thread does.
#[derive(Debug)]
pub(super) enum Work {
    /// Start the device.
    Load,
    /// Search.
    Run { number: u64, modes: Vec<(SearchMode, StopToken)>, line: Box<BoardLine>, limits: Limits },
    /// Tell of the position behind these moves of this run.
    Look(u64, Vec<Move>),
    /// Review a game.
    Review(Box<Review>),
}

/// The searches, made when they are first asked for, all on one device.
pub(super) struct Runners {
    machine: Machine,
    device: Option<SharedDevice>,
    made: BTreeMap<SearchMode, Runner>,
    /// The last number that one had in lockstep.
    numbers: u64,
}

impl Runners {
    /// None yet, for this machine.
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, device: None, made: BTreeMap::new(), numbers: 0 }
    }

    /// Does it.
    pub(super) fn work(&mut self, work: Work, hub: &Arc<Hub>) {
        match work {
            Work::Load => self.load(hub),
            Work::Run { number, modes, line, limits } => {
                self.load(hub);
                self.run(number, &modes, (&line, &limits), hub);
            }
            Work::Review(review) => {
                self.load(hub);
                match self.search(SearchMode::Tesla, |client| client) {
                    Ok(search) => review::start(*review, search, hub),
                    Err(sentence) => hub.note(&sentence),
                }
            }
            Work::Look(run, path) => {
                for runner in self.made.values() {
                    runner.look_at(run, path.clone());
                }
            }
        }
    }

    /// Starts the device or what stands in for it.
    fn load(&mut self, hub: &Arc<Hub>) {
        if self.device.is_some() {
            return;
        }
        hub.forget_notes();
        let (evaluator, notes) = match self.evaluator(hub) {
            Ok(made) => made,
            Err(sentence) => return hub.keep_note(&sentence),
        };
        for note in notes {
            hub.keep_note(&note);
        }
        match SharedDevice::start_with(evaluator, spares(&self.machine, hub)) {
            Ok(device) => {
                hub.set_evaluator(&device.description());
                self.device = Some(device);
            }
            Err(error) => hub.keep_note(&format!("the device cannot be started: {error}")),
        }
    }

    fn evaluator(&mut self, hub: &Hub) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
        let make = |machine: &Machine| factory::shared_evaluator(machine, SEARCHES);
        make(&self.machine).or_else(|sentence| {
            let (made, machine, sentence) = factory::stand_in(&self.machine, &sentence, make)?;
            self.machine = machine;
            hub.keep_note(&sentence);
            Ok(made)
        })
    }

    fn run(
        &mut self,
        number: u64,
        modes: &[(SearchMode, StopToken)],
        (line, limits): (&BoardLine, &Limits),
        hub: &Arc<Hub>,
    ) {
        let mut runs = Vec::new();
        for (mode, stop) in modes {
            self.numbers += 1;
            match self.make(*mode, hub) {
                Ok(()) => runs.push((*mode, self.numbers, stop.clone())),
                Err(sentence) => {
                    hub.note(&sentence);
                    hub.ended(number);
                }
            }
        }
        hub.lockstep()
            .open(runs.iter().map(|(_, runner, stop)| (*runner, stop.clone())), limits.nodes);
        for (mode, number_in_step, stop) in runs {
            let (game, limits) = (line.game.clone(), limits.clone());
            if let Some(runner) = self.made.get(&mode) {
                runner.run(Run { number, runner: number_in_step, game, limits, stop });
            }
        }
    }

    /// A search on the device, its evaluator behind what `behind` makes of it.
    fn search(
        &self,
        mode: SearchMode,
        behind: impl Fn(Box<dyn Evaluator>) -> Box<dyn Evaluator> + Send + 'static,
    ) -> Result<Box<dyn Search>, String> {
        let device = self.device.as_ref().ok_or("there is nothing to evaluate positions with")?;
        let machine = Machine { search: mode, ..self.machine.clone() }.used();
        let client = device.client(0);
        let mut successors = device.successors(&client);
        let mut search = factory::search_on(&machine, behind(Box::new(client)))?;
        search.set_fallbacks(Box::new(move |error| successors(error).map(&behind)));
        search.set_hash_mb(HASH_MB);
        Ok(search)
    }

    /// Makes this search, if it is not there yet.
    fn make(&mut self, mode: SearchMode, hub: &Arc<Hub>) -> Result<(), String> {
        if self.made.contains_key(&mode) {
            return Ok(());
        }
        let number = Arc::new(AtomicU64::new(0));
        let (lockstep, cell) = (hub.lockstep().clone(), Arc::clone(&number));
        let in_step = move |client| -> Box<dyn Evaluator> {
            Box::new(InStep::new(client, lockstep.clone(), Arc::clone(&cell)))
        };
        let search = self.search(mode, in_step)?;
        self.made.insert(mode, Runner::new(search, hub.lockstep().clone(), number, hub));
        Ok(())
    }
}

/// What the device is replaced by when it fails; the page says so.
fn spares(machine: &Machine, hub: &Arc<Hub>) -> Fallbacks {
    let told = Arc::clone(hub);
    let mut spares =
        factory::shared_fallbacks(machine, SEARCHES, move |sentence| told.keep_note(sentence));
    let hub = Arc::clone(hub);
    Box::new(move |error| {
        let spare = spares(error)?;
        hub.set_evaluator(&spare.description());
        Some(spare)
    })
}
