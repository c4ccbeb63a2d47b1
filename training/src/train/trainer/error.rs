//! What a run may end with before its last step.

use std::path::PathBuf;

use tesla_nn::files::FileError;
use tesla_nn::weights;

use crate::disk::owner::Stranger;

/// Why training stopped early.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A file of the run.
    #[error("{0}; or choose another folder with --out")]
    File(#[from] FileError),
    /// A checkpoint that is no checkpoint.
    #[error("the checkpoint in {0} is damaged ({1}); choose another folder with --out")]
    Checkpoint(PathBuf, String),
    /// A folder of something else.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// A folder in use.
    #[error("another run trains in {0}; wait for it, or choose another folder with --out")]
    Locked(PathBuf),
    /// Numbers that cannot be trained with.
    #[error("{0}; fix the options")]
    Config(String),
    /// A resumed run that is to end before the step it is at.
    #[error(
        "the run has made {made} steps; name at least as many with --steps, or begin another one \
         in another folder with --out"
    )]
    Past {
        /// Steps that it has made.
        made: u64,
    },
    /// The weights.
    #[error(transparent)]
    Weights(#[from] weights::WeightsError),
    /// Not a number.
    #[error("the loss is no longer a number at step {0}; lower the learning rate and resume")]
    Diverged(u64),
}
