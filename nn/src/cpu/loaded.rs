//! The network that was packed last, for the next search that runs the same one.
//!
//! Reading and packing the weights takes milliseconds that a change of the search mode in mid-game
//! would take from the clock.

use std::sync::{Arc, Mutex, PoisonError};

use super::integers::Unit;
use super::packed::Network;
use crate::files::sha256;
use crate::weights::WeightsError;

/// A packed network and what it was made from.
struct Loaded {
    /// Of the weights file.
    hash: String,
    unit: Option<Unit>,
    network: Arc<Network>,
}

static LAST: Mutex<Option<Loaded>> = Mutex::new(None);

/// The network of these bytes of a weights file, packed for this unit, or for floats.
///
/// # Errors
/// When the bytes are damaged or no Tesla network of this version.
pub(super) fn network(weights: &[u8], unit: Option<Unit>) -> Result<Arc<Network>, WeightsError> {
    let hash = sha256(weights);
    // Held while loading, so that two who want the same network load it once.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = &*last
        && loaded.hash == hash
        && loaded.unit == unit
    {
        return Ok(Arc::clone(&loaded.network));
    }
    let network = Arc::new(Network::load(weights, unit)?);
    *last = Some(Loaded { hash, unit, network: Arc::clone(&network) });
    Ok(network)
}
