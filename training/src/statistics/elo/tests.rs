//! Checks of Elo, normalized Elo and likelihood of superiority against published results.

use crate::statistics::elo::{Pentanomial, Trinomial, elo_of_score, sample, score_of_elo};
use crate::statistics::estimate::Estimate;
use statrs::distribution::{Beta, ContinuousCDF};

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected}");
}

/// Value and error against two published decimals.
fn printed(found: Estimate, (value, margin): (f64, f64), tolerance: f64, what: &str) {
    close(found.value.expect(what), value, tolerance, what);
    close(found.margin().expect(what), margin, tolerance, what);
}

struct Published {
    source: &'static str,
    pairs: [u64; 5],
    elo: (f64, f64),
    nelo: (f64, f64),
    los: f64,
    draw_ratio: f64,
    pair_ratio: f64,
}

/// Output of fastchess as posted in the pull requests and issues named.
const PUBLISHED: [Published; 5] = [
    Published {
        source: "brunocodutra/cinder 727",
        pairs: [50, 287, 610, 387, 73],
        elo: (18.04, 8.23),
        nelo: (28.19, 12.84),
        los: 100.0,
        draw_ratio: 43.35,
        pair_ratio: 1.36,
    },
    Published {
        source: "brunocodutra/cinder 835",
        pairs: [423, 3637, 6484, 3702, 450],
        elo: (1.41, 2.41),
        nelo: (2.32, 3.97),
        los: 87.36,
        draw_ratio: 44.12,
        pair_ratio: 1.02,
    },
    Published {
        source: "lynx-chess/Lynx 1899",
        pairs: [235, 1384, 2521, 1341, 239],
        elo: (-1.06, 4.05),
        nelo: (-1.67, 6.37),
        los: 30.33,
        draw_ratio: 44.07,
        pair_ratio: 0.98,
    },
    Published {
        source: "princesslana/princhess 343",
        pairs: [1, 22, 52, 21, 4],
        elo: (8.69, 27.04),
        nelo: (15.51, 48.15),
        los: 73.60,
        draw_ratio: 52.0,
        pair_ratio: 1.09,
    },
    Published {
        source: "Disservin/fastchess 807",
        pairs: [30, 6, 18, 0, 6],
        elo: (-168.40, 73.37),
        nelo: (-170.08, 62.16),
        los: 0.0,
        draw_ratio: 30.0,
        pair_ratio: 0.17,
    },
];

#[test]
fn pairs_as_fastchess_prints_them() {
    for published in PUBLISHED {
        let what = published.source;
        let pairs = Pentanomial { pairs: published.pairs };
        let sample = pairs.sample();
        printed(sample.elo(), published.elo, 0.00501, what);
        printed(sample.normalized_elo(), published.nelo, 0.00501, what);
        close(100.0 * sample.los(), published.los, 0.00501, what);
        close(100.0 * pairs.draw_ratio().unwrap(), published.draw_ratio, 0.00501, what);
        close(pairs.pair_ratio().unwrap(), published.pair_ratio, 0.00501, what);
    }
}

/// `app/tests/elo_test.cpp` of fastchess, which allows 1 %.
#[test]
fn fastchess_unit_tests() {
    let games = Trinomial { wins: 136, draws: 111, losses: 96 };
    printed(games.sample().elo(), (40.70, 30.43), 0.00501, "games");
    printed(games.sample().normalized_elo(), (49.77, 36.77), 0.00501, "games");
    close(games.sample().los(), 0.9960, 5.01e-5, "games");
    let games = Trinomial { wins: 34, draws: 0, losses: 356 };
    printed(games.sample().normalized_elo(), (-508.44, 34.48), 0.00501, "games, none drawn");

    let pairs = Pentanomial { pairs: [332, 433, 498, 333, 334] };
    printed(pairs.sample().elo(), (-8.64, 10.33), 0.00501, "pairs");
    printed(pairs.sample().normalized_elo(), (-9.17, 10.96), 0.00501, "pairs");
    close(pairs.sample().los(), 0.0505, 5.01e-5, "pairs");
    let pairs = Pentanomial { pairs: [7895, 8757, 5685, 568, 9999] };
    printed(pairs.sample().elo(), (-21.04, 2.95), 0.00501, "many pairs");
    printed(pairs.sample().normalized_elo(), (-19.01, 2.65), 0.00501, "many pairs");
}

/// Stockfish commit 37bd1e7: fishtest's own print of a test of 50,000 games.
#[test]
fn pairs_as_fishtest_prints_them() {
    let pairs = Pentanomial { pairs: [31, 5598, 13_579, 5754, 38] };
    let sample = pairs.sample();
    close(sample.elo().value.unwrap(), 1.18, 0.00501, "Elo");
    close(sample.elo().margin().unwrap(), 1.5, 0.0501, "Elo error");
    close(sample.normalized_elo().value.unwrap(), 2.45, 0.00501, "nElo");
    close(sample.normalized_elo().margin().unwrap(), 3.0, 0.0501, "nElo error");
    close(sample.los(), 0.943, 5.01e-4, "LOS");
    close(pairs.pair_ratio().unwrap(), 1.03, 0.00501, "PairsRatio");
    // W: 12517 L: 12347 D: 25136.
    assert_eq!(pairs.games(), 50_000);
    close(pairs.points(), 12_517.0 + 0.5 * 25_136.0, 1e-9, "points");
}

