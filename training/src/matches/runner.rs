//! Plays a match: several games at once, each result on disk before it is counted, until all are
//! played, a test has decided, or the user stops it.
//!
//! Reads the clock for the speed shown in the progress line.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tesla_engine::console::terminal::{LiveLine, resumed};
use tesla_engine::search::StopToken;
use tesla_nn::shared::Usage;

use super::arbiter::{self, Failure, Rules, Seat};
use super::config::MatchConfig;
use super::files::Files;
use super::plan::{Fixture, MatchPlan};
use super::record::MatchGame;
use super::report::{self, Finished};
use super::tally::Tally;
use crate::game::openings::Book;
use crate::players::devices::Devices;
use crate::players::lineup::{self};
use crate::players::player::{Mishap, Player};
use crate::players::pool::RunContext;
use crate::statistics::sprt::Decision;

/// A finished game on its way to the main thread.
type Played = Result<(MatchGame, Option<Failure>), (u64, Mishap)>;

/// What all workers share.
struct Setting<'a> {
    config: &'a MatchConfig,
    plan: MatchPlan,
    book: Book,
    rules: Rules,
    devices: &'a Devices,
}

/// Plays the match in the context's folder, or what is left of it.
///
/// # Errors
/// When it cannot begin or go on; what was played stays.
pub fn run(config: &MatchConfig, context: &RunContext<'_>) -> Result<Finished> {
    let RunContext { folder, pool, say } = *context;
    let book = config.book()?;
    let (tables, notes) = config.open_tables()?;
    for note in config.warnings(&book).iter().chain(&notes) {
        say(note);
    }
    let rules = Rules { tables: tables.clone(), ..config.rules() };
    let names =
        lineup::try_engines(&config.side, rules.patience, config.chess960, pool.interrupted)?;
    // A worker keeps a player of each side that it has had.
    let clients = pool.concurrency * config.side.len();
    let devices = Devices::start(&config.side, clients, say)?;
    let fingerprint = config.fingerprint(&book, &devices, &names);
    let (files, records) = Files::open(folder, config, fingerprint)?;
    let plan = config.plan();
    let mut tally = Tally::new(plan.clone(), config.side.len(), config.sprt);
    let mut kept = BTreeMap::new();
    for record in records {
        let number = record.number;
        ensure!(
            !kept.contains_key(&number),
            "the folder holds game {number} twice; delete one of its lines in results.jsonl"
        );
        ensure!(
            tally.add(&record),
            "the folder holds game {number} and the match has {}; ask for as many games as were \
             played, or name another folder",
            plan.games()
        );
        kept.insert(number, record);
    }
    if !kept.is_empty() {
        say(&format!(
            "{} of {} games were played before; the match resumes",
            kept.len(),
            plan.games()
        ));
    }
    let setting = Setting { config, plan, book, rules, devices: &devices };
    let progress = LiveLine::new(resumed(setting.plan.games(), tally.games(), "games"));
    let mut results = Results { files, tally, kept, config, progress, played: 0 };
    let started = Instant::now();
    let outcome = if results.tally.is_over() { Ok(()) } else { results.play(&setting, context) };
    results.progress.bar.finish_and_clear();
    if let Some(error) = tables.and_then(|tables| tables.take_error()) {
        say(&error);
    }
    outcome?;
    results.close(started.elapsed(), devices.usage())
}

/// Where results come in: the main thread's part.
struct Results<'a> {
    files: Files,
    tally: Tally,
    kept: BTreeMap<u64, MatchGame>,
    config: &'a MatchConfig,
    progress: LiveLine,
    played: u64,
}

