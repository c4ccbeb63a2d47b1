//! The driver against engines that misbehave.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use shakmaty::uci::UciMove;
use shakmaty::{Chess, Position};
use tesla_engine::search::StopToken;
use tesla_training::game::limit::Limit;
use tesla_training::game::score::UciScore;
use tesla_training::game::state::GameState;
use tesla_training::players::external::ExternalPlayer;
use tesla_training::players::peer::{Bound, Fault, FaultKind, Peer, PeerConfig, SearchAnswer};
use tesla_training::players::player::{Player as _, Turn};
use tesla_training::players::side::Side;

const START: &str = "position startpos";
/// More than any answer here needs on a busy machine.
const PLENTY: Duration = Duration::from_secs(10);

fn config(arguments: &[&str]) -> PeerConfig {
    PeerConfig {
        args: arguments.iter().map(|&text| text.to_owned()).collect(),
        start_timeout: PLENTY,
        ..PeerConfig::new("peer", env!("CARGO_BIN_EXE_bad_peer"))
    }
}

fn impatient(arguments: &[&str]) -> PeerConfig {
    PeerConfig { start_timeout: Duration::from_secs(1), ..config(arguments) }
}

/// Fails when `work` takes far too long, also when it never ends.
fn bounded<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(PLENTY * 3).expect("ends in time")
}

/// The fault of a peer at the start.
fn start_fault(config: PeerConfig) -> Fault {
    bounded(move || Peer::start(&config, &StopToken::default()).expect_err("a fault"))
}

/// The result of one search within `allowance`, and the peer.
fn search(arguments: &[&str], allowance: Duration) -> (Result<SearchAnswer, Fault>, Peer) {
    let config = config(arguments);
    bounded(move || {
        let mut peer = Peer::start(&config, &StopToken::default()).expect("it starts");
        (peer.go(START, "go movetime 1", Some(allowance)), peer)
    })
}

fn fault(arguments: &[&str], allowance: Duration) -> Fault {
    let (result, mut peer) = search(arguments, allowance);
    let fault = result.expect_err("a fault");
    // A peer with a fault is over: no late word of it can become an answer.
    assert_eq!(peer.go(START, "go movetime 1", None), Err(fault.clone()));
    assert_eq!(peer.new_game(), Err(fault.clone()));
    fault
}

#[test]
fn plays_a_game() {
    let config = config(&["good"]);
    let plies = bounded(move || {
        let mut peer = Peer::start(&config, &StopToken::default()).unwrap();
        assert_eq!(peer.name(), "Bad good");
        peer.new_game().unwrap();
        let (mut board, mut moves) = (Chess::default(), Vec::new());
        while !board.is_game_over() && moves.len() < 150 {
            let position = match &moves[..] {
                [] => START.to_owned(),
                moves => format!("{START} moves {}", moves.join(" ")),
            };
            let answer = peer.go(&position, "go movetime 10", Some(PLENTY)).unwrap();
            assert_eq!(answer.info.score, Some(UciScore::Cp(12)));
            assert_eq!((answer.info.bound, answer.info.nodes), (Bound::Exact, Some(40)));
            assert_eq!(answer.info.pv.join(" "), answer.best);
            assert!(answer.remarks.is_empty(), "{:?}", answer.remarks);
            let uci: UciMove = answer.best.parse().unwrap();
            board.play_unchecked(uci.to_move(&board).unwrap());
            moves.push(answer.best);
        }
        drop(peer);
        moves.len()
    });
    assert!(plies > 50, "{plies}");
}

#[test]
fn options_are_checked_before_they_are_sent() {
    let with = |mode: &str, name: &str, value: &str| {
        let mut config = config(&[mode]);
        config.options = vec![(name.to_owned(), value.to_owned())];
        bounded(move || Peer::start(&config, &StopToken::default()))
    };
    let text = |result: Result<Peer, Fault>| {
        let fault = result.expect_err("a fault");
        assert_eq!(fault.kind(), FaultKind::Setup);
        fault.to_string()
    };
    assert_eq!(
        text(with("wrong-options", "Hash", "16")),
        "cannot set the engine's option `Hash`: it takes a number from 1 to 4, not 16"
    );
    assert_eq!(
        text(with("wrong-options", "Threads", "2")),
        "cannot set the engine's option `Threads`: the engine does not offer it, only: Hash"
    );
    let mut peer = with("good", "hash", "16").unwrap();
    assert!(peer.offers("uci_chess960") && !peer.offers("Threads"));
    peer.set_option("UCI_Chess960", "true").unwrap();
    assert_eq!(peer.set_option("Hash", "0").unwrap_err().kind(), FaultKind::Setup);
    assert_eq!(peer.set_option("Hash", "1\nquit").unwrap_err().kind(), FaultKind::Setup);
    assert_eq!(peer.go(START, "go\nquit", None).unwrap_err().kind(), FaultKind::Setup);
    peer.go(START, "go movetime 1", Some(PLENTY)).unwrap();
    let sent = peer.transcript();
    for line in ["> setoption name Hash value 16", "> go movetime 1"] {
        assert!(sent.iter().any(|sent| sent.ends_with(line)), "{line}");
    }
    assert!(!sent.iter().any(|sent| sent.contains("quit") || sent.contains("Threads")));
}

