//! Statistics of results: Elo with its error, SPRT, and ratings. Works on counts of games only.
//!
//! * [`elo`] — two sides: Elo from the score of their games or pairs of games;
//! * [`rating`] — many players on one scale; [`bootstrap`] — the intervals of these ratings;
//! * [`sprt`] — when a match may stop; [`wilson`] — the interval of a share;
//! * [`estimate`] — a value with its interval as all of these give it, and how it prints.

pub mod bootstrap;
pub mod elo;
pub mod estimate;
pub mod rating;
pub mod sprt;
pub mod wilson;
