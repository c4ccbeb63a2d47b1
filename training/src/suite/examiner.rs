//! Asks a player about the items of a suite: several at once, each answer kept before it counts.

use std::time::Duration;

use anyhow::Result;
use indicatif::ProgressBar;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_engine::search::StopToken;

use super::item::{Item, ItemAnswer};
use super::judge::judge;
use super::mate::MateLimits;
use super::puzzle::{PuzzleRun, PuzzleState};
use super::record::{Record, remaining};
use super::verdict::Grade;
use crate::game::ending::Termination;
use crate::game::limit::{self, Limit, MARGIN_MS};
use crate::game::state::GameState;
use crate::players::player::{Mishap, Player, Reply, Turn};
use crate::players::pool::Pool;

/// What a fixed time may be overrun by before the answer comes too late, as in a match.
const MARGIN: Duration = Duration::from_millis(MARGIN_MS);

/// Makes a player in the thread that will ask it; the token ends its thought. The error is a
/// sentence.
pub type MakePlayer<'a> = dyn Fn(StopToken) -> Result<Box<dyn Player + 'a>, String> + Sync + 'a;

/// Who is asked, and how.
pub struct Examination<'a> {
    /// Who is asked.
    pub player: &'a MakePlayer<'a>,
    /// What ends a thought.
    pub limit: &'a Limit,
    /// How long an engine is waited for beyond its time.
    pub patience: Duration,
    /// How far a mate is checked.
    pub mates: MateLimits,
    /// Questions at once, and who ends it early.
    pub pool: Pool<'a>,
}

impl std::fmt::Debug for Examination<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Examination").field("limit", self.limit).finish_non_exhaustive()
    }
}

type Answered = Result<Record, Mishap>;

impl Examination<'_> {
    /// Asks about the items that have no record yet; `records` gets the answers, in the order they
    /// come, each after `keep` has it. `bar` is advanced by one for each item. `false` = somebody
    /// wanted to stop.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn ask(
        &self,
        items: &[Item],
        mut keep: impl FnMut(&Record) -> Result<()>,
        records: &mut Vec<Record>,
        bar: &ProgressBar,
    ) -> Result<bool> {
        let todo = remaining(items, records);
        let worker = |stop| {
            let mut player = (self.player)(stop);
            move |item| match &mut player {
                Ok(player) => self.examine(player.as_mut(), item),
                Err(sentence) => Err(Mishap::Fatal(sentence.clone())),
            }
        };
        let hear = |answered: Option<Answered>| {
            match answered {
                Some(Ok(record)) => {
                    keep(&record)?;
                    records.push(record);
                    bar.inc(1);
                }
                Some(Err(fatal @ Mishap::Fatal(_))) => return Err(fatal.into()),
                Some(Err(_)) => {}
                None => bar.tick(),
            }
            anyhow::Ok(true)
        };
        self.pool.run(todo, worker, hear)?;
        Ok(!self.pool.interrupted.is_stopped())
    }

    fn examine(&self, player: &mut dyn Player, item: &Item) -> Answered {
        let begun = player.new_game(item.castling_mode == CastlingMode::Chess960);
        let mut answers = Vec::new();
        let verdict = begun.and_then(|()| {
            if let Some(run) = PuzzleRun::new(item) {
                return self.solve(player, run, &mut answers);
            }
            let answer = self.put(player, &item.position, &mut answers)?;
            Ok(judge(item, &answer, &self.mates))
        });
        match verdict {
            Ok(verdict) => Ok(Record::new(item, &answers, verdict)),
            Err(Mishap::Failed { how, what }) => Ok(Record {
                failure: Some(format!("{}: {what}", how.word())),
                ..Record::new(item, &answers, Grade::no_move(item))
            }),
            Err(other) => Err(other),
        }
    }

    /// Plays a puzzle move by move.
    fn solve(
        &self,
        player: &mut dyn Player,
        mut run: PuzzleRun<'_>,
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<Grade, Mishap> {
        while run.state() == PuzzleState::Asking {
            let answer = self.put(player, run.position(), answers)?;
            run.answer(answer.best);
        }
        Ok(run.verdict())
    }

    /// Asks about one position. An answer that comes too late is kept, but does not count.
    fn put(
        &self,
        player: &mut dyn Player,
        position: &Chess,
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<ItemAnswer, Mishap> {
        let state = GameState::from_position(position.clone());
        let limit = self.limit;
        let allowance = limit.move_time().unwrap_or_default().saturating_add(self.patience);
        let turn = Turn { state: &state, limit, clocks: [None; 2], allowance, only: &[] };
        let reply = player.play(&turn)?;
        let best = reply.best.to_move(position).map_err(|_| Mishap::Failed {
            how: Termination::IllegalMove,
            what: format!("{} is not legal", reply.best),
        })?;
        let answer = answer(best, &reply, position);
        answers.push(answer.clone());
        match limit.move_time().filter(|&time| reply.elapsed > time.saturating_add(MARGIN)) {
            Some(time) => Err(Mishap::Failed {
                how: Termination::TimeForfeit,
                what: limit::overrun(reply.elapsed, time),
            }),
            None => Ok(answer),
        }
    }
}

fn answer(best: Move, reply: &Reply, position: &Chess) -> ItemAnswer {
    let mut pv = Vec::new();
    let mut at = position.clone();
    for text in &reply.pv {
        let Some(played) = text.parse::<shakmaty::uci::UciMove>().ok() else { break };
        let Ok(played) = played.to_move(&at) else { break };
        pv.push(played);
        at.play_unchecked(played);
    }
    // A line that begins with another move says nothing about this one.
    if pv.first() != Some(&best) {
        pv = vec![best];
    }
    ItemAnswer {
        best,
        score: reply.score,
        depth: reply.depth.unwrap_or(0),
        nodes: reply.nodes.unwrap_or(0),
        time: reply.elapsed,
        pv,
    }
}
