//! An external UCI engine, the peer, driven strictly.
//!
//! It may crash, hang, flood, lie or print rubbish: each call returns in bounded time, with an
//! answer or a [`Fault`]. Any fault of its own ends the peer, so that nothing it says late can be
//! taken for an answer to a later question. The protocol is that of
//! <https://www.shredderchess.com/download/div/uci.zip> (April 2006).
//!
//! Reads the clock: every wait has an end.

mod fault;
mod inbox;
mod info;
mod lines;
mod offer;
mod pipes;
mod process;
mod speech;
mod transcript;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tesla_engine::search::StopToken;

pub use fault::{Fault, FaultKind};
pub use info::{Bound, Info};

use inbox::BadLine;
use lines::shown;
use offer::Offer;
use pipes::Starts;
use process::{Process, Trouble};

/// Before a search the peer has at least this long for `readyok`, however short its clock is.
const SHORTEST_READY_TIME: Duration = Duration::from_secs(5);

/// How to run a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// What we call it; [`Peer::name`] when it does not name itself.
    pub name: String,
    /// The program: a bare name is looked up in `PATH`, a relative path starts at our own folder.
    pub command: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
    /// Folder to run it in; `None` is our own.
    pub directory: Option<PathBuf>,
    /// UCI options, set in this order; a button's value is empty.
    pub options: Vec<(String, String)>,
    /// Longest wait for `uciok`, for a `readyok` and for a command to be taken.
    pub start_timeout: Duration,
}

impl PeerConfig {
    /// Runs `command` without arguments or options, with 60 s to start.
    pub fn new(name: impl Into<String>, command: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            args: Vec::new(),
            directory: None,
            options: Vec::new(),
            start_timeout: Duration::from_mins(1),
        }
    }
}

/// A peer's answer to `go`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAnswer {
    /// The move: UCI notation, but perhaps not legal.
    pub best: String,
    /// The reply it expects, in UCI notation, perhaps not legal.
    pub ponder: Option<String>,
    /// What it said of its search.
    pub info: Info,
    /// From the `go` line flushed until our reader saw the `bestmove` line.
    pub elapsed: Duration,
    /// Breaches of the protocol since the last answer that were tolerated.
    pub remarks: Vec<String>,
}

/// A running peer. Dropping it ends the process, and those that it started.
#[derive(Debug)]
pub struct Peer {
    process: Process,
    name: String,
    offers: Vec<Offer>,
    limit: Duration,
    /// It was ended for this.
    fault: Option<Fault>,
}

impl Peer {
    /// Runs the peer and brings it to `readyok` with all options set. `stop` ends this and every
    /// later wait, and the peer with it.
    ///
    /// # Errors
    /// When it cannot be run, does not speak UCI, or does not offer an option or its value. Then no
    /// process is left.
    pub fn start(config: &PeerConfig, stop: &StopToken) -> Result<Self, Fault> {
        let process = Process::spawn(config, stop.clone()).map_err(|why| {
            let command = config.command.display().to_string();
            Fault::NotStarted { command, why }
        })?;
        let limit = config.start_timeout;
        let name = config.name.clone();
        let mut peer = Self { process, name, offers: Vec::new(), limit, fault: None };
        peer.hello()?;
        // All are checked before the first is set: a user may have several to mend.
        let lines: Result<Vec<String>, Fault> =
            config.options.iter().map(|(name, value)| peer.option_line(name, value)).collect();
        for line in lines? {
            peer.tell(line, "its options were set")?;
        }
        peer.ready(limit, "it got ready")?;
        Ok(peer)
    }

    /// The name it gave itself, without control characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it offers this option, such as `UCI_Chess960`; case does not matter.
    pub fn offers(&self, option: &str) -> bool {
        self.offers.iter().any(|offer| offer.is(option))
    }

