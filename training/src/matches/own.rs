//! Our own searches as players, in this process; searches on one network share its device.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::best_first::params::Params;
use tesla_engine::best_first::search::TeslaSearch;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score as EngineScore;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_engine::setup::options::Settings;
use tesla_engine::setup::roster::{self, Machine};
use tesla_nn::evaluator::{Evaluator, centipawns_from_score};
use tesla_nn::shared::{SharedDevice, Usage};
use tesla_nn::transformer::panic_text;
use tesla_nn::weights::short_hash;

use super::ending::Termination;
use super::player::{Mishap, Player, Reply, Turn};
use super::record::Score;
use super::side::Side;

/// Lines of a transcript that are kept.
const TRANSCRIPT: usize = 500;

/// The devices of a match's own sides: one for each network and device, which all searches with
/// limits in evaluations or depth share. A search by time has one of its own: it may not wait for
/// others, nor profit from what they asked.
#[derive(Debug, Default)]
pub struct Devices {
    shared: Vec<(Machine, SharedDevice)>,
    /// The devices of searches by time, as they describe themselves.
    alone: Vec<(Machine, String)>,
    /// Sentences on what is not as the user might have hoped.
    pub notes: Vec<String>,
}

/// The part of a machine that a device depends on.
fn device_of(machine: &Machine) -> Machine {
    let plain = Machine::of(&Settings::default());
    let params = Params {
        anchor_work: machine.params.anchor_work,
        anchor_staleness: machine.params.anchor_staleness,
        ..plain.params
    };
    Machine { search: plain.search, params, batch_size: None, ..machine.clone() }
}

impl Devices {
    /// Starts the devices that these sides need.
    ///
    /// # Errors
    /// A sentence, when a device or a network cannot be used.
    pub fn start(sides: &[Side]) -> Result<Self, String> {
        let mut devices = Self::default();
        for side in sides.iter().filter(|side| side.is_own()) {
            let machine = device_of(&side.machine().map_err(|error| error.to_string())?);
            let is_timed = side.limit.is_timed();
            if !machine.needs_device() || devices.description(&machine, is_timed).is_some() {
                continue;
            }
            let make = if is_timed { roster::evaluator } else { roster::shared_evaluator };
            let (evaluator, notes) =
                make(&machine).map_err(|sentence| format!("side {}: {sentence}", side.name))?;
            for note in notes {
                if !devices.notes.contains(&note) {
                    devices.notes.push(note);
                }
            }
            if is_timed {
                devices.alone.push((machine, evaluator.description()));
                continue;
            }
            let shared = SharedDevice::start(evaluator).map_err(|error| error.to_string())?;
            devices.shared.push((machine, shared));
        }
        Ok(devices)
    }

    fn find(&self, machine: &Machine) -> Option<&SharedDevice> {
        self.shared.iter().find(|(known, _)| known == machine).map(|(_, shared)| shared)
    }

    fn description(&self, machine: &Machine, is_timed: bool) -> Option<&str> {
        if !is_timed {
            return self.find(machine).map(SharedDevice::description);
        }
        let known = self.alone.iter().find(|(known, _)| known == machine);
        known.map(|(_, description)| description.as_str())
    }

    /// The shared devices' descriptions and what went through them.
    pub fn usage(&self) -> Vec<(String, Usage)> {
        self.shared
            .iter()
            .map(|(_, shared)| (shared.description().to_owned(), shared.usage()))
            .collect()
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
            None => Ok(roster::evaluator(machine)?.0),
        }
    }

    /// The search of one of our own sides that keeps a tree.
    ///
    /// # Errors
    /// A sentence, when the side's search keeps none or its options cannot be used.
    pub fn tree_search(&self, side: &Side) -> Result<TeslaSearch, String> {
        let settings = side.settings().map_err(|error| error.to_string())?;
        let machine = Machine::of(&settings);
        if !roster::keeps_tree(machine.search) {
            return Err(format!("{} keeps no tree; leave option Search as it is", machine.search));
        }
        let evaluator = self.evaluator(&machine, side.limit.is_timed())?;
        let mut search = roster::tree_search(&machine, evaluator);
        search.set_hash_mb(settings.hash_mb);
        Ok(search)
    }

    /// What evaluates for this side, without the device it runs on, and the hash of the tunables that
    /// it took from a file; `None` where there is neither.
    pub fn network(&self, side: &Side) -> Option<String> {
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

/// One of our own searches.
pub struct OwnPlayer<'a> {
    machine: Machine,
    settings: Settings,
    is_timed: bool,
    devices: &'a Devices,
    /// `None` after a failure.
    search: Option<Box<dyn Search>>,
    stop: StopToken,
    transcript: VecDeque<String>,
}

