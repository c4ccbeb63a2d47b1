//! Tokens as they enter the first block, and what flows back into the tables.

use super::places::Places;
use super::plan::TokenPlan;
use super::rows::{add, wide};

#[inline(always)]
pub(super) fn row(table: &[f32], row: u32, width: usize) -> &[f32] {
    &table[row as usize * width..][..width]
}

#[inline(always)]
pub(super) fn row_mut(table: &mut [f32], row: u32, width: usize) -> &mut [f32] {
    &mut table[row as usize * width..][..width]
}

/// The tokens `[n, d]`.
pub(super) fn embed(
    plan: &TokenPlan,
    places: &Places,
    values: &[f32],
    x: &mut [f32],
    width: usize,
) {
    let [square, state, board, rules] =
        [places.piece_square, places.piece_state, places.board, places.rules]
            .map(|span| span.of(values));
    wide(
        #[inline(always)]
        || {
            x.fill(0.0);
            let (pieces, readouts) = x.split_at_mut(plan.pieces.len() * width);
            for (x, &[at, standing]) in pieces.chunks_exact_mut(width).zip(&plan.pieces) {
                add(x, row(square, at, width));
                add(x, row(state, standing, width));
            }
            let each = plan.boards_of.iter().zip(&plan.rules);
            for (x, (rows, features)) in readouts.chunks_exact_mut(width).zip(each) {
                for &at in &plan.boards[rows.clone()] {
                    add(x, row(board, at, width));
                }
                for &at in features {
                    add(x, row(rules, at, width));
                }
            }
        },
    );
}

/// Adds the tables' gradients to `list`, from those of the tokens.
pub(super) fn embed_back(
    plan: &TokenPlan,
    places: &Places,
    d_x: &[f32],
    list: &mut [f32],
    width: usize,
) {
    wide(
        #[inline(always)]
        || {
            let (pieces, readouts) = d_x.split_at(plan.pieces.len() * width);
            let pieces = || pieces.chunks_exact(width).zip(&plan.pieces);
            let readouts = || readouts.chunks_exact(width);
            let table = places.piece_square.of_mut(list);
            for (d_x, &[at, _]) in pieces() {
                add(row_mut(table, at, width), d_x);
            }
            let table = places.piece_state.of_mut(list);
            for (d_x, &[_, standing]) in pieces() {
                add(row_mut(table, standing, width), d_x);
            }
            let table = places.board.of_mut(list);
            for (d_x, rows) in readouts().zip(&plan.boards_of) {
                for &at in &plan.boards[rows.clone()] {
                    add(row_mut(table, at, width), d_x);
                }
            }
            let table = places.rules.of_mut(list);
            for (d_x, features) in readouts().zip(&plan.rules) {
                for &at in features {
                    add(row_mut(table, at, width), d_x);
                }
            }
        },
    );
}
