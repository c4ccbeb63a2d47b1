//! Checks of joint ratings and of their intervals, on simulated matches with known ratings.

use crate::statistics::bootstrap::{Bootstrap, BootstrapOptions, bootstrap};
use crate::statistics::elo::{Pentanomial, Trinomial, elo_of_score, score_of_elo};
use crate::statistics::rating::{PairResult, fit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected}");
}

fn pairs(first: usize, second: usize, pairs: [u64; 5]) -> PairResult {
    PairResult::of_pairs(first, second, Pentanomial { pairs })
}

fn rate(players: usize, results: &[PairResult]) -> Vec<f64> {
    fit(players, results).expect("linked players")
}

fn resample(players: usize, results: &[PairResult], resamples: usize) -> Bootstrap {
    bootstrap(players, results, BootstrapOptions { resamples, seed: 7 }).expect("linked players")
}

/// A round robin of `n` pairs each; the games of a pair share an opening's bias, draws are common.
fn simulate(ratings: &[f64], n: u64, seed: u64) -> Vec<PairResult> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut results = vec![];
    for first in 0..ratings.len() {
        for second in first + 1..ratings.len() {
            let expected = score_of_elo(ratings[first] - ratings[second]);
            let mut tally = Pentanomial::default();
            for _ in 0..n {
                let bias = 0.4 * expected.min(1.0 - expected) * (rng.random::<f64>() - 0.5);
                let game = |score: f64, rng: &mut ChaCha8Rng| {
                    // Score s as a win of chance s², a draw of chance 2 s (1 − s).
                    u8::from(rng.random::<f64>() < score) + u8::from(rng.random::<f64>() < score)
                };
                let points = game(expected + bias, &mut rng) + game(expected - bias, &mut rng);
                tally += Pentanomial::of_pair(points).expect("at most four half points");
            }
            results.push(PairResult::of_pairs(first, second, tally));
        }
    }
    results
}

#[test]
fn two_players_are_the_score() {
    let tally = [120, 300, 700, 500, 230];
    let elo = rate(2, &[pairs(0, 1, tally)]);
    let expected = Pentanomial { pairs: tally }.sample().elo().value.unwrap();
    close(elo[0] - elo[1], expected, 0.01, "difference");
    close(elo[0] + elo[1], 0.0, 1e-9, "mean");
    // The other side's view, spread over entries, and games in place of pairs, are the same.
    let halves = [pairs(1, 0, [230, 500, 0, 300, 120]), pairs(0, 1, [0, 0, 700, 0, 0])];
    close(rate(2, &halves)[0], elo[0], 1e-9, "flipped");
    let games = Trinomial { wins: 960, draws: 2160, losses: 580 }; // 2040 of 3700 points
    let single = rate(2, &[PairResult::of_games(0, 1, games)]);
    let paired = rate(2, &[pairs(0, 1, [405, 0, 850, 0, 595])]); // 2040 of 3700 points
    close(single[0], paired[0], 1e-9, "games");
    close(single[0] - single[1], elo_of_score(2040.0 / 3700.0), 0.01, "games");
}

#[test]
fn consistent_results_give_their_ratings() {
    // Expected scores rounded to 1 in 100,000 pairs: the fit must return what they were made from.
    let truth = [150.0, 40.0, -20.0, -170.0];
    let mut results = vec![];
    for a in 0..4 {
        for b in a + 1..4 {
            let won = (100_000.0 * score_of_elo(truth[a] - truth[b])).round() as u64;
            results.push(pairs(a, b, [100_000 - won, 0, 0, 0, won]));
        }
    }
    for (found, truth) in rate(4, &results).iter().zip(truth) {
        close(*found, truth, 0.02, "rating");
    }
    // A chain links players who never met.
    let chain = [results[0], results[3], results[5]];
    let elo = rate(4, &chain);
    close(elo[0] - elo[3], 320.0, 0.05, "by way of two others");
}

