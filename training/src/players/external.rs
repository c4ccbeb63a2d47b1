//! UCI engines as players.

use std::fmt::Write as _;
use std::time::Duration;

use tesla_engine::search::StopToken;

use super::peer::{Fault, FaultKind, Peer, PeerConfig, SearchAnswer};
use super::player::{Mishap, Player, Reply, Turn};
use super::side::Side;
use crate::game::ending::Termination;

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
    /// What the next reply is to tell of the time before it.
    remarks: Vec<String>,
    stop: StopToken,
}

impl ExternalPlayer {
    /// A player for a side with a program. `patience` bounds every wait that is not the clock's,
    /// `stop` ends every wait.
    pub fn new(side: &Side, patience: Duration, stop: StopToken) -> Self {
        let config = PeerConfig {
            name: side.name.clone(),
            command: side.cmd.clone().unwrap_or_default(),
            args: side.args.clone(),
            directory: side.dir.clone(),
            options: side.option.0.clone(),
            start_timeout: patience,
        };
        let (last_words, remarks) = (Vec::new(), Vec::new());
        Self { config, restart: side.restart, peer: None, last_words, remarks, stop }
    }

    /// Starts the engine once and ends it again, so that a wrong path or option is reported before
    /// the first game; returns the engine's name.
    ///
    /// # Errors
    /// The engine's fault, or that it does not offer Chess960 where that is to be played.
    pub fn try_out(&self, chess960: bool) -> Result<String, Fault> {
        let peer = Peer::start(&self.config, &self.stop)?;
        if chess960 && !peer.offers(CHESS960) {
            let why = "the engine does not offer it, so it cannot play Chess960".to_owned();
            return Err(Fault::Option { option: CHESS960.to_owned(), why });
        }
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
            FaultKind::Crash => Termination::Crash,
            FaultKind::Interrupted => return Mishap::Stopped,
            // No fault of the engine's: the program is gone, or the system can start no more.
            FaultKind::Setup => {
                let name = &self.config.name;
                return Mishap::Fatal(format!("side {name}: {fault}; start again to go on"));
            }
        };
        Mishap::Failed { how, what: fault.to_string() }
    }

    fn begin(&mut self, chess960: bool) -> Result<(), Fault> {
        if self.restart {
            self.peer = None;
        }
        let is_kept = self.peer.is_some();
        let mut begun = self.set_up(chess960);
        if let Err(fault) = &begun
            && is_kept
            && matches!(fault.kind(), FaultKind::Crash | FaultKind::Hang | FaultKind::BadUci)
        {
            // It failed between games, which is no reason to lose the next one unplayed.
            self.remarks.push(format!("the engine was started anew: {fault}"));
            self.peer = None;
            begun = self.set_up(chess960);
        }
        begun
    }

    /// Brings the peer, a new one where there is none, to the start of a game.
    fn set_up(&mut self, chess960: bool) -> Result<(), Fault> {
        let peer = match self.peer.take() {
            Some(peer) => peer,
            None => Peer::start(&self.config, &self.stop)?,
        };
        // It stays where its transcript can be read, whatever happens next.
        let peer = self.peer.insert(peer);
        if peer.offers(CHESS960) {
            peer.set_option(CHESS960, if chess960 { "true" } else { "false" })?;
        }
        peer.new_game()
    }

    fn ask(&mut self, turn: &Turn<'_>) -> Result<SearchAnswer, Fault> {
        let peer = self.peer.as_mut().ok_or_else(|| Fault::NotStarted {
            command: self.config.command.display().to_string(),
            why: "it failed before".to_owned(),
        })?;
        peer.go(&turn.state.uci_position(), &go_line(turn), Some(turn.allowance))
    }
}

