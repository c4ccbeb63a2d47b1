//! Where a space is entered: all its roots at once.

use std::path::Path;

use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup as _, Position, PositionError};

use crate::enumerate::bucket::NO_POSITION;
use crate::enumerate::checkpoint::fen_of;
use crate::enumerate::error::EnumerateError;
use crate::enumerate::packed::Packed;
use crate::enumerate::space::Space;
use crate::enumerate::tally::{Class, Tally};

/// A space and the ways into it.
///
/// En passant can be played in a root only, never later in its space. So a root with en passant has
/// no index: it is expanded here, and its quiet moves are ways in.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) space: Space,
    /// Where the closure begins.
    pub(super) firsts: Vec<u128>,
    /// Roots that those with en passant lead to.
    pub(super) roots: Vec<(Class, Packed)>,
    /// What was counted in those with en passant.
    pub(super) tally: Tally,
    /// Tells this space from others.
    pub(super) name: String,
}

impl Entry {
    /// The space of these roots, which have the same pawns and pieces; there is at least one.
    ///
    /// # Errors
    /// When the space is too wide to be numbered, or a root, which came from files in `folder`, is
    /// no position.
    pub(super) fn new(
        roots: &[Packed],
        mode: CastlingMode,
        folder: &Path,
    ) -> Result<Self, EnumerateError> {
        let none = || EnumerateError::Damaged { path: folder.to_owned(), what: NO_POSITION };
        let mut positions = roots.iter().map_while(|root| root.position(mode));
        let first = positions.next().ok_or_else(none)?;
        let name = format!("{}, {} roots", fen_of(&first), roots.len());
        let space = Space::of_all(without_en_passant(first), positions.map(without_en_passant))?;
        let mut entry = Self {
            space,
            firsts: Vec::with_capacity(roots.len()),
            roots: Vec::new(),
            tally: Tally::default(),
            name,
        };
        for root in roots {
            entry.add(&root.position(mode).ok_or_else(none)?);
        }
        Ok(entry)
    }

    fn add(&mut self, position: &Chess) {
        if position.legal_ep_square().is_none() {
            self.firsts.extend(self.space.index_of(position));
            return;
        }
        let mover = position.turn();
        let side = usize::from(mover.is_black());
        let moves = position.legal_moves();
        self.tally.count_position(mover, moves.len() as u32);
        for played in moves {
            let mut next = position.clone();
            next.play_unchecked(played);
            if played.is_zeroing() {
                let class = Class { mover, is_capture: played.is_capture() };
                self.roots.push((class, Packed::new(&next)));
                self.tally.zeroing[side] += 1;
            } else {
                self.firsts.extend(self.space.index_of(&next));
                self.tally.quiet[side] += 1;
            }
        }
    }
}

/// The same placement where no pawn has just gone two squares.
fn without_en_passant(position: Chess) -> Chess {
    if position.legal_ep_square().is_none() {
        return position;
    }
    let mode = position.castles().mode();
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.ep_square = None;
    Chess::from_setup(setup, mode)
        .or_else(PositionError::ignore_impossible_check)
        .unwrap_or(position)
}
