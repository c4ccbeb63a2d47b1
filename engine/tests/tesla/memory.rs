//! What becomes of a full tree.

use std::time::Duration;

use tesla_engine::best_first::BestFirst;
use tesla_engine::search::{Limits, Search};
use tesla_nn::guess::Guesser;

use super::common::nodes;
use super::{engine, run, start};

#[test]
fn memory_is_a_hard_cap_and_folding_goes_on() {
    let mut search = engine(16);
    search.set_hash_mb(1);
    let outcome = run(&mut search, &start(), &nodes(6000));
    assert_eq!(outcome.info.nodes, 6000);
    assert!(outcome.info.hashfull <= 1000);
    assert!(search.tree().bytes() <= 1 << 20);
    assert!(search.tree().capacity_bytes() <= 1 << 20);
    assert!(search.tree().expansion_count() < 6000);
}

/// Making room in a large tree takes longer than a short move may.
#[test]
fn no_room_is_made_without_the_time_for_it() {
    const STEP: u64 = 64;
    let new = || {
        let mut search = BestFirst::new(Box::new(Guesser::new(16)));
        search.set_hash_mb(1);
        search
    };
    let grow = |search: &mut BestFirst| {
        run(search, &start(), &nodes(STEP));
        search.tree().expansion_count()
    };
    let mut search = new();
    let (mut steps, mut count) = (0, 0);
    loop {
        let grown = grow(&mut search);
        if grown < count {
            break;
        }
        (steps, count) = (steps + 1, grown);
    }
    let mut search = new();
    assert_eq!((0..steps).map(|_| grow(&mut search)).max(), Some(count));
    let limits = Limits { move_time: Some(Duration::from_millis(2)), ..Limits::default() };
    run(&mut search, &start(), &limits);
    assert!(search.tree().expansion_count() >= count, "{count} positions, and room was made");
    let limits = Limits { move_time: Some(Duration::from_secs(2)), ..limits };
    run(&mut search, &start(), &limits);
    assert!(search.tree().expansion_count() < count);
}
