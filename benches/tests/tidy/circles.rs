//! Circles of files: files of a crate that use each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Source;

/// The crate and the modules that lead to a file.
type Place = Vec<String>;

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

fn place(source: &Source) -> Option<Place> {
    let (room, modules) = source.module()?;
    Some(std::iter::once(room).chain(modules).map(str::to_owned).collect())
}

/// The files that this one uses, but for those around it and inside it.
fn used<'a>(
    own: &Place,
    source: &Source,
    placed: &'a BTreeMap<Place, &Source>,
) -> BTreeSet<&'a Place> {
    let text = source.code.join("\n");
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && !"_:$".contains(c)) {
                follow(&text[at..], own.clone(), own, &mut paths);
            }
        }
    }
    let file = |path: Place| {
        let lengths = (1..=path.len()).rev();
        lengths.filter_map(|length| placed.get_key_value(&path[..length])).map(|(at, _)| at).next()
    };
    let is_apart = |other: &&Place| !other.starts_with(own) && !own.starts_with(other);
    paths.into_iter().filter_map(file).filter(is_apart).collect()
}

/// Follows a path from `here`, with its lists in braces; answers how much of the text it took.
fn follow(text: &str, mut here: Place, own: &Place, found: &mut Vec<Place>) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if rest.starts_with('{') {
            return at + follow_list(rest, &here, own, found);
        }
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        match word.as_str() {
            "crate" => here = own[..1].to_vec(),
            "super" => drop(here.pop()),
            "self" | "" => {}
            _ => here.push(word.clone()),
        }
        at += word.len();
        if !text[at..].starts_with("::") {
            found.push(here);
            return at;
        }
        at += 2;
    }
}

fn follow_list(text: &str, here: &Place, own: &Place, found: &mut Vec<Place>) -> usize {
    let mut at = 1;
    while let Some(letter) = text[at..].chars().next() {
        at += match letter {
            '}' => return at + 1,
            letter if letter.is_alphanumeric() || letter == '_' => {
                follow(&text[at..], here.clone(), own, found)
            }
            letter => letter.len_utf8(),
        };
    }
    at
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
