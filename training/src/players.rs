//! Who plays.
//!
//! * [`player`] — the trait: [`own`] sides in this process, [`external`] ones behind [`peer`],
//!   [`heads`] that do not search;
//! * [`side`] — the description of a side; [`latency`] — a simulated device for it;
//!   [`programs`] — where its program is; [`lineup`] — players made from sides;
//! * [`pool`] — several of them working at once.

pub mod devices;
pub mod external;
pub mod heads;
pub mod latency;
pub mod lineup;
pub mod own;
pub mod peer;
pub mod player;
pub mod pool;
pub mod programs;
pub mod side;
pub(crate) mod signature;