/// The `go` line for a turn.
fn go_line(turn: &Turn<'_>) -> String {
    // An engine that is sent its opponent's clock assumes that it has a clock itself.
    let own = turn.clock();
    let mut line = "go".to_owned();
    let mut add = |word: &str, number: u128| {
        // Writing to a String cannot fail.
        let _ = write!(line, " {word} {number}");
    };
    let words = [("wtime", "winc"), ("btime", "binc")];
    for (clock, (time, increment)) in turn.clocks.iter().zip(words) {
        // An opponent without a clock is shown with ours: some engines want both.
        if let Some(clock) = own.map(|own| clock.unwrap_or(own)) {
            // Zero means no clock to many engines.
            add(time, clock.remaining.as_millis().max(1));
            add(increment, clock.increment().as_millis());
        }
    }
    if let Some(moves) = own.and_then(|clock| clock.moves_to_go()) {
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
    // Last, for many engines take all that follows for moves.
    if !turn.only.is_empty() {
        line.push_str(" searchmoves");
    }
    for only in turn.only {
        let _ = write!(line, " {only}");
    }
    line
}

impl Player for ExternalPlayer {
    fn new_game(&mut self, chess960: bool) -> Result<(), Mishap> {
        self.last_words.clear();
        self.remarks.clear();
        self.begin(chess960).map_err(|fault| self.bury(&fault))
    }

    fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap> {
        let answer = self.ask(turn).map_err(|fault| self.bury(&fault))?;
        let best = answer.best.parse().map_err(|_| {
            let why = "its move is none".to_owned();
            self.bury(&Fault::BadUci { line: format!("bestmove {}", answer.best), why })
        })?;
        let others = answer.info.others.iter();
        let others = others.filter_map(|(first, score)| Some((first.parse().ok()?, *score)));
        Ok(Reply {
            best,
            others: others.filter(|(first, _)| *first != best).collect(),
            score: answer.info.score,
            latest: answer.info.latest,
            depth: answer.info.depth,
            nodes: answer.info.nodes,
            pv: answer.info.pv,
            remarks: std::mem::take(&mut self.remarks).into_iter().chain(answer.remarks).collect(),
            elapsed: answer.elapsed,
        })
    }

    fn transcript(&self) -> Vec<String> {
        self.peer.as_ref().map_or_else(|| self.last_words.clone(), Peer::transcript)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::limit::{GameClock, Limit};
    use crate::game::state::GameState;

    fn line(limit: Limit, white: Option<&str>, black: Option<&str>) -> String {
        let state = GameState::from_position(shakmaty::Chess::default());
        let clock = |text: Option<&str>| Some(GameClock::new(text?.parse().unwrap()));
        let clocks = [clock(white), clock(black)];
        let allowance = Duration::ZERO;
        go_line(&Turn { state: &state, limit: &limit, clocks, allowance, only: &[] })
    }

    #[test]
    fn moves_to_choose_from_come_last() {
        let state = GameState::from_position(shakmaty::Chess::default());
        let limit = Limit { nodes: Some(5), ..Limit::default() };
        let only = ["e2e4", "g1f3"].map(|uci| uci.parse().unwrap());
        let clocks = [None; 2];
        let turn =
            Turn { state: &state, limit: &limit, clocks, allowance: Duration::ZERO, only: &only };
        assert_eq!(go_line(&turn), "go nodes 5 searchmoves e2e4 g1f3");
    }

    #[test]
    fn an_engine_is_told_of_clocks_only_if_it_has_one() {
        let none = Limit::default();
        let nodes = Limit { nodes: Some(500), ..none };
        assert_eq!(line(nodes, None, None), "go nodes 500");
        assert_eq!(line(nodes, None, Some("2+0.02")), "go nodes 500");
        let time = Limit { movetime: Some(0.1), ..none };
        assert_eq!(line(time, None, Some("2+0.02")), "go movetime 100");
        assert_eq!(
            line(none, Some("40/3+0.01"), Some("2+0.02")),
            "go wtime 3000 winc 10 btime 2000 binc 20 movestogo 40"
        );
        assert_eq!(line(none, Some("3"), None), "go wtime 3000 winc 0 btime 3000 binc 0");
        let depth = Limit { depth: Some(4), ..none };
        assert_eq!(line(depth, Some("0.0001"), None), "go wtime 1 winc 0 btime 1 binc 0 depth 4");
    }
}