#[test]
fn sweeps_stay_finite_and_say_so() {
    let sweep = [pairs(0, 1, [0, 0, 0, 0, 10])];
    let elo = rate(2, &sweep);
    assert!(elo[0] - elo[1] > 500.0 && elo[0] - elo[1] < 1500.0, "{elo:?}");
    let found = resample(2, &sweep, 2000).difference(0, 1).unwrap();
    let exact = Pentanomial { pairs: sweep[0].pairs.pairs }.sample().elo();
    assert!(found.high.is_infinite(), "{found}");
    close(found.low, exact.low, 25.0, "Clopper–Pearson's end, but for the prior and chance");

    // A table with a top, a middle and a bottom: only the ends are open.
    let mut results = vec![];
    for (a, b) in [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)] {
        results.push(pairs(a, b, [0, 0, 0, 0, 20]));
    }
    results.push(pairs(1, 2, [2, 3, 8, 5, 2]));
    let rated = resample(4, &results, 200);
    let ratings = rated.ratings();
    assert!(ratings[0].high.is_infinite() && ratings[0].low > 0.0, "{}", ratings[0]);
    assert!(ratings[3].low.is_infinite() && ratings[3].high < 0.0, "{}", ratings[3]);
    assert!(ratings[1].low.is_finite() && ratings[1].high.is_finite());
    let middle = rated.difference(1, 2).unwrap();
    assert!(middle.margin().unwrap() < 150.0, "{middle}");
    assert!(rated.difference(3, 1).unwrap().low.is_infinite());

    // One who won all 30 pairs against three equals is as sure as 30 of 30, not three times 10 of
    // 10.
    let mut results: Vec<PairResult> = (1..4).map(|b| pairs(0, b, [0, 0, 0, 0, 10])).collect();
    for (a, b) in [(1, 2), (1, 3), (2, 3)] {
        results.push(pairs(a, b, [500, 0, 0, 0, 500]));
    }
    let low = resample(4, &results, 400).difference(0, 2).unwrap().low;
    close(low, elo_of_score(0.025f64.powf(1.0 / 30.0)), 40.0, "30 of 30");

    let long: Vec<PairResult> = (0..30).map(|i| pairs(i, i + 1, [0, 0, 0, 0, 1_000_000])).collect();
    let elo = rate(31, &long);
    assert!(elo.windows(2).all(|two| two[0] > two[1] && two[0].is_finite()), "{elo:?}");
    // All level: equal, but not known to be.
    let level = resample(2, &[pairs(0, 1, [0, 0, 20, 0, 0])], 1000).difference(0, 1).unwrap();
    let exact = Pentanomial { pairs: [0, 0, 20, 0, 0] }.sample().elo();
    close(level.value.unwrap(), 0.0, 1e-9, "level");
    close(level.high, exact.high, 8.0, "level");
}

#[test]
fn a_level_pairing_that_alone_links_players_is_no_certainty() {
    let exact = Pentanomial { pairs: [0, 0, 20, 0, 0] }.sample().elo().high;
    let mixed = [2, 3, 8, 5, 2];
    // Player 1 is known by its 20 level pairs alone, wherever it stands in the list.
    for results in [
        &[pairs(0, 1, [0, 0, 20, 0, 0]), pairs(0, 2, mixed)][..],
        &[pairs(1, 2, [0, 0, 20, 0, 0]), pairs(0, 2, mixed)],
        &[pairs(0, 1, [0, 0, 20, 0, 0]), pairs(0, 2, mixed), pairs(2, 3, [0, 0, 20, 0, 0])],
    ] {
        let players = 1 + results.iter().map(|r| r.second).max().unwrap();
        let rated = resample(players, results, 1000);
        let other = results.iter().find(|r| r.first == 1 || r.second == 1).unwrap();
        let other = if other.first == 1 { other.second } else { other.first };
        let found = rated.difference(other, 1).unwrap();
        close(found.value.unwrap(), 0.0, 2.0, "level");
        close(found.high, exact, 8.0, "its upper end");
        close(found.low, -exact, 8.0, "its lower end");
        close(rated.los(other, 1).unwrap(), 0.5, 0.06, "LOS");
    }
    // Two sides of two players, four level pairings between them: as sure as 20 pairs are.
    let mut results = vec![pairs(0, 1, mixed), pairs(2, 3, mixed)];
    for (a, b) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        results.push(pairs(a, b, [0, 0, 5, 0, 0]));
    }
    let rated = resample(4, &results, 1000);
    let margin = rated.difference(0, 2).unwrap().margin().unwrap();
    assert!((exact..3.0 * exact).contains(&margin), "{margin}");
    // A level pairing of a table that other results tie together leaves its intervals alone.
    let mut table = simulate(&[40.0, 0.0, 0.0, -40.0], 20, 3);
    let before = resample(4, &table, 1000).difference(0, 3).unwrap().margin().unwrap();
    table.push(pairs(0, 3, [0; 5]));
    table.iter_mut().filter(|r| (r.first, r.second) == (1, 2)).for_each(|r| {
        r.pairs = Pentanomial { pairs: [0, 0, 20, 0, 0] };
    });
    let after = resample(4, &table, 1000).difference(0, 3).unwrap().margin().unwrap();
    close(after, before, 0.2 * before, "margin");
}

