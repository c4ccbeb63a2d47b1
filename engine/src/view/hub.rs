//! The hub: what is known of the board and its searches, and who is told of it.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use super::events::{Event, Notes};
use super::history::{History, Recording};
use super::lockstep::Lockstep;
use super::messages::{BoardLine, Seen, State};
use crate::search::StopToken;
use crate::search::snapshot::{Snapshot, VERSION};

/// News that may wait for a slow reader; older ones are dropped.
const WAITING: usize = 1024;

/// See the module. The searches report to it, from threads of their own.
#[derive(Debug)]
pub struct Hub {
    inside: Mutex<Inside>,
    events: broadcast::Sender<Event>,
    lockstep: Lockstep,
}

/// What is known.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) state: State,
    pub(super) line: BoardLine,
    /// Of the searches of the run.
    pub(super) stops: Vec<StopToken>,
    /// Searches of the run that have not ended.
    pub(super) running: usize,
    history: History,
    /// What was seen of the last run whose game is gone, and how things stood then.
    past: Option<(State, History)>,
    /// Number of the last review, its end, and what is known of it.
    pub(super) review: (u64, StopToken),
    reviewed: Option<Event>,
    /// The reviewed game, annotated, once that is done.
    pub(super) annotated: Option<String>,
    replay: Option<Recording>,
    /// What was said of the device.
    notes: Notes,
}

impl Hub {
    /// With this game on the board, and one to review if there is one; or with a recording.
    pub(super) fn new(line: BoardLine, pgn: Option<String>, replay: Option<Recording>) -> Self {
        let mut state = State { version: VERSION, review: pgn, ..State::default() };
        state.set_line(&line);
        let inside = Inside {
            state,
            line,
            stops: Vec::new(),
            running: 0,
            history: History::default(),
            past: None,
            review: (0, StopToken::default()),
            reviewed: None,
            annotated: None,
            replay,
            notes: Notes::default(),
        };
        Self {
            inside: Mutex::new(inside),
            events: broadcast::Sender::new(WAITING),
            lockstep: Lockstep::default(),
        }
    }

    pub(super) fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, event: Event) {
        // Nobody listens: nobody minds.
        let _ = self.events.send(event);
    }

    /// The reviewed game as PGN, once all of it was searched.
    pub fn annotated(&self) -> Option<String> {
        self.inside().annotated.clone()
    }

    /// What a new listener has to know, and what comes after it.
    pub fn listen(&self) -> (Vec<Event>, broadcast::Receiver<Event>) {
        let inside = self.inside();
        let mut known = vec![Event::of("state", &inside.state)];
        let run = inside.state.run;
        let seen =
            inside.history.all().map(|snapshot| Event::of("snapshot", &Seen { run, snapshot }));
        known.extend(seen);
        known.extend(inside.reviewed.clone());
        known.extend(inside.notes.events());
        (known, self.events.subscribe())
    }

    /// The recording that is shown, if one is.
    pub fn replay(&self) -> Option<Recording> {
        self.inside().replay.clone()
    }

    /// What was seen of the last run.
    pub fn recording(&self) -> Recording {
        let inside = self.inside();
        let (state, history) = match &inside.past {
            Some((state, history)) if inside.history.is_empty() => (state, history),
            _ => (&inside.state, &inside.history),
        };
        let snapshots = history.all().map(|snapshot| Snapshot::clone(snapshot)).collect();
        let state = State { running: false, review: None, ..state.clone() };
        Recording { version: VERSION, state, snapshots }
    }

    /// Whether anybody wants to see what is searched.
    pub(super) fn is_heard(&self) -> bool {
        self.events.receiver_count() > 0
    }

    /// Something was seen of this run.
    pub(super) fn tell(&self, run: u64, snapshot: Snapshot) {
        let mut inside = self.inside();
        if run != inside.state.run || snapshot.root.fen != inside.state.fen {
            return;
        }
        self.publish(Event::of("snapshot", &Seen { run, snapshot: &snapshot }));
        inside.history.add(Arc::new(snapshot));
    }

    /// What is known of the game of this review; the annotated game at its end.
    pub(super) fn tell_review(&self, id: u64, event: Event, annotated: Option<String>) {
        let mut inside = self.inside();
        if id == inside.review.0 {
            inside.reviewed = Some(event.clone());
            inside.annotated = annotated;
            self.publish(event);
        }
    }

    /// What evaluates positions from now on.
    pub(super) fn set_evaluator(&self, description: &str) {
        let mut inside = self.inside();
        description.clone_into(&mut inside.state.evaluator);
        self.told(&inside);
    }

    /// Where the searches wait for each other.
    pub(super) fn lockstep(&self) -> &Lockstep {
        &self.lockstep
    }

    /// One search of this run has ended.
    pub(super) fn ended(&self, run: u64) {
        let mut inside = self.inside();
        if run == inside.state.run {
            inside.running = inside.running.saturating_sub(1);
            if inside.running == 0 {
                inside.state.running = false;
                self.told(&inside);
            }
        }
    }

    /// A sentence for everybody who listens.
    pub(super) fn note(&self, text: &str) {
        self.publish(Event::note(text, false));
    }

    /// A sentence about the device, which those who come later are told too.
    pub(super) fn keep_note(&self, text: &str) {
        let mut inside = self.inside();
        inside.notes.add(text);
        self.publish(Event::note(text, true));
    }

    /// The device is started anew: what was said of the last attempt holds no longer.
    pub(super) fn forget_notes(&self) {
        self.inside().notes = Notes::default();
    }

    /// Tells everybody how things stand.
    pub(super) fn told(&self, inside: &Inside) -> State {
        self.publish(Event::of("state", &inside.state));
        inside.state.clone()
    }
}

impl Inside {
    /// Whether a recording is shown, and nothing searched.
    pub(super) fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// Stops the searches of the run.
    pub(super) fn stop(&self) {
        for stop in &self.stops {
            stop.stop();
        }
    }

    /// Another game, of which nothing is searched.
    pub(super) fn put(&mut self, line: BoardLine) {
        self.place(line);
        self.state.run += 1;
        self.state.running = false;
    }

    /// Another game on the board; what was seen of the one before is put aside.
    pub(super) fn place(&mut self, line: BoardLine) {
        if !self.history.is_empty() {
            self.past = Some((self.state.clone(), mem::take(&mut self.history)));
        }
        self.state.set_line(&line);
        self.line = line;
        self.running = 0;
    }
}
