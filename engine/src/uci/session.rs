//! The session: one thread that owns searcher and evaluator and does one job after another.

mod eval;
mod forget;
mod loading;
mod stand_in;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, after, never, select_biased};
use shakmaty::{Chess, Position};
use tesla_nn::evaluator::Evaluator;

use self::loading::Loading;
use super::bestmove;
use super::search_job::ReportSettings;
pub use super::search_job::{Busy, SearchJob};
use crate::chess::game::Game;
use crate::chess::tablebase::{self, Tables};
use crate::commands::genfens::GenfensOrder;
use crate::commands::{bench, perft};
use crate::console::output::{Output, Style};
use crate::search::{Search, StopToken, Task};
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::setup::settings::Settings;

/// Options come in bursts: how long the last one must be past before we load what they ask for.
const SETTLED: Duration = Duration::from_millis(30);

/// One thing to do; jobs are done in the order they come.
#[derive(Debug)]
pub enum Job {
    /// The options are now these; what they need is loaded when no other job comes at once.
    Configure(Box<Settings>),
    /// Load what is pending, then answer `readyok`.
    Ready(Busy),
    /// Forget earlier searches.
    Clear,
    /// Another game begins.
    NewGame,
    /// Search, then print `bestmove`.
    Search(Box<SearchJob>),
    /// Show what the evaluator thinks of a position.
    Eval(Box<Game>, Style),
    /// Search the bench positions with this many nodes each.
    Bench(u64, StopToken, Busy),
    /// Count lines move by move.
    Perft(Box<Chess>, u32, Style, StopToken, Busy),
    /// Print openings as they are found.
    GenFens(GenfensOrder, StopToken, Busy),
}

/// See the module.
struct Session {
    output: Output,
    settings: Settings,
    /// What the options last asked for, loaded or tried in vain.
    tried: Option<Machine>,
    /// What they ask for now, if it is being made already.
    loading: Option<Loading>,
    /// What `search` runs on.
    running: Option<Machine>,
    search: Option<Box<dyn Search>>,
    /// Whether another device had to take over in this game.
    has_lost: Arc<AtomicBool>,
    hash_mb: usize,
    /// Whether the search remembers what it found at full strength.
    knows_more: bool,
    /// Endgame tables, and what they were opened for.
    tables: Option<Tables>,
    tables_for: tablebase::TablebaseSettings,
    /// The evaluator that answers `eval`, and what it was made for.
    evaluator: Option<(Machine, Box<dyn Evaluator>)>,
}

/// Does all jobs until the channel is closed.
pub fn run(jobs: &Receiver<Job>, output: Output) {
    let mut session = Session::new(output);
    // Nobody is obliged to say `isready`, and what `go` would have to load runs on the clock.
    let mut is_pending = false;
    // What came during a search is all there when it ends, and the next `go` may be near.
    let mut is_settled = false;
    loop {
        let patience = if is_settled { Duration::ZERO } else { SETTLED };
        let quiet = if is_pending { after(patience) } else { never() };
        let loaded = session.loading.as_ref().map_or_else(never, Loading::done);
        select_biased! {
            recv(jobs) -> job => {
                let Ok(job) = job else {
                    if let Some(loading) = session.loading {
                        loading.discard();
                    }
                    return;
                };
                match job {
                    Job::Configure(_) | Job::NewGame => is_pending = true,
                    Job::Ready(_) => session.make_ready(jobs),
                    Job::Search(_)
                    | Job::Eval(..)
                    | Job::Bench(..)
                    | Job::Perft(..)
                    | Job::GenFens(..)
                    | Job::Clear => {}
                }
                let is_search = matches!(job, Job::Search(_));
                // A bug in one job must not take the game with it.
                if catch_unwind(AssertUnwindSafe(|| session.work(job))).is_err() {
                    session.output.info("internal error in the last command; please report it");
                    (session.search, session.tried, session.evaluator) = (None, None, None);
                }
                is_pending &= session.has_to_load();
                is_settled = (is_settled || is_search) && (is_pending || !jobs.is_empty());
            }
            recv(quiet) -> _ => {
                session.begin_to_load();
                (is_pending, is_settled) = (false, false);
            }
            recv(loaded) -> _ => {
                session.prepare();
                session.forget_unwanted();
            }
        }
    }
}

