//! A write buffer for each thread: positions and roots found, but not yet in their sets.

use super::buckets::{BUCKETS, Buckets, bucket_of};
use super::distinct::{Distinct, PARTS};
use super::expand::Sink;
use super::packed::Packed;
use super::tally::Class;

/// Positions or roots buffered for one bucket or part: enough that its lock costs little.
const BUFFERED: usize = 64;

/// The positions and roots that one thread has found since it last wrote them.
#[derive(Debug)]
pub(super) struct WriteBuffer<'a> {
    buckets: &'a Buckets,
    roots: &'a Distinct,
    children: Vec<Vec<u128>>,
    packed: Vec<Vec<Packed>>,
}

impl<'a> WriteBuffer<'a> {
    /// An empty buffer.
    pub(super) fn new(buckets: &'a Buckets, roots: &'a Distinct) -> Self {
        Self {
            buckets,
            roots,
            children: vec![Vec::new(); BUCKETS],
            packed: vec![Vec::new(); PARTS],
        }
    }

    /// Writes everything to the sets.
    pub(super) fn flush(self) {
        for (bucket, children) in self.children.iter().enumerate() {
            self.buckets.add(bucket, children);
        }
        for (part, packed) in self.packed.iter().enumerate() {
            self.roots.add(part, packed);
        }
    }
}

impl Sink for WriteBuffer<'_> {
    fn child(&mut self, index: u128) {
        let bucket = bucket_of(index);
        let children = &mut self.children[bucket];
        children.push(index);
        if children.len() == BUFFERED {
            self.buckets.add(bucket, children);
            children.clear();
        }
    }

    fn root(&mut self, class: Class, root: Packed) {
        let part = self.roots.part_of(class.number(), root);
        let packed = &mut self.packed[part];
        packed.push(root);
        if packed.len() == BUFFERED {
            self.roots.add(part, packed);
            packed.clear();
        }
    }
}
