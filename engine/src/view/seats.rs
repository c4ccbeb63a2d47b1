//! The searches of the desk, on one device.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use shakmaty::Move;
use tesla_nn::evaluator::Evaluator;
use tesla_nn::shared::SharedDevice;

use super::desk::Desk;
use super::gate::Gated;
use super::messages::BoardLine;
use super::review::{self, Review};
use super::seat::{Run, Seat};
use crate::search::{Fallbacks, Limits, Search, StopToken};
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::setup::mode::SearchMode;

/// Memory for each search, MiB.
const HASH_MB: usize = 128;
/// Searches at once: one of each mode, and a review.
const SEARCHES: usize = SearchMode::WATCHABLE.len() + 1;

/// What the desk's thread does.
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
pub(super) struct Seats {
    machine: Machine,
    device: Option<SharedDevice>,
    made: BTreeMap<SearchMode, (Seat, Arc<AtomicU64>)>,
    /// Number of the last runner at the gate.
    runners: u64,
}

impl Seats {
    /// None yet, for this machine.
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, device: None, made: BTreeMap::new(), runners: 0 }
    }

    /// Does it.
    pub(super) fn work(&mut self, work: Work, desk: &Arc<Desk>) {
        match work {
            Work::Load => self.load(desk),
            Work::Run { number, modes, line, limits } => {
                self.load(desk);
                self.run(number, &modes, (&line, &limits), desk);
            }
            Work::Review(review) => {
                self.load(desk);
                match self.search(SearchMode::Tesla, |client| client) {
                    Ok(search) => review::start(*review, search, desk),
                    Err(sentence) => desk.note(&sentence),
                }
            }
            Work::Look(run, path) => {
                for (seat, _) in self.made.values() {
                    seat.look_at(run, path.clone());
                }
            }
        }
    }

    /// Starts the device or what stands in for it.
    fn load(&mut self, desk: &Arc<Desk>) {
        if self.device.is_some() {
            return;
        }
        desk.forget_notes();
        let (evaluator, notes) = match self.evaluator(desk) {
            Ok(made) => made,
            Err(sentence) => return desk.keep_note(&sentence),
        };
        for note in notes {
            desk.keep_note(&note);
        }
        match SharedDevice::start_with(evaluator, spares(&self.machine, desk)) {
            Ok(device) => {
                desk.set_evaluator(&device.description());
                self.device = Some(device);
            }
            Err(error) => desk.keep_note(&format!("the device cannot be started: {error}")),
        }
    }

    fn evaluator(&mut self, desk: &Desk) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
        let make = |machine: &Machine| factory::shared_evaluator(machine, SEARCHES);
        make(&self.machine).or_else(|sentence| {
            let (made, machine, sentence) = factory::stand_in(&self.machine, &sentence, make)?;
            self.machine = machine;
            desk.keep_note(&sentence);
            Ok(made)
        })
    }

    fn run(
        &mut self,
        number: u64,
        modes: &[(SearchMode, StopToken)],
        (line, limits): (&BoardLine, &Limits),
        desk: &Arc<Desk>,
    ) {
        let mut runs = Vec::new();
        for (mode, stop) in modes {
            self.runners += 1;
            match self.seat(*mode, desk) {
                Ok(()) => runs.push((*mode, self.runners, stop.clone())),
                Err(sentence) => {
                    desk.note(&sentence);
                    desk.ended(number);
                }
            }
        }
        desk.gate()
            .open(runs.iter().map(|(_, runner, stop)| (*runner, stop.clone())), limits.nodes);
        for (mode, runner, stop) in runs {
            let (game, limits) = (line.game.clone(), limits.clone());
            if let Some((seat, _)) = self.made.get(&mode) {
                seat.run(Run { number, runner, game, limits, stop });
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
    fn seat(&mut self, mode: SearchMode, desk: &Arc<Desk>) -> Result<(), String> {
        if self.made.contains_key(&mode) {
            return Ok(());
        }
        let runner = Arc::new(AtomicU64::new(0));
        let (gate, number) = (desk.gate().clone(), Arc::clone(&runner));
        let gated = move |client| -> Box<dyn Evaluator> {
            Box::new(Gated::new(client, gate.clone(), Arc::clone(&number)))
        };
        let search = self.search(mode, gated)?;
        let seat = Seat::new(search, desk.gate().clone(), Arc::clone(&runner), desk);
        self.made.insert(mode, (seat, runner));
        Ok(())
    }
}

/// What the device is replaced by when it fails; the page says so.
fn spares(machine: &Machine, desk: &Arc<Desk>) -> Fallbacks {
    let told = Arc::clone(desk);
    let mut spares =
        factory::shared_fallbacks(machine, SEARCHES, move |sentence| told.keep_note(sentence));
    let desk = Arc::clone(desk);
    Box::new(move |error| {
        let spare = spares(error)?;
        desk.set_evaluator(&spare.description());
        Some(spare)
    })
}
