//! Makes the games of a run: so many at once, each on disk before it is counted, until all are made
//! or somebody wants to stop.
//!
//! Reads the clock for the speed shown in the progress line.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tesla_engine::console::terminal::{LiveLine, resumed};
use tesla_engine::search::StopToken;
use tesla_nn::shared::Usage;

use super::config::{DatagenConfig, Source};
use super::dice::Dice;
use super::game::{self, Players};
use super::line::{Forest, Line, Material, Trees};
use super::policy::PolicyMoves;
use super::store::Store;
use crate::labelled::GameRecord;
use crate::players::devices::Devices;
use crate::players::lineup;
use crate::players::player::{Mishap, Player};
use crate::players::pool::RunContext;
use crate::players::side::Side;

/// How often a game is tried. A teacher that always answers alike fails alike, and then the run
/// must not go on for ever.
const ATTEMPTS: usize = 3;

/// A run that ended or was stopped.
#[derive(Debug)]
pub struct Finished {
    /// Whether no game is left to be made.
    pub is_complete: bool,
    /// Games on disk, those held out included.
    pub games: u64,
    /// Games held out.
    pub held_out: u64,
    /// Games that were dropped because another one is the same.
    pub dropped: u64,
    /// Games made in this run.
    pub made: u64,
    /// Positions labelled in this run.
    pub positions: u64,
    /// How long this run took.
    pub time: Duration,
    /// The devices of this run and what went through them.
    pub devices: Vec<(String, Usage)>,
}

/// A game on its way to the main thread, with what went wrong before it came about.
type Made = (u64, Result<GameRecord, Mishap>, Vec<String>);

/// Makes the games of a run in the context's folder, or those that are left.
///
/// # Errors
/// When it cannot begin or go on; what was made stays.
pub fn run(config: &DatagenConfig, context: &RunContext<'_>) -> Result<Finished> {
    let RunContext { folder, pool, say } = *context;
    config.check()?;
    let source = Source { book: config.book()?, material: config.material()? };
    let teacher = std::slice::from_ref(&config.teacher);
    let names = lineup::try_engines(teacher, config.patience(), false, pool.interrupted)?;
    let searcher = config.asks_network().then(|| config.searcher());
    let sides: Vec<Side> = teacher.iter().cloned().chain(searcher).collect();
    let devices = Devices::start(&sides, sides.len() * pool.concurrency, say)?;
    let name = names.first().and_then(Option::as_deref);
    let fingerprint = config.fingerprint(&source, &devices, name);
    let store = Store::open(folder, fingerprint, config.games, config.shard_games, config.valid)?;
    let missing = store.missing();
    let done = config.games - missing.len() as u64;
    if done > 0 {
        say(&format!("{done} of {} games were made before; the run resumes", config.games));
    }
    let progress = LiveLine::new(resumed(config.games, done, "games"));
    let mut results =
        Results { store, progress, say, done, made: 0, positions: 0, started: Instant::now() };
    let forest = Forest::new(config.paths);
    let worker = |stop| {
        let (source, devices, forest) = (&source, &devices, &forest);
        let (teacher, trees, policy) = (None, None, None);
        let mut worker = Worker { config, source, devices, forest, stop, teacher, trees, policy };
        move |number| worker.make(number)
    };
    let outcome = pool.run(missing, worker, |made| results.hear(made));
    results.progress.bar.finish_and_clear();
    outcome?;
    let (games, dropped) = results.store.counts();
    Ok(Finished {
        is_complete: results.store.is_complete(),
        games,
        held_out: results.store.held_out(),
        dropped,
        made: results.made,
        positions: results.positions,
        time: results.started.elapsed(),
        devices: devices.usage(),
    })
}

/// One of the games that are made at once.
struct Worker<'a> {
    config: &'a DatagenConfig,
    source: &'a Source,
    devices: &'a Devices,
    forest: &'a Forest,
    stop: StopToken,
    /// `None` before the first game and after a failure.
    teacher: Option<Box<dyn Player + 'a>>,
    /// `None` before the first tree.
    trees: Option<Trees>,
    /// `None` before the first game with moves of the network.
    policy: Option<PolicyMoves>,
}

