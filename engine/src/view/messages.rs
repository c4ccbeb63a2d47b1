//! What the page asks and what it is told, as JSON; a refusal is a sentence that names the field.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Move, Position};

use super::lockstep::Pace;
use crate::chess::game::Game;
use crate::chess::notation::{from_crowded_fen, parse_move};
use crate::commands::review::game::{ReadGame, games};
use crate::search::snapshot::{self, Snapshot, written};
use crate::setup::mode::SearchMode;

/// Most moves of a game.
const MOST_MOVES: usize = 2000;
/// Most evaluations of one search.
const MOST_NODES: u64 = 1_000_000_000;
/// Most evaluations a second that can be asked for.
const MOST_PER_SECOND: f64 = 1e6;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// A sentence for people.
    pub error: String,
    /// The field of the request that it is about.
    pub field: String,
}

impl Refusal {
    /// About this field.
    pub fn new(field: &str, error: impl Into<String>) -> Self {
        Self { error: error.into(), field: field.to_owned() }
    }
}

/// Reads a request.
///
/// # Errors
/// Names the field that cannot be read.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let mut field = error.path().to_string();
        if field.is_empty() {
            // A field without a name is named too.
            field.push_str("\"\"");
        }
        // The whole has no name.
        let place = if field == "." { String::new() } else { format!("{field}: ") };
        Refusal { error: format!("{place}{}", error.inner()), field }
    })?;
    reader.end().map_err(|error| Refusal::new("end", error.to_string()))?;
    Ok(read)
}

/// A game: where it starts (the start position if not said) and the moves since, UCI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionOrder {
    /// FEN.
    #[serde(default)]
    pub fen: Option<String>,
    /// UCI.
    #[serde(default)]
    pub moves: Vec<String>,
}

/// A game with its moves, for the page.
#[derive(Clone, Debug)]
pub struct BoardLine {
    /// Where it starts; `None` = the start position.
    pub start: Option<String>,
    /// The moves.
    pub moves: Vec<Named>,
    /// Where they lead.
    pub game: Game,
}

/// A move in both notations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// UCI.
    pub uci: String,
    /// As people write it.
    pub san: String,
}

impl BoardLine {
    /// A game without moves yet.
    pub fn from_start(start: &Chess) -> Self {
        let is_usual = *start == Chess::default();
        let named = (!is_usual).then(|| snapshot::fen(start));
        Self { start: named, moves: Vec::new(), game: Game::new(start.clone()) }
    }
}

impl PositionOrder {
    /// The game.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn game(&self) -> Result<BoardLine, Refusal> {
        let start = match &self.fen {
            None => Chess::default(),
            Some(fen) => from_crowded_fen(fen, false)
                .map_err(|error| Refusal::new("fen", error.to_string()))?,
        };
        if self.moves.len() > MOST_MOVES {
            return Err(Refusal::new("moves", format!("a game has at most {MOST_MOVES} moves")));
        }
        let start_fen = self.fen.as_ref().map(|_| snapshot::fen(&start));
        let mut game = Game::new(start);
        let mut moves = Vec::with_capacity(self.moves.len());
        for (index, text) in self.moves.iter().enumerate() {
            let played = parse_move(text, game.position()).map_err(|fault| {
                Refusal::new(&format!("moves[{index}]"), format!("the move {text} {fault}"))
            })?;
            moves.push(Named::of(game.position(), played));
            game.play(played);
        }
        Ok(BoardLine { start: start_fen, moves, game })
    }
}

impl Named {
    /// A legal move of this position.
    pub fn of(position: &Chess, played: Move) -> Self {
        let (uci, san) = written(position, played);
        Self { uci, san }
    }
}

/// Search this game's position from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoOrder {
    /// FEN.
    #[serde(default)]
    pub fen: Option<String>,
    /// UCI.
    #[serde(default)]
    pub moves: Vec<String>,
    /// Names of searches, side by side at equal evaluations; Tesla if there is none.
    #[serde(default)]
    pub searches: Vec<String>,
    /// Evaluations of each; no limit if not said.
    #[serde(default)]
    pub nodes: Option<u64>,
    /// Evaluations a second of each; as fast as possible if not said.
    #[serde(default)]
    pub per_second: Option<f64>,
    /// Begins slowly, so that every stage can be seen.
    #[serde(default)]
    pub easy: bool,
}

