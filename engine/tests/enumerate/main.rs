//! The enumerator against closures made of shakmaty's moves and sets of whole positions.

#![expect(clippy::unwrap_used, reason = "tests")]

mod damage;
mod edges;
mod folder;
mod naive;
mod plies;
mod resume;
mod room;
mod seed;
mod small;
mod spaces;
mod truth;

use std::path::Path;
use std::time::Duration;

use shakmaty::Chess;
use tesla_engine::chess::notation::from_fen;
use tesla_engine::enumerate::{Ended, Found, Request, Resources, enumerate};
use tesla_engine::search::StopToken;

const MEBIBYTE: u64 = 1 << 20;

fn position(fen: &str) -> Chess {
    from_fen(fen, false).unwrap()
}

/// Much memory, two threads, no checkpoint but the last.
fn resources() -> Resources {
    Resources { memory: 1024 * MEBIBYTE, threads: 2, checkpoint: Duration::from_hours(1) }
}

/// Everything in memory, nothing kept.
fn request(start: &Chess) -> Request {
    let (edges, roots) = (false, false);
    Request { start: start.clone(), folder: None, edges, roots, resources: resources() }
}

/// The same in a folder with edges and roots.
fn kept(start: &Chess, folder: &Path) -> Request {
    Request { folder: Some(folder.to_owned()), edges: true, roots: true, ..request(start) }
}

fn complete(request: &Request) -> Found {
    match enumerate(request, &StopToken::default()).unwrap() {
        Ended::Complete(found) => found,
        Ended::Stopped => unreachable!("nobody stops it"),
    }
}

/// The same but for the time it took.
fn timeless(found: Found) -> Found {
    Found { times: tesla_engine::enumerate::Times::default(), ..found }
}
