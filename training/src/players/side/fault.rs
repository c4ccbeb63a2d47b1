//! What can be wrong with a side as it is written down.

use crate::game::limit::LimitError;

/// Why a side cannot play.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SideError {
    /// The words do not begin with a name.
    #[error("a side begins with its name, as in: --side name=Tesla nodes=200; '{0}' came first")]
    NoName(String),
    /// A name that swallowed the words after it.
    #[error(
        "a side is called '{0}', which holds a '='; write each key=value as a word of its own, \
         without quotes around them all: --side name=Tesla nodes=200"
    )]
    WordsInName(String),
    /// A word is not `key=value`.
    #[error("side {side}: '{word}' is not of the form key=value")]
    NotAPair {
        /// The side's name.
        side: String,
        /// The word.
        word: String,
    },
    /// A key is none of ours.
    #[error(
        "side {side}: there is no key '{key}'; use name, cmd, arg, dir, restart, nodes, depth, \
         movetime, tc or option.NAME"
    )]
    UnknownKey {
        /// The side's name.
        side: String,
        /// The key.
        key: String,
    },
    /// A value cannot be read.
    #[error("side {side}: {key} cannot be '{value}'; {wanted}")]
    BadValue {
        /// The side's name.
        side: String,
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is expected.
        wanted: &'static str,
    },
    /// A limit is missing or makes no sense.
    #[error("side {side}: {fault}")]
    Limit {
        /// The side's name.
        side: String,
        /// What is wrong.
        fault: LimitError,
    },
    /// One of our own options was refused.
    #[error("side {side}: {fault}")]
    Option {
        /// The side's name.
        side: String,
        /// What is wrong.
        fault: String,
    },
    /// An option that would be ignored.
    #[error(
        "side {side}: option {name} has no effect on a search in this process; leave it out, or \
         name the program with cmd=PATH"
    )]
    ProgramOnly {
        /// The side's name.
        side: String,
        /// The option.
        name: String,
    },
    /// A key that was given before.
    #[error("side {side}: {key} is given twice")]
    Twice {
        /// The side's name.
        side: String,
        /// The key.
        key: String,
    },
    /// Results could not be told apart.
    #[error("two sides are called {0}; give each a name of its own")]
    SameName(String),
    /// Only programs have arguments.
    #[error("side {0}: arg, dir and restart go with cmd, the program of a UCI engine")]
    NotAProgram(String),
}
