//! The desk: owns the position and the searches, takes orders, and tells everybody who listens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use crossbeam_channel::{Sender, unbounded};
use shakmaty::Position;
use tokio::sync::broadcast;

use super::events::{Event, Notes};
use super::gate::Gate;
use super::kept::{Kept, Recording};
use super::messages::{
    BoardLine, GoOrder, LookOrder, PaceOrder, PositionOrder, Refusal, ReviewOrder, Seen, State,
};
use super::review::{News, Review};
use super::seats::{Seats, Work};
use super::stop::{StopOrder, Stoppable};
use crate::search::snapshot::{Snapshot, VERSION};
use crate::search::{Limits, StopToken};
use crate::setup::settings::Settings;

/// News that may wait for a slow reader; older ones are dropped.
const WAITING: usize = 1024;
/// How long the end waits for a search to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// See the module. Orders return at once; what they take long for is done by a thread.
#[derive(Debug)]
pub struct Desk {
    inside: Mutex<Inside>,
    events: broadcast::Sender<Event>,
    gate: Gate,
    work: Mutex<Option<Sender<Work>>>,
}

#[derive(Debug)]
struct Inside {
    state: State,
    line: BoardLine,
    /// Of the searches of the run.
    stops: Vec<StopToken>,
    /// Searches of the run that have not ended.
    running: usize,
    kept: Kept,
    /// What was seen of the last run whose game is gone, and how things stood then.
    past: Option<(State, Kept)>,
    /// Number of the last review, its end, and what is known of it.
    review: (u64, StopToken),
    reviewed: Option<Event>,
    /// The reviewed game, annotated, once that is done.
    annotated: Option<String>,
    replay: Option<Recording>,
    /// What was said of the device.
    notes: Notes,
}

