use std::collections::BTreeSet;

use super::*;
use crate::enumerate::test_folder::TestFolder;

const SIZE: u128 = 1_000_000;

fn new() -> Buckets {
    Buckets::new((0..BUCKETS).map(Files::new).collect(), SIZE)
}

fn add(buckets: &Buckets, index: u128) {
    buckets.add(bucket_of(index), &[index]);
}

fn take_all(buckets: &Buckets, folder: &Folder) -> Vec<u128> {
    let mut all = Vec::new();
    for bucket in 0..BUCKETS {
        buckets.take(bucket, Some(folder), usize::MAX, &mut all).unwrap();
    }
    all
}

#[test]
fn each_position_is_taken_once_wherever_it_lies() {
    let test = TestFolder::new();
    let folder = Folder::open(test.path()).unwrap();
    let mut buckets = new();
    let mut taken = Vec::new();
    for round in 0..40_u128 {
        // Old and new numbers, in the same pages and in others.
        for step in 0..500 {
            add(&buckets, (round * 97 + step * step) % SIZE);
        }
        match round % 8 {
            1 | 2 => (0..BUCKETS).for_each(|bucket| buckets.spill(bucket, &folder).unwrap()),
            4 => taken.extend(take_all(&buckets, &folder)),
            5 => buckets.take(7, Some(&folder), 3, &mut taken).unwrap(),
            6 => {
                // A checkpoint, and a run that goes on from it.
                (0..BUCKETS).for_each(|bucket| buckets.save(bucket, &folder).unwrap());
                buckets = Buckets::new(buckets.files(), SIZE);
            }
            _ => {}
        }
    }
    taken.extend(take_all(&buckets, &folder));
    assert!(!buckets.has_work());
    let all: BTreeSet<u128> = (0..40)
        .flat_map(|round| (0..500).map(move |step| (round * 97 + step * step) % SIZE))
        .collect();
    assert_eq!(taken.len(), all.len());
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), all);
}

#[test]
fn memory_is_given_back() {
    let test = TestFolder::new();
    let folder = Folder::open(test.path()).unwrap();
    let buckets = new();
    for index in 0..100_000 {
        add(&buckets, index);
    }
    assert!(buckets.bytes() > 100_000 / 64 * 32);
    (0..BUCKETS).for_each(|bucket| buckets.spill(bucket, &folder).unwrap());
    assert_eq!(buckets.bytes(), 0);
    assert!(buckets.has_work());
}

#[test]
fn what_is_no_position_is_damage() {
    let test = TestFolder::new();
    let folder = Folder::open(test.path()).unwrap();
    let buckets = new();
    let index = SIZE - 1;
    add(&buckets, index);
    let bucket = bucket_of(index);
    buckets.spill(bucket, &folder).unwrap();
    let smaller = Buckets::new(buckets.files(), SIZE - 1);
    let taken = smaller.take(bucket, Some(&folder), 1, &mut Vec::new());
    assert!(matches!(taken, Err(EnumerateError::Damaged { .. })));
}
