//! A search seen from outside while it runs: what it knows of one position and of each move there.
//!
//! One set of types for every search mode; what a mode does not know is `None` (`null` in JSON).
//! Names are camelCase in JSON. Units: values, errors and gains in *points*, 0 to 100, for the side
//! to move; policies, shares and probabilities from 0 to 1; times in milliseconds.

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::{Chess, EnPassantMode, Move, Position};

use crate::chess::score::{Score, TABLE_PLIES};

/// Number of this layout; a change that old readers would misread raises it.
pub const VERSION: u32 = 1;

/// Most moves of a line of play in a snapshot.
pub const LINE: usize = 10;

/// A running or finished search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The search mode, as the option `Search` names it.
    pub search: String,
    /// How far it is, and why it stopped.
    pub progress: Progress,
    /// The position that is searched.
    pub root: NodeSnapshot,
    /// The position that somebody looks at, where it is another one and the search knows it.
    pub focus: Option<NodeSnapshot>,
    /// In one sentence: which move, why, and where the next evaluations go.
    pub why: String,
}

/// How far a search is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Time since the search was asked for, milliseconds.
    pub time: u64,
    /// Evaluations answered in this search; positions where a search has no evaluator.
    pub evaluations: u64,
    /// The same per second.
    pub per_second: u64,
    /// Depth, plies; of a tree, what its work amounts to.
    pub depth: u32,
    /// Length of the longest line looked at, plies.
    pub selective_depth: u32,
    /// Share of the memory in use, permille.
    pub hashfull: u32,
    /// What more thought is worth. Tesla only.
    pub worth: Option<Worth>,
    /// Why it stopped; nothing while it runs.
    pub stopped: Option<Stop>,
}

/// What more thought is worth, and what it must be worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Worth {
    /// What the next evaluation gains where it gains most, points.
    pub next: f32,
    /// Further evaluations that `gain` is about: as many again as the tree has.
    pub evaluations: f32,
    /// What so many evaluations of one move gain at most, points.
    pub gain: f32,
    /// The price of their time: with less to gain the search stops, points. Only under a clock.
    pub price: Option<f32>,
}

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    /// It was told to.
    Asked,
    /// The time limit.
    Time,
    /// The time planned for the move.
    Planned,
    /// No move is worth its time any more.
    Satisfied,
    /// There is only one move, and a clock runs.
    OnlyMove,
    /// The result is proven.
    Proof,
    /// The limit of evaluations or nodes.
    Nodes,
    /// The depth limit.
    Depth,
    /// The memory is full.
    Memory,
    /// Nothing is left to search.
    Exhausted,
    /// The evaluator failed.
    Failed,
}

/// What is known of one position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeSnapshot {
    /// The moves that lead from the root here, UCI.
    pub path: Vec<String>,
    /// The position.
    pub fen: String,
    /// Its value, points.
    pub value: Option<f32>,
    /// Error scale of the value, points: that of its best move's.
    pub error: Option<f32>,
    /// The evaluator's own value of the position, points.
    pub static_value: Option<f32>,
    /// The search's count N at and below it: evaluations, with those kept from earlier searches and
    /// those awaited; under PUCT visits to proven positions too.
    pub visits: u64,
    /// Evaluations answered at and below it in this search.
    pub evaluations: Option<u64>,
    /// What is proven.
    pub proof: Option<Proof>,
    /// The move to play here, UCI: the first of `moves`, if any.
    pub best: Option<String>,
    /// The move that the overtaking is about, UCI: the one with the highest value. Tesla only.
    pub leader: Option<String>,
    /// Every move, the one to play first, then by value.
    pub moves: Vec<MoveSnapshot>,
}

impl NodeSnapshot {
    /// Of a position without a legal move.
    pub fn of_the_end(is_mate: bool) -> Self {
        let result = if is_mate { Outlook::Loss } else { Outlook::Draw };
        Self {
            value: Some(if is_mate { 0.0 } else { 50.0 }),
            proof: Some(Proof { result, mate: is_mate.then_some(0) }),
            ..Self::default()
        }
    }
}

