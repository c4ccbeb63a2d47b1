//! Which positions of a batch share a workgroup, and which workgroups a launch.
//!
//! Remade positions are made from others of the same batch. They share the workgroup of what they
//! are made from, or come in a later launch where that is full; children come in the last launch.

use super::records::{self, Records};
use super::sizes::{Sizes, VALUES};
use crate::gpu::passes::{Item, Place};
use crate::incremental::plan::MAX_SOURCES;

/// Rows that one workgroup takes for positions that are made from each other: more would keep a
/// device waiting that could do others at the same time.
const MOST_ROWS: usize = 48;

/// Where rows are in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// One of each slot.
    pub(super) slots: usize,
    /// Behind them, for what is not kept: of one launch.
    pub(super) spare: usize,
}

/// What is launched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The first group.
    pub(super) first: usize,
    /// Groups: a workgroup each.
    pub(super) groups: usize,
    /// Most chunks of a group.
    pub(super) chunks: usize,
    /// Most moves of a group.
    pub(super) moves: usize,
}

/// A batch, ready to be sent.
#[derive(Debug)]
pub(super) struct Arranged {
    pub(super) words: Vec<u32>,
    pub(super) launches: Vec<Launch>,
    /// Where the answers are, by item.
    pub(super) places: Vec<Place>,
    /// Rows of groups with several chunks; they come first.
    pub(super) aside: usize,
    /// Floats of the answer, without the attention.
    pub(super) floats: usize,
    /// Floats of the attention.
    pub(super) attention: usize,
}

#[derive(Debug, Default)]
struct Group {
    items: Vec<usize>,
    rows: usize,
}

#[derive(Debug, Default)]
struct Stage {
    groups: Vec<Group>,
    /// Rows of what is not kept.
    spare: usize,
}

/// The stages of a batch. What takes `spare` rows beyond those of its stage comes a stage later.
fn stages(items: &[Item], sizes: &Sizes, spare: usize) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut made: Vec<Option<(usize, usize)>> = vec![None; items.len()];
    let comes_first = |item: &Item| item.place.is_none() || item.plan.is_whole();
    let mut put = |stages: &mut Vec<Stage>, index: usize, from: usize, most: [usize; 2]| {
        let item = &items[index];
        let rows = item.plan.rows();
        let above = item.after.and_then(|after| made[after]);
        let (mut stage, mut group) = match above {
            Some((stage, group)) if stage >= from => {
                let fits = stages[stage].groups[group].rows + rows <= MOST_ROWS;
                if fits { (stage, Some(group)) } else { (stage + 1, None) }
            }
            _ => (from, None),
        };
        let lent = if item.own.is_none() { rows } else { 0 };
        while stages.get(stage).is_some_and(|stage| stage.spare + lent > spare) {
            (stage, group) = (stage + 1, None);
        }
        if stages.len() <= stage {
            stages.resize_with(stage + 1, Stage::default);
        }
        let Stage { groups, spare } = &mut stages[stage];
        *spare += lent;
        let last = groups.len().wrapping_sub(1);
        let has_room = |group: &Group| group.rows + rows <= most[0] && group.items.len() < most[1];
        let group = group.or_else(|| groups.last().is_some_and(has_room).then_some(last));
        let group = group.unwrap_or(groups.len());
        if groups.len() <= group {
            groups.push(Group::default());
        }
        groups[group].items.push(index);
        groups[group].rows += rows;
        made[index] = Some((stage, group));
    };
    for (index, _) in items.iter().enumerate().filter(|(_, item)| comes_first(item)) {
        put(&mut stages, index, 0, [0, 0]);
    }
    let from = stages.len();
    for (index, _) in items.iter().enumerate().filter(|(_, item)| !comes_first(item)) {
        put(&mut stages, index, from, [sizes.rows, sizes.positions]);
    }
    stages
}

/// Writes chunks of a group as its positions come.
#[derive(Debug, Default)]
struct Chunks {
    count: usize,
    rows: usize,
    positions: usize,
}

