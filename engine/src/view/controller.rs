//! The controller: takes the page's orders, and sends the searches off.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use shakmaty::Position;

use super::history::Recording;
use super::hub::{Hub, Inside};
use super::messages::{
    BoardLine, GoOrder, LookOrder, PaceOrder, PositionOrder, Refusal, ReviewOrder, State,
};
use super::review::Review;
use super::runners::{Runners, Work};
use super::stop::{StopOrder, Stoppable};
use crate::search::{Limits, StopToken};
use crate::setup::settings::Settings;

/// How long the end waits for a search to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// See the module. Orders return at once; what they take long for is done by a thread.
#[derive(Debug)]
pub struct Controller {
    hub: Arc<Hub>,
    work: Mutex<Option<Sender<Work>>>,
}

impl Controller {
    /// With this game on the board, and one to review if there is one; or with a recording and no
    /// engine.
    pub fn start(
        settings: &Settings,
        line: BoardLine,
        pgn: Option<String>,
        replay: Option<Recording>,
    ) -> Arc<Self> {
        let is_replay = replay.is_some();
        let hub = Arc::new(Hub::new(line, pgn, replay));
        if is_replay {
            return Arc::new(Self { hub, work: Mutex::new(None) });
        }
        let (sender, orders) = unbounded();
        let (mut runners, told) = (Runners::new(settings.machine()), Arc::clone(&hub));
        thread::spawn(move || {
            for order in orders {
                runners.work(order, &told);
            }
        });
        let controller = Self { hub, work: Mutex::new(Some(sender)) };
        controller.send(Work::Load);
        Arc::new(controller)
    }

    /// What is known, and who is told of it.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    fn send(&self, work: Work) {
        let sender = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            let _ = sender.send(work);
        }
    }

    /// Refused where there is no engine.
    fn live(&self) -> Result<MutexGuard<'_, Inside>, Refusal> {
        let inside = self.hub.inside();
        if inside.is_replay() {
            return Err(Refusal::new("", "this is a recording; nothing is searched"));
        }
        Ok(inside)
    }

    /// Puts another game on the board; what runs is stopped.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn position(&self, order: &PositionOrder) -> Result<State, Refusal> {
        let line = order.game()?;
        let mut inside = self.live()?;
        inside.stop();
        inside.put(line);
        Ok(self.hub.told(&inside))
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
        self.hub.lockstep().set_pace(pace);
        if !is_over {
            self.send(Work::Run { number, modes, line: Box::new(line), limits });
        }
        Ok(self.hub.told(&inside))
    }

    /// Reviews a game, instead of what runs; its first position comes on the board.
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
        Ok(self.hub.told(&inside))
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
        self.hub.lockstep().set_pace(pace);
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

    /// Stops what runs.
    pub fn end(&self) {
        let inside = self.hub.inside();
        inside.stop();
        inside.review.1.stop();
        drop(inside);
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut waited = Duration::ZERO;
        while self.hub.inside().running > 0 && waited < PATIENCE {
            thread::sleep(Duration::from_millis(10));
            waited += Duration::from_millis(10);
        }
    }
}
