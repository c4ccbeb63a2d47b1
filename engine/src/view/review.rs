//! Review of a game: every position searched in turn, and what each move lost, told as it comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use shakmaty::{Chess, Move, Position};

use super::events::Event;
use super::hub::Hub;
use super::messages::{BoardLine, Named};
use crate::chess::game::Game;
use crate::commands::review::Assessment;
use crate::commands::review::game::{Annotation, ReadGame};
use crate::commands::review::judgement::{Judgement, Loss};
use crate::search::clock::Budget;
use crate::search::snapshot::{NodeSnapshot, written};
use crate::search::{Limits, Search, StopToken, Task};

/// What is known of a game so far.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct News {
    /// Number of the review.
    pub id: u64,
    /// Who played whom.
    pub title: String,
    /// Games there were; this is the first.
    pub games: usize,
    /// Evaluations for each position.
    pub nodes: u64,
    /// Positions searched.
    pub done: usize,
    /// Positions of the game: one more than moves.
    pub total: usize,
    /// Whether it was stopped before its end.
    pub is_stopped: bool,
    /// Where the game starts; nothing = the start position.
    pub start: Option<String>,
    /// Number of its first move.
    pub first_number: u32,
    /// Whether Black makes that.
    pub black_first: bool,
    /// Its moves.
    pub moves: Vec<Named>,
    /// Each searched position.
    pub verdicts: Vec<Point>,
    /// Each move between two of them.
    pub losses: Vec<Lost>,
}

/// A position of the graph.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Its value for White, points.
    pub value: f32,
    /// Error scale of the value, points.
    pub error: f32,
    /// The best move.
    pub best: Option<Named>,
}

/// What a move lost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lost {
    /// Points.
    pub loss: f32,
    /// What that is called, if it is large.
    pub judgement: Option<&'static str>,
}

/// A game under review.
#[derive(Debug)]
pub struct Review {
    /// Number of the review.
    pub id: u64,
    /// The game.
    pub game: ReadGame,
    /// How many there were to choose from; this is the first.
    pub games: usize,
    /// Evaluations for each position.
    pub nodes: u64,
    /// Ends it.
    pub stop: StopToken,
}

impl Review {
    /// What is known before anything was searched.
    pub fn news(&self) -> News {
        let start = self.game.start();
        let positions = self.game.positions();
        let moves = positions.windows(2).filter_map(|pair| match pair {
            [before, after] => named_between(before.position(), after.position()),
            _ => None,
        });
        News {
            id: self.id,
            title: self.game.title(),
            games: self.games,
            nodes: self.nodes,
            total: positions.len(),
            start: BoardLine::from_start(start).start,
            first_number: start.fullmoves().get(),
            black_first: start.turn().is_black(),
            moves: moves.collect(),
            ..News::default()
        }
    }

    /// Searches every position and tells of each; the annotated game at the end.
    pub fn run(&self, mut search: Box<dyn Search>, hub: &Hub) {
        let (mut news, mut verdicts) = (self.news(), Vec::new());
        let tell = |news: &News, annotated| {
            hub.tell_review(self.id, Event::of("review", news), annotated);
        };
        tell(&news, None);
        for game in self.game.positions() {
            let found =
                catch_unwind(AssertUnwindSafe(|| self.verdict(search.as_mut(), &game, hub)));
            let Ok((verdict, best)) = found else {
                hub.note("internal error in the search; please report it");
                self.stop.stop();
                break;
            };
            if self.stop.is_stopped() {
                break;
            }
            let is_white = game.position().turn().is_white();
            let value = if is_white { verdict.value } else { 100.0 - verdict.value };
            news.verdicts.push(Point { value, error: verdict.error, best });
            if let Some(&before) = verdicts.last() {
                let loss = Loss::of(before, verdict);
                let judgement = Judgement::of(loss).map(name);
                news.losses.push(Lost { loss: loss.0, judgement });
            }
            verdicts.push(verdict);
            news.done += 1;
            let is_done = news.done == news.total;
            tell(&news, is_done.then(|| self.written(&verdicts)));
        }
        if self.stop.is_stopped() {
            news.is_stopped = true;
            tell(&news, None);
        }
    }

    /// The value of one position, and its best move.
    fn verdict(
        &self,
        search: &mut dyn Search,
        game: &Game,
        hub: &Hub,
    ) -> (Assessment, Option<Named>) {
        let position = game.position();
        if position.legal_moves().is_empty() {
            let end = NodeSnapshot::of_the_end(position.is_check());
            let value = end.value.unwrap_or(50.0);
            return (Assessment { value, error: 0.0, proof: end.proof, best: None }, None);
        }
        let limits = Limits { nodes: Some(self.nodes), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let task = Task { game, limits: &limits, budget: &budget, stop: &self.stop };
        // As `tesla review`: what is said of a position does not depend on those before it.
        search.new_game();
        let outcome = search.search(&task, &mut |_| {});
        if let Some(error) = outcome.error {
            hub.note(&error.to_string());
            self.stop.stop();
        }
        let root = search.snapshot(&[]).map(|seen| seen.root).unwrap_or_default();
        (verdict(&root, outcome.best), Some(Named::of(position, outcome.best)))
    }

    /// The game with what was found out behind each move.
    fn written(&self, verdicts: &[Assessment]) -> String {
        let mut turn = self.game.start().turn();
        let annotations = verdicts.windows(2).filter_map(|pair| {
            let &[before, after] = pair else { return None };
            turn = !turn;
            Some(Annotation::between(before, after, turn))
        });
        self.game.written(&annotations.collect::<Vec<_>>())
    }
}

fn verdict(root: &NodeSnapshot, played: Move) -> Assessment {
    let best = root.moves.first();
    Assessment {
        value: best.and_then(|best| best.value).or(root.value).unwrap_or(50.0),
        error: best.and_then(|best| best.error).or(root.error).unwrap_or_default(),
        proof: root.proof,
        best: Some(played),
    }
}

fn name(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Inaccuracy => "inaccuracy",
        Judgement::Mistake => "mistake",
        Judgement::Blunder => "blunder",
    }
}

/// The move that leads from one position to the next.
fn named_between(before: &Chess, after: &Chess) -> Option<Named> {
    let leads = |&played: &Move| {
        let mut next = before.clone();
        next.play_unchecked(played);
        next == *after
    };
    let played = before.legal_moves().into_iter().find(leads)?;
    let (uci, san) = written(before, played);
    Some(Named { uci, san })
}

/// Reviews on a thread of its own.
pub(super) fn start(review: Review, search: Box<dyn Search>, hub: &Arc<Hub>) {
    let hub = Arc::clone(hub);
    std::thread::spawn(move || review.run(search, &hub));
}
