//! Circles of files: files of a crate that use each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::{Place, paths, place};
use crate::sources::Source;

/// Each circle, a line; a module and those inside it are no circle.
pub(crate) fn circles(sources: &[Source]) -> Vec<String> {
    let placed: BTreeMap<Place, &Source> = sources
        .iter()
        .filter(|source| !source.code.is_empty())
        .filter_map(|source| Some((place(source)?, source)))
        .collect();
    let edges: BTreeMap<&Place, BTreeSet<&Place>> =
        placed.iter().map(|(own, source)| (own, used(own, source, &placed))).collect();
    let reached: BTreeMap<&Place, BTreeSet<&Place>> =
        edges.keys().map(|&place| (place, reached(place, &edges))).collect();
    let mut told = BTreeSet::new();
    for (own, there) in &reached {
        let circle: Vec<&str> = there
            .iter()
            .filter(|other| reached[*other].contains(own))
            .map(|other| placed[*other].path.as_str())
            .collect();
        if circle.len() > 1 {
            told.insert(format!("files that use each other: {}", circle.join(", ")));
        }
    }
    told.into_iter().collect()
}

/// The files that this one uses, but for those around it and inside it.
fn used<'a>(
    own: &Place,
    source: &Source,
    placed: &'a BTreeMap<Place, &Source>,
) -> BTreeSet<&'a Place> {
    let file = |path: Place| {
        let lengths = (1..=path.len()).rev();
        lengths.filter_map(|length| placed.get_key_value(&path[..length])).map(|(at, _)| at).next()
    };
    let is_apart = |other: &&Place| !other.starts_with(own) && !own.starts_with(other);
    let paths = paths(source).into_iter().map(|(_, path)| path);
    paths.filter_map(file).filter(is_apart).collect()
}

/// All that can be reached from a place.
fn reached<'a>(
    from: &'a Place,
    edges: &BTreeMap<&'a Place, BTreeSet<&'a Place>>,
) -> BTreeSet<&'a Place> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(place) = open.pop() {
        for &next in edges.get(place).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}
