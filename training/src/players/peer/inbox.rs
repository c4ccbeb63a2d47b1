//! What the threads of a peer have seen, bounded whatever the peer prints.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::info::Gathered;
use super::lines::shown;
use super::offer::Offer;
use super::speech::{BestMove, Speech};
use super::transcript::{Side, Transcript};

/// Remarks kept for one answer.
const MOST_REMARKS: usize = 16;
/// Option lines of one engine, bytes.
const MOST_OPTION_BYTES: usize = 1 << 20;

/// An inbox that threads share.
#[derive(Debug)]
pub(super) struct Shared {
    inbox: Mutex<Inbox>,
    news: Condvar,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { inbox: Mutex::new(Inbox::new()), news: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits in [`Shared::wait`].
    pub(super) fn tell(&self) {
        self.news.notify_all();
    }

    /// Waits for news, at most for `limit`.
    pub(super) fn wait<'a>(
        &self,
        inbox: MutexGuard<'a, Inbox>,
        limit: Duration,
    ) -> MutexGuard<'a, Inbox> {
        self.news.wait_timeout(inbox, limit).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A line and why it must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    pub(super) line: String,
    pub(super) why: String,
}

/// A line as the reader thread hands it over.
#[derive(Debug)]
pub(super) struct Heard {
    /// For the transcript.
    pub(super) text: String,
    pub(super) bytes: usize,
    /// Or why the line is no text.
    pub(super) speech: Result<Speech, &'static str>,
}

/// A `bestmove` that answers our `go`.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) at: Instant,
    pub(super) best: BestMove,
    pub(super) gathered: Gathered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No `uciok` yet.
    Starting,
    /// No `go` was sent yet.
    Idle,
    Searching,
    Answered,
}

/// What the peer has said, and how far we came with writing to it.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) transcript: Transcript,
    pub(super) name: Option<String>,
    pub(super) offers: Vec<Offer>,
    option_bytes: usize,
    pub(super) ready_ok: bool,
    phase: Phase,
    gathered: Gathered,
    reply: Option<Reply>,
    remarks: Vec<String>,
    more_remarks: usize,
    /// The first line that must not be; nothing after it is heard.
    pub(super) bad: Option<BadLine>,
    /// No more lines will come.
    pub(super) output_closed: bool,
    /// The peer takes no more input.
    pub(super) input_closed: bool,
    /// Number of the last command that was written and flushed, and when.
    pub(super) written: Option<(u64, Instant)>,
}

impl Inbox {
    fn new() -> Self {
        Self {
            transcript: Transcript::new(),
            name: None,
            offers: Vec::new(),
            option_bytes: 0,
            ready_ok: false,
            phase: Phase::Starting,
            gathered: Gathered::default(),
            reply: None,
            remarks: Vec::new(),
            more_remarks: 0,
            bad: None,
            output_closed: false,
            input_closed: false,
            written: None,
        }
    }

    /// `uciok` came.
    pub(super) fn uci_ok(&self) -> bool {
        self.phase != Phase::Starting
    }

    /// A `go` is about to be written: the next `bestmove` answers it.
    pub(super) fn begin_search(&mut self) {
        self.phase = Phase::Searching;
        self.gathered = Gathered::default();
        self.reply = None;
    }

    /// The answer to the last `go`, once.
    pub(super) fn take_reply(&mut self) -> Option<Reply> {
        self.reply.take()
    }