/// What is known of one move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MoveSnapshot {
    /// The move, UCI.
    pub uci: String,
    /// The move, as people write it.
    pub san: String,
    /// Its value for the side that makes it, points.
    pub value: Option<f32>,
    /// The evaluator's own value of the position behind it, points.
    pub static_value: Option<f32>,
    /// Whether the value is only an upper bound (alpha-beta).
    pub is_bound: bool,
    /// Error scale of the value, points; 0 where proven.
    pub error: Option<f32>,
    /// Whether the position behind it was looked at; before that, the value is a guess.
    pub is_evaluated: bool,
    /// The search's count N, see [`NodeSnapshot::visits`].
    pub visits: u64,
    /// Evaluations answered behind it in this search; known of the root's moves.
    pub evaluations: Option<u64>,
    /// Its share of the visits.
    pub work: f32,
    /// Its share of the next evaluations, as the rule stands now.
    pub next: Option<f32>,
    /// The evaluator's policy.
    pub policy: Option<f32>,
    /// Probability that it is better than the leader, as the search ranks it (values, errors and
    /// policy); for the leader, the highest of the others'. 0 behind a proof.
    pub overtake: Option<f32>,
    /// Probability that one more ply of it changes the decision, as the search weighs it.
    pub benefit: Option<f32>,
    /// Evaluations that one more ply of it costs.
    pub cost: Option<f32>,
    /// Benefit per cost: the next evaluation goes where it is highest.
    pub rate: Option<f32>,
    /// What [`Worth::evaluations`] of it gain, points. Root only.
    pub gain: Option<f32>,
    /// lc0's exploration term U of the move, in score units from 0 to 1. PUCT only.
    pub exploration: Option<f32>,
    /// What is proven, for the side that makes it.
    pub proof: Option<Proof>,
    /// The line of play from here, this move first, UCI.
    pub pv: Vec<String>,
    /// The same as people write it.
    pub pv_san: Vec<String>,
}

/// The result of best play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Outlook {
    /// The side to move wins.
    Win,
    /// A draw.
    Draw,
    /// The side to move loses.
    Loss,
}

/// A proven result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// The result, for the side to move (of a move: for the side that makes it).
    pub result: Outlook,
    /// Full moves to the mate; nothing where it is a draw, or an endgame table knows no distance.
    pub mate: Option<u16>,
}

impl Proof {
    /// What a score proves.
    pub fn of(score: Score) -> Option<Self> {
        let moves = |plies: u16| (plies < TABLE_PLIES).then(|| plies.div_ceil(2));
        match score {
            Score::Estimate(_) | Score::Centipawns(_) => None,
            Score::Draw => Some(Self { result: Outlook::Draw, mate: None }),
            Score::Win(plies) => Some(Self { result: Outlook::Win, mate: moves(plies) }),
            Score::Loss(plies) => Some(Self { result: Outlook::Loss, mate: moves(plies) }),
        }
    }
}

/// Score units to points, to a hundredth.
pub fn points(value: f32) -> f32 {
    (value * 10_000.0).round() / 100.0
}

/// A position's FEN.
pub fn fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

/// A move as UCI and as people write it.
pub fn written(position: &Chess, played: Move) -> (String, String) {
    let uci = UciMove::from_move(played, position.castles().mode()).to_string();
    (uci, SanPlus::from_move(position.clone(), played).to_string())
}

/// A line of legal moves as UCI and as people write it, as far as a snapshot tells it.
pub fn written_line(position: &Chess, line: &[Move]) -> (Vec<String>, Vec<String>) {
    let mut position = position.clone();
    let told = line.iter().take(LINE).map(|&played| {
        let text = written(&position, played);
        position.play_unchecked(played);
        text
    });
    told.unzip()
}
