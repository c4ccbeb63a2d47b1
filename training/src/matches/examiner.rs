//! Asks a side about the items of a suite: several at once, each answer on disk before it counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use indicatif::ProgressBar;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_engine::search_api::StopToken;

use super::ending::Termination;
use super::external::ExternalPlayer;
use super::game::GameState;
use super::journal::{Journal, JournalError};
use super::own::{Devices, OwnPlayer};
use super::peer::Interrupt;
use super::player::{Mishap, Player, Reply, Turn};
use super::side::Side;
use super::suite::{
    Answer, Item, MateLimits, PuzzleRun, PuzzleState, Record, Verdict, judge, remaining,
};

/// How often the main thread looks whether somebody wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Why an examination ended early. Answers that were given are on disk.
#[derive(Debug, thiserror::Error)]
pub enum ExamError {
    /// The answers' file.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What the side stands on is gone.
    #[error("{0}")]
    Fatal(String),
}

/// Who is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Who is asked.
    pub side: &'a Side,
    /// The devices of our own sides.
    pub devices: &'a Devices,
    /// Questions at once.
    pub concurrency: usize,
    /// How long an engine is waited for beyond its time.
    pub patience: Duration,
    /// How far a mate is checked.
    pub mates: MateLimits,
    /// Set when somebody wants to stop.
    pub interrupted: &'a Arc<AtomicBool>,
}

type Answered = Result<Record, Mishap>;

impl Examination<'_> {
    /// Asks about the items that have no record yet; `records` gets the answers, in the order they
    /// come. `bar` is advanced by one for each item. `false` = somebody wanted to stop.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn ask(
        &self,
        items: &[Item],
        journal: &mut Journal<Record>,
        records: &mut Vec<Record>,
        bar: &ProgressBar,
    ) -> Result<bool, ExamError> {
        let (todo, queue) = unbounded();
        for item in remaining(items, records) {
            let _ = todo.send(item);
        }
        drop(todo);
        let (answered, inbox) = unbounded();
        let stop = StopToken::default();
        thread::scope(|scope| {
            for _ in 0..self.concurrency.clamp(1, queue.len().max(1)) {
                let (queue, answered, stop) = (queue.clone(), answered.clone(), stop.clone());
                scope.spawn(move || self.work(&queue, &answered, &stop));
            }
            drop((queue, answered));
            let outcome = receive(&inbox, journal, records, self.interrupted, &stop, bar);
            stop.stop();
            outcome
        })
    }

    fn work(&self, queue: &Receiver<&Item>, answered: &Sender<Answered>, stop: &StopToken) {
        let mut player = match self.player(stop) {
            Ok(player) => player,
            Err(sentence) => {
                let _ = answered.send(Err(Mishap::Fatal(sentence)));
                return;
            }
        };
        while let Ok(item) = queue.try_recv() {
            if stop.is_stopped() || answered.send(self.examine(player.as_mut(), item)).is_err() {
                return;
            }
        }
    }

    fn player(&self, stop: &StopToken) -> Result<Box<dyn Player + '_>, String> {
        if self.side.is_own() {
            Ok(Box::new(OwnPlayer::new(self.side, self.devices, stop.clone())?))
        } else {
            let interrupt = Interrupt::new([Arc::clone(self.interrupted)]);
            Ok(Box::new(ExternalPlayer::new(self.side, self.patience, interrupt)))
        }
    }

    fn examine(&self, player: &mut dyn Player, item: &Item) -> Answered {
        let begun = player.new_game(item.castling_mode == CastlingMode::Chess960);
        let mut answers = Vec::new();
        let verdict = begun.and_then(|()| {
            if let Some(run) = PuzzleRun::new(item) {
                return self.solve(player, run, &mut answers);
            }
            let answer = self.put(player, &item.position)?;
            let verdict = judge(item, &answer, &self.mates);
            answers.push(answer);
            Ok(verdict)
        });
        match verdict {
            Ok(verdict) => Ok(Record::new(item, &answers, verdict)),
            Err(Mishap::Failed { how, what }) => Ok(Record {
                failure: Some(format!("{}: {what}", how.word())),
                ..Record::new(item, &answers, Verdict::no_move(item))
            }),
            Err(other) => Err(other),
        }
    }

    /// Plays a puzzle move by move.
    fn solve(
        &self,
        player: &mut dyn Player,
        mut run: PuzzleRun<'_>,
        answers: &mut Vec<Answer>,
    ) -> Result<Verdict, Mishap> {
        while run.state() == PuzzleState::Asking {
            let answer = self.put(player, run.position())?;
            let best = answer.best;
            answers.push(answer);
            run.answer(best);
        }
        Ok(run.verdict())
    }

    /// Asks about one position.
    fn put(&self, player: &mut dyn Player, position: &Chess) -> Result<Answer, Mishap> {
        let state = GameState::from_position(position.clone());
        let limit = &self.side.limit;
        let allowance = limit.move_time().unwrap_or_default() + self.patience;
        let turn = Turn { state: &state, limit, clocks: [None; 2], allowance };
        let reply = player.play(&turn)?;
        let best = reply.best.to_move(position).map_err(|_| Mishap::Failed {
            how: Termination::IllegalMove,
            what: format!("{} is not legal", reply.best),
        })?;
        Ok(answer(best, &reply, position))
    }
}

fn answer(best: Move, reply: &Reply, position: &Chess) -> Answer {
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
    Answer {
        best,
        score: reply.score,
        depth: reply.depth.unwrap_or(0),
        nodes: reply.nodes.unwrap_or(0),
        time: reply.elapsed,
        pv,
    }
}

fn receive(
    inbox: &Receiver<Answered>,
    journal: &mut Journal<Record>,
    records: &mut Vec<Record>,
    interrupted: &AtomicBool,
    stop: &StopToken,
    bar: &ProgressBar,
) -> Result<bool, ExamError> {
    loop {
        match inbox.recv_timeout(LOOK) {
            Ok(Ok(record)) => {
                journal.append(&record)?;
                records.push(record);
                bar.inc(1);
            }
            Ok(Err(Mishap::Fatal(sentence))) => return Err(ExamError::Fatal(sentence)),
            Ok(Err(_)) => {}
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(!interrupted.load(Ordering::Relaxed));
            }
        }
        if interrupted.load(Ordering::Relaxed) {
            stop.stop();
        }
    }
}
