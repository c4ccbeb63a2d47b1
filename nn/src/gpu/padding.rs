//! Sizes of passes: how many positions, tokens and moves they are filled up to.

use super::pack::{Shape, WHOLE_TOKENS};
use crate::incremental::plan::{CHILD_ROWS, MAX_SOURCES};

/// Sizes of a pass that a GPU is asked for; others are padded up, so that few kernels are tuned.
pub(super) const SHAPES: [usize; 7] = [1, 8, 32, 64, 128, 256, 512];
/// Tokens that a child sees, padded likewise.
const KEYS: [usize; 2] = [40, MAX_SOURCES];
/// Moves of a position on average, from bare endgames to full boards, that kernels are readied for.
const USUAL_MOVES: [usize; 3] = [16, 32, 64];
/// Moves of a position that a pass of fixed shape has room for, on average.
const MOVES_PER_POSITION: usize = 64;
/// Of so many positions in a pass of fixed shape, one may be encoded whole.
const WHOLE_SHARE: usize = 8;

/// How a pass is filled up before it goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// To one of few sizes.
    Few,
    /// To this many positions always, with room for 64 moves each: an answer is then the same bit
    /// by bit whatever else is in the batch, for a GPU's kernels differ from shape to shape.
    One(usize),
}

/// What decides the sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) padding: Padding,
    /// Most children in a pass.
    pub(super) children: usize,
    /// Whether there are children.
    pub(super) keeps: bool,
}

impl Sizes {
    /// Positions that may be in one pass.
    pub(super) fn most_positions(self, is_whole: bool) -> usize {
        match self.padding {
            _ if !is_whole => self.children,
            Padding::Few => SHAPES[SHAPES.len() - 1],
            Padding::One(shape) if self.keeps => (shape / WHOLE_SHARE).max(1),
            Padding::One(shape) => shape.max(1),
        }
    }

    /// The shape of a pass of `count` positions that see `longest` tokens at most.
    pub(super) fn shape(self, is_whole: bool, count: usize, longest: usize) -> Shape {
        let (positions, moves, keys) = match self.padding {
            Padding::Few => (padded(&SHAPES, count), 0, padded(&KEYS, longest)),
            Padding::One(_) => {
                let positions = self.most_positions(is_whole);
                (positions, positions * MOVES_PER_POSITION, MAX_SOURCES)
            }
        };
        let (queries, keys) =
            if is_whole { (WHOLE_TOKENS, WHOLE_TOKENS) } else { (CHILD_ROWS, keys) };
        Shape { positions, queries, keys, moves }
    }

    /// Shapes of passes for batches of up to `largest` positions, and whether they are whole
    /// encodes.
    pub(super) fn all(self, largest: usize) -> Vec<(Shape, bool)> {
        let kinds = if self.keeps { &[true, false][..] } else { &[true] };
        let mut shapes = Vec::new();
        for &is_whole in kinds {
            let most = self.most_positions(is_whole);
            let (sizes, moves, keys) = match self.padding {
                Padding::Few => {
                    let last = padded(&SHAPES, largest.min(most));
                    let sizes = SHAPES.into_iter().filter(|&size| size <= last).collect();
                    (sizes, &USUAL_MOVES[..], &KEYS[..])
                }
                Padding::One(_) => (vec![most], &[MOVES_PER_POSITION][..], &KEYS[KEYS.len() - 1..]),
            };
            let keys = if is_whole { &[WHOLE_TOKENS] } else { keys };
            let queries = if is_whole { WHOLE_TOKENS } else { CHILD_ROWS };
            for positions in sizes {
                for (&keys, &moves) in keys.iter().flat_map(|k| moves.iter().map(move |m| (k, m))) {
                    let shape = Shape { positions, queries, keys, moves: positions * moves };
                    shapes.push((shape, is_whole));
                }
            }
        }
        shapes
    }
}

/// The smallest of `sizes` that has room for this.
fn padded(sizes: &[usize], size: usize) -> usize {
    sizes.iter().copied().find(|&shape| shape >= size).unwrap_or(size)
}