impl Worker<'_> {
    /// Makes a game, and tries again where the teacher fails.
    fn make(&mut self, number: u64) -> Made {
        let mut mishaps = Vec::new();
        loop {
            let teacher = match self.teacher.take() {
                Some(teacher) => Ok(teacher),
                None => self.hire(),
            };
            let game = match teacher {
                Ok(mut teacher) => {
                    let game = self.game(number, teacher.as_mut());
                    self.teacher = Some(teacher);
                    game
                }
                Err(sentence) => Err(Mishap::Fatal(sentence)),
            };
            match game {
                Err(Mishap::Failed { what, .. }) if mishaps.len() + 1 < ATTEMPTS => {
                    mishaps.push(what);
                }
                game => return (number, game, mishaps),
            }
        }
    }
}

impl<'a> Worker<'a> {
    fn hire(&self) -> Result<Box<dyn Player + 'a>, String> {
        let Self { config, devices, stop, .. } = self;
        lineup::player(&config.teacher, devices, config.patience(), stop.clone())
    }

    /// Plays a game, or takes one of the material.
    fn game(&mut self, number: u64, teacher: &mut dyn Player) -> Result<GameRecord, Mishap> {
        let Self { config, source, .. } = *self;
        let Some(material) = &source.material else {
            let stop = self.stop.clone();
            let policy = self.policy().map_err(Mishap::Fatal)?;
            return game::play(config, &source.book, number, Players { teacher, policy }, &stop);
        };
        let line = if config.trees > 0 {
            self.path(material, number)?
        } else {
            material.span(number, config.span, &mut Dice::new(config.seed, number))
        };
        game::label(config, &line, teacher, &self.stop)
    }

    fn path(&mut self, material: &Material, number: u64) -> Result<Line, Mishap> {
        let (forest, seed) = (self.forest, self.config.seed);
        let path =
            forest.path(number, |tree, paths| self.trees()?.paths(material, seed, tree, paths));
        path.map_err(Mishap::Fatal)?.ok_or(Mishap::Stopped)
    }

    /// Our network, where it draws moves.
    fn policy(&mut self) -> Result<Option<&mut PolicyMoves>, String> {
        if self.policy.is_none() && self.config.policy_share > 0.0 {
            let machine = self.config.searcher().machine().map_err(|error| error.to_string())?;
            self.policy = Some(PolicyMoves::new(self.devices.evaluator(&machine, false)?));
        }
        Ok(self.policy.as_mut())
    }

    /// Our own search.
    fn trees(&mut self) -> Result<&mut Trees, String> {
        let trees = if let Some(trees) = self.trees.take() {
            trees
        } else {
            let DatagenConfig { trees, roots_within, .. } = *self.config;
            let search = self.devices.tree_search(&self.config.searcher())?;
            Trees::new(search, trees, roots_within, self.stop.clone())
        };
        Ok(self.trees.insert(trees))
    }
}

/// Where games come in: the main thread's part.
struct Results<'a> {
    store: Store,
    progress: LiveLine,
    say: &'a dyn Fn(&str),
    /// Games made before this run.
    done: u64,
    made: u64,
    positions: u64,
    started: Instant,
}

impl Results<'_> {
    fn hear(&mut self, made: Option<Made>) -> Result<bool> {
        let Some((number, game, mishaps)) = made else {
            self.progress.tick();
            return Ok(true);
        };
        for what in mishaps {
            let sentence = format!("game {number} is made again, for the teacher failed: {what}");
            self.progress.bar.suspend(|| (self.say)(&sentence));
        }
        match game {
            Ok(game) => self.keep(number, game)?,
            Err(Mishap::Stopped) => {}
            Err(why) => {
                bail!("game {number}: {why}; what was made is kept, and the same command resumes")
            }
        }
        Ok(true)
    }

    fn keep(&mut self, number: u64, game: GameRecord) -> Result<()> {
        self.made += 1;
        self.positions += game.plies.len() as u64;
        self.store.add(number, game)?;
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let text = format!(
            "{:.1} games/s, {:.0} positions/s, {} dropped",
            self.made as f64 / seconds,
            self.positions as f64 / seconds,
            self.store.counts().1
        );
        self.progress.bar.set_position(self.done + self.made);
        self.progress.show(text);
        Ok(())
    }
}
