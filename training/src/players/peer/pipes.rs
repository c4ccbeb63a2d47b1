//! What the three threads of a peer do. Each ends when its pipe does.
//!
//! Reads the clock: when a line went out.

use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::inbox::{Heard, Shared};
use super::lines::{Piece, Splitter};
use super::speech::Speech;
use super::transcript::Side;

/// The longest line a peer may print, bytes.
const LONGEST_LINE: usize = 64 * 1024;
/// What is kept of a line on stderr, bytes.
const LONGEST_ERROR: usize = 4 * 1024;
const CHUNK: usize = 32 * 1024;

/// What a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starts {
    Nothing,
    /// It asks for a new `readyok`.
    Ready,
    /// It asks for a new `bestmove`.
    Search,
}

/// Lines for the writer thread.
#[derive(Debug)]
pub(super) struct WriteJob {
    pub(super) number: u64,
    /// With a newline after each line.
    pub(super) text: String,
    pub(super) starts: Starts,
}

/// Writes each job; drops `input` when no more can come.
pub(super) fn write(mut input: impl Write, jobs: &Receiver<WriteJob>, shared: &Shared) {
    for WriteJob { number, text, starts } in jobs {
        let mut inbox = shared.lock();
        let now = Instant::now();
        for line in text.lines() {
            inbox.transcript.push(Side::Sent, now, Side::Sent.shown(line));
        }
        // Here and not when the job was made: an answer cannot be older than its question.
        match starts {
            Starts::Nothing => {}
            Starts::Ready => inbox.ready_ok = false,
            Starts::Search => inbox.begin_search(),
        }
        drop(inbox);
        let done = input.write_all(text.as_bytes()).and_then(|()| input.flush());
        let at = Instant::now();
        let mut inbox = shared.lock();
        match done {
            Ok(()) => inbox.written = Some((number, at)),
            Err(_) => inbox.input_closed = true,
        }
        let closed = inbox.input_closed;
        drop(inbox);
        shared.tell();
        if closed {
            return;
        }
    }
}

/// Reads what the peer prints until its end or the first bad line.
pub(super) fn read(output: impl Read, shared: &Shared) {
    let mut splitter = Splitter::new(LONGEST_LINE);
    let mut heard = Vec::new();
    each_chunk(output, |at, chunk| {
        // Parsed before the lock is taken: a flood must not keep the caller from it.
        splitter.feed(chunk, |piece| heard.extend(understand(piece)));
        let mut inbox = shared.lock();
        let mut news = false;
        for line in heard.drain(..) {
            news |= inbox.hear(at, line);
        }
        let bad = inbox.bad.is_some();
        drop(inbox);
        if news {
            shared.tell();
        }
        !bad
    });
    let mut inbox = shared.lock();
    if !splitter.unfinished().is_empty() {
        let text = String::from_utf8_lossy(splitter.unfinished());
        inbox.transcript.push(Side::Received, Instant::now(), Side::Received.shown(&text));
    }
    inbox.output_closed = true;
    drop(inbox);
    shared.tell();
}

/// Reads the peer's standard error into the transcript.
pub(super) fn drain(errors: impl Read, shared: &Shared) {
    let mut splitter = Splitter::new(LONGEST_ERROR);
    let keep = |at: Instant, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if !text.trim().is_empty() {
            let text = Side::Error.shown(&text);
            shared.lock().transcript.push(Side::Error, at, text);
        }
    };
    each_chunk(errors, |at, chunk| {
        splitter.feed(chunk, |piece| match piece {
            Piece::Line(bytes) | Piece::TooLong(bytes) => keep(at, bytes),
        });
        true
    });
    keep(Instant::now(), splitter.unfinished());
}

/// Hands on each chunk with the time it came, until the end or until `go_on` is false.
fn each_chunk(mut pipe: impl Read, mut go_on: impl FnMut(Instant, &[u8]) -> bool) {
    let mut chunk = vec![0; CHUNK];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) => {
                let at = Instant::now();
                if !go_on(at, &chunk[..length]) {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn understand(piece: Piece<'_>) -> Option<Heard> {
    let (bytes, too_long) = match piece {
        Piece::Line(bytes) => (bytes, false),
        Piece::TooLong(head) => (head, true),
    };
    let line = String::from_utf8_lossy(bytes);
    if line.trim().is_empty() && !too_long {
        return None;
    }
    let speech = if too_long {
        Err("a line is longer than 64 KiB")
    } else {
        // Names and paths in other encodings are common; a move cannot be misread for it.
        Ok(Speech::parse(&line))
    };
    Some(Heard { text: Side::Received.shown(line.trim()), bytes: bytes.len(), speech })
}
