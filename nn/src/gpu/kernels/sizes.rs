//! Sizes of the kernel for a network on an adapter, all known when it is compiled.

use crate::encode::{MAX_PIECES, PLACES};
use crate::incremental::plan::{CHILD_ROWS, MAX_SOURCES};
use crate::model::{ModelConfig, VALUE_BINS};

/// Rows that one unit multiplies at once with four columns of a matrix.
pub(super) const BLOCK: usize = 4;
/// Rows of a workgroup, the most that pays first: each weight is read once for all of them.
const ROWS: [usize; 2] = [8, 4];
/// Units that sum the squares of a row together; a width is a multiple of 16.
pub(super) const PARTS: usize = 4;
/// Moves that a workgroup takes at once, at most.
const MOST_MOVES: usize = 32;
/// Buffers of the kernel: weights, biases, the batch, keys, values, what waits, the answer.
const BUFFERS: usize = 7;
/// Value bins, then the error's logarithm.
pub(super) const VALUES: usize = VALUE_BINS + 1;

/// What an adapter can do, as far as the kernel depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Memory of a workgroup, bytes.
    pub(crate) shared: usize,
    /// Units of a workgroup.
    pub(crate) units: usize,
    /// Bytes of one buffer.
    pub(crate) buffer: usize,
    /// Buffers that a kernel may have as arguments: of the adapter's, `CubeCL` leaves one to wgpu.
    pub(crate) buffers: usize,
}

/// Where the parts of the weights begin, in vectors of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Places {
    pub(super) piece_square: usize,
    pub(super) piece_state: usize,
    pub(super) rules: usize,
    pub(super) board: usize,
    /// The first layer; the others follow it.
    pub(super) blocks: usize,
    pub(super) value_hidden: usize,
    pub(super) value_error: usize,
    pub(super) move_tokens: usize,
    pub(super) move_readout: usize,
    pub(super) gate: usize,
    pub(super) target: usize,
    pub(super) feature: usize,
    pub(super) situation: usize,
    pub(super) move_mix: usize,
    pub(super) move_out: usize,
}

/// Sizes of the network and of a workgroup. What ends in 4 is counted in vectors of four floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sizes {
    /// Rows (tokens) that run through the layers together: a chunk.
    pub(super) rows: usize,
    /// Positions of a chunk at most.
    pub(super) positions: usize,
    /// Units of a workgroup.
    pub(super) units: usize,
    /// Moves that are evaluated together.
    pub(super) moves: usize,
    pub(super) width4: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    /// A head's part of a token.
    pub(super) head4: usize,
    pub(super) feed4: usize,
    pub(super) value4: usize,
    pub(super) hidden4: usize,
    pub(super) mix4: usize,
    pub(super) places: Places,
}

/// Vectors of four that hold so many floats.
pub(super) fn fours(floats: usize) -> usize {
    floats.div_ceil(4)
}

impl Sizes {
    /// For this network within these limits.
    ///
    /// # Errors
    /// A sentence, where a workgroup is too small for the network.
    pub(super) fn within(config: &ModelConfig, limits: Limits) -> Result<Self, String> {
        let head = config.width / config.heads;
        if !head.is_multiple_of(4) {
            return Err(format!(
                "its kernel needs attention heads of a multiple of four numbers, the network's \
                 have {head}"
            ));
        }
        if limits.buffers < BUFFERS {
            let has = limits.buffers;
            return Err(format!("it lets a kernel have {has} buffers, {BUFFERS} are needed"));
        }
        let sizes = ROWS.map(|rows| Self::of(config, rows, limits));
        let least = sizes[ROWS.len() - 1].shared();
        sizes.into_iter().find(|sizes| sizes.shared() <= limits.shared).ok_or_else(|| {
            let has = limits.shared;
            format!("a workgroup of it has {has} bytes of memory, the network needs {least}")
        })
    }

