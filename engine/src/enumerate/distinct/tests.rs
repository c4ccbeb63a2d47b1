use std::collections::BTreeSet;

use shakmaty::{Chess, Position as _};

use super::*;
use crate::enumerate::test_folder::TestFolder;

/// All positions after three plies, as often as there are lines.
fn lines() -> Vec<Packed> {
    let mut level = vec![Chess::default()];
    for _ in 0..3 {
        level = level
            .iter()
            .flat_map(|position| {
                position.legal_moves().into_iter().map(|played| {
                    let mut next = position.clone();
                    next.play_unchecked(played);
                    next
                })
            })
            .collect();
    }
    level.iter().map(Packed::new).collect()
}

fn all(distinct: &Distinct, folder: Option<&Folder>, memory: u64) -> Vec<Packed> {
    let mut all = Vec::new();
    for part in 0..PARTS {
        let mut keep = |some: &[Packed]| {
            assert!(some.is_sorted());
            all.extend_from_slice(some);
            Ok(())
        };
        distinct.drain(part, folder, memory, &mut keep).unwrap();
    }
    all
}

#[test]
fn each_position_once_wherever_it_lies() {
    let lines = lines();
    assert_eq!(lines.len(), 8_902);
    let expected: BTreeSet<Packed> = lines.iter().copied().collect();
    assert_eq!(expected.len(), 5_362);
    let test = TestFolder::new();
    let folder = Folder::open(test.path()).unwrap();
    for memory in [u64::MAX, 1_000, 200] {
        let distinct = Distinct::new(1, 0);
        for (step, &packed) in lines.iter().enumerate() {
            distinct.add(distinct.part_of(0, packed), &[packed]);
            match step {
                1_000 => (0..PARTS).for_each(|part| distinct.compact(part)),
                4_000 => (0..PARTS).for_each(|part| distinct.spill(part, &folder).unwrap()),
                6_000 => (0..100).for_each(|part| distinct.spill(part, &folder).unwrap()),
                _ => {}
            }
        }
        assert!(distinct.bytes() > 0);
        let found = all(&distinct, Some(&folder), memory);
        assert_eq!(found.len(), expected.len(), "memory {memory}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        assert_eq!(distinct.bytes(), 0);
    }
}

#[test]
fn files_are_gone_on_with() {
    let test = TestFolder::new();
    let folder = Folder::open(test.path()).unwrap();
    let distinct = Distinct::new(1, 0);
    for packed in lines() {
        distinct.add(distinct.part_of(0, packed), &[packed]);
    }
    (0..PARTS).for_each(|part| distinct.spill(part, &folder).unwrap());
    assert_eq!(distinct.bytes(), 0);
    let again = Distinct::with_logs(distinct.logs(), 1);
    assert_eq!(all(&again, Some(&folder), u64::MAX).len(), 5_362);
}