    /// Sets an option; it holds from the next search on.
    ///
    /// # Errors
    /// [`Fault::Option`] when it is not offered or the value is not allowed, and the peer goes on;
    /// or the peer's fault.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.alive()?;
        let line = self.option_line(name, value)?;
        self.tell(line, "an option was set")
    }

    /// Tells it that the next search is of another game, and waits until it is ready.
    ///
    /// # Errors
    /// The peer's fault.
    pub fn new_game(&mut self) -> Result<(), Fault> {
        self.alive()?;
        self.tell("ucinewgame".to_owned(), "a game began")?;
        self.ready(self.limit, "a game began")
    }

    /// Lets it search: `position` and `go` are the two lines, without newline.
    ///
    /// First it must say `readyok` (outside the measured time): what it still had to say of the
    /// last search is then behind us. With `allowance` it hangs when no `bestmove` came within it,
    /// counted like [`SearchAnswer::elapsed`]; without, a peer that thinks for ever is waited for.
    ///
    /// # Errors
    /// [`Fault::Command`] when a line is none, and the peer goes on; or the peer's fault.
    pub fn go(
        &mut self,
        position: &str,
        go: &str,
        allowance: Option<Duration>,
    ) -> Result<SearchAnswer, Fault> {
        const DURING: &str = "it searched";
        self.alive()?;
        one_line(position)?;
        one_line(go)?;
        // A search of 1 s must not take 60 to be found hanging.
        let limit = allowance.map_or(self.limit, |time| time.max(SHORTEST_READY_TIME));
        let limit = limit.min(self.limit);
        self.ready(limit, "it got ready to search")?;
        let lines = format!("{position}\n{go}\n");
        let flushed = match self.process.send(lines, Starts::Search, limit) {
            Ok(flushed) => flushed,
            Err(trouble) => {
                let hung = Fault::Hung { after: limit, during: "it was sent a position" };
                return Err(self.fail(trouble, DURING, |_| hung));
            }
        };
        let deadline = allowance.and_then(|allowance| flushed.checked_add(allowance));
        let in_time = |at| deadline.is_none_or(|deadline| at <= deadline);
        let reply = match self.process.wait(deadline, inbox::Inbox::take_reply) {
            // We may have been late to look, in both directions.
            Ok(reply) if in_time(reply.at) => reply,
            other => {
                let trouble = other.err().unwrap_or(Trouble::TimedOut);
                let after = allowance.unwrap_or_default();
                return Err(self.fail(trouble, DURING, |_| Fault::Hung { after, during: DURING }));
            }
        };
        Ok(SearchAnswer {
            best: reply.best.best,
            ponder: reply.best.ponder,
            info: reply.gathered.finish(),
            elapsed: reply.at.saturating_duration_since(flushed),
            remarks: self.process.inbox().take_remarks(),
        })
    }

    /// The last lines both ways, oldest first: milliseconds since the start, then `>` sent, `<`
    /// received or `!` from its standard error, then the line. At most 500 lines, without control
    /// characters; long ones are shortened.
    pub fn transcript(&self) -> Vec<String> {
        self.process.inbox().transcript.lines()
    }

    /// `uci` to `uciok`.
    fn hello(&mut self) -> Result<(), Fault> {
        let after = self.limit;
        let sent = self.process.send("uci\n".to_owned(), Starts::Nothing, after);
        let deadline = Instant::now().checked_add(after);
        let heard = sent.and_then(|_| {
            self.process.wait(deadline, |inbox| {
                inbox.uci_ok().then(|| (inbox.name.clone(), std::mem::take(&mut inbox.offers)))
            })
        });
        let (name, offers) = heard.map_err(|trouble| {
            self.fail(trouble, "it was started", |last| Fault::NoUciOk { after, last })
        })?;
        self.name = name.unwrap_or_else(|| self.name.clone());
        self.offers = offers;
        Ok(())
    }

    /// `isready` to `readyok`.
    fn ready(&mut self, after: Duration, during: &'static str) -> Result<(), Fault> {
        let sent = self.process.send("isready\n".to_owned(), Starts::Ready, after);
        let deadline = Instant::now().checked_add(after);
        sent.and_then(|_| self.process.wait(deadline, |inbox| inbox.ready_ok.then_some(())))
            .map_err(|trouble| self.fail(trouble, during, |last| Fault::NoReadyOk { after, last }))
    }

    /// Sends a line that has no answer.
    fn tell(&mut self, line: String, during: &'static str) -> Result<(), Fault> {
        let after = self.limit;
        match self.process.send(line + "\n", Starts::Nothing, after) {
            Ok(_) => Ok(()),
            Err(trouble) => Err(self.fail(trouble, during, |_| Fault::Hung { after, during })),
        }
    }

    fn option_line(&self, name: &str, value: &str) -> Result<String, Fault> {
        let fault = |why| Fault::Option { option: shown(name, 100), why };
        let Some(offer) = self.offers.iter().find(|offer| offer.is(name)) else {
            let names: Vec<&str> = self.offers.iter().map(|offer| &offer.name[..]).collect();
            let names = shown(&names.join(", "), 600);
            return Err(fault(format!("the engine does not offer it, only: {names}")));
        };
        offer.line(value).map_err(fault)
    }

    fn alive(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Ends the peer for its fault. `timed_out` gets its last words.
    fn fail(
        &mut self,
        trouble: Trouble,
        during: &'static str,
        timed_out: impl FnOnce(String) -> Fault,
    ) -> Fault {
        let fault = match trouble {
            Trouble::Bad(BadLine { line, why }) => Fault::BadUci { line, why },
            Trouble::Interrupted => Fault::Interrupted,
            Trouble::TimedOut => timed_out(self.process.inbox().transcript.last_words()),
            Trouble::Ended => {
                let how = self.process.how_it_ended();
                let last = self.process.inbox().transcript.last_words();
                Fault::Exited { how, during, last }
            }
        };
        self.process.end(false);
        self.fault = Some(fault.clone());
        fault
    }
}

fn one_line(line: &str) -> Result<(), Fault> {
    let why = if line.trim().is_empty() {
        "it is empty"
    } else if line.chars().any(char::is_control) {
        "it has control characters; write it on one line"
    } else {
        return Ok(());
    };
    Err(Fault::Command { line: shown(line, 200), why })
}