    /// All remarks since the last call.
    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        let mut remarks = std::mem::take(&mut self.remarks);
        if self.more_remarks > 0 {
            remarks.push(format!("and {} more", self.more_remarks));
            self.more_remarks = 0;
        }
        remarks
    }

    /// Takes a line that came at `at`; whether somebody may wait for it.
    pub(super) fn hear(&mut self, at: Instant, heard: Heard) -> bool {
        if self.bad.is_some() {
            return false;
        }
        let Heard { text, bytes, speech } = heard;
        let news = match speech {
            Ok(speech) => self.understand(at, speech, &text, bytes),
            Err(why) => self.bad(&text, why.to_owned()),
        };
        self.transcript.push(Side::Received, at, text);
        news
    }

    fn understand(&mut self, at: Instant, speech: Speech, text: &str, bytes: usize) -> bool {
        match speech {
            Speech::Name(name) if !name.is_empty() && !self.uci_ok() => self.name = Some(name),
            Speech::Option(offer) if !self.uci_ok() => {
                self.option_bytes += bytes;
                if self.option_bytes > MOST_OPTION_BYTES {
                    return self.bad(text, "it offers options without end".to_owned());
                }
                self.offers.push(offer);
            }
            Speech::UciOk if !self.uci_ok() => {
                self.phase = Phase::Idle;
                return true;
            }
            Speech::ReadyOk => {
                self.ready_ok = true;
                return true;
            }
            Speech::BestMove(best) => return self.best_move(at, best, text),
            Speech::Info(line) if self.phase == Phase::Searching => {
                if let Some(sin) = &line.sin {
                    self.remark(&format!("an info line that does not parse, {sin}"), text);
                }
                self.gathered.add(line);
            }
            Speech::Info(line) if self.uci_ok() && !line.only_text => {
                self.remark("info without a search", text);
            }
            _ => {}
        }
        false
    }

    fn best_move(&mut self, at: Instant, best: Result<BestMove, String>, text: &str) -> bool {
        match (self.phase, best) {
            (Phase::Starting | Phase::Idle, _) => self.remark("bestmove without go", text),
            (Phase::Answered, _) => self.remark("bestmove after bestmove", text),
            (Phase::Searching, Err(why)) => return self.bad(text, why),
            (Phase::Searching, Ok(best)) => {
                if let Some(sin) = &best.sin {
                    self.remark(sin, text);
                }
                self.phase = Phase::Answered;
                let gathered = std::mem::take(&mut self.gathered);
                self.reply = Some(Reply { at, best, gathered });
                return true;
            }
        }
        false
    }

    fn bad(&mut self, text: &str, why: String) -> bool {
        self.bad = Some(BadLine { line: shown(text, 200), why });
        true
    }

    fn remark(&mut self, what: &str, text: &str) {
        if self.remarks.len() < MOST_REMARKS {
            self.remarks.push(format!("{what}: {}", shown(text, 120)));
        } else {
            self.more_remarks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(inbox: &mut Inbox, line: &str) -> bool {
        let speech = Ok(Speech::parse(line));
        let heard = Heard { text: line.to_owned(), bytes: line.len(), speech };
        inbox.hear(Instant::now(), heard)
    }

    fn searching() -> Inbox {
        let mut inbox = Inbox::new();
        assert!(hear(&mut inbox, "uciok"));
        inbox.begin_search();
        inbox
    }

    #[test]
    fn only_the_first_bestmove_after_go_counts() {
        let mut inbox = Inbox::new();
        assert!(!hear(&mut inbox, "bestmove a2a3"));
        inbox.begin_search();
        assert!(hear(&mut inbox, "bestmove e2e4"));
        assert!(!hear(&mut inbox, "bestmove d2d4"));
        assert!(!hear(&mut inbox, "info depth 3"));
        assert_eq!(inbox.take_reply().unwrap().best.best, "e2e4");
        assert!(inbox.take_reply().is_none());
        assert_eq!(
            inbox.take_remarks(),
            [
                "bestmove without go: bestmove a2a3",
                "bestmove after bestmove: bestmove d2d4",
                "info without a search: info depth 3",
            ]
        );
    }

    #[test]
    fn a_new_search_forgets_the_old_one() {
        let mut inbox = searching();
        hear(&mut inbox, "info depth 9 score cp 5");
        hear(&mut inbox, "bestmove e2e4");
        inbox.begin_search();
        assert!(inbox.take_reply().is_none());
        hear(&mut inbox, "bestmove d2d4");
        let reply = inbox.take_reply().unwrap();
        assert_eq!(reply.best.best, "d2d4");
        assert_eq!(reply.gathered.finish(), super::super::Info::default());
    }

    #[test]
    fn nothing_is_heard_after_a_bad_line() {
        let mut inbox = searching();
        assert!(hear(&mut inbox, "bestmove 0000"));
        assert!(!hear(&mut inbox, "bestmove e2e4"));
        assert!(inbox.take_reply().is_none());
        assert_eq!(inbox.bad.unwrap().line, "bestmove 0000");
    }

    #[test]
    fn floods_fill_no_memory() {
        let mut inbox = searching();
        for _ in 0..100_000 {
            hear(&mut inbox, "info depth x");
        }
        let remarks = inbox.take_remarks();
        assert_eq!(remarks.len(), MOST_REMARKS + 1);
        assert_eq!(remarks[MOST_REMARKS], "and 99984 more");
        let mut inbox = Inbox::new();
        let option = "option name Hash type spin min 1 max 9";
        let taken = (0..MOST_OPTION_BYTES).take_while(|_| !hear(&mut inbox, option)).count();
        assert_eq!(taken, MOST_OPTION_BYTES / option.len());
    }
}
