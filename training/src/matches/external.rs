//! UCI engines as players.

use std::fmt::Write as _;
use std::time::Duration;

use super::ending::Termination;
use super::peer::{Answer, Fault, FaultKind, Peer, PeerConfig};
use super::player::{Mishap, Player, Reply, Turn};
use super::side::Side;

/// The option that turns Chess960 on.
const CHESS960: &str = "UCI_Chess960";

/// A UCI engine in a process of its own.
#[derive(Debug)]
pub struct ExternalPlayer {
    config: PeerConfig,
    restart: bool,
    /// `None` before the first game, after a failure and, with `restart`, between games.
    peer: Option<Peer>,
    /// What the last peer said before it failed.
    last_words: Vec<String>,
}

impl ExternalPlayer {
    /// A player for a side with a program. `patience` bounds every wait that is not the clock's.
    pub fn new(side: &Side, patience: Duration) -> Self {
        let config = PeerConfig {
            name: side.name.clone(),
            command: side.cmd.clone().unwrap_or_default(),
            args: side.args.clone(),
            directory: side.dir.clone(),
            options: side
                .option
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            start_timeout: patience,
        };
        Self { config, restart: side.restart, peer: None, last_words: Vec::new() }
    }

    /// Starts the engine once and ends it again, so that a wrong path or option is told before the
    /// first game.
    ///
    /// # Errors
    /// The engine's fault.
    pub fn try_out(&self) -> Result<String, Fault> {
        let peer = Peer::start(&self.config)?;
        Ok(peer.name().to_owned())
    }

    /// Ends a peer that failed, keeping what it said.
    fn bury(&mut self, fault: &Fault) -> Mishap {
        if let Some(peer) = self.peer.take() {
            self.last_words = peer.transcript();
        }
        let how = match fault.kind() {
            FaultKind::Hang => Termination::Hang,
            FaultKind::BadUci => Termination::BadUci,
            FaultKind::Crash | FaultKind::Setup => Termination::Crash,
        };
        Mishap::Failed { how, what: fault.to_string() }
    }

    fn begin(&mut self, chess960: bool) -> Result<(), Fault> {
        if self.restart {
            self.peer = None;
        }
        let peer = match self.peer.take() {
            Some(peer) => peer,
            None => Peer::start(&self.config)?,
        };
        // It stays where its transcript can be read, whatever happens next.
        let peer = self.peer.insert(peer);
        if peer.offers(CHESS960) {
            peer.set_option(CHESS960, if chess960 { "true" } else { "false" })?;
        }
        peer.new_game()
    }

    fn ask(&mut self, turn: &Turn<'_>) -> Result<Answer, Fault> {
        let peer = self.peer.as_mut().ok_or_else(|| Fault::NotStarted {
            command: self.config.command.display().to_string(),
            why: "it failed before".to_owned(),
        })?;
        peer.go(&turn.state.uci_position(), &go_line(turn), Some(turn.allowance))
    }
}

/// The `go` line for a turn.
fn go_line(turn: &Turn<'_>) -> String {
    let mut line = "go".to_owned();
    let mut add = |word: &str, number: u128| {
        // Writing to a String cannot fail.
        let _ = write!(line, " {word} {number}");
    };
    let words = [("wtime", "winc"), ("btime", "binc")];
    for (clock, (time, increment)) in turn.clocks.iter().zip(words) {
        if let Some(clock) = clock {
            add(time, clock.remaining.as_millis());
            add(increment, clock.increment().as_millis());
        }
    }
    if let Some(moves) = turn.clock().and_then(|clock| clock.moves_to_go()) {
        add("movestogo", u128::from(moves));
    }
    if let Some(time) = turn.limit.move_time() {
        add("movetime", time.as_millis().max(1));
    }
    if let Some(depth) = turn.limit.depth {
        add("depth", u128::from(depth));
    }
    if let Some(nodes) = turn.limit.nodes {
        add("nodes", u128::from(nodes));
    }
    line
}

impl Player for ExternalPlayer {
    fn new_game(&mut self, chess960: bool) -> Result<(), Mishap> {
        self.last_words.clear();
        self.begin(chess960).map_err(|fault| self.bury(&fault))
    }

    fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap> {
        let answer = self.ask(turn).map_err(|fault| self.bury(&fault))?;
        let best = answer.best.parse().map_err(|_| {
            let why = "its move is none".to_owned();
            self.bury(&Fault::BadUci { line: format!("bestmove {}", answer.best), why })
        })?;
        Ok(Reply {
            best,
            score: answer.info.score,
            depth: answer.info.depth,
            nodes: answer.info.nodes,
            pv: answer.info.pv,
            elapsed: answer.elapsed,
        })
    }

    fn transcript(&self) -> Vec<String> {
        self.peer.as_ref().map_or_else(|| self.last_words.clone(), Peer::transcript)
    }
}