impl Chunks {
    /// Ends the chunk that the last positions are in; the records end with it.
    fn close(&mut self, records: &mut Records) {
        if self.rows > 0 {
            let (row, position) = (records.row_count(), records.position_count());
            self.write(records, row - self.rows, self.rows, position - self.positions);
        }
        (self.rows, self.positions) = (0, 0);
    }

    fn write(&mut self, records: &mut Records, row: usize, rows: usize, position: usize) {
        let positions = self.positions.max(1);
        let words = [row, rows, position, positions];
        records.chunks.extend(words.map(|word| word as u32));
        self.count += 1;
    }

    /// Before a position of so many rows: ends the chunk where it finds no room.
    fn before(&mut self, records: &mut Records, rows: usize, is_whole: bool, sizes: &Sizes) {
        if is_whole || self.rows + rows > sizes.rows || self.positions == sizes.positions {
            self.close(records);
        }
    }

    /// After it.
    fn after(&mut self, records: &mut Records, rows: usize, is_whole: bool, sizes: &Sizes) {
        if !is_whole {
            self.rows += rows;
            self.positions += 1;
            return;
        }
        let (first, position) = (records.row_count() - rows, records.position_count() - 1);
        for row in (0..rows).step_by(sizes.rows) {
            self.write(records, first + row, sizes.rows.min(rows - row), position);
        }
    }
}

/// Arranges a batch.
pub(super) fn arrange(items: &[Item], sizes: &Sizes, rows: Rows) -> Arranged {
    let mut records = Records::default();
    let mut launches = Vec::new();
    let mut placed = vec![[0; 2]; items.len()];
    let mut aside = 0;
    for stage in stages(items, sizes, rows.spare) {
        let first = records.groups.len() / records::GROUP;
        let mut launch = Launch { first, groups: stage.groups.len(), chunks: 0, moves: 0 };
        let mut spare = rows.slots as u32;
        for group in &stage.groups {
            let chunk = records.chunks.len() / records::CHUNK;
            let first_move = records.move_count();
            let mut chunks = Chunks::default();
            for &index in &group.items {
                let Item { plan, own, .. } = &items[index];
                let (count, is_whole) = (plan.rows(), plan.is_whole());
                placed[index] = [records.position_count(), records.move_count()];
                chunks.before(&mut records, count, is_whole, sizes);
                if let Some(own) = own {
                    records.push(plan, own);
                } else {
                    let own: Vec<u32> = (spare..spare + count as u32).collect();
                    spare += count as u32;
                    records.push(plan, &own);
                }
                chunks.after(&mut records, count, is_whole, sizes);
            }
            chunks.close(&mut records);
            let moves = records.move_count() - first_move;
            let words = [chunk, chunks.count, first_move, moves];
            records.groups.extend(words.map(|word| word as u32));
            launch.chunks = launch.chunks.max(chunks.count);
            launch.moves = launch.moves.max(moves);
        }
        if launch.chunks > 1 {
            aside = records.row_count();
        }
        launches.push(launch);
    }
    finish(items, records, launches, &placed, aside)
}

fn finish(
    items: &[Item],
    records: Records,
    launches: Vec<Launch>,
    placed: &[[usize; 2]],
    aside: usize,
) -> Arranged {
    let (positions, moves) = (records.position_count(), records.move_count());
    let (estimates, floats) = (positions * VALUES, positions * VALUES + 2 * moves);
    let place = |(item, &[position, first]): (&Item, &[usize; 2])| Place {
        bins: position * VALUES,
        error: position * VALUES + VALUES - 1,
        estimates: estimates + 2 * first,
        attention: floats + position * MAX_SOURCES,
        readout: item.plan.sources.len() - 1,
    };
    Arranged {
        places: items.iter().zip(placed).map(place).collect(),
        words: records.words(VALUES),
        launches,
        aside,
        floats,
        attention: positions * MAX_SOURCES,
    }
}