#[test]
fn intervals_cover_the_truth() {
    let truth = [90.0, 30.0, -10.0, -110.0];
    let (mut covered, mut all) = (0, 0);
    for seed in 0..60 {
        let rated = resample(4, &simulate(&truth, 40, seed), 200);
        for (player, estimate) in rated.ratings().iter().enumerate() {
            covered += u32::from(estimate.low <= truth[player] && truth[player] <= estimate.high);
            all += 1;
        }
        let against_last = rated.difference(0, 3).unwrap();
        covered += u32::from(against_last.low <= 200.0 && 200.0 <= against_last.high);
        all += 1;
    }
    // 300 intervals, not independent: 95 % less about three standard errors of the mean.
    let share = f64::from(covered) / f64::from(all);
    assert!((0.89..=0.99).contains(&share), "{covered} of {all} intervals hold the truth");
}

#[test]
fn bootstrap_agrees_with_the_normal_interval() {
    let tally = Pentanomial { pairs: [60, 150, 350, 250, 115] };
    let rated = resample(2, &[PairResult::of_pairs(0, 1, tally)], 1000);
    let found = rated.difference(0, 1).unwrap();
    let normal = tally.sample().elo();
    close(found.low, normal.low, 1.5, "low");
    close(found.high, normal.high, 1.5, "high");
    close(rated.los(0, 1).unwrap() + rated.los(1, 0).unwrap(), 1.0, 1e-12, "LOS");
    assert!(rated.los(0, 1).unwrap() > 0.99);
    // Same seed, same answer; another, another.
    let again = resample(2, &[PairResult::of_pairs(0, 1, tally)], 1000);
    assert_eq!(again.difference(0, 1), rated.difference(0, 1));
    let options = BootstrapOptions { resamples: 1000, seed: 8 };
    let results = [PairResult::of_pairs(0, 1, tally)];
    let other = bootstrap(2, &results, options).unwrap();
    assert_ne!(other.difference(0, 1), rated.difference(0, 1));
    let ratings = other.ratings();
    close(ratings[0].value.unwrap(), 0.5 * normal.value.unwrap(), 0.05, "half above the mean");
    close(ratings[1].value.unwrap(), -ratings[0].value.unwrap(), 1e-9, "half below it");
}

#[test]
fn ten_players_are_fast() {
    // 10,080 games, 100 resamples: a tenth of the default, as tests run without optimization.
    let truth: Vec<f64> = (0..10).map(|i| 45.0 * f64::from(i) - 202.5).collect();
    let results = simulate(&truth, 112, 1);
    let start = std::time::Instant::now();
    let rated = resample(10, &results, 100);
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 5.0, "{seconds} s");
    for (player, estimate) in rated.ratings().iter().enumerate() {
        close(estimate.value.unwrap(), truth[player], 35.0, "rating");
        close(estimate.margin().unwrap(), 13.0, 6.0, "margin");
    }
}

#[test]
fn refuses_nonsense_with_a_sentence() {
    let one = [pairs(0, 1, [1, 0, 0, 0, 1])];
    let refused = |players, results: &[PairResult]| fit(players, results).unwrap_err().to_string();
    let far = pairs(2, 3, [0, 0, 1, 0, 0]);
    for (players, results, what) in [
        (4, &[one[0], far][..], "no chain of games links player 2 to player 0"),
        // Nothing played is no link.
        (3, &[one[0], pairs(1, 2, [0; 5])], "no chain of games links player 2 to player 0"),
        (1, &one, "player 1 is named but there are 1 players"),
        (2, &[pairs(1, 1, [1; 5])], "player 1 is said to have played itself"),
    ] {
        let sentence = refused(players, results);
        assert!(sentence.starts_with(what), "{sentence}");
    }
    let few = bootstrap(2, &one, BootstrapOptions { resamples: 99, seed: 0 });
    let few = few.unwrap_err().to_string();
    assert!(few.starts_with("99 resamples are too few") && few.contains("take 100"), "{few}");
    assert_eq!(rate(0, &[]), Vec::<f64>::new());
    assert_eq!(rate(1, &[]), vec![0.0]);
    assert_eq!(resample(2, &one, 100).difference(0, 2), None);
}