    fn of(config: &ModelConfig, rows: usize, limits: Limits) -> Self {
        let width4 = config.width / 4;
        let mut sizes = Self {
            rows,
            // Of a child there are two rows at least.
            positions: (rows / (CHILD_ROWS - 1)).max(1),
            units: (width4 * rows / BLOCK).clamp(1, limits.units.max(1)),
            moves: BLOCK,
            width4,
            layers: config.layers,
            heads: config.heads,
            head4: width4 / config.heads,
            feed4: fours(config.feed_forward),
            value4: fours(config.value_hidden),
            hidden4: fours(config.move_hidden),
            mix4: fours(config.move_mix()),
            places: Places::default(),
        };
        // As many moves as there is room for anyway.
        let fits = |moves: usize| {
            moves * sizes.hidden4 <= sizes.wide4() && moves * sizes.mix4 <= sizes.narrow4()
        };
        let moves = (1..=MOST_MOVES / BLOCK).map(|blocks| blocks * BLOCK);
        sizes.moves = moves.filter(|&moves| fits(moves)).max().unwrap_or(BLOCK);
        sizes
    }

    /// Readouts of a chunk, filled up to whole blocks.
    pub(super) const fn readouts(&self) -> usize {
        self.positions.next_multiple_of(BLOCK)
    }

    /// Room for the tokens, and later for the value head's hidden layer.
    pub(super) fn tokens4(&self) -> usize {
        (self.rows * self.width4).max(self.readouts() * self.value4)
    }

    /// Room for what a matrix is multiplied with.
    pub(super) fn narrow4(&self) -> usize {
        (self.rows * self.width4).max(BLOCK * self.mix4)
    }

    /// Room for queries, for hidden layers, for readouts, for moves.
    pub(super) fn wide4(&self) -> usize {
        let rows = self.rows * self.width4.max(self.feed4);
        rows.max(self.readouts() * self.width4).max(BLOCK * self.hidden4)
    }

    /// Attention weights of a chunk.
    pub(super) fn weights(&self) -> usize {
        self.rows * self.heads * MAX_SOURCES
    }

    /// Memory of a workgroup, bytes.
    pub(super) fn shared(&self) -> usize {
        let fours = self.tokens4() + self.narrow4() + self.wide4();
        let floats = self.weights() + 2 * self.rows * self.heads + self.rows * PARTS;
        (4 * fours + floats) * size_of::<f32>()
    }

    /// What each of the cache's two buffers keeps of a token. One: the keys of all layers, then
    /// what the move heads need of a piece that moves. The other: the values, then what they need
    /// of a piece that is captured.
    pub(super) fn row4(&self) -> usize {
        self.layers * self.width4 + self.hidden4
    }

    /// A matrix and its bias.
    pub(super) fn matrix4(inputs4: usize, outputs4: usize) -> usize {
        (4 * inputs4 + 1) * outputs4
    }

    /// A layer's matrices.
    pub(super) fn block4(&self) -> usize {
        let (d, f) = (self.width4, self.feed4);
        Self::matrix4(d, 3 * d) + Self::matrix4(d, d) + Self::matrix4(d, f) + Self::matrix4(f, d)
    }

    /// Attention biases of a layer.
    pub(super) fn biases(&self) -> usize {
        PLACES * PLACES * self.heads
    }

    /// Most tokens of a position.
    pub(super) const fn most_rows() -> usize {
        MAX_PIECES + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What WebGPU promises everywhere, and what most adapters have.
    const LEAST: Limits = Limits { shared: 16 << 10, units: 256, buffer: 128 << 20, buffers: 7 };
    const USUAL: Limits = Limits { shared: 32 << 10, units: 1024, ..LEAST };

    #[test]
    fn networks_fit_where_they_can() {
        let rows = |config: &ModelConfig, limits| {
            Sizes::within(config, limits).map(|sizes| sizes.rows).map_err(|why| why.len() > 40)
        };
        let (tiny, small, base) = (ModelConfig::tiny(), ModelConfig::small(), ModelConfig::base());
        assert_eq!([&tiny, &small].map(|config| rows(config, LEAST)), [Ok(8), Ok(4)]);
        assert_eq!([&small, &base].map(|config| rows(config, USUAL)), [Ok(8), Ok(4)]);
        assert_eq!(rows(&base, LEAST), Err(true));
        let narrow = ModelConfig { heads: 16, ..tiny };
        assert_eq!(rows(&narrow, USUAL), Err(true));
        assert_eq!(rows(&small, Limits { buffers: 6, ..USUAL }), Err(true));
        let deep = ModelConfig { layers: 40, ..ModelConfig::small() };
        assert_eq!(rows(&deep, USUAL), Ok(8));
    }
}
