//! One position: its moves, what they lead to, and what is counted of them.
//!
//! # Roots that cannot be met twice
//!
//! A root is kept and compared with the others only where another move of the closure could lead to
//! it. Nine of ten need not be, because the root itself tells the position that it came from. Let
//! `P` be a position of the closure, with the closure's pawns and pieces, and `R` the root after a
//! zeroing move. The side that moved is the one that is not to move in `R`; call it ours. Our pawns
//! in `R` are
//!
//! * *those of the closure*: a piece of ours has captured. Which piece, and from where, `R` does
//!   not tell. **Kept.**
//! * *those but for one that stands elsewhere*: that pawn moved, and `R` tells from where to where.
//!   Nothing was captured if the other side has all its pieces; else a pawn was captured if one of
//!   theirs is missing, and `R` tells where from (en passant included); else a piece, whose kind is
//!   the one that is missing, where our pawn stands now. In any case `P` follows: the pawn goes
//!   back, what was captured returns, the other side's turn becomes ours. Castling rights are the
//!   same in both, as neither king nor rook moved, and no rook that could castle was captured: that
//!   would be on the last rank, by a promotion. **One move only.**
//! * *those but for one that is missing*: that pawn was promoted. Without a capture it stood before
//!   the square ahead of it, and what it became is the kind of which we have one more: `P` follows
//!   as above. **One move only.** With a capture it went to either side; two queens may stand
//!   there, and the rook that it captured may have been allowed to castle or not. **Kept.**
//!
//! So roots of different classes are different, and those of the second kind are as many as the
//! moves to them. One thing is left: `P` without en passant and the first position with it are two
//! positions of the same placement, so the roots of both are kept whatever the move. That all of
//! this is so is tested against a closure that keeps every root.

use shakmaty::{Move, Position as _, Role, Square};

use super::packed::Packed;
use super::space::Space;
use super::tally::{Class, Tally};

/// Where positions and roots go.
pub(super) trait Sink {
    /// A position of the closure was reached.
    fn child(&mut self, index: u128);
    /// A root was reached that others may reach as well.
    fn root(&mut self, class: Class, root: Packed);
}

/// What a thread expands positions with.
#[derive(Debug)]
pub(super) struct Expander<'a> {
    space: &'a Space,
    /// Whether all roots go to the sink.
    keeps_roots: bool,
    /// What it counted.
    pub(super) tally: Tally,
    /// Edges of the positions expanded, where they are wanted.
    pub(super) edges: Option<Vec<u8>>,
}

impl<'a> Expander<'a> {
    /// Nothing counted yet.
    pub(super) fn new(space: &'a Space, keeps_roots: bool, keeps_edges: bool) -> Self {
        let edges = keeps_edges.then(Vec::new);
        Self { space, keeps_roots, tally: Tally::default(), edges }
    }

    /// Tells `sink` where the moves of a position lead. `None` when the index is of no position.
    pub(super) fn expand(&mut self, index: u128, sink: &mut impl Sink) -> Option<()> {
        let parts = self.space.parts(index);
        let position = self.space.position_of(index, &parts)?;
        let moves = position.legal_moves();
        let mover = position.turn();
        self.tally.count_position(mover, moves.len() as u32);
        if let Some(edges) = &mut self.edges {
            write_edges(edges, index, &moves);
        }
        let keeps_all = self.keeps_roots || self.space.is_twin(&parts);
        let mut quiet = 0;
        for &played in &moves {
            if !played.is_zeroing() {
                quiet += 1;
                sink.child(self.space.after(&parts, played));
                continue;
            }
            let class = Class { mover, is_capture: played.is_capture() };
            if keeps_all || may_be_met_twice(played) {
                let mut root = position.clone();
                root.play_unchecked(played);
                sink.root(class, Packed::new(&root));
            } else {
                self.tally.certain[class.number()] += 1;
            }
        }
        let side = usize::from(mover.is_black());
        self.tally.quiet[side] += quiet;
        self.tally.zeroing[side] += moves.len() as u64 - quiet;
        Some(())
    }
}

/// Whether another move may lead to the same root; see the [module](self).
fn may_be_met_twice(played: Move) -> bool {
    played.is_capture() && (played.role() != Role::Pawn || played.is_promotion())
}

/// Bytes of an index in a record of edges.
pub(super) const INDEX_BYTES: usize = 16;

/// Bit of a move that leads to a root.
const TO_ROOT: u16 = 1 << 15;

/// A position's record: its index (16 bytes), the number of its moves (one byte) and its moves of
/// two bytes each: from (6 bits), to (6 bits), promotion (3 bits: 0 or 2 knight … 5 queen), whether
/// it leads to a root (1 bit). Castling goes to the rook's square.
fn write_edges(out: &mut Vec<u8>, index: u128, moves: &[Move]) {
    out.extend_from_slice(&index.to_le_bytes());
    // At most 218 moves are legal in a position that can arise; nine queens a side are the most
    // here.
    out.push(moves.len() as u8);
    for &played in moves {
        out.extend_from_slice(&packed_move(played).to_le_bytes());
    }
}

/// The two bytes of a move.
pub(super) fn packed_move(played: Move) -> u16 {
    let to = played.to();
    let from = played.from().map_or(0, Square::to_u32) as u16;
    let promotion = played.promotion().map_or(0, u16::from);
    let root = if played.is_zeroing() { TO_ROOT } else { 0 };
    from | (to.to_u32() as u16) << 6 | promotion << 12 | root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::notation::from_fen;

    #[test]
    fn moves_of_a_position_differ_in_their_bytes() {
        for fen in [
            "1n2k3/P7/8/8/8/8/8/R3K2R w KQ - 0 1",
            "r3k2r/8/8/2pP4/8/8/6p1/4K3 w kq c6 0 1",
            "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
        ] {
            let moves = from_fen(fen, false).unwrap().legal_moves();
            let mut packed: Vec<u16> = moves.iter().map(|&played| packed_move(played)).collect();
            packed.sort_unstable();
            packed.dedup();
            assert_eq!(packed.len(), moves.len());
            for &played in &moves {
                assert_eq!(packed_move(played) & TO_ROOT != 0, played.is_zeroing());
            }
        }
    }
}
