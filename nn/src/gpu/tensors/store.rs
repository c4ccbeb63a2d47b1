//! The cache on the device: what every slot's token left for later ones, one row each.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor};

use crate::incremental::cache::slots_within;
use crate::incremental::plan::CHILD_ROWS;
use crate::model::ModelConfig;

/// A row of zeros: the captured piece of a move that captures none.
pub(super) const NOTHING: i32 = 0;
/// Where rows go that nobody will see. Several may go there at once.
pub(super) const TRASH: i32 = 1;
/// Rows before the first slot.
const RESERVED: usize = 2;
/// Most children of a pass.
const MOST_CHILDREN: usize = 512;

/// Row of a slot.
pub(super) fn row(slot: u32) -> i32 {
    RESERVED as i32 + slot as i32
}

/// How the rows are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Slots of the cache.
    pub(super) slots: usize,
    /// Children that may be in one pass: their new tokens have a spare row each, if no slot.
    pub(super) children: usize,
}

impl Layout {
    /// The most slots within `bytes`, all tables and the host's nodes together, beside the spare
    /// rows. Nothing where that is too little for a single child.
    pub(super) fn within(bytes: usize, config: &ModelConfig) -> Option<Self> {
        let floats = 2 * config.layers * config.width + 2 * config.move_hidden;
        let rows = slots_within(bytes, floats * size_of::<f32>());
        let children = (rows / 4 / CHILD_ROWS).min(MOST_CHILDREN);
        let slots = rows.checked_sub(RESERVED + children * CHILD_ROWS)?;
        (slots > 0 && children > 0).then_some(Self { slots, children })
    }

    /// The spare rows of the child at this place of a pass.
    pub(super) fn spare(self, place: usize) -> impl Iterator<Item = i32> {
        let first = RESERVED + self.slots + place * CHILD_ROWS;
        (first..first + CHILD_ROWS).map(|row| row as i32)
    }

    fn rows(self) -> usize {
        RESERVED + self.slots + self.children * CHILD_ROWS
    }
}

/// Which table of a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Table {
    /// Keys of a layer.
    Key(usize),
    /// Values of a layer.
    Value(usize),
    /// What the move heads need of a moving piece.
    Moving,
    /// What they need of a captured one.
    Captured,
}

/// The tables. They are changed in place, so nobody else may hold one of them.
#[derive(Debug)]
pub(super) struct Store {
    tables: Vec<Tensor<2>>,
    /// burn scatters rows in place and side by side on a GPU, but copies the whole table on the
    /// CPU; it assigns selected rows in place on both, but one after the other on a GPU.
    scatters: bool,
    pub(super) layout: Layout,
}

impl Store {
    pub(super) fn new(layout: Layout, config: &ModelConfig, device: &Device) -> Self {
        let layers = std::iter::repeat_n(config.width, 2 * config.layers);
        let widths = layers.chain([config.move_hidden; 2]);
        let table = |width| Tensor::zeros([layout.rows(), width], device);
        Self { tables: widths.map(table).collect(), scatters: *device != Device::flex(), layout }
    }

    fn place(&self, table: Table) -> usize {
        let moves = self.tables.len() - 2;
        match table {
            Table::Key(layer) => 2 * layer,
            Table::Value(layer) => 2 * layer + 1,
            Table::Moving => moves,
            Table::Captured => moves + 1,
        }
    }

    /// Puts `values` `[n, width]` into `rows` of a table.
    pub(super) fn write(&mut self, table: Table, rows: &Tensor<1, Int>, values: Tensor<2>) {
        let place = self.place(table);
        let old = self.tables.remove(place);
        let rows = rows.clone();
        let new = if self.scatters {
            let count = rows.dims()[0];
            old.scatter_nd(rows.reshape([count, 1]), values, IndexingUpdateOp::Assign)
        } else {
            old.select_assign(0, rows, values, IndexingUpdateOp::Assign)
        };
        self.tables.insert(place, new);
    }

    /// A table, to select from and let go at once.
    pub(super) fn table(&self, table: Table) -> Tensor<2> {
        self.tables[self.place(table)].clone()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::model::indices;

    #[test]
    fn the_bound_holds_tables_and_spare_rows() {
        let config = ModelConfig::tiny();
        let bytes = |layout: Layout| layout.rows() * (2 * 2 * 32 + 2 * 16) * 4;
        for bound in [60_000, 100_000, 1 << 20, 1 << 28] {
            let layout = Layout::within(bound, &config).unwrap();
            assert!(bytes(layout) <= bound && layout.slots >= layout.rows() / 2, "{layout:?}");
        }
        assert_eq!(Layout::within(1000, &config), None);
    }

    #[test]
    fn scattering_is_assigning() {
        let config = ModelConfig::tiny();
        let device = Device::flex();
        let layout = Layout { slots: 6, children: 1 };
        let mut ways = [false, true]
            .map(|scatters| Store { scatters, ..Store::new(layout, &config, &device) });
        let values: Vec<f32> = (0..3 * 32_u8).map(f32::from).collect();
        let values = Tensor::from_data(TensorData::new(values, [3, 32]), &device);
        let tables = ways.each_mut().map(|store| {
            store.write(Table::Value(1), &indices(&[4, TRASH, 9], &device), values.clone());
            let table: Vec<f32> = store.table(Table::Value(1)).into_data().try_to_vec().unwrap();
            let others = store.table(Table::Key(1)) + store.table(Table::Value(0));
            let others: Vec<f32> = others.into_data().try_to_vec().unwrap();
            assert!(others.iter().all(|&x| x == 0.0));
            table
        });
        assert_eq!(tables[0], tables[1]);
        assert_eq!(tables[0][4 * 32..5 * 32], (0..32_u8).map(f32::from).collect::<Vec<_>>());
        assert!(tables[0][9 * 32] > 0.0 && tables[0][..32].iter().all(|&x| x == 0.0));
    }
}
