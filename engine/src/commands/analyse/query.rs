//! A line of JSON to what it asks for.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shakmaty::Chess;

use super::reply::Refusal;
use crate::chess::game::Game;
use crate::chess::notation::{from_crowded_fen, parse_move};
use crate::search::Limits;
use crate::setup::mode::SearchMode;

/// Longest name of a query, letters.
const LONGEST_ID: usize = 200;
/// Most moves of a game.
const MOST_MOVES: usize = 6_000;
/// Longest search, seconds.
const LONGEST: f64 = 1e7;
/// Deepest tree that an answer may hold, plies.
const DEEPEST_TREE: u32 = 8;

/// What a line may ask for. All fields but `id` may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Query {
    /// Any name; every answer bears it.
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    pub id: String,
    /// What to do; without it, analyse.
    pub action: Action,
    /// The position that the moves start from; without it, the start position.
    pub fen: Option<String>,
    /// The moves of a game, UCI.
    pub moves: Vec<String>,
    /// The positions of it to analyse, by the number of moves before each; without it, the last.
    pub turns: Option<Vec<usize>>,
    /// Evaluations a position (nodes, of alpha-beta).
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub nodes: Option<u64>,
    /// Time a position.
    pub seconds: Option<f64>,
    /// Depth, plies.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub depth: Option<u32>,
    /// The search mode: `Tesla`, `PUCT`, `AlphaBeta` or `Minimax`.
    pub search: Option<String>,
    /// Only these moves of the position, UCI.
    pub search_moves: Vec<String>,
    /// Most moves that an answer tells of, the best first; without it, all.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub multipv: Option<usize>,
    /// Seconds between partial answers; without it, there are none.
    pub report_every: Option<f64>,
    /// What else an answer holds: `policy`, `wdl`, `tree:2` (the moves looked at, so deep).
    pub include: Vec<String>,
    /// The query to end; without it, all. Of `terminate`.
    pub terminate_id: Option<String>,
}

/// What a line asks to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Search the positions.
    #[default]
    Analyse,
    /// End a query, or all: what is being searched is answered as it stands.
    Terminate,
    /// Tell the version.
    Version,
}

/// What else an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// The evaluator's policy of every move.
    pub policy: bool,
    /// Win, draw and loss.
    pub wdl: bool,
    /// Depth of the tree, plies; 0 = none.
    pub tree: u32,
}

/// One position to search.
#[derive(Clone, Debug)]
pub struct Position {
    /// The number of moves before it.
    pub turn: usize,
    /// The position and the game that led to it.
    pub game: Game,
    /// When to end.
    pub limits: Limits,
}

/// What a line asks for, checked.
#[derive(Clone, Debug)]
pub enum Order {
    /// Search these positions.
    Analyse(Box<Analysis>),
    /// End this query, or all.
    Terminate {
        /// The name of this line.
        id: String,
        /// The query to end.
        which: Option<String>,
    },
    /// Tell the version.
    Version {
        /// The name of this line.
        id: String,
    },
}

/// Positions to search, and how to tell of them.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Its name.
    pub id: String,
    /// The search mode.
    pub search: SearchMode,
    /// The positions.
    pub positions: Vec<Position>,
    /// Most moves told of.
    pub multipv: usize,
    /// Time between partial answers.
    pub report_every: Option<Duration>,
    /// What else is told.
    pub include: Include,
}

/// What lines do not say.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Evaluations where a query gives no limit.
    pub nodes: u64,
    /// The search mode where it names none.
    pub search: SearchMode,
}

