//! Minimax and exhaustive search: the foundation, as the seeds teach it, to learn from and to
//! compare with.
//!
//! * [`plain`](self) — the recursion that returns a score and a line; alpha-beta without and with
//!   ordered moves returns the identical value from fewer positions;
//! * [`StaticValue`] — what stands at the depth's end: [`Material`] with seed 002's values, or
//!   [`EndsOnly`], seed 004's exhaustive search, for which only the end of the game counts;
//! * [`commands::minimax`](crate::commands::minimax) — `tesla minimax`: what pruning saves, and
//!   mates counted exactly.
//!
//! Draws are the rules': stalemate, too little material, fifty moves, and the third time that a
//! position stands on the board. There is no table of positions, which would know nothing of the
//! way that led to them.

mod ends;
mod ordering;
mod plain;
mod pruned;
mod statics;
mod walk;

use std::time::Duration;

use shakmaty::Move;

pub use self::ends::{DRAW, MATE, MATE_BOUND};
pub use self::pruned::Window;
pub use self::statics::{EndsOnly, Material, StaticValue};
pub use self::walk::Walk;
use crate::chess::game::Game;
use crate::chess::score::Score;
use crate::search::clock::Budget;
use crate::search::{Info, Outcome, Reporter, Search, Task, Variation};

/// A line of moves, the first one last, as the recursion builds it.
pub type Line = Vec<Move>;

/// Beyond every value.
pub const INFINITE: i32 = MATE + 1;

/// Deepest search: the fifty-move rule ends every line of reversible moves before.
const MAX_DEPTH: u32 = 100;

/// Which moves are left out because they cannot change the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pruning {
    /// None: minimax.
    #[default]
    None,
    /// Alpha-beta, moves as the generator gives them.
    AlphaBeta,
    /// Alpha-beta, captures first, then threats, then moves to the middle.
    Ordered,
}

impl Pruning {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::AlphaBeta, Self::Ordered];

    /// Their names, in the same order; the first is the default.
    pub const NAMES: &[&str] = &["None", "AlphaBeta", "Ordered"];

    /// The one of this name, the default where there is none.
    pub fn named(name: &str) -> Self {
        let place = Self::NAMES.iter().position(|&known| known == name);
        place.map_or(Self::None, |place| Self::ALL[place])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// What a search of some depth found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// From the side to move: the static value's unit, or [`MATE`] less the plies to it.
    pub value: i32,
    /// The moves that lead there, the first one first.
    pub line: Vec<Move>,
    /// Positions searched.
    pub nodes: u64,
    /// Whether every line was followed to the end of the game: nothing is estimated.
    pub is_whole: bool,
}

impl Found {
    /// The value as all searches speak of it; `estimate` says what a static value means.
    pub fn score(&self, estimate: impl FnOnce(i32) -> Score) -> Score {
        match self.value {
            value if value >= MATE_BOUND => Score::Win((MATE - value) as u16),
            value if value <= -MATE_BOUND => Score::Loss((MATE + value) as u16),
            _ if self.is_whole => Score::Draw,
            value => estimate(value),
        }
    }

    /// Whether a deeper search would say the same: the whole game was seen, or a mate that lies
    /// within `depth`, of which a deeper search finds no shorter one.
    fn is_final(&self, depth: u32) -> bool {
        let plies = MATE - self.value.abs();
        self.is_whole || self.value.abs() >= MATE_BOUND && plies <= depth as i32
    }
}

/// Searches a game's position to this depth, which is at least 1, and to the end whatever it takes.
///
/// The position must have a legal move.
pub fn solve(game: &Game, depth: u32, pruning: Pruning, statics: impl StaticValue) -> Found {
    let mut walk = Walk::new(game, statics);
    let moves = shakmaty::Position::legal_moves(game.position());
    let nothing = Found { value: DRAW, line: Vec::new(), nodes: 0, is_whole: false };
    iterate(&mut walk, game, &moves, depth, pruning).unwrap_or(nothing)
}

/// One search of these root moves; `None` where the walk ended before.
fn iterate<S: StaticValue>(
    walk: &mut Walk<'_, S>,
    game: &Game,
    moves: &[Move],
    depth: u32,
    pruning: Pruning,
) -> Option<Found> {
    walk.take_was_cut();
    let (position, open) = (game.position(), Window::OPEN);
    let (value, mut line) = match pruning {
        Pruning::None => walk.best_of(position, moves, depth),
        Pruning::AlphaBeta => walk.best_within::<false>(position, moves, depth, open),
        Pruning::Ordered => {
            let mut moves = moves.to_vec();
            ordering::sort(position, &mut moves);
            walk.best_within::<true>(position, &moves, depth, open)
        }
    }?;
    line.reverse();
    Some(Found { value, line, nodes: walk.nodes(), is_whole: !walk.take_was_cut() })
}

/// The search mode: deepens ply by ply until a limit is reached or nothing more can be found.
/// `go mate N` looks for ends of the game only.
#[derive(Clone, Copy, Debug)]
pub struct Minimax {
    pruning: Pruning,
}

