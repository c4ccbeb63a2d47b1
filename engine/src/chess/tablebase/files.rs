//! Tables from files.

use std::fs;
use std::io::ErrorKind;

use shakmaty::Chess;
use shakmaty_syzygy::{Dtz, MaybeRounded, SyzygyError, Tablebase, Wdl};

use super::{Prober, TablebaseSettings, Tables};

/// Opens the tables that the user named; `None` where no path is set. The second part is sentences
/// for the user, on what was found and on every folder and the first file that cannot be used.
pub fn open(settings: &TablebaseSettings) -> (Option<Tables>, Vec<String>) {
    let Some(path) = &settings.path else { return (None, Vec::new()) };
    let mut tables = Tablebase::new();
    let (mut files, mut notes, mut damaged) = (0, Vec::new(), Vec::new());
    for folder in std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()) {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                notes.push(format!("the tables of {} cannot be used: {error}", folder.display()));
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            match tables.add_file(&path) {
                Ok(()) => files += 1,
                // Something else, which may lie there.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                Err(error) => damaged.push((path, error)),
            }
        }
    }
    damaged.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some((path, error)) = damaged.first() {
        let others = match damaged.len() - 1 {
            0 => String::new(),
            others => format!("; {others} more files cannot be used either"),
        };
        let name = path.display();
        notes.push(format!("the table {name} cannot be used: {error}; download it again{others}"));
    }
    if files == 0 {
        notes.push(format!("no Syzygy tables (*.rtbw, *.rtbz) were found in {path}"));
        return (None, notes);
    }
    let most = tables.max_pieces();
    notes.push(format!("{files} Syzygy tables of up to {most} pieces"));
    (Some(Tables::new(Box::new(tables), settings)), notes)
}

impl Prober for Tablebase<Chess> {
    fn max_pieces(&self) -> usize {
        Tablebase::max_pieces(self)
    }

    fn wdl(&self, position: &Chess) -> Result<Option<Wdl>, String> {
        known(self.probe_wdl_after_zeroing(position))
    }

    fn dtz(&self, position: &Chess) -> Result<Option<MaybeRounded<Dtz>>, String> {
        known(self.probe_dtz(position))
    }
}

/// A table that is not there is no fault, one that cannot be read is.
fn known<T>(answer: Result<T, SyzygyError>) -> Result<Option<T>, String> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error @ SyzygyError::ProbeFailed { .. }) => {
            Err(format!("{error}; download this file again, or take its folder out of the path"))
        }
        Err(_) => Ok(None),
    }
}
