//! What was seen of a run, thinned so that it stays small, and as a recording on disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tesla_nn::files;

use super::messages::State;
use crate::search::snapshot::{Snapshot, VERSION};

/// Most snapshots kept of a search.
pub const MOST: usize = 400;
/// The newest are kept however close they are.
const NEWEST: usize = 8;
/// Largest recording that is read, bytes.
const LARGEST: u64 = 256 << 20;

/// Snapshots of a run, by search, each search's oldest first.
#[derive(Clone, Debug, Default)]
pub struct History(BTreeMap<String, Vec<Arc<Snapshot>>>);

impl History {
    /// Takes one more; one of the same evaluations is replaced.
    pub fn add(&mut self, snapshot: Arc<Snapshot>) {
        let kept = self.0.entry(snapshot.search.clone()).or_default();
        let at = snapshot.progress.evaluations;
        while kept.last().is_some_and(|last| last.progress.evaluations >= at) {
            kept.pop();
        }
        kept.push(snapshot);
        if kept.len() > MOST {
            thin(kept);
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Snapshot>> {
        self.0.values().flatten()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Drops the one whose neighbours are closest together on the logarithm of the work.
fn thin(kept: &mut Vec<Arc<Snapshot>>) {
    let size = |snapshot: &Arc<Snapshot>| ((snapshot.progress.evaluations + 1) as f64).ln();
    let last = kept.len().saturating_sub(NEWEST);
    let gaps = kept.windows(3).take(last).map(|three| match three {
        [before, _, after] => size(after) - size(before),
        _ => f64::INFINITY,
    });
    let closest = gaps.enumerate().min_by(|(_, left), (_, right)| left.total_cmp(right));
    if let Some((index, _)) = closest {
        kept.remove(index + 1);
    }
}

/// A run as a file: a page that needs no engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Of the layout.
    pub version: u32,
    /// How things stood.
    pub state: State,
    /// What was seen.
    pub snapshots: Vec<Snapshot>,
}

impl Recording {
    /// Reads one.
    ///
    /// # Errors
    /// When the file cannot be read or is no recording.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let bytes = files::read_bounded(path, LARGEST).map_err(|error| error.to_string())?;
        let recording: Self = super::messages::read(&bytes).map_err(|refusal| {
            format!("{name} is no recording of tesla view --record: {}", refusal.error)
        })?;
        if recording.version == VERSION {
            Ok(recording)
        } else {
            let version = recording.version;
            Err(format!("{name} has layout {version}; this program reads layout {VERSION}"))
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let fault = |error: &dyn std::fmt::Display| {
            format!("the recording {} cannot be written: {error}", path.display())
        };
        let text = serde_json::to_vec(self).map_err(|error| fault(&error))?;
        files::replace(path, &text).map_err(|error| fault(&error))
    }
}