impl Query {
    /// Reads a line.
    ///
    /// # Errors
    /// With the name of the field that cannot be read.
    pub fn read(line: &str) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| Refusal::new("", None, format!("this is not JSON: {error}")))?;
        let Value::Object(fields) = value else {
            return Err(Refusal::new("", None, "a query is an object, like {\"id\": \"1\"}"));
        };
        let mut query = Self::default();
        let id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if id.is_empty() || id.chars().count() > LONGEST_ID {
            let text = format!("a query needs an id: a text of 1 to {LONGEST_ID} letters");
            return Err(Refusal::new("", Some("id"), text));
        }
        for (name, value) in fields {
            query.set(&name, value).map_err(|text| {
                let name: String = name.chars().take(60).collect();
                Refusal::new(&id, Some(&name), text)
            })?;
        }
        Ok(query)
    }

    fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        match name {
            "id" => put(&mut self.id, value, TEXT),
            "action" => put(&mut self.action, value, "it is analyse, terminate or version"),
            "fen" => put(&mut self.fen, value, TEXT),
            "moves" => put(&mut self.moves, value, MOVES),
            "turns" => put(&mut self.turns, value, "it is a list of whole numbers from 0 on"),
            "nodes" => put(&mut self.nodes, value, COUNT),
            "seconds" => put(&mut self.seconds, value, "it is a number of seconds"),
            "depth" => put(&mut self.depth, value, COUNT),
            "search" => put(&mut self.search, value, TEXT),
            "searchMoves" => put(&mut self.search_moves, value, MOVES),
            "multipv" => put(&mut self.multipv, value, COUNT),
            "reportEvery" => put(&mut self.report_every, value, "it is a number of seconds"),
            "include" => put(&mut self.include, value, "it is a list of texts, as [\"policy\"]"),
            "terminateId" => put(&mut self.terminate_id, value, TEXT),
            _ => Err("there is no such field".to_owned()),
        }
    }

    /// Checks what was read.
    ///
    /// # Errors
    /// With the name of the field that asks for what cannot be.
    pub fn order(self, defaults: Defaults) -> Result<Order, Refusal> {
        match self.action {
            Action::Version => Ok(Order::Version { id: self.id }),
            Action::Terminate => Ok(Order::Terminate { id: self.id, which: self.terminate_id }),
            Action::Analyse => {
                let checked = self.analysis(defaults);
                checked
                    .map(|analysis| Order::Analyse(Box::new(analysis)))
                    .map_err(|(field, text)| Refusal::new(&self.id, Some(field), text))
            }
        }
    }

    fn analysis(&self, defaults: Defaults) -> Result<Analysis, (&'static str, String)> {
        let limits = self.limits(defaults)?;
        let search = match &self.search {
            None => defaults.search,
            Some(name) => SearchMode::named(name)
                .filter(|mode| SearchMode::ANALYSING.contains(mode))
                .ok_or_else(|| {
                    let known = "it is Tesla, PUCT, AlphaBeta or Minimax";
                    ("search", format!("{known}, not '{name}'"))
                })?,
        };
        let every = match self.report_every {
            None => None,
            Some(time) if (0.01..=LONGEST).contains(&time) => Some(Duration::from_secs_f64(time)),
            Some(_) => return Err(("reportEvery", "seconds are from 0.01 on".to_owned())),
        };
        if self.multipv == Some(0) {
            return Err(("multipv", "an answer tells of one move at least".to_owned()));
        }
        Ok(Analysis {
            id: self.id.clone(),
            search,
            positions: self.positions(&limits)?,
            multipv: self.multipv.unwrap_or(usize::MAX),
            report_every: every,
            include: self.included()?,
        })
    }

    fn limits(&self, defaults: Defaults) -> Result<Limits, (&'static str, String)> {
        let seconds = match self.seconds {
            None => None,
            Some(time) if time > 0.0 && time <= LONGEST => Some(Duration::from_secs_f64(time)),
            Some(_) => return Err(("seconds", format!("a time is from above 0 to {LONGEST}"))),
        };
        if self.nodes == Some(0) {
            return Err(("nodes", "a search takes one evaluation at least".to_owned()));
        }
        if self.depth == Some(0) {
            return Err(("depth", "a search has a depth of 1 at least".to_owned()));
        }
        let is_limited = self.nodes.is_some() || self.depth.is_some() || seconds.is_some();
        Ok(Limits {
            nodes: if is_limited { self.nodes } else { Some(defaults.nodes) },
            depth: self.depth,
            move_time: seconds,
            multipv: 1,
            ..Limits::default()
        })
    }

    /// The positions of the game that are asked for.
    fn positions(&self, limits: &Limits) -> Result<Vec<Position>, (&'static str, String)> {
        if self.moves.len() > MOST_MOVES {
            return Err(("moves", format!("a game has at most {MOST_MOVES} moves")));
        }
        let start = match &self.fen {
            None => Chess::default(),
            Some(fen) => {
                from_crowded_fen(fen, false).map_err(|fault| ("fen", fault.to_string()))?
            }
        };
        let mut games = vec![Game::new(start)];
        for (number, text) in (1..).zip(&self.moves) {
            let Some(mut game) = games.last().cloned() else { break };
            let played = parse_move(text, game.position());
            let played =
                played.map_err(|fault| ("moves", format!("move {number}, '{text}', {fault}")))?;
            game.play(played);
            games.push(game);
        }
        let last = games.len() - 1;
        let turns = self.turns.clone().unwrap_or_else(|| vec![last]);
        let mut seen = HashSet::new();
        let mut positions = Vec::new();
        for turn in turns {
            let Some(game) = games.get(turn) else {
                return Err(("turns", format!("{turn} is behind the last move, {last}")));
            };
            if !seen.insert(turn) {
                return Err(("turns", format!("{turn} stands there twice")));
            }
            let mut limits = limits.clone();
            for text in &self.search_moves {
                let played = parse_move(text, game.position());
                let played = played.map_err(|fault| {
                    ("searchMoves", format!("'{text}' {fault}, after {turn} moves"))
                })?;
                limits.search_moves.push(played);
            }
            positions.push(Position { turn, game: game.clone(), limits });
        }
        if positions.is_empty() {
            return Err(("turns", "no position is asked for".to_owned()));
        }
        Ok(positions)
    }

    fn included(&self) -> Result<Include, (&'static str, String)> {
        let mut include = Include::default();
        for word in &self.include {
            let depth = word.strip_prefix("tree:").and_then(|depth| depth.parse().ok());
            match word.as_str() {
                "policy" => include.policy = true,
                "wdl" => include.wdl = true,
                _ => {
                    let wanted = depth.filter(|depth| (1..=DEEPEST_TREE).contains(depth));
                    include.tree = wanted.ok_or_else(|| {
                        let known = format!("policy, wdl and tree:1 to tree:{DEEPEST_TREE}");
                        ("include", format!("it holds {known}, not '{word}'"))
                    })?;
                }
            }
        }
        Ok(include)
    }
}

/// What fields hold, for who wrote something else.
const TEXT: &str = "it is a text";
const MOVES: &str = "it is a list of moves in UCI, as [\"e2e4\", \"e7e5\"]";
const COUNT: &str = "it is a whole number from 1 on";

/// Reads the value of one field, which `is` something.
fn put<T: DeserializeOwned>(field: &mut T, value: Value, is: &str) -> Result<(), String> {
    // 1e3 is a whole number, too.
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number < 1e15);
    let value = match whole {
        Some(number) if value.is_f64() && number >= 0.0 => Value::from(number as u64),
        _ => value,
    };
    let written = value.to_string();
    *field = serde_json::from_value(value).map_err(|_| {
        let shown: String = written.chars().take(60).collect();
        format!("{is}, not {shown}")
    })?;
    Ok(())
}
