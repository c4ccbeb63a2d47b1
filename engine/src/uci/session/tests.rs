//! A session whose device is lost in mid-search.

use std::time::Duration;

use shakmaty::{CastlingMode, Chess};
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

use super::*;
use crate::best_first::BestFirst;
use crate::console::output::heard::Heard;
use crate::search::clock::Budget;
use crate::search::{Clock, Limits};
use crate::setup::factory::Made;
use crate::setup::mode::{EvaluatorKind, SearchMode};

/// A session on a GPU that is lost after three batches.
fn session() -> (Session, Heard) {
    let heard = Heard::default();
    let mut session = Session::new(heard.output());
    session.settings.hash_mb = 4;
    let wanted = session.settings.machine();
    let gpu = Machine {
        evaluator: EvaluatorKind::Transformer,
        device: "gpu".to_owned(),
        kv_cache_mb: 0,
        ..wanted.clone()
    };
    let behaviour = Behaviour { fail_after: Some(3), ..Behaviour::default() };
    let device = SimulatedDevice::new(ClassicalEvaluator::with_batch_size(8), behaviour);
    let search = Box::new(BestFirst::new(Box::new(device)));
    session.adopt(Made { search, description: "a drill".to_owned(), notes: Vec::new() }, gpu);
    session.tried = Some(wanted);
    heard.take();
    (session, heard)
}

/// The answer to a `go`.
fn asked(session: &mut Session, heard: &Heard, limits: &Limits) -> String {
    session.work(Job::Search(Box::new(SearchJob {
        game: Game::new(Chess::default()),
        limits: limits.clone(),
        budget: Budget::new(limits, Duration::ZERO),
        stop: StopToken::default(),
        hold: None,
        style: Style { castling: CastlingMode::Standard, wdl: false },
        debug: false,
        busy: Busy::default(),
    })));
    heard.take()
}

#[test]
fn a_lost_device_is_told_of_once_and_the_search_goes_on() {
    let (mut session, heard) = session();
    let limits = Limits { nodes: Some(300), ..Limits::default() };
    let text = asked(&mut session, &heard, &limits);
    assert!(text.contains(" nodes 300 ") && text.contains("\nbestmove "), "{text}");
    let told: Vec<&str> = text.lines().filter(|line| line.contains("stopped answering")).collect();
    assert!(told.len() == 1 && told.concat().contains("; the search goes on with "), "{text}");
    let text = asked(&mut session, &heard, &limits);
    assert!(text.contains("\nbestmove ") && !text.contains("info string the"), "{text}");
}

#[test]
fn without_time_for_another_device_the_move_comes_first() {
    let (mut session, heard) = session();
    let limits = Limits { move_time: Some(Duration::from_millis(450)), ..Limits::default() };
    let text = asked(&mut session, &heard, &limits);
    let told = text.find("info string the device stopped answering").unwrap();
    let answered = text.find("bestmove ").unwrap();
    assert!(told < answered && !text.contains("goes on"), "{text}");
    // The next move has a device that works.
    let text = asked(&mut session, &heard, &limits);
    assert!(text.contains("bestmove ") && !text.contains("stopped answering"), "{text}");
}

#[test]
fn a_lost_device_is_tried_again_in_the_next_game() {
    let (mut session, heard) = session();
    let limits = Limits { nodes: Some(300), ..Limits::default() };
    let again = "info string the device that was lost is tried again";
    session.work(Job::NewGame);
    assert!(!heard.take().contains(again));
    asked(&mut session, &heard, &limits);
    session.work(Job::NewGame);
    assert!(heard.take().contains(again));
    // What the options ask for is loaded before the next search, and is sound here.
    let text = asked(&mut session, &heard, &limits);
    assert!(text.contains("info string Tesla search; ") && text.contains("bestmove "), "{text}");
    session.work(Job::NewGame);
    assert!(!heard.take().contains(again));
}

