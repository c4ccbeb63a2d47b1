//! The commands of the program besides UCI, one file each.
//!
//! * [`mod@bench`], [`perft`] — fixed work: the signature of the search, and the move generator's
//!   check;
//! * [`genfens`] — openings for self-play;
//! * [`about`], [`doctor`] — what the program is, and what it sees of the machine;
//! * [`minimax`], [`enumerate`], [`experience`] — the other searches from the command line.

pub mod about;
pub mod bench;
pub mod doctor;
pub mod enumerate;
pub mod experience;
pub mod genfens;
pub mod minimax;
pub mod perft;