impl Minimax {
    /// With this pruning.
    pub fn new(pruning: Pruning) -> Self {
        Self { pruning }
    }

    fn deepen<S: StaticValue>(
        self,
        task: &Task<'_>,
        deepest: u32,
        statics: S,
        report: &mut dyn FnMut(&Info),
    ) -> Outcome {
        let moves = task.root_moves();
        let value = statics.of(task.game.position());
        // With the depth that each was found at, 0 for a move that was not searched.
        let mut best = vec![(0, Found { value, line: vec![moves[0]], nodes: 0, is_whole: false })];
        let mut walk = Walk::within(task, statics, Budget::hard_over);
        walk.reporter = Some(Reporter::new(report));
        let mut pace = Pace::default();
        for depth in 1..=deepest {
            walk.is_first_look = depth == 1 && task.limits.multipv > 1;
            walk.began_pondering = depth > 1 && task.budget.is_pondering();
            let Some(found) = self.lines(&mut walk, task, &moves, depth) else { break };
            let mut found: Vec<_> = found.into_iter().map(|line| (depth, line)).collect();
            // Where the walk ended on the way, the other lines are the last depth's.
            for (depth, line) in best.drain(..).filter(|&(depth, _)| depth > 0) {
                let is_new = found.iter().all(|(_, other)| other.line[0] != line.line[0]);
                if is_new && found.len() < task.limits.multipv {
                    found.push((depth, line));
                }
            }
            best = found;
            walk.report(info(task, &walk, &best));
            let is_final = best.iter().all(|(_, line)| line.is_final(depth));
            if is_final || pace.is_too_slow(task, walk.nodes()) {
                break;
            }
        }
        task.wait_for_stop();
        let info = info(task, &walk, &best);
        let (best, ponder) = (info.pv[0], info.pv.get(1).copied());
        let (error, cache) = (None, None);
        Outcome { best, ponder, info, error, cache, notes: Vec::new() }
    }

    /// The best moves of one depth, as many as are wanted and at least one: each is the best of
    /// those that the ones before it leave. `None` where the walk ended before the first was found.
    fn lines<S: StaticValue>(
        self,
        walk: &mut Walk<'_, S>,
        task: &Task<'_>,
        moves: &[Move],
        depth: u32,
    ) -> Option<Vec<Found>> {
        let (mut rest, mut found) = (moves.to_vec(), Vec::new());
        while found.len() < task.limits.multipv.max(1) && !rest.is_empty() {
            walk.lines = found.len();
            let line = iterate(walk, task.game, &rest, depth, self.pruning);
            let Some(line) = line.filter(|line| !line.line.is_empty()) else { break };
            rest.retain(|&other| other != line.line[0]);
            found.push(line);
        }
        (!found.is_empty()).then_some(found)
    }
}

fn info<S: StaticValue>(task: &Task<'_>, walk: &Walk<'_, S>, found: &[(u32, Found)]) -> Info {
    let ((depth, best), others) = (&found[0], &found[1..]);
    let told = |(depth, line): &(u32, Found)| Variation {
        depth: *depth,
        score: line.score(Score::Centipawns),
        pv: line.line.clone(),
    };
    Info {
        depth: *depth,
        selective_depth: (*depth).max(best.line.len() as u32),
        score: best.score(Score::Centipawns),
        nodes: walk.nodes(),
        hashfull: 0,
        time: task.budget.elapsed(),
        pv: best.line.clone(),
        variations: others.iter().map(told).collect(),
        is_bound: false,
        current: None,
    }
}

impl Search for Minimax {
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome {
        let wanted = task.limits.depth.unwrap_or(MAX_DEPTH).clamp(1, MAX_DEPTH);
        match task.limits.mate {
            // The side to move mates with its last move of them, or is mated by the opponent's.
            Some(moves) => {
                let deepest = wanted.min(moves.saturating_mul(2));
                self.deepen(task, deepest, EndsOnly, report)
            }
            None => self.deepen(task, wanted, Material, report),
        }
    }

    fn clear(&mut self) {}

    fn set_hash_mb(&mut self, _: usize) {}
}

/// How much longer each depth takes than the one before.
#[derive(Debug, Default)]
struct Pace {
    nodes: u64,
    last: u64,
    began: Duration,
}

impl Pace {
    /// After a depth: whether the next one would not end in time on a clock.
    fn is_too_slow(&mut self, task: &Task<'_>, nodes: u64) -> bool {
        let now = task.budget.elapsed();
        let (took, searched) = (now.saturating_sub(self.began), nodes - self.nodes);
        let growth = searched as f64 / self.last.max(1) as f64;
        (self.nodes, self.last, self.began) = (nodes, searched, now);
        let hard = task.budget.hard().filter(|_| task.limits.clock.is_some());
        task.limits.move_time.is_none()
            && hard.is_some_and(|hard| now.saturating_add(took.mul_f64(growth.min(1e3))) > hard)
    }
}