impl std::fmt::Debug for OwnPlayer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OwnPlayer").field(&self.machine).finish()
    }
}

impl<'a> OwnPlayer<'a> {
    /// A player for a side that [`Side::check`] has passed. `stop` ends its thought.
    ///
    /// # Errors
    /// A sentence, when the side's options are not what they were.
    pub fn new(side: &Side, devices: &'a Devices, stop: StopToken) -> Result<Self, String> {
        let settings = side.settings().map_err(|error| error.to_string())?;
        let machine = Machine::of(&settings);
        let transcript = VecDeque::new();
        let is_timed = side.limit.is_timed();
        Ok(Self { machine, settings, is_timed, devices, search: None, stop, transcript })
    }

    fn note(&mut self, line: String) {
        if self.transcript.len() == TRANSCRIPT {
            self.transcript.pop_front();
        }
        self.transcript.push_back(line);
    }

    fn think(&mut self, turn: &Turn<'_>, started: Instant) -> Result<Reply, Mishap> {
        let game = game(turn)?;
        let limits = limits(turn, game.position());
        let budget = Budget::new(&limits, self.settings.move_overhead);
        let stop = &self.stop;
        let task = Task { game: &game, limits: &limits, budget: &budget, stop };
        let search = self.search.as_mut().ok_or_else(|| failed("there is no search".to_owned()))?;
        let found = catch_unwind(AssertUnwindSafe(|| search.search(&task, &mut |_| {})));
        let elapsed = started.elapsed();
        if self.stop.is_stopped() {
            return Err(Mishap::Stopped);
        }
        let outcome = found.map_err(|panic| {
            self.search = None;
            failed(format!("the search panicked: {}", panic_text(&*panic)))
        })?;
        if let Some(trouble) = &outcome.trouble {
            self.search = None;
            return Err(Mishap::Fatal(format!("{trouble}; start the match again to go on")));
        }
        Ok(reply(&outcome, game.position(), elapsed))
    }
}

/// The limits as our searches know them.
fn limits(turn: &Turn<'_>, position: &Chess) -> Limits {
    Limits {
        clock: turn.clock().map(|clock| Clock {
            remaining: clock.remaining,
            increment: clock.increment(),
            moves_to_go: clock.moves_to_go(),
        }),
        move_time: turn.limit.move_time(),
        nodes: turn.limit.nodes,
        depth: turn.limit.depth,
        search_moves: turn.only.iter().filter_map(|uci| uci.to_move(position).ok()).collect(),
        ..Limits::default()
    }
}

/// The game as our searches know it.
fn game(turn: &Turn<'_>) -> Result<Game, Mishap> {
    let mut game = Game::new(turn.state.start().clone());
    for uci in turn.state.moves() {
        let played = uci.to_move(game.position());
        game.play(played.map_err(|error| failed(format!("the game cannot be replayed: {error}")))?);
    }
    Ok(game)
}

fn failed(what: String) -> Mishap {
    Mishap::Failed { how: Termination::Crash, what }
}

fn reply(outcome: &Outcome, position: &Chess, elapsed: Duration) -> Reply {
    let mode: CastlingMode = position.castles().mode();
    let score = match outcome.info.score {
        EngineScore::Estimate(value) => Score::Cp(centipawns_from_score(value).round() as i32),
        EngineScore::Win(plies) => Score::Mate(i32::from(plies.div_ceil(2))),
        EngineScore::Loss(plies) => Score::Mate(-i32::from(plies.div_ceil(2))),
        EngineScore::Draw => Score::Cp(0),
    };
    Reply {
        best: outcome.best.to_uci(mode),
        score: Some(score),
        depth: Some(outcome.info.depth),
        nodes: Some(outcome.info.nodes),
        remarks: Vec::new(),
        others: Vec::new(),
        pv: outcome.info.pv.iter().map(|played| played.to_uci(mode).to_string()).collect(),
        elapsed,
    }
}

impl Player for OwnPlayer<'_> {
    fn new_game(&mut self, _chess960: bool) -> Result<(), Mishap> {
        if let Some(search) = &mut self.search {
            search.clear();
        } else {
            let evaluator =
                self.devices.evaluator(&self.machine, self.is_timed).map_err(Mishap::Fatal)?;
            let mut search = roster::search_on(&self.machine, evaluator).map_err(Mishap::Fatal)?;
            search.set_hash_mb(self.settings.hash_mb);
            self.search = Some(search);
        }
        self.transcript.clear();
        Ok(())
    }

    fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap> {
        let started = Instant::now();
        self.note(format!("> {}; {}", turn.state.uci_position(), turn.limit));
        let reply = self.think(turn, started);
        self.note(format!("< {reply:?}"));
        reply
    }

    fn transcript(&self) -> Vec<String> {
        self.transcript.iter().cloned().collect()
    }
}