impl GoOrder {
    /// The searches, in the order of the page, each once.
    ///
    /// # Errors
    /// When a name is unknown, a search cannot be watched or a limit is out of range.
    pub fn checked(&self) -> Result<Vec<SearchMode>, Refusal> {
        let watchable = SearchMode::WATCHABLE;
        for (index, name) in self.searches.iter().enumerate() {
            if !watchable.iter().any(|mode| mode.name() == name) {
                let error = "the searches to watch are Tesla, PUCT and AlphaBeta";
                return Err(Refusal::new(&format!("searches[{index}]"), error));
            }
        }
        if self.nodes.is_some_and(|nodes| nodes == 0 || nodes > MOST_NODES) {
            return Err(Refusal::new("nodes", format!("nodes are from 1 to {MOST_NODES}")));
        }
        self.pace()?;
        let asked =
            watchable.into_iter().filter(|mode| self.searches.iter().any(|n| n == mode.name()));
        let asked: Vec<SearchMode> = asked.collect();
        Ok(if asked.is_empty() { vec![SearchMode::Tesla] } else { asked })
    }

    /// The pace.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn pace(&self) -> Result<Pace, Refusal> {
        pace_of(self.per_second, self.easy)
    }
}

fn pace_of(per_second: Option<f64>, easy: bool) -> Result<Pace, Refusal> {
    match per_second {
        Some(pace) if !(0.1..=MOST_PER_SECOND).contains(&pace) => {
            Err(Refusal::new("perSecond", "perSecond is from 0.1 to 1000000"))
        }
        Some(_) if easy => Err(Refusal::new("easy", "there is one pace: perSecond or easy")),
        Some(pace) => Ok(Pace::Even(pace)),
        None if easy => Ok(Pace::Easy),
        None => Ok(Pace::Full),
    }
}

/// Search faster or slower from now on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PaceOrder {
    /// Evaluations a second of each search; as fast as possible if not said.
    #[serde(default)]
    pub per_second: Option<f64>,
    /// Ever faster with the work.
    #[serde(default)]
    pub easy: bool,
}

impl PaceOrder {
    /// The pace.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn pace(self) -> Result<Pace, Refusal> {
        pace_of(self.per_second, self.easy)
    }
}

/// Tell of the position behind these moves too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookOrder {
    /// From the position that is searched, UCI.
    #[serde(default)]
    pub path: Vec<String>,
}

impl LookOrder {
    /// The moves, from this position.
    ///
    /// # Errors
    /// Names the first that is not legal.
    pub fn moves(&self, position: &Chess) -> Result<Vec<Move>, Refusal> {
        let mut position = position.clone();
        let mut moves = Vec::new();
        for (index, text) in self.path.iter().take(MOST_MOVES).enumerate() {
            let played = parse_move(text, &position).map_err(|fault| {
                Refusal::new(&format!("path[{index}]"), format!("the move {text} {fault}"))
            })?;
            position.play_unchecked(played);
            moves.push(played);
        }
        Ok(moves)
    }
}

/// Review a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewOrder {
    /// PGN; its first game.
    pub pgn: String,
    /// Evaluations for each position.
    pub nodes: u64,
}

impl ReviewOrder {
    /// The game, and how many there are.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn game(&self) -> Result<(ReadGame, usize), Refusal> {
        if self.nodes == 0 || self.nodes > MOST_NODES {
            return Err(Refusal::new("nodes", format!("nodes are from 1 to {MOST_NODES}")));
        }
        let refused = |fault: String| Refusal::new("pgn", fault);
        let games = games(self.pgn.as_bytes()).map_err(refused)?;
        let count = games.len();
        let none = || Err("there is no game in it".to_owned());
        let first = games.into_iter().next().unwrap_or_else(none).map_err(refused)?;
        Ok((first, count))
    }
}