#[test]
fn sides_mirror() {
    for pairs in [[3, 9, 20, 11, 7], [0, 0, 0, 0, 6], [0, 0, 0, 3, 0], [0, 0, 8, 0, 0], [0; 5]] {
        let pairs = Pentanomial { pairs };
        let (mine, theirs) = (pairs.sample(), pairs.flipped().sample());
        close(mine.los() + theirs.los(), 1.0, 1e-12, "LOS");
        for (a, b) in [(mine.elo(), theirs.elo()), (mine.normalized_elo(), theirs.normalized_elo())]
        {
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x - y).abs() < 1e-9;
            assert!(same(a.low, -b.high) && same(a.high, -b.low), "{a:?} {b:?}");
            assert!(
                a.value.zip(b.value).is_none_or(|(x, y)| same(x + 0.0, 0.0 - y)),
                "{a:?} {b:?}"
            );
        }
    }
    for elo in [-900.0, -12.5, 0.0, 3.0, 400.0] {
        close(score_of_elo(elo) + score_of_elo(-elo), 1.0, 1e-12, "scores");
        close(elo_of_score(score_of_elo(elo)), elo, 1e-9, "inverse");
    }
    close(score_of_elo(400.0), 10.0 / 11.0, 1e-12, "ten to one");
}

#[test]
fn sweeps_have_exact_ends() {
    let swept = Pentanomial { pairs: [0, 0, 0, 0, 10] }.sample();
    let elo = swept.elo();
    assert_eq!((elo.value, elo.high), (Some(f64::INFINITY), f64::INFINITY));
    let exact = Beta::new(10.0, 1.0).unwrap().inverse_cdf(0.025);
    close(elo.low, elo_of_score(exact), 1e-6, "Clopper–Pearson");
    close(elo.low, 140.217, 0.001, "0.025^(1/10) = 0.6915");
    close(swept.los(), 1.0 - 0.5f64.powi(11), 1e-12, "LOS of ten won pairs");
    assert!(swept.normalized_elo().low.is_finite());

    let level = Pentanomial { pairs: [0, 0, 40, 0, 0] }.sample();
    let (low, high) = (level.elo().low, level.elo().high);
    close(level.elo().value.unwrap(), 0.0, 0.0, "level");
    close(high, elo_of_score(1.0 - 0.5 * 0.025f64.powf(1.0 / 40.0)), 1e-9, "level");
    close(low, -high, 1e-9, "level");
    close(level.los(), 0.5, 0.0, "level");

    // One lost point in many: the normal end passes 1, so it is infinite and not a number lost.
    let nearly = Pentanomial { pairs: [0, 0, 0, 1, 30] }.sample().elo();
    assert!(nearly.high.is_infinite() && nearly.low.is_finite() && nearly.value.unwrap() > 800.0);
}

#[test]
fn nothing_prints_as_nan() {
    let print = |pairs| {
        let pairs = Pentanomial { pairs };
        let sample = pairs.sample();
        let line = format!("{:.2} | {:.2}", sample.elo(), sample.normalized_elo());
        let ratio = pairs.pair_ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
        assert!(!line.contains("NaN") && !ratio.contains("NaN"), "{line} {ratio}");
        assert!((0.0..=1.0).contains(&sample.los()));
        line
    };
    assert_eq!(print([0; 5]), "unknown | unknown");
    assert_eq!(print([50, 287, 610, 387, 73]), "+18.04 ± 8.23 | +28.19 ± 12.84");
    assert_eq!(print([0, 0, 0, 0, 10]), "+inf [+140.22, +inf] | +inf [+101.86, +inf]");
    assert!(print([0, 0, 1, 0, 0]).starts_with("+0.00 ± 759."));
    for i in 0..5 {
        for n in [1, 2, u64::MAX] {
            let mut pairs = [0; 5];
            pairs[i] = n;
            print(pairs);
        }
    }
    let estimate = Estimate { value: Some(-0.04), low: -1.0, high: 0.92 };
    assert_eq!(estimate.to_string(), "+0.0 ± 1.0");
    let lopsided = Estimate { value: Some(12.0), low: -8.0, high: 90.0 };
    assert_eq!(lopsided.to_string(), "+12.0 [-8.0, +90.0]");
}

#[test]
fn tallies_add() {
    let mut pairs = Pentanomial::default();
    for half_points in [0, 4, 4, 1, 2] {
        pairs += Pentanomial::of_pair(half_points).unwrap();
    }
    assert_eq!(pairs, Pentanomial { pairs: [1, 1, 1, 0, 2] });
    assert_eq!((pairs.total(), pairs.games()), (5, 10));
    assert_eq!(pairs.sample().score(), Some(0.55));
    assert_eq!(Pentanomial::of_pair(5), None);
    let games = Trinomial::of_game(2).unwrap() + Trinomial::of_game(1).unwrap();
    assert_eq!(games, Trinomial { wins: 1, draws: 1, losses: 0 });
    assert_eq!((games.points(), games.draw_ratio()), (1.5, Some(0.5)));
    assert_eq!(Trinomial::of_game(3), None);
    assert_eq!((pairs.pair_ratio(), Pentanomial::default().pair_ratio()), (Some(1.0), None));
    assert_eq!(Pentanomial { pairs: [0, 0, 3, 1, 0] }.pair_ratio(), Some(f64::INFINITY));
}

#[test]
fn pairs_count_where_they_hold_most_of_the_games() {
    let pairs = Pentanomial { pairs: [0, 0, 0, 1, 0] };
    let few = Trinomial { wins: 2, draws: 7, losses: 4 };
    assert_eq!(sample(pairs, few), few.sample());
    let most = Trinomial { wins: 1, draws: 2, losses: 0 };
    assert_eq!(sample(pairs, most), pairs.sample());
    assert_eq!(sample(Pentanomial::default(), Trinomial::default()).score(), None);
}
