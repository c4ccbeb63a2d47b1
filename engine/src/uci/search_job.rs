//! One `go` (parsed by [`super::go`]): runs the search and prints its reports. The session prints
//! the answer (`uci/bestmove.rs`) once the job has ended.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Receiver;

use crate::chess::game::Game;
use crate::chess::tablebase::{Advice, Tables};
use crate::console::output::{Output, Style, Throttle};
use crate::search::clock::Budget;
use crate::search::handicap::Handicap;
use crate::search::snapshot::Snapshot;
use crate::search::watch::Watch;
use crate::search::why::why;
use crate::search::{Info, Limits, Outcome, Search, StopToken, Task, Variation};
use crate::setup::settings::MoveStats;
use crate::uci::stats;

/// A `go`.
#[derive(Debug)]
pub struct SearchJob {
    /// The game and its current position.
    pub game: Game,
    /// When to end.
    pub limits: Limits,
    /// The clock, running since `go` came.
    pub budget: Budget,
    /// Set by `stop` and `quit`.
    pub stop: StopToken,
    /// No `bestmove` before the other end is dropped (`infinite` and `ponder`).
    pub hold: Option<Receiver<()>>,
    /// How moves and scores are written.
    pub style: Style,
    /// Whether to report why the search ended and what the evaluator did (`debug on`).
    pub debug: bool,
    /// Ended directly before `bestmove` is printed.
    pub busy: Busy,
}

/// Whether a job that can be stopped still runs; a new one does. Clones share one flag, which is
/// set when the job has ended.
#[derive(Clone, Debug, Default)]
pub struct Busy(Arc<AtomicBool>);

impl Busy {
    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }

    /// It has ended; said before its last line, so that an answer to that line finds us idle.
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The options for how a search runs and what it reports.
#[derive(Clone, Debug)]
pub(super) struct ReportSettings {
    /// Lines to report.
    pub(super) multipv: usize,
    /// Endgame tables.
    pub(super) tables: Option<Tables>,
    /// Playing weaker on purpose.
    pub(super) handicap: Option<Handicap>,
    /// When the statistics of every root move are reported.
    pub(super) move_stats: MoveStats,
}

impl ReportSettings {
    /// Positions found in endgame tables.
    pub(super) fn hits(&self) -> u64 {
        self.tables.as_ref().map_or(0, Tables::hits)
    }
}

impl SearchJob {
    /// Searches, and prints reports on the way.
    pub(super) fn run(
        &self,
        search: &mut dyn Search,
        settings: &ReportSettings,
        output: &Output,
    ) -> Outcome {
        let mut throttle = Throttle::default();
        let Self { game, budget, stop, .. } = self;
        let mut limits = Limits { multipv: settings.multipv, ..self.limits.clone() };
        if let Some(handicap) = settings.handicap {
            handicap.narrow(&mut limits);
        }
        let root_moves = Task { game, limits: &limits, budget, stop }.root_moves();
        let advice = self.advice(settings, &root_moves);
        if let Some(advice) = &advice {
            limits.by_tables = limits.search_moves.is_empty();
            limits.search_moves = advice.moves.iter().map(|&(played, _)| played).collect();
        }
        let told = |info: &Info| told(info, advice.as_ref(), settings.multipv);
        let live = settings.move_stats.live.then(Watch::default);
        if let Some(live) = &live {
            search.set_watch(Some(live.clone()));
            live.ask();
        }
        let mut outcome =
            search.search(&Task { game, limits: &limits, budget, stop }, &mut |info| {
                if let Some(current) = &info.current {
                    output.print(&self.style.current(current));
                } else if throttle.admits(info) {
                    output.print(&self.style.info(&told(info), settings.hits()));
                    if let Some(live) = &live {
                        self.tell_moves(live.take().as_ref(), output);
                        live.ask();
                    }
                }
            });
        if live.is_some() {
            search.set_watch(None);
        }
        if settings.move_stats.at_end {
            self.tell_moves(search.snapshot(&[]).as_ref(), output);
        }
        if self.debug
            && let Some(snapshot) = search.snapshot(&[])
        {
            output.info(&why(&snapshot));
        }
        if let Some(handicap) = settings.handicap {
            handicap.weaken(&mut outcome, game, &limits);
        }
        outcome.info = told(&outcome.info);
        outcome
    }

    /// Reports the statistics of every root move.
    fn tell_moves(&self, snapshot: Option<&Snapshot>, output: &Output) {
        for line in snapshot.iter().flat_map(|s| stats::lines(s, self.game.position(), self.style))
        {
            output.info(&line);
        }
    }

    /// The advice of the endgame tables at the root. `None` in a search for a mate, to which they
    /// hold no distance, and where play is weaker on purpose.
    fn advice(&self, settings: &ReportSettings, root_moves: &[shakmaty::Move]) -> Option<Advice> {
        let tables = settings.tables.as_ref()?;
        tables.forget_hits();
        let is_wanted = self.limits.mate.is_none() && settings.handicap.is_none();
        is_wanted.then(|| tables.advise(&self.game, root_moves))?
    }

    /// Waits until `bestmove` may be sent.
    pub(super) fn wait(&self) {
        if let Some(hold) = &self.hold {
            // Nothing is ever sent: the error tells that the other end was dropped.
            let _ = hold.recv();
        }
    }
}

/// An `info` as it is reported: with the endgame tables' advice, and no more lines than asked for.
fn told(info: &Info, advice: Option<&Advice>, multipv: usize) -> Info {
    let mut info = info.clone();
    info.variations.truncate(multipv.saturating_sub(1));
    let Some(advice) = advice else { return info };
    info.score = advice.sharpen(info.score, info.pv.first());
    for line in &mut info.variations {
        line.score = advice.sharpen(line.score, line.pv.first());
    }
    info.variations.sort_by_key(|line| Reverse(line.score.rank()));
    // Moves that the tables advise against are not searched, but reported if there are lines left
    // for them.
    let missing = multipv.saturating_sub(1 + info.variations.len());
    let others = advice.others.iter().take(missing);
    info.variations.extend(others.map(|&(played, score)| Variation {
        depth: info.depth,
        score,
        pv: vec![played],
    }));
    info
}
