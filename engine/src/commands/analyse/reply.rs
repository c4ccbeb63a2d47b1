//! What is answered, as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::search::snapshot::{MoveSnapshot, NodeSnapshot, Progress, Snapshot, VERSION};

/// A line of answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Reply {
    /// What a search found.
    Answer(Box<Answer>),
    /// What became of a search that found nothing.
    NoResults(NoResults),
    /// What was wrong with a line.
    Refusal(Refusal),
    /// That a query was told to end.
    Terminated(Terminated),
    /// The version.
    Version(Version),
}

/// What a search found out about one position.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The query's name.
    pub id: String,
    /// The number of moves before the position.
    pub turn: usize,
    /// Whether the search still runs: a partial answer.
    pub during: bool,
    /// The search mode.
    pub search: String,
    /// How far the search is.
    pub progress: Progress,
    /// The position and its moves.
    pub root: NodeSnapshot,
    /// In one sentence: which move, and why.
    pub why: String,
    /// Of `include` `wdl`: win, draw and loss of the side to move, permille. A backed-up value
    /// tells only their balance; it is split as for `UCI_ShowWDL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl: Option<[u32; 3]>,
    /// Of `include` `policy`: the policy of every move, UCI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<BTreeMap<String, f32>>,
    /// Of `include` `tree`: the positions behind the moves that were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Vec<Branch>>,
}

/// A position of the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// The move that leads here, with what is known of it; its lines are left out.
    #[serde(rename = "move")]
    pub played: MoveSnapshot,
    /// The moves from here that were looked at.
    pub replies: Vec<Branch>,
}

/// A search that found nothing: it was ended before it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NoResults {
    /// The query's name.
    pub id: String,
    /// The number of moves before the position.
    pub turn: usize,
    /// Never: it is over.
    pub during: bool,
    /// Always.
    pub no_results: bool,
}

/// What is wrong with a line, or with the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The query's name, if it could be read.
    pub id: Option<String>,
    /// The number of moves before the position, where one failed of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// A sentence.
    pub error: String,
    /// The field that it is about, if it is about one.
    pub field: Option<String>,
}

/// That a query was told to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Terminated {
    /// The name of the line that asked for it.
    pub id: String,
    /// The query that ends; nothing = all.
    pub terminate_id: Option<String>,
    /// How many positions end: searched at this moment, or waiting.
    pub positions: usize,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The name of the line that asked for it.
    pub id: String,
    /// The program's version.
    pub version: String,
    /// The number of this layout, see the schema.
    pub layout: u32,
    /// The device and its network.
    pub device: String,
}

impl Reply {
    /// The line.
    pub fn line(&self) -> String {
        // Numbers, texts and names of fields always can be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Refusal {
    /// About this field of this query.
    pub fn new(id: &str, field: Option<&str>, error: impl Into<String>) -> Self {
        Self {
            id: (!id.is_empty()).then(|| id.to_owned()),
            turn: None,
            error: error.into(),
            field: field.map(str::to_owned),
        }
    }
}

impl Version {
    /// Of this program.
    pub fn new(id: String, device: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { id, version, layout: VERSION, device: device.to_owned() }
    }
}

impl Answer {
    /// What a snapshot says, of so many moves.
    pub fn new(id: &str, turn: usize, snapshot: Snapshot, multipv: usize) -> Self {
        let Snapshot { search, progress, mut root, why, .. } = snapshot;
        let during = progress.stopped.is_none();
        root.moves.truncate(multipv);
        Self {
            id: id.to_owned(),
            turn,
            during,
            search,
            progress,
            root,
            why,
            wdl: None,
            policy: None,
            tree: None,
        }
    }

    /// Of a position without a legal move.
    pub fn of_the_end(id: &str, (turn, search): (usize, &str), fen: String, is_mate: bool) -> Self {
        let root = NodeSnapshot { fen, ..NodeSnapshot::of_the_end(is_mate) };
        Self {
            id: id.to_owned(),
            turn,
            during: false,
            search: search.to_owned(),
            progress: Progress::default(),
            root,
            why: if is_mate { "Checkmate." } else { "Stalemate." }.to_owned(),
            wdl: None,
            policy: None,
            tree: None,
        }
    }
}
