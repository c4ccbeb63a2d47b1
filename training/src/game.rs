//! One game by the rules: where it begins, its state, when it ends, and what an engine said of it.

pub mod adjudicate;
pub mod ending;
pub(crate) mod epd;
pub mod limit;
pub mod opening;
pub mod openings;
pub(crate) mod pgn;
pub mod score;
pub mod state;
