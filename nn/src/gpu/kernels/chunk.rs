//! The rows that a workgroup has in its memory at once.

use cubecl::prelude::*;

use super::records;

/// A chunk's rows and positions.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Chunk {
    /// Of the batch's rows, the first.
    pub(super) row: usize,
    pub(super) rows: usize,
    /// Of the batch's positions, the first.
    pub(super) position: usize,
    pub(super) positions: usize,
}

/// Chunk `index` of the group, or nothing where the group has fewer.
#[cube]
pub(super) fn chunk(ints: &[u32], first: usize, count: usize, index: usize) -> Chunk {
    let at = ints[records::CHUNKS_AT] as usize + (first + index) * records::CHUNK;
    let mut rows = ints[at + 1] as usize;
    let mut positions = ints[at + 3] as usize;
    if index >= count {
        rows = 0usize;
        positions = 0usize;
    }
    Chunk { row: ints[at] as usize, rows, position: ints[at + 2] as usize, positions }
}