impl Session {
    fn new(output: Output) -> Self {
        Self {
            output,
            settings: Settings::default(),
            tried: None,
            loading: None,
            running: None,
            search: None,
            has_lost: Arc::default(),
            hash_mb: 0,
            knows_more: false,
            tables: None,
            tables_for: tablebase::TablebaseSettings::default(),
            evaluator: None,
        }
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Configure(settings) => {
                self.settings = *settings;
                self.reseed();
            }
            Job::Ready(busy) => {
                self.output.print("readyok");
                busy.end();
            }
            Job::Clear => self.clear(),
            Job::NewGame => self.new_game(),
            Job::Search(job) => self.search(&job),
            Job::Eval(game, style) => match self.eval(&game, style) {
                Ok(text) => self.output.print(&text),
                Err(sentence) => self.output.info(&sentence),
            },
            Job::Bench(nodes, stop, busy) => {
                let text =
                    bench::print(factory::bench_search().as_mut(), nodes, &stop, &self.output);
                busy.end();
                self.output.print(&text);
            }
            Job::GenFens(order, stop, busy) => {
                let found = &mut |fen: &str| {
                    self.output.print(&format!("info string genfens {fen}"));
                    !self.output.is_gone()
                };
                if let Err(problem) = order.make(&stop, found) {
                    self.output.info(&problem.to_string());
                }
                busy.end();
            }
            Job::Perft(position, depth, style, stop, busy) => {
                let text = perft::print(&position, depth, style, &stop, &self.output);
                busy.end();
                self.output.print(&text);
            }
        }
    }

    /// Nothing that takes long is left for the next `go`; but one that is there already has a clock
    /// that runs, and knows itself what it has time for.
    fn make_ready(&mut self, jobs: &Receiver<Job>) {
        if !jobs.is_empty() {
            return;
        }
        self.begin_to_load();
        let tell = |sentence: &str| self.output.info(sentence);
        if self.loading.as_ref().is_none_or(|loading| loading.wait_for(|| jobs.is_empty(), tell)) {
            self.prepare();
            factory::look_for_gpu(&self.settings);
        }
    }

    /// Whether the options ask for another search than the one that is there.
    fn has_to_load(&self) -> bool {
        self.tried.as_ref() != Some(&self.settings.machine())
            || self.tables_for != self.settings.tablebase
            || self.hash_mb != self.settings.hash_mb
    }

    /// Makes what the options ask for beside this thread, which may have to answer a `go`.
    fn begin_to_load(&mut self) {
        let wanted = self.settings.machine();
        if self.tried.as_ref() == Some(&wanted) {
            self.prepare();
        } else {
            self.loading = Some(self.loading_of(&wanted));
        }
    }

    /// What makes this already, or begins to.
    fn loading_of(&mut self, wanted: &Machine) -> Loading {
        match self.loading.take() {
            Some(loading) if loading.is_for(wanted) => loading,
            before => Loading::begin(wanted.clone(), before),
        }
    }

    /// Whether the clock of this `go` is too short for what is yet to be loaded: then the search
    /// that is there plays the move.
    fn must_answer_first(&self, job: &SearchJob) -> bool {
        let SearchJob { game, limits, budget, stop, .. } = job;
        let wanted = self.settings.machine();
        let is_made = |loading: &Loading| loading.is_for(&wanted) && loading.is_finished();
        limits.clock.is_some()
            && self.search.is_some()
            && wanted.needs_device()
            && self.tried.as_ref() != Some(&wanted)
            && !self.loading.as_ref().is_some_and(is_made)
            && !Task { game, limits, budget, stop }.has_time_for_another()
    }

    /// Loads what is pending; a failure is reported and never fatal.
    fn prepare(&mut self) {
        if catch_unwind(AssertUnwindSafe(|| self.load(false))).is_err() {
            self.output.info("internal error while loading; please report it");
        }
    }

    /// Drops what was made for options that were set back meanwhile.
    fn forget_unwanted(&mut self) {
        if let Some(unwanted) = self.loading.take() {
            unwanted.discard();
        }
    }

    /// Makes the search the options ask for, if it is not there yet. Where that fails, the former
    /// one stays; where there is none, one that needs no network. Other memory takes longer than a
    /// `has_clock` move should wait: it comes after the move, where there is some already.
    fn load(&mut self, has_clock: bool) {
        let wanted = self.settings.machine();
        if self.tried.as_ref() != Some(&wanted) {
            match self.loading_of(&wanted).wait() {
                Ok(made) => self.adopt(made, wanted.clone()),
                Err(sentence) => self.go_without(&wanted, &sentence),
            }
            self.tried = Some(wanted);
        }
        self.open_tables();
        let has_memory = self.hash_mb != 0;
        if self.hash_mb != self.settings.hash_mb && !(has_clock && has_memory) {
            self.hash_mb = self.settings.hash_mb;
            let (megabytes, remark) = self.settings.machine().affordable_hash(self.hash_mb);
            if let Some(sentence) = remark {
                self.output.info(&sentence);
            }
            if let Some(search) = &mut self.search {
                search.set_hash_mb(megabytes);
            }
        }
    }

    /// Opens the endgame tables that the options name, if others are open.
    fn open_tables(&mut self) {
        if self.tables_for == self.settings.tablebase {
            return;
        }
        self.tables_for = self.settings.tablebase.clone();
        let (tables, notes) = tablebase::open(&self.tables_for);
        for note in &notes {
            self.output.info(note);
        }
        self.tables = tables;
        if let Some(search) = &mut self.search {
            search.set_tables(self.tables.clone());
        }
    }

    fn adopt(&mut self, mut made: factory::Made, machine: Machine) {
        let (output, has_lost) = (self.output.clone(), Arc::clone(&self.has_lost));
        made.search.set_fallbacks(factory::fallbacks(&machine, move |sentence| {
            has_lost.store(true, Ordering::Relaxed);
            output.info(sentence);
        }));
        self.running = Some(machine);
        for note in &made.notes {
            self.output.info(note);
        }
        self.output.info(&made.description);
        made.search.set_tables(self.tables.clone());
        self.search = Some(made.search);
        self.hash_mb = 0;
    }

    fn search(&mut self, job: &SearchJob) {
        let moves = job.game.position().legal_moves();
        let Some(&first) = moves.first() else {
            job.wait();
            self.output.info("the game is over in this position: there is no move to search");
            job.busy.end();
            self.output.print(&bestmove::game_over(job.game.position()));
            return;
        };
        let mut settings = ReportSettings {
            multipv: self.settings.multipv,
            tables: None,
            handicap: self.settings.handicap(),
            move_stats: self.settings.move_stats,
        };
        let found = catch_unwind(AssertUnwindSafe(|| {
            if self.must_answer_first(job) {
                self.output.info("no time to load the network: the search before plays this move");
            } else {
                self.load(job.limits.clock.is_some());
            }
            settings.tables.clone_from(&self.tables);
            self.forget_full_strength(job);
            let search = self.search.as_mut()?;
            Some(job.run(search.as_mut(), &settings, &self.output))
        }));
        job.wait();
        let mut has_failed = false;
        let text = match found {
            Ok(Some(outcome)) => {
                if let Some(error) = &outcome.error {
                    self.output.info(&error.to_string());
                    has_failed = true;
                }
                if job.debug
                    && let Some(cache) = &outcome.cache
                {
                    self.output.info(&cache.to_string());
                }
                let error = self.tables.as_ref().and_then(Tables::take_error);
                for note in outcome.notes.iter().chain(&error) {
                    self.output.info(note);
                }
                bestmove::searched(job.style, job.game.position(), outcome, settings.hits())
            }
            Ok(None) => bestmove::unsearched(job.style, first),
            Err(_) => {
                self.output.info("internal error in the search; please report it");
                (self.search, self.tried) = (None, None);
                bestmove::unsearched(job.style, first)
            }
        };
        job.busy.end();
        self.output.print(&text);
        if has_failed {
            self.step_down();
        }
    }
}
