//! Our own searches as players, in this process; searches on one network share its device.
//!
//! Reads the clock: a move may have a time limit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score as EngineScore;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_engine::setup::factory;
use tesla_engine::setup::machine::Machine;
use tesla_engine::setup::settings::Settings;
use tesla_nn::evaluator::centipawns_from_score;
use tesla_nn::simulated::SimulatedDevice;
use tesla_nn::transformer::panic_text;

use super::devices::Devices;
use super::latency::Latency;
use super::player::{Mishap, Player, Reply, Turn};
use super::side::Side;
use crate::game::ending::Termination;
use crate::game::limit::Limit;
use crate::game::score::UciScore;

/// Lines of a transcript that are kept.
const TRANSCRIPT: usize = 500;

/// One of our own searches.
pub struct OwnPlayer<'a> {
    machine: Machine,
    settings: Settings,
    limit: Limit,
    latency: Option<Latency>,
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
        let machine = settings.machine();
        let transcript = VecDeque::new();
        let Side { limit, latency, .. } = *side;
        Ok(Self { machine, settings, limit, latency, devices, search: None, stop, transcript })
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
        let budget = match self.limit.nodestime {
            Some(per_ms) => Budget::by_evaluations(&limits, per_ms),
            None => Budget::new(&limits, self.settings.move_overhead),
        };
        let stop = &self.stop;
        let task = Task { game: &game, limits: &limits, budget: &budget, stop };
        let search = self.search.as_mut().ok_or_else(|| failed("there is no search".to_owned()))?;
        let found = catch_unwind(AssertUnwindSafe(|| search.search(&task, &mut |_| {})));
        let elapsed = if budget.is_counted() { budget.elapsed() } else { started.elapsed() };
        if self.stop.is_stopped() {
            return Err(Mishap::Stopped);
        }
        let outcome = found.map_err(|panic| {
            self.search = None;
            failed(format!("the search panicked: {}", panic_text(&*panic)))
        })?;
        if let Some(error) = &outcome.error {
            self.search = None;
            return Err(Mishap::Fatal(format!("{error}; start the match again to go on")));
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
        EngineScore::Estimate(value) => UciScore::Cp(centipawns_from_score(value).round() as i32),
        EngineScore::Centipawns(centipawns) => UciScore::Cp(centipawns),
        EngineScore::Win(plies) => UciScore::Mate(i32::from(plies.div_ceil(2))),
        EngineScore::Loss(plies) => UciScore::Mate(-i32::from(plies.div_ceil(2))),
        EngineScore::Draw => UciScore::Cp(0),
    };
    Reply {
        best: outcome.best.to_uci(mode),
        score: Some(score),
        latest: Some(score),
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
            search.new_game();
        } else {
            let evaluator = self
                .devices
                .evaluator(&self.machine, self.limit.is_timed())
                .map_err(Mishap::Fatal)?;
            let evaluator = match self.latency {
                Some(latency) => Box::new(SimulatedDevice::over(evaluator, latency.behaviour())),
                None => evaluator,
            };
            let mut search = factory::search_on(&self.machine, evaluator).map_err(Mishap::Fatal)?;
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