#[test]
fn what_cannot_be_run_is_told() {
    let mut missing = config(&[]);
    missing.command = "no/such/engine".into();
    let fault = start_fault(missing);
    assert_eq!(fault.kind(), FaultKind::Setup);
    assert!(fault.to_string().contains("there is no such program, in PATH"), "{fault}");
    let mut missing = config(&[]);
    missing.directory = Some("no/such/folder".into());
    assert!(start_fault(missing).to_string().contains("its folder no/such/folder"));
}

#[test]
fn silence_at_the_start_is_a_hang() {
    for mode in ["sleep-at-start", "never-uciok"] {
        let fault = start_fault(impatient(&[mode]));
        assert!(matches!(fault, Fault::NoUciOk { .. }), "{mode}: {fault}");
        assert_eq!(fault.kind(), FaultKind::Hang);
    }
}

#[test]
fn an_end_at_the_start_is_a_crash() {
    let fault = start_fault(config(&["exit-at-start"]));
    assert_eq!(fault.kind(), FaultKind::Crash);
    let text = fault.to_string();
    assert!(text.contains('4') && text.contains("bad_peer: cannot find the network"), "{text}");
}

#[test]
fn much_talk_at_the_start_is_fine() {
    let (result, _) = search(&["chatty"], PLENTY);
    result.unwrap();
}

#[test]
fn an_end_in_the_search_is_a_crash() {
    let text = fault(&["exit"], PLENTY).to_string();
    assert!(text.contains('3') && text.contains("bad_peer: out of ideas"), "{text}");
    for mode in ["exit", "abort", "cut"] {
        assert_eq!(fault(&[mode], PLENTY).kind(), FaultKind::Crash, "{mode}");
    }
}

#[cfg(unix)]
#[test]
fn signals_are_told() {
    assert!(fault(&["abort"], PLENTY).to_string().contains("SIGABRT"));
    assert!(fault(&["kill"], PLENTY).to_string().contains("SIGKILL"));
}

#[test]
fn an_answer_before_the_end_counts() {
    let (result, mut peer) = search(&["answer-exit"], PLENTY);
    result.unwrap();
    let next = bounded(move || peer.go(START, "go movetime 1", None));
    let fault = next.expect_err("a fault");
    assert_eq!(fault.kind(), FaultKind::Crash);
    assert!(fault.to_string().contains('5'), "{fault}");
}

#[test]
fn an_end_between_games_loses_none() {
    let side = Side {
        cmd: Some(env!("CARGO_BIN_EXE_bad_peer").into()),
        args: vec!["answer-exit".to_owned()],
        ..Side::default()
    };
    let remarks = bounded(move || {
        let mut player = ExternalPlayer::new(&side, PLENTY, StopToken::default());
        let state = GameState::from_position(Chess::default());
        let limit = Limit { depth: Some(1), ..Limit::default() };
        let turn =
            Turn { state: &state, limit: &limit, clocks: [None; 2], allowance: PLENTY, only: &[] };
        [0, 1].map(|_| {
            player.new_game(false).expect("a start");
            player.play(&turn).expect("a move").remarks
        })
    });
    assert!(remarks[0].is_empty(), "{remarks:?}");
    assert!(remarks[1].len() == 1 && remarks[1][0].contains("started anew"), "{remarks:?}");
}

#[test]
fn no_answer_is_a_hang() {
    let allowance = Duration::from_millis(300);
    for arguments in [&["sleep"][..], &["flood-lines"], &["slow", "600"]] {
        let start = Instant::now();
        let fault = fault(arguments, allowance);
        assert_eq!(fault, Fault::Hung { after: allowance, during: "it searched" });
        assert!(start.elapsed() < PLENTY, "{arguments:?} {:?}", start.elapsed());
    }
}

#[test]
fn slow_is_not_late() {
    let (result, _) = search(&["slow", "150"], PLENTY);
    let elapsed = result.unwrap().elapsed;
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?}");
    assert!(elapsed < PLENTY, "{elapsed:?}");
}