impl Desk {
    /// A desk with this game on it, and one to review if there is one; or with a recording and no
    /// engine.
    pub fn start(
        settings: &Settings,
        line: BoardLine,
        pgn: Option<String>,
        replay: Option<Recording>,
    ) -> Arc<Self> {
        let mut state = State { version: VERSION, review: pgn, ..State::default() };
        state.set_line(&line);
        let is_replay = replay.is_some();
        let inside = Inside {
            state,
            line,
            stops: Vec::new(),
            running: 0,
            kept: Kept::default(),
            past: None,
            review: (0, StopToken::default()),
            reviewed: None,
            annotated: None,
            replay,
            notes: Notes::default(),
        };
        let (sender, orders) = unbounded();
        let desk = Arc::new(Self {
            inside: Mutex::new(inside),
            events: broadcast::Sender::new(WAITING),
            gate: Gate::default(),
            work: Mutex::new((!is_replay).then_some(sender)),
        });
        if !is_replay {
            let machine = settings.machine();
            let worker = Arc::clone(&desk);
            let mut seats = Seats::new(machine);
            thread::spawn(move || {
                for order in orders {
                    seats.work(order, &worker);
                }
            });
            desk.send(Work::Load);
        }
        desk
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, work: Work) {
        let sender = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            let _ = sender.send(work);
        }
    }

    fn publish(&self, event: Event) {
        // Nobody listens: nobody minds.
        let _ = self.events.send(event);
    }

    /// Refused where there is no engine.
    fn live(&self) -> Result<MutexGuard<'_, Inside>, Refusal> {
        let inside = self.inside();
        if inside.replay.is_some() {
            return Err(Refusal::new("", "this is a recording; nothing is searched"));
        }
        Ok(inside)
    }

    /// Puts another game on the desk; what runs is stopped.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn position(&self, order: &PositionOrder) -> Result<State, Refusal> {
        let line = order.game()?;
        let mut inside = self.live()?;
        inside.stop();
        inside.put(line);
        Ok(self.told(&inside))
    }

    /// Searches.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn go(&self, order: &GoOrder) -> Result<State, Refusal> {
        let (modes, pace) = (order.checked()?, order.pace()?);
        let game = PositionOrder { fen: order.fen.clone(), moves: order.moves.clone() };
        let line = game.game()?;
        let mut inside = self.live()?;
        inside.stop();
        inside.place(line.clone());
        let is_over = line.game.position().legal_moves().is_empty();
        let number = inside.state.run + 1;
        inside.running = if is_over { 0 } else { modes.len() };
        inside.state.run = number;
        inside.state.running = !is_over;
        inside.state.searches = modes.iter().map(|mode| mode.name().to_owned()).collect();
        let modes: Vec<_> = modes.into_iter().map(|mode| (mode, StopToken::default())).collect();
        inside.stops = modes.iter().map(|(_, stop)| stop.clone()).collect();
        let limits = Limits { nodes: order.nodes, ..Limits::default() };
        let limits = Limits { infinite: order.nodes.is_none(), ..limits };
        self.gate.set_pace(pace);
        if !is_over {
            self.send(Work::Run { number, modes, line: Box::new(line), limits });
        }
        Ok(self.told(&inside))
    }

    /// Reviews a game, instead of what runs; its first position comes on the desk.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn review(&self, order: &ReviewOrder) -> Result<State, Refusal> {
        let (game, games) = order.game()?;
        let mut inside = self.live()?;
        inside.stop();
        inside.review.1.stop();
        let (id, stop) = (inside.review.0 + 1, StopToken::default());
        inside.review = (id, stop.clone());
        (inside.annotated, inside.state.review) = (None, None);
        inside.put(BoardLine::from_start(game.start()));
        self.send(Work::Review(Box::new(Review { id, game, games, nodes: order.nodes, stop })));
        Ok(self.told(&inside))
    }

    /// The reviewed game as PGN, once all of it was searched.
    pub fn annotated(&self) -> Option<String> {
        self.inside().annotated.clone()
    }

    /// Ends the run, the review or both.
    ///
    /// # Errors
    /// Where nothing is searched at all.
    pub fn stop(&self, order: StopOrder) -> Result<State, Refusal> {
        let inside = self.live()?;
        if order.ends(Stoppable::Search) {
            inside.stop();
        }
        if order.ends(Stoppable::Review) {
            inside.review.1.stop();
        }
        Ok(inside.state.clone())
    }

    /// Goes faster or slower.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn pace(&self, order: PaceOrder) -> Result<State, Refusal> {
        let pace = order.pace()?;
        let inside = self.live()?;
        self.gate.set_pace(pace);
        Ok(inside.state.clone())
    }

    /// Tells of another place of the tree from now on.
    ///
    /// # Errors
    /// Names the move that is not legal.
    pub fn look(&self, order: &LookOrder) -> Result<State, Refusal> {
        let inside = self.live()?;
        let path = order.moves(inside.line.game.position())?;
        self.send(Work::Look(inside.state.run, path));
        Ok(inside.state.clone())
    }

    /// What a new listener has to know, and what comes after it.
    pub fn listen(&self) -> (Vec<Event>, broadcast::Receiver<Event>) {
        let inside = self.inside();
        let mut known = vec![Event::of("state", &inside.state)];
        let run = inside.state.run;
        let seen = inside.kept.all().map(|snapshot| Event::of("snapshot", &Seen { run, snapshot }));
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
        let (state, kept) = match &inside.past {
            Some((state, kept)) if inside.kept.is_empty() => (state, kept),
            _ => (&inside.state, &inside.kept),
        };
        let snapshots = kept.all().map(|snapshot| Snapshot::clone(snapshot)).collect();
        let state = State { running: false, review: None, ..state.clone() };
        Recording { version: VERSION, state, snapshots }
    }

    /// Stops what runs.
    pub fn end(&self) {
        let inside = self.inside();
        inside.stop();
        inside.review.1.stop();
        drop(inside);
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut waited = Duration::ZERO;
        while self.inside().running > 0 && waited < PATIENCE {
            thread::sleep(Duration::from_millis(10));
            waited += Duration::from_millis(10);
        }
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
        inside.kept.add(Arc::new(snapshot));
    }

    /// What is known of a game; the annotated game at its end.
    pub(super) fn tell_review(&self, news: &News, annotated: Option<String>) {
        let mut inside = self.inside();
        if news.id == inside.review.0 {
            let event = Event::of("review", news);
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
    pub(super) fn gate(&self) -> &Gate {
        &self.gate
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

    fn told(&self, inside: &Inside) -> State {
        self.publish(Event::of("state", &inside.state));
        inside.state.clone()
    }
}

impl Inside {
    fn stop(&self) {
        for stop in &self.stops {
            stop.stop();
        }
    }

    /// Another game, of which nothing is searched.
    fn put(&mut self, line: BoardLine) {
        self.place(line);
        self.state.run += 1;
        self.state.running = false;
    }

    fn place(&mut self, line: BoardLine) {
        if !self.kept.is_empty() {
            self.past = Some((self.state.clone(), mem::take(&mut self.kept)));
        }
        self.state.set_line(&line);
        self.line = line;
        self.running = 0;
    }
}