#[cfg(feature = "net")]
#[test]
fn without_time_to_load_a_network_the_search_before_plays_the_move() {
    let (mut session, heard) = session();
    session.settings.machine.device = "cpu".to_owned();
    session.settings.machine.search = SearchMode::Puct;
    let late = "info string no time to load the network: the search before plays this move";
    let left = |ms| Limits {
        clock: Some(Clock { remaining: Duration::from_millis(ms), ..Clock::default() }),
        nodes: Some(20),
        ..Limits::default()
    };
    let text = asked(&mut session, &heard, &left(60));
    assert!(text.contains(late) && text.contains("bestmove "), "{text}");
    // A minute is enough, and then it is there.
    for (ms, told) in [(60_000, true), (60, false)] {
        let text = asked(&mut session, &heard, &left(ms));
        assert!(!text.contains(late) && text.contains("bestmove "), "{text}");
        assert_eq!(text.contains("info string PUCT search; "), told, "{text}");
    }
}

#[cfg(feature = "net")]
#[test]
fn a_network_is_loaded_beside_the_session() {
    let (mut session, heard) = session();
    session.settings.machine.device = "cpu".to_owned();
    session.begin_to_load();
    let loading = session.loading.as_ref().unwrap();
    assert!(loading.is_for(&session.settings.machine()));
    assert!(loading.done().recv().is_err(), "closed when it is loaded");
    session.prepare();
    assert!(session.loading.is_none() && !session.has_to_load());
    assert!(heard.take().contains("info string Tesla search; "));
    // An option that is set back while it is loaded leaves nothing that seems to be ready.
    session.settings.machine.threads = 1;
    session.begin_to_load();
    session.settings.machine.threads = 0;
    assert!(session.loading.as_ref().unwrap().done().recv().is_err());
    session.prepare();
    session.forget_unwanted();
    assert!(session.loading.is_none() && !session.has_to_load());
}

/// One option that cannot be obeyed keeps no other one from being.
#[test]
fn the_other_options_hold_where_one_cannot() {
    let heard = Heard::default();
    let mut session = Session::new(heard.output());
    session.settings.hash_mb = 4;
    session.settings.machine.weights_file = Some("no/such/file".to_owned());
    session.prepare();
    assert!(heard.take().contains("the classical evaluator is used instead"));
    session.settings.machine.search = SearchMode::Minimax;
    session.prepare();
    session.settings.machine.search = SearchMode::Puct;
    session.prepare();
    let told = heard.take();
    assert!(told.contains("; the device and network in use stay"), "{told}");
    let running = session.running.clone().unwrap();
    assert_eq!((running.search, running.evaluator), (SearchMode::Puct, EvaluatorKind::Classical));
    session.settings.machine.weights_file = Some("no/other/file".to_owned());
    session.prepare();
    assert!(heard.take().contains("; the previous search stays in use"));
}

#[cfg(feature = "net")]
#[test]
fn a_gpu_that_is_not_there_leaves_the_network() {
    let heard = Heard::default();
    let mut session = Session::new(heard.output());
    session.settings.hash_mb = 4;
    session.settings.machine.kv_cache_mb = 4;
    session.settings.machine.device = "gpu:none of this name".to_owned();
    session.prepare();
    let told = heard.take();
    assert!(told.contains("; the CPU is used instead"), "{told}");
    let running = session.running.unwrap();
    assert_eq!((running.device.as_str(), running.needs_device()), ("cpu", true));
}

/// A level knows nothing of what full strength has found before.
#[test]
fn a_level_begins_anew_after_an_analysis() {
    let heard = Heard::default();
    let mut session = Session::new(heard.output());
    session.settings.hash_mb = 4;
    session.settings.machine.evaluator = EvaluatorKind::Classical;
    let deep = Limits { nodes: Some(3_000), ..Limits::default() };
    let nodes = |text: &str| {
        let line = text.lines().rev().find(|line| line.starts_with("info depth")).unwrap();
        line.split_once(" nodes ").unwrap().1.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(nodes(&asked(&mut session, &heard, &deep)), 3_000);
    session.settings.strength.is_limited = true;
    session.settings.strength.elo = 1050;
    let weak = asked(&mut session, &heard, &deep);
    assert!(nodes(&weak) == 16 && weak.contains("info depth"), "{weak}");
    let tree = session.search.as_ref().unwrap().root_moves();
    assert!(tree.iter().map(|told| u64::from(told.visits)).sum::<u64>() < 100);
}
