//! Another evaluator in the place of one that has failed.

use std::thread;

use crate::evaluator::{EvalError, Evaluator};

/// Supplies the next evaluator after one has failed with this error, and informs the user; `None`
/// when none is left.
pub type Fallbacks = Box<dyn FnMut(&EvalError) -> Option<Box<dyn Evaluator>> + Send>;

/// Drops a failed evaluator, or its owner, without waiting for it: its driver may block.
pub fn discard(failed: impl Send + 'static) {
    // Without a thread it is dropped here.
    let _ = thread::Builder::new().name("discard".to_owned()).spawn(|| drop(failed));
}

/// Replaces a failed evaluator by the next fallback; `false` when none is left.
pub fn replace(
    evaluator: &mut Box<dyn Evaluator>,
    spares: &mut Option<Fallbacks>,
    error: &EvalError,
) -> bool {
    let Some(spare) = spares.as_mut().and_then(|spares| spares(error)) else { return false };
    discard(std::mem::replace(evaluator, spare));
    true
}
