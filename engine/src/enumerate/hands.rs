//! What a thread has found and not yet put where it belongs.

use super::buckets::{BUCKETS, Buckets, bucket_of};
use super::distinct::{Distinct, PARTS};
use super::expand::Sink;
use super::packed::Packed;
use super::tally::Class;

/// Positions or roots for one bucket or part: enough that its lock is no burden.
const HANDFUL: usize = 64;

/// A thread's hands.
#[derive(Debug)]
pub(super) struct Hands<'a> {
    buckets: &'a Buckets,
    roots: &'a Distinct,
    children: Vec<Vec<u128>>,
    packed: Vec<Vec<Packed>>,
}

impl<'a> Hands<'a> {
    /// Empty hands.
    pub(super) fn new(buckets: &'a Buckets, roots: &'a Distinct) -> Self {
        Self {
            buckets,
            roots,
            children: vec![Vec::new(); BUCKETS],
            packed: vec![Vec::new(); PARTS],
        }
    }

    /// Puts everything where it belongs.
    pub(super) fn empty(self) {
        for (bucket, children) in self.children.iter().enumerate() {
            self.buckets.add(bucket, children);
        }
        for (part, packed) in self.packed.iter().enumerate() {
            self.roots.add(part, packed);
        }
    }
}

impl Sink for Hands<'_> {
    fn child(&mut self, index: u128) {
        let bucket = bucket_of(index);
        let children = &mut self.children[bucket];
        children.push(index);
        if children.len() == HANDFUL {
            self.buckets.add(bucket, children);
            children.clear();
        }
    }

    fn root(&mut self, class: Class, root: Packed) {
        let part = self.roots.part_of(class.number(), root);
        let packed = &mut self.packed[part];
        packed.push(root);
        if packed.len() == HANDFUL {
            self.roots.add(part, packed);
            packed.clear();
        }
    }
}
