//! `config.json`: `datagen` and `train` both keep what decides a run under this name, and neither
//! writes over what is not its own.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The file's name in a folder.
pub const CONFIG: &str = "config.json";

/// A command that keeps a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `datagen`.
    Datagen,
    /// `train`.
    Train,
}

impl Owner {
    /// Whose config this is, if it is one of ours.
    pub fn of(config: &[u8]) -> Option<Self> {
        let config: Value = serde_json::from_slice(config).ok()?;
        let has = |fields: [&str; 2]| fields.iter().all(|field| config.get(field).is_some());
        if has(["config", "openings_sha256"]) {
            Some(Self::Datagen)
        } else if has(["model", "steps"]) {
            Some(Self::Train)
        } else {
            None
        }
    }
}

/// A `config.json` of something else than the command that is to use its folder.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is {}, and nothing is written over; choose another folder with --out",
    .path.display(),
    .owner.map_or("no config of tesla-train", |owner| match owner {
        Owner::Datagen => "of games that datagen made",
        Owner::Train => "of a training run",
    })
)]
pub struct Stranger {
    path: PathBuf,
    owner: Option<Owner>,
}

impl Stranger {
    /// That this `config.json` is whose it is.
    pub fn new(path: &Path, owner: Option<Owner>) -> Self {
        Self { path: path.to_owned(), owner }
    }
}
