//! The laboratory of the search's numbers: what searches saw, and the laws fitted to it.
//!
//! [`mod@log`] searches positions and looks at some of the moves in their trees by themselves
//! ([`observe`], [`pairs`]). [`mod@fit`] fits to that the branching factor ([`growth`]), the law of
//! errors ([`law`]) in its families ([`shape`]) and the chance to be promoted ([`promotion`]), says
//! how well they hold ([`calibration`]), and gives the tunables that the engine loads.

pub mod calibration;
pub mod fit;
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
