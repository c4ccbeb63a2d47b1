//! The paths within its crate that a file names.

use crate::sources::Source;

/// A crate and the modules, and what is in them, that lead to a place.
pub(crate) type Place = Vec<String>;

/// Where a file is; none outside of `src`.
pub(crate) fn place(source: &Source) -> Option<Place> {
    let (room, modules) = source.module()?;
    Some(std::iter::once(room).chain(modules).map(str::to_owned).collect())
}

/// The paths that begin with `crate`, `super` or `self`, those of lists in braces one by one; and
/// the line where each begins, from 0.
pub(crate) fn paths(source: &Source) -> Vec<(usize, Place)> {
    let Some(own) = place(source) else { return Vec::new() };
    let text = source.code.join("\n");
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && !"_:$".contains(c)) {
                let (line, mut here) = (text[..at].matches('\n').count(), Vec::new());
                follow(&text[at..], own.clone(), &own, &mut here);
                found.extend(here.into_iter().map(|path| (line, path)));
            }
        }
    }
    found
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
