//! The network that was packed last, for the next search that runs the same one.
//!
//! Reading and packing the weights takes milliseconds that a change of the search mode in mid-game
//! would take from the clock.

use std::sync::{Arc, Mutex, PoisonError};

use super::integers::Unit;
use super::packed::Network;
use crate::files::sha256;
use crate::weights::WeightsError;

/// The network and the unit that was asked for.
static LAST: Mutex<Option<(Option<Unit>, Arc<Network>)>> = Mutex::new(None);

/// The network of these bytes of a weights file, packed for this unit, or for floats.
///
/// # Errors
/// When the bytes are damaged or no Tesla network of this version.
pub(super) fn network(weights: &[u8], unit: Option<Unit>) -> Result<Arc<Network>, WeightsError> {
    let hash = sha256(weights);
    // Held while loading, so that two who want the same network load it once.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((for_unit, network)) = &*last
        && *for_unit == unit
        && network.hash == hash
    {
        return Ok(Arc::clone(network));
    }
    let network = Arc::new(Network::load(weights, hash, unit)?);
    *last = Some((unit, Arc::clone(&network)));
    Ok(network)
}
