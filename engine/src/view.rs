//! `tesla view`: a page in the browser that shows a search at work, served by the program itself.
//!
//! In reading order:
//!
//! * [`lockstep`] — searches side by side at equal evaluations on one device, and slow motion;
//! * [`messages`] — what the page asks, what it is told, and errors that name the field;
//! * [`stop`] — which of two things a request ends;
//! * [`events`] — what those who listen are told, and what waits for who comes later;
//! * [`history`] — what was seen of a search, thinned; recordings on disk;
//! * [`hub`] — what is known of the board and its searches, and who is told of it;
//! * [`runner`] — one search on a thread of its own; [`review`] — a game, position by position;
//!   `runners` — all of them on one device;
//! * [`controller`] — takes the page's orders, and sends the searches off;
//! * [`assets`] — the page's files, inside the program;
//! * [`guard`] — who is answered at all;
//! * [`routes`], [`server`] — addresses; connections.

// What comes from the network is untrusted, so nothing here may panic.
#![deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod assets;
pub mod controller;
pub mod events;
pub mod guard;
pub mod history;
pub mod hub;
pub mod lockstep;
pub mod messages;
pub mod review;
pub mod routes;
pub mod runner;
mod runners;
pub mod server;
pub mod stop;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tesla_nn::files;

use self::controller::Controller;
use self::guard::Guard;
use self::history::Recording;
use self::messages::{PositionOrder, ReviewOrder};
use crate::chess::pgn::decoded;
use crate::commands::{check_output, spare};
use crate::console::output::Output;
use crate::console::terminal::{complain, interruptible};
use crate::setup::settings::Settings;

/// Largest file with a game, bytes.
const LARGEST_PGN: u64 = 500_000;

/// `tesla view`.
#[derive(Args, Debug, Default)]
pub struct ViewArgs {
    /// The position to look at first; the start position if not given
    #[arg(long, conflicts_with = "pgn")]
    fen: Option<String>,
    /// A game to review, in PGN
    #[arg(long)]
    pgn: Option<PathBuf>,
    /// The port to serve the page at; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Only prints the page's address
    #[arg(long)]
    no_browser: bool,
    /// Writes what was seen of the last search to this file, at the end
    #[arg(long)]
    record: Option<PathBuf>,
    /// Shows such a file; nothing is searched
    #[arg(long, conflicts_with_all = ["fen", "pgn", "record"])]
    replay: Option<PathBuf>,
}

/// Serves the page until Ctrl-C.
///
/// # Errors
/// When a position or file cannot be read, the port is taken or signals cannot be caught.
pub fn run(arguments: &ViewArgs, output: &Output) -> Result<ExitCode, String> {
    if let Some(record) = arguments.record.as_deref() {
        check_output(record)?;
        arguments.pgn.as_deref().map(|pgn| spare(pgn, "game", record)).transpose()?;
    }
    let replay = arguments.replay.as_deref().map(Recording::read).transpose()?;
    let order = PositionOrder { fen: arguments.fen.clone(), moves: Vec::new() };
    let game = order.game().map_err(|refusal| refusal.error)?;
    let pgn = arguments.pgn.as_deref().map(read_pgn).transpose()?;
    let stop = interruptible()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(|error| {
        format!("the page cannot be served at port {}: {error}", arguments.port)
    })?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let guard = Arc::new(Guard::new(address.port()));
    let url = format!("http://{address}/{}/", guard.token());
    let controller = Controller::start(&Settings::default(), game, pgn, replay);
    output.print(&format!("Tesla is at {url}\nCtrl-C ends it."));
    if !arguments.no_browser
        && let Err(error) = open::that_detached(&url)
    {
        complain(&format!("no browser could be opened ({error}); open the address above yourself"));
    }
    let served = server::serve(listener, &routes::router(Arc::clone(&controller), guard), &stop);
    controller.end();
    if let Some(path) = &arguments.record {
        output.print(&kept(&controller.hub().recording(), path)?);
    }
    served.map(|()| ExitCode::SUCCESS)
}

/// Writes the recording, if anything was searched, and says what became of it.
fn kept(recording: &Recording, path: &Path) -> Result<String, String> {
    let name = path.display();
    if recording.snapshots.is_empty() {
        return Ok(format!("Nothing was searched, so nothing is recorded: {name} is not written"));
    }
    recording.write(path)?;
    Ok(format!("The recording is in {name}"))
}

/// Reads a game, so far as to know that it is one.
fn read_pgn(path: &Path) -> Result<String, String> {
    let bytes = files::read_bounded(path, LARGEST_PGN).map_err(|error| error.to_string())?;
    let order = ReviewOrder { pgn: decoded(&bytes), nodes: 1 };
    order.game().map_err(|refusal| format!("{}: {}", path.display(), refusal.error))?;
    Ok(order.pgn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::snapshot::Snapshot;

    #[test]
    fn a_recording_of_nothing_replaces_none() {
        let name = format!("tesla-recording-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        let good = Recording { snapshots: vec![Snapshot::default()], ..Recording::default() };
        assert!(kept(&good, &path).unwrap().contains("is in"));
        let before = std::fs::read(&path).unwrap();
        assert!(kept(&Recording::default(), &path).unwrap().contains("Nothing was searched"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::remove_file(&path).unwrap();
    }
}
