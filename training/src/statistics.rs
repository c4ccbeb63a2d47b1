//! What results prove: Elo with its error, tests, and ratings. Knows no games, only their counts.
//!
//! * [`elo`] — two sides: Elo from the score of their games or pairs of games;
//! * [`rating`] — many players on one scale; [`bootstrap`] — how sure that is;
//! * [`sprt`] — when a match may stop; [`wilson`] — the interval of a share;
//! * [`estimate`] — a value with its interval as all of these give it, and how it prints.

pub mod bootstrap;
pub mod elo;
pub mod estimate;
pub mod rating;
pub mod sprt;
pub mod wilson;
