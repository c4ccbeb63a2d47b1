//! What results prove: Elo with its error, tests, and ratings. Knows no games, only their counts.

pub mod bootstrap;
pub mod elo;
pub mod estimate;
pub mod rating;
pub mod sprt;
pub mod wilson;
