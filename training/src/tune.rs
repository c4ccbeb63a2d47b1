//! Tuning the search: observations of searches, and the laws fitted to them.
//!
//! [`mod@log`] searches positions, and some of the moves in their trees separately ([`observe`],
//! [`pairs`]). [`mod@fit`] fits to these observations the branching factor ([`growth`]), the law of
//! errors ([`law`]) in its families ([`shape`]) and the chance to be promoted ([`promotion`]), says
//! how well they hold ([`calibration`]), and gives the tunables that the engine loads; [`mod@gate`]
//! lets them play.

pub mod calibration;
pub mod fit;
pub mod gate;
pub mod growth;
pub mod interval;
pub mod law;
pub mod log;
pub mod minimum;
pub mod observe;
pub mod pairs;
pub mod promotion;
pub mod shape;
pub mod spsa;
pub mod spsa_run;