/// How things stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Of the layout of snapshots.
    pub version: u32,
    /// Number of the last search, from 1.
    pub run: u64,
    /// Where the game starts; nothing = the start position.
    pub start: Option<String>,
    /// The moves since.
    pub moves: Vec<Named>,
    /// The position on the board.
    pub fen: String,
    /// Whether the side to move is in check.
    pub check: bool,
    /// The legal moves.
    pub legal: Vec<Named>,
    /// How the game has ended, if it has.
    pub over: Option<String>,
    /// Whether a search runs.
    pub running: bool,
    /// The searches of the last run.
    pub searches: Vec<String>,
    /// The device and its network.
    pub evaluator: String,
    /// The game given on the command line, to be reviewed.
    #[serde(default)]
    pub review: Option<String>,
}

impl State {
    /// Takes another game.
    pub fn set_line(&mut self, line: &BoardLine) {
        let position = line.game.position();
        (self.start, self.moves) = (line.start.clone(), line.moves.clone());
        self.fen = snapshot::fen(position);
        self.check = position.is_check();
        let legal = position.legal_moves();
        self.legal = legal.iter().map(|&played| Named::of(position, played)).collect();
        self.over = over(&line.game).map(str::to_owned);
    }
}

/// How a game has ended by the rules; a draw that has to be claimed does not end it.
fn over(game: &Game) -> Option<&'static str> {
    let position = game.position();
    if position.is_checkmate() {
        Some("Checkmate")
    } else if position.is_stalemate() {
        Some("Stalemate")
    } else if position.is_insufficient_material() {
        Some("A draw: too little material")
    } else {
        None
    }
}

/// A snapshot of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen<'a> {
    /// Of which search.
    pub run: u64,
    /// What was seen.
    pub snapshot: &'a Snapshot,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field() {
        let field = |text: &str| read::<GoOrder>(text.as_bytes()).unwrap_err().field;
        assert_eq!(field(r#"{"nodes": "many"}"#), "nodes");
        assert_eq!(field(r#"{"searches": ["Tesla", 3]}"#), "searches[1]");
        assert_eq!(field(r#"{"colour": 1}"#), "colour");
        assert_eq!(field("{} x"), "end");
        assert_eq!(field(r#"{"": 1}"#), "\"\"");
        let wrong = |order: GoOrder| order.checked().unwrap_err().field;
        let searches = vec!["Tesla".to_owned(), "Minimax".to_owned()];
        assert_eq!(wrong(GoOrder { searches, ..GoOrder::default() }), "searches[1]");
        assert_eq!(wrong(GoOrder { nodes: Some(0), ..GoOrder::default() }), "nodes");
        let nan = Some(f64::NAN);
        assert_eq!(wrong(GoOrder { per_second: nan, ..GoOrder::default() }), "perSecond");
        let order = PositionOrder { fen: None, moves: vec!["e2e4".into(), "e2e4".into()] };
        assert_eq!(order.game().unwrap_err().field, "moves[1]");
        let order = PositionOrder { fen: Some("8/8".into()), moves: Vec::new() };
        assert_eq!(order.game().unwrap_err().field, "fen");
        let look = LookOrder { path: vec!["e2e4".into(), "e7e4".into()] };
        assert_eq!(look.moves(&Chess::default()).unwrap_err().field, "path[1]");
    }

    #[test]
    fn searches_come_once_and_in_order() {
        let names = |names: &[&str]| GoOrder {
            searches: names.iter().map(|&name| name.to_owned()).collect(),
            ..GoOrder::default()
        };
        assert_eq!(names(&[]).checked(), Ok(vec![SearchMode::Tesla]));
        let both = Ok(vec![SearchMode::Tesla, SearchMode::Puct]);
        assert_eq!(names(&["PUCT", "Tesla", "PUCT"]).checked(), both);
    }

    #[test]
    fn the_state_tells_the_end_of_the_game() {
        let moves = ["f2f3", "e7e5", "g2g4", "d8h4"].map(str::to_owned).to_vec();
        let line = PositionOrder { fen: None, moves }.game().unwrap();
        let mut state = State::default();
        state.set_line(&line);
        assert_eq!(state.over.as_deref(), Some("Checkmate"));
        assert!(state.check && state.legal.is_empty());
        assert_eq!(state.moves.last().unwrap().san, "Qh4#");
    }
}
