//! From sides to players.

use std::time::Duration;

use tesla_engine::search::StopToken;

use super::devices::Devices;
use super::external::ExternalPlayer;
use super::own::OwnPlayer;
use super::peer::Fault;
use super::player::Player;
use super::side::Side;

/// An engine that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("side {side}: {fault}")]
pub struct EngineError {
    /// The side.
    pub side: String,
    /// What is wrong.
    pub fault: Fault,
}

/// A player for a side that [`Side::check`] has passed. `patience` bounds every wait that is not
/// the clock's, `stop` ends its thought.
///
/// # Errors
/// A sentence, when the side's options are not what they were.
pub fn player<'a>(
    side: &Side,
    devices: &'a Devices,
    patience: Duration,
    stop: StopToken,
) -> Result<Box<dyn Player + 'a>, String> {
    Ok(if side.is_own() {
        Box::new(OwnPlayer::new(side, devices, stop)?)
    } else {
        Box::new(ExternalPlayer::new(side, patience, stop))
    })
}

/// Starts every engine once and gives, by side, the names by which they call themselves.
///
/// # Errors
/// The first engine that cannot be started, or is not waited for as somebody wants to stop.
pub fn try_engines(
    sides: &[Side],
    patience: Duration,
    chess960: bool,
    stop: &StopToken,
) -> Result<Vec<Option<String>>, EngineError> {
    let try_engine = |side: &Side| {
        if side.is_own() {
            return Ok(None);
        }
        let name = ExternalPlayer::new(side, patience, stop.clone()).try_out(chess960);
        name.map(Some).map_err(|fault| EngineError { side: side.name.clone(), fault })
    };
    sides.iter().map(try_engine).collect()
}

/// Whether this is only an engine that was not waited for, as somebody wanted to stop.
pub fn is_interrupted(error: &anyhow::Error) -> bool {
    error.downcast_ref::<EngineError>().is_some_and(|error| error.fault == Fault::Interrupted)
}
