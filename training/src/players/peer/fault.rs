//! What can go wrong with a peer.

use std::time::Duration;

/// Why a peer cannot go on. The texts speak of "the engine"; put its name before them.
///
/// After every fault but [`Fault::Option`] and [`Fault::Command`] the peer is killed and gives the
/// same fault again: make a new one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The program cannot be run.
    #[error("cannot run the engine `{command}`: {why}")]
    NotStarted {
        /// The program as configured.
        command: String,
        /// What is wrong with it.
        why: String,
    },
    /// No `uciok` came.
    #[error("the engine did not answer `uci` with `uciok` within {}{}; is it a UCI engine?",
        seconds(.after), said(.last))]
    NoUciOk {
        /// How long we waited.
        after: Duration,
        /// Its last words, or empty.
        last: String,
    },
    /// No `readyok` came.
    #[error("the engine did not answer `isready` with `readyok` within {}{}",
        seconds(.after), said(.last))]
    NoReadyOk {
        /// How long we waited.
        after: Duration,
        /// Its last words, or empty.
        last: String,
    },
    /// An option is not offered, or its value is not allowed. The peer was told nothing.
    #[error("cannot set the engine's option `{option}`: {why}")]
    Option {
        /// The option's name as the caller wrote it.
        option: String,
        /// What is wrong with it.
        why: String,
    },
    /// The caller's text is no UCI command. The peer was told nothing.
    #[error("cannot send `{line}` to the engine: {why}")]
    Command {
        /// The text.
        line: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It ended, or closed its input or output, without being asked to.
    #[error("the engine ended while {during}: {how}{}", said(.last))]
    Exited {
        /// Exit status or signal, in words.
        how: String,
        /// What it was asked to do.
        during: &'static str,
        /// Its last words, or empty.
        last: String,
    },
    /// No `bestmove` came in time, or it takes no more input.
    #[error("the engine hangs: nothing came within {} while {during}", seconds(.after))]
    Hung {
        /// How long we waited.
        after: Duration,
        /// What it was asked to do.
        during: &'static str,
    },
    /// We were asked to stop; the peer has done nothing wrong.
    #[error("the match is being stopped")]
    Interrupted,
    /// It said what no UCI engine may say.
    #[error("the engine breaks the UCI protocol, {why}: `{line}`")]
    BadUci {
        /// The line, perhaps shortened, without control characters.
        line: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The sorts of faults that a match counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// It ended by itself.
    Crash,
    /// It did not answer in time.
    Hang,
    /// It broke the protocol.
    BadUci,
    /// The user's settings do not fit it, or the system cannot run it.
    Setup,
    /// No fault of anybody's.
    Interrupted,
}

impl Fault {
    /// Its sort.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::NotStarted { .. } | Self::Option { .. } | Self::Command { .. } => {
                FaultKind::Setup
            }
            Self::NoUciOk { .. } | Self::NoReadyOk { .. } | Self::Hung { .. } => FaultKind::Hang,
            Self::Interrupted => FaultKind::Interrupted,
            Self::Exited { .. } => FaultKind::Crash,
            Self::BadUci { .. } => FaultKind::BadUci,
        }
    }
}

fn seconds(duration: &Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

fn said(last: &str) -> String {
    if last.is_empty() { String::new() } else { format!(" (it last said: {last})") }
}
