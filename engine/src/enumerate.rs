//! `tesla enumerate`: all positions that can be reached without a pawn move or capture.
//!
//! Such a move is *zeroing*, and the position after it a *root*: no later move can reverse it. The
//! *closure* of a position is what can be reached from it by other moves; its roots are where the
//! zeroing moves from all of these lead. Roots are filed in *hives* by the pieces of each side and
//! the side to move, because positions of different hives cannot be equal. The tree of all games
//! falls into closures this way; the enumerator closes one, or one after the other (`spaces`).
//!
//! The rules are those of US Chess (*Official Rules of Chess*, 7th edition), as seed 001 has it; as
//! far as they bear on a position FIDE's are the same: moves by rule 8 (castling and en passant in
//! it), none that leaves the king in check by rule 12, and two positions are one where rule 14C
//! calls them so: the same side to move, pieces and possible moves.
//!
//! In reading order:
//!
//! * `reach`, `combination`, `space` — a position of the closure as a number, exactly;
//! * `expand` — one position's moves; which roots can be met twice at all, and why the others
//!   cannot;
//! * `pages`, `bucket`, `buckets` — the set of positions;
//! * `packed`, `distinct` — the roots to be deduplicated;
//! * `closure`, `write_buffer` — sweeps over the set; `run` — checkpoints and the end;
//! * `worker_pool`, `context`, `clock`, `progress` — threads, bounds, time;
//! * `log`, `folder`, `edges`, `hives` — files;
//! * `tally` — the table; `show`, `retract` — files read back;
//! * `plies` — distinct positions after each number of plies;
//! * `spaces` — the closures of the roots, and of their roots, with one store of roots for all.

mod bucket;
mod buckets;
mod checkpoint;
mod clock;
mod closure;
mod combination;
mod context;
mod distinct;
mod edges;
mod error;
mod expand;
mod folder;
mod hives;
mod log;
mod packed;
mod pages;
mod plies;
mod progress;
mod reach;
mod retract;
mod run;
mod show;
mod space;
mod spaces;
mod tally;
#[cfg(test)]
mod test_folder;
mod worker_pool;
mod write_buffer;

pub use checkpoint::Ended;
pub use clock::Times;
pub use context::Resources;
pub use error::EnumerateError;
pub use plies::{PliesRequest, count_plies};
pub use run::{Request, enumerate};
pub use show::{Archive, Edge, write_roots};
pub use space::Space;
pub use spaces::{Roots, SpacesFound, SpacesRequest, enumerate_spaces};
pub(crate) use tally::grouped;
pub use tally::{Found, Hive};