#[test]
fn no_move_is_bad_uci() {
    for line in [
        "bestmove 0000",
        "bestmove (none)",
        "bestmove",
        "bestmove e2e9",
        "bestmove e7e8k",
        "bestmove ponder e2e4",
    ] {
        let fault = fault(&["say", line], PLENTY);
        assert_eq!(fault.kind(), FaultKind::BadUci, "{line}");
        assert!(matches!(&fault, Fault::BadUci { line: told, .. } if told == line), "{fault}");
    }
}

#[test]
fn rubbish_is_bad_uci() {
    for (mode, why) in [("garbage", "`rubbish` is no move"), ("flood-line", "longer than 64 KiB")] {
        let fault = fault(&[mode], PLENTY);
        assert_eq!(fault.kind(), FaultKind::BadUci, "{mode}");
        let text = fault.to_string();
        assert!(text.contains(why) && !text.contains(char::is_control), "{text}");
    }
}

#[test]
fn other_encodings_are_read_over() {
    assert!(search(&["binary"], PLENTY).0.is_ok());
}

#[test]
fn an_interrupt_ends_the_wait_and_is_no_fault_of_the_peer() {
    let stop = StopToken::default();
    let (fault, waited) = bounded(move || {
        let mut peer = Peer::start(&config(&["sleep"]), &stop).unwrap();
        let start = Instant::now();
        let setter = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.stop();
        });
        let fault = peer.go(START, "go infinite", None).unwrap_err();
        setter.join().unwrap();
        (fault, start.elapsed())
    });
    assert_eq!((fault.kind(), fault), (FaultKind::Interrupted, Fault::Interrupted));
    assert!(waited >= Duration::from_millis(100) && waited < PLENTY);
}

#[test]
fn the_caller_judges_whether_a_move_is_legal() {
    let (result, _) = search(&["say", "bestmove e2e5"], PLENTY);
    assert_eq!(result.unwrap().best, "e2e5");
}

#[test]
fn floods_do_not_hide_the_answer() {
    let (result, peer) = search(&["flood-then-answer"], PLENTY);
    let answer = result.unwrap();
    assert!(answer.remarks.len() <= 17, "{}", answer.remarks.len());
    assert!(answer.remarks[0].starts_with("an info line that does not parse"));
    let (result, other) = search(&["stderr"], PLENTY);
    result.unwrap();
    // All of stderr was taken: the pipe is smaller than the flood.
    let complaint = other.transcript().iter().any(|line| line.contains("! bad_peer: complaint 4"));
    assert!(complaint);
    for transcript in [peer.transcript(), other.transcript()] {
        assert!(transcript.len() <= 500);
        assert!(transcript.iter().any(|line| line.ends_with("> go movetime 1")));
    }
}

#[test]
fn a_second_bestmove_answers_nothing() {
    for (arguments, remarks) in [(&["double"][..], 3), (&["double-late", "60"], 2)] {
        let config = config(arguments);
        let remarked = bounded(move || {
            let mut peer = Peer::start(&config, &StopToken::default()).unwrap();
            let mut remarked = 0;
            for _ in 0..3 {
                let answer = peer.go(START, "go movetime 1", Some(PLENTY)).unwrap();
                assert_ne!(answer.best, "a1a1");
                remarked += answer.remarks.len();
            }
            remarked
        });
        // The last one may come after its answer was taken.
        assert!((remarks - 1..=3).contains(&remarked), "{arguments:?}: {remarked}");
    }
}

#[test]
fn a_deaf_peer_blocks_nobody() {
    let faults = bounded(|| {
        let mut peer = Peer::start(&impatient(&["deaf"]), &StopToken::default()).unwrap();
        let silent = peer.go(START, "go movetime 1", Some(PLENTY)).expect_err("a fault");
        // More than a pipe holds: the write itself blocks.
        let mut peer = Peer::start(&impatient(&["deaf"]), &StopToken::default()).unwrap();
        let full = peer.set_option("Book File", &"x".repeat(1 << 20)).expect_err("a fault");
        (silent, full)
    });
    assert!(matches!(faults.0, Fault::NoReadyOk { .. }), "{}", faults.0);
    assert!(matches!(faults.1, Fault::Hung { .. }), "{}", faults.1);
}

#[test]
fn a_stubborn_peer_is_killed() {
    let start = Instant::now();
    bounded(|| drop(Peer::start(&config(&["stubborn"]), &StopToken::default()).unwrap()));
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_secs(1) && elapsed < PLENTY, "{elapsed:?}");
}

#[test]
fn peers_can_move_to_other_threads() {
    fn sendable<T: Send>() {}
    sendable::<Peer>();
}
