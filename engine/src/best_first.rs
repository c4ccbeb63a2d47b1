//! Best-first minimax, the search this engine is about, and PUCT as its control. In reading order:
//!
//! * [`search`] — the loop: select, evaluate, expand, back up;
//! * [`rule`] — what a selection rule decides;
//! * [`gather`], [`rates`] — the benefit/cost rule: where the next evaluations go;
//! * [`model`] — how far a value may still move; [`backup`] — from the children to the parent;
//! * [`puct`] — the control; [`mod@mate`] — `go mate`;
//! * [`root`] — from the tree to the move;
//! * [`params`] — the tunables.

pub mod backup;
pub mod gather;
pub mod mate;
pub mod model;
pub mod params;
pub mod puct;
pub mod rates;
pub mod root;
pub mod rule;
pub mod search;

pub use self::params::Params;
pub use self::search::TeslaSearch;