impl Results<'_> {
    fn play(&mut self, setting: &Setting<'_>, context: &RunContext<'_>) -> Result<()> {
        let worker = |stop| {
            let mut worker = Worker { setting, stop, players: HashMap::new() };
            move |number| worker.play(number).map_err(|why| (number + 1, why))
        };
        let missing = self.tally.missing();
        context.pool.run(missing, worker, |report| self.hear(report))
    }

    /// `false` = the match is over.
    fn hear(&mut self, report: Option<Played>) -> Result<bool> {
        match report {
            Some(Ok((record, failure))) => self.count(record, failure)?,
            Some(Err((_, Mishap::Stopped))) => {}
            Some(Err((number, why))) => bail!("game {number}: {why}"),
            None => self.progress.tick(),
        }
        Ok(!self.tally.is_over())
    }

    fn count(&mut self, mut record: MatchGame, failure: Option<Failure>) -> Result<()> {
        if let Some(failure) = failure {
            record.transcript = Some(self.files.keep_transcript(&record, &failure)?);
            record.detail = Some(failure.what);
        }
        self.files.append(&record)?;
        self.tally.add(&record);
        self.kept.insert(record.number, record);
        self.played += 1;
        let text = report::line(self.config, &self.tally);
        self.progress.bar.set_position(self.tally.games());
        self.progress.show(text);
        Ok(())
    }

    /// Puts a match that is over in order, and sums up.
    fn close(mut self, time: Duration, devices: Vec<(String, Usage)>) -> Result<Finished> {
        let is_complete = self.tally.is_over();
        if let Some(trial) = self.tally.trial.filter(|trial| trial.decision != Decision::Continue) {
            // Games that happened to end behind the decision are no part of it.
            self.kept.retain(|&number, _| number <= trial.games());
            self.tally = Tally::new(self.config.plan(), self.config.side.len(), Some(trial.sprt));
            for record in self.kept.values() {
                self.tally.add(record);
            }
        }
        if is_complete {
            let records: Vec<MatchGame> = self.kept.into_values().collect();
            self.files.finish(&records)?;
        }
        Ok(Finished { tally: self.tally, is_complete, played: self.played, time, devices })
    }
}

/// One of the games that run at once.
struct Worker<'a> {
    setting: &'a Setting<'a>,
    stop: StopToken,
    /// By side, while they do not play.
    players: HashMap<usize, Box<dyn Player + 'a>>,
}

impl<'a> Worker<'a> {
    fn play(&mut self, number: u64) -> Result<(MatchGame, Option<Failure>), Mishap> {
        let setting = self.setting;
        let fixture = setting.plan.fixture(number);
        let opening = setting.book.opening(fixture.round);
        let [mut white, mut black] = self.take(&fixture)?;
        let limit = |side: usize| &setting.config.side[side].limit;
        let mut seats = [
            Seat { player: white.as_mut(), limit: limit(fixture.white) },
            Seat { player: black.as_mut(), limit: limit(fixture.black) },
        ];
        let played = arbiter::play(opening, &mut seats, &setting.rules, &self.stop);
        self.players.insert(fixture.white, white);
        self.players.insert(fixture.black, black);
        let arbiter::Played { moves, ending, failure, breaches: [white_breaches, black_breaches] } =
            played?;
        let name = |side: usize| setting.config.side[side].name.clone();
        let record = MatchGame {
            number: number + 1,
            round: format!("{}.{}", fixture.round + 1, number % 2 + 1),
            white: name(fixture.white),
            black: name(fixture.black),
            opening: opening.clone(),
            moves,
            ending,
            detail: None,
            white_breaches,
            black_breaches,
            transcript: None,
        };
        Ok((record, failure))
    }

    /// The players of a game, made at their first.
    fn take(&mut self, fixture: &Fixture) -> Result<[Box<dyn Player + 'a>; 2], Mishap> {
        let Setting { config, rules, devices, .. } = self.setting;
        let mut take = |side: usize| match self.players.remove(&side) {
            Some(player) => Ok(player),
            None => lineup::player(&config.side[side], devices, rules.patience, self.stop.clone())
                .map_err(Mishap::Fatal),
        };
        Ok([take(fixture.white)?, take(fixture.black)?])
    }
}
