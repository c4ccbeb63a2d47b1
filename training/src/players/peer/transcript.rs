//! The last lines between us and a peer.
//!
//! Reads the clock: when a line was seen.

use std::collections::VecDeque;
use std::time::Instant;

use super::lines::shown;

/// Longest line kept of what the peer prints, in characters.
const HEARD_LENGTH: usize = 2000;
/// The same for what we send; a `position` line with a long game must fit.
const SENT_LENGTH: usize = 16_000;

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// We, to the peer's standard input.
    Sent,
    /// The peer, to its standard output.
    Received,
    /// The peer, to its standard error.
    Error,
}

#[derive(Debug)]
struct TranscriptLine {
    number: u64,
    milliseconds: u128,
    side: Side,
    text: String,
}

/// Each side has a ring of its own: a flood on one must not wash away the others.
#[derive(Debug)]
pub(super) struct Transcript {
    start: Instant,
    next: u64,
    rings: [VecDeque<TranscriptLine>; 3],
}

impl Side {
    fn capacity(self) -> usize {
        match self {
            Self::Received => 300,
            Self::Sent | Self::Error => 100,
        }
    }

    fn mark(self) -> char {
        match self {
            Self::Sent => '>',
            Self::Received => '<',
            Self::Error => '!',
        }
    }

    /// A line of this side as the transcript keeps it.
    pub(super) fn shown(self, text: &str) -> String {
        shown(text, if self == Self::Sent { SENT_LENGTH } else { HEARD_LENGTH })
    }
}

impl Transcript {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), next: 0, rings: Default::default() }
    }

    /// `text` comes from [`Side::shown`].
    pub(super) fn push(&mut self, side: Side, at: Instant, text: String) {
        let milliseconds = at.saturating_duration_since(self.start).as_millis();
        let ring = &mut self.rings[side as usize];
        if ring.len() == side.capacity() {
            ring.pop_front();
        }
        ring.push_back(TranscriptLine { number: self.next, milliseconds, side, text });
        self.next += 1;
    }

    /// All sides in the order they came: milliseconds since the start, side, text.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut entries: Vec<&TranscriptLine> = self.rings.iter().flatten().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries
            .iter()
            .map(|entry| format!("{:>8} {} {}", entry.milliseconds, entry.side.mark(), entry.text))
            .collect()
    }

    /// What a user should see of a dead peer: its last errors, or else its last line.
    pub(super) fn last_words(&self) -> String {
        let last = |side: Side, count: usize| {
            let ring = &self.rings[side as usize];
            let tail = ring.iter().skip(ring.len().saturating_sub(count));
            tail.map(|entry| shown(&entry.text, 200)).collect::<Vec<_>>().join(" | ")
        };
        let errors = last(Side::Error, 3);
        if errors.is_empty() { last(Side::Received, 1) } else { errors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_tail_of_each_side() {
        let mut transcript = Transcript::new();
        transcript.push(Side::Sent, Instant::now(), "go".to_owned());
        for number in 0..100_000 {
            transcript.push(Side::Received, Instant::now(), format!("line {number}"));
        }
        let lines = transcript.lines();
        assert_eq!(lines.len(), 301);
        assert!(lines[0].ends_with(" > go"));
        assert!(lines[300].ends_with(" < line 99999"));
    }

    #[test]
    fn last_words_prefer_the_errors() {
        let mut transcript = Transcript::new();
        assert_eq!(transcript.last_words(), "");
        transcript.push(Side::Received, Instant::now(), "hello".to_owned());
        assert_eq!(transcript.last_words(), "hello");
        for text in ["one", "two", "three", "four"] {
            transcript.push(Side::Error, Instant::now(), text.to_owned());
        }
        assert_eq!(transcript.last_words(), "two | three | four");
    }
}
