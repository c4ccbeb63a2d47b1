//! How a session ends: by `quit`, at the end of its input, or when all that it was given is done.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::{Frontend, Running};

/// How long `quit` waits for a search to end; a network that is still loading is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits where `isready` has not been answered: who pipes both wants both.
const READY_PATIENCE: Duration = Duration::from_secs(20);

/// What becomes of a search that runs when nothing more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtEnd {
    /// All that runs is stopped.
    Quit,
    /// It is stopped: it could be endless.
    StopSearch,
    /// It is finished, unless it is endless.
    FinishSearch,
}

impl Frontend {
    /// `quit` stops everything; the end of stdin lets counted work (bench, perft, genfens) and
    /// loading finish, for those who pipe a script, and a search as `at_end` says. Tells
    /// whether the session has ended.
    pub(super) fn end(mut self, at_end: AtEnd, ended: &Receiver<()>) -> bool {
        let is_stopped = |running: &Running| match at_end {
            AtEnd::Quit => true,
            AtEnd::StopSearch => running.search,
            AtEnd::FinishSearch => running.hold.is_some(),
        };
        if self.running.as_ref().is_some_and(is_stopped) {
            self.stop();
        }
        drop(self.jobs);
        // Nothing is ever sent: the error tells that the session has ended, or time is up.
        if at_end == AtEnd::Quit {
            let is_waited_for = self.ready.is_some_and(|ready| ready.is_running());
            let patience = if is_waited_for { READY_PATIENCE } else { PATIENCE };
            return !matches!(ended.recv_timeout(patience), Err(RecvTimeoutError::Timeout));
        }
        ended.recv().is_err()
    }
}
