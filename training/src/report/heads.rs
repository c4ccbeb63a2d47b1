//! Heads of results files: who played, and what is said where they are damaged.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Error, anyhow};
use serde_json::Value;

use crate::players::side::Side;

/// What makes a side play as it does, beside its options and its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// Of a side of ours: its network.
    pub(super) network: Option<String>,
    /// Of a side of ours: the signature of its search.
    pub(super) search: Option<String>,
    /// Of another engine: what it calls itself, and the hash of its program.
    pub(super) engine: Option<String>,
}

impl Program {
    /// Those of the sides, from the head of a match's results.
    pub(super) fn of(head: &Value, sides: &[Side]) -> Vec<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let of = |(number, side): (usize, &Side)| {
            let signatures = side.is_own().then(|| &head["search_signature"]);
            Self {
                network: text(&head["networks"][number]),
                // Of all searches, or of a version that told of one.
                search: signatures.and_then(|all| match side.machine() {
                    Ok(machine) if all.is_object() => text(&all[machine.search.name()]),
                    _ => text(all),
                }),
                engine: text(&head["engines"][number]),
            }
        };
        sides.iter().enumerate().map(of).collect()
    }
}

/// An error for a file that says something else than it should.
pub(super) fn damaged<E: Display>(path: &Path) -> impl FnOnce(E) -> Error + '_ {
    |what| {
        let path = path.display();
        anyhow!("{path} cannot be understood: {what}; make it again, or leave it out")
    }
}
