use super::*;
use crate::labelled::pack;

/// A game with these scores, and whether the best move was played.
fn game(scores: &[(i16, bool)]) -> GameRecord {
    let start = Chess::default();
    let mut position = start.clone();
    let mut plies = Vec::new();
    for &(score, is_best) in scores {
        let moves = position.legal_moves();
        let best = pack(moves[usize::from(!is_best)]);
        plies.push(Ply { played: pack(moves[0]), best, score });
        position.play_unchecked(moves[0]);
    }
    GameRecord { start, result: 1, plies, others: Vec::new() }
}

/// A path of a tree was labelled for its end, which a cut would make an anchor.
#[test]
fn what_fits_into_one_window_is_not_cut() {
    let mut dataset = Dataset::default();
    for length in 1..=12 {
        dataset.push(game(&vec![(0, true); length]));
    }
    let mut first_cuts = Vec::new();
    for epoch in 0..20 {
        let windows = dataset.plan(5, 8, 7, epoch).concat();
        for game in 0..12 {
            let of_game = windows.iter().filter(|window| window.game == game);
            let (count, positions) = of_game
                .clone()
                .fold((0, 0), |(count, sum), window| (count + 1, sum + usize::from(window.length)));
            assert_eq!(positions, game as usize + 1);
            assert!(game >= 5 || count == 1, "{game} {count}");
            let first = of_game.clone().find(|window| window.start == 0).map(|first| first.length);
            first_cuts.extend(first.filter(|_| game == 11));
        }
    }
    // Longer games are cut anywhere.
    assert!((1..=5).all(|length| first_cuts.contains(&length)), "{first_cuts:?}");
}

#[test]
fn decided_windows_are_left_out() {
    let mut dataset = Dataset::default();
    for _ in 0..200 {
        dataset.push(game(&[(400, true), (-350, true), (301, true), (-900, true)]));
        dataset.push(game(&[(400, true), (-350, true), (300, true), (-900, true)]));
    }
    let starts = |dataset: &Dataset| {
        let windows = dataset.plan(1, 8, 7, 0).concat();
        [0, 1].map(|odd| windows.iter().filter(|window| window.game % 2 == odd).count())
    };
    assert_eq!(starts(&dataset), [800, 800]);
    dataset.keep_decided(0.25);
    let [decided, open] = starts(&dataset);
    // 800 and 600 windows of the two games are decided; of the others all are there.
    assert!((140..260).contains(&decided), "{decided}");
    assert!((200 + 100..200 + 200).contains(&open), "{open}");
    dataset.keep_decided(0.0);
    assert_eq!(starts(&dataset), [0, 200]);
}

#[test]
fn a_window_is_decided_by_one_side() {
    let mut dataset = Dataset::default();
    // Scores of White, Black and White to move: the lead stays, or changes hands.
    dataset.push(game(&[(400, true), (-350, true), (900, true)]));
    dataset.push(game(&[(400, true), (350, true), (900, true)]));
    dataset.push(game(&[(-400, true), (i16::MAX, true), (i16::MIN, true)]));
    let decided = |game| dataset.is_decided(WindowRef { game, start: 0, length: 3 });
    assert_eq!([0, 1, 2].map(decided), [true, false, true]);
    assert!(dataset.is_decided(WindowRef { game: 1, start: 1, length: 1 }));
}

#[test]
fn games_can_be_left_out() {
    let mut dataset = Dataset::default();
    for length in 1..=4 {
        dataset.push(game(&vec![(0, true); length]));
    }
    assert_eq!(dataset.leave_out(|_, game| game % 2 == 0), 2);
    assert_eq!((dataset.games(), dataset.positions()), (2, 2 + 4));
    assert_eq!((dataset.pieces(1).len(), dataset.game(1).plies.len()), (4, 4));
}

#[test]
fn labels_look_ahead_as_far_as_best_moves_were_played() {
    let mut dataset = Dataset::default();
    let (best, other) = (true, false);
    dataset.push(game(&[(100, best), (-40, best), (10, other), (31_990, best), (-300, best)]));
    let before = dataset.game(0).clone();
    dataset.look_ahead(0.0);
    assert_eq!(*dataset.game(0), before);
    dataset.look_ahead(0.5);
    let scores: Vec<f32> = dataset.game(0).plies.iter().map(|ply| ply.expected()).collect();
    let own: Vec<f32> = before.plies.iter().map(|ply| ply.expected()).collect();
    let first = (own[0] + 0.5 * (1.0 - own[1]) + 0.25 * own[2]) / 1.75;
    let second = (own[1] + 0.5 * (1.0 - own[2])) / 1.5;
    // The third's best move was not played; a mate is certain; the last knows no later score.
    let expected = [first, second, own[2], 1.0, own[4]];
    for (score, expected) in scores.iter().zip(expected) {
        assert!((score - expected).abs() < 1e-3, "{scores:?}");
    }
}
