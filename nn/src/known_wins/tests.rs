//! Tests of `known_wins.rs`.

use shakmaty::CastlingMode;
use shakmaty::fen::Fen;

use super::*;
use crate::guess::Guesser;

fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
}

fn score(fen: &str) -> Option<f32> {
    Win::of(&position(fen)).map(|win| win.score)
}

#[test]
fn what_wins_against_a_bare_king_is_known() {
    // The bishops at a1 and b1 are of both colours.
    for rows in ["4K3/R7", "4K3/Q7", "P3K3/1R6", "4K3/NB6", "4K3/BB6", "4K3/QQQ5"] {
        let won = Win::of(&position(&format!("8/8/8/3k4/8/8/{rows} w - - 0 1"))).unwrap();
        let is_in_range = (0.8..MOST).contains(&won.score);
        assert!(won.winner == Color::White && is_in_range, "{rows} {won:?}");
    }
    for drawn_or_not_known in [
        "8/8/8/3k4/8/8/4K3/B7 w - - 0 1",
        "8/8/8/3k4/8/8/4K3/NN6 w - - 0 1",
        "8/8/8/3k4/8/8/4K3/B1B5 w - - 0 1",
        "8/8/8/3k4/8/8/P3K3/8 w - - 0 1",
        "8/8/8/3kp3/8/8/4K3/R7 w - - 0 1",
        "8/8/8/3k4/8/8/P3K3/NB6 w - - 0 1",
    ] {
        assert_eq!(score(drawn_or_not_known), None, "{drawn_or_not_known}");
    }
}

#[test]
fn a_piece_that_is_lost_wins_nothing() {
    // With the move the king takes the rook; without it one piece may go, not two.
    assert_eq!(score("8/8/8/8/8/1k6/R7/4K3 b - - 0 1"), None);
    assert!(score("8/8/8/8/8/1k6/R7/4K3 w - - 0 1").is_some());
    assert!(score("8/8/8/8/8/1k6/RR6/4K3 b - - 0 1").is_some());
    assert_eq!(score("8/8/8/8/2N5/1k6/B7/4K3 b - - 0 1"), None);
    assert_eq!(score("8/8/8/8/NB6/1k6/8/7K w - - 0 1"), None);
}

#[test]
fn it_is_worth_more_the_nearer_the_mate_is() {
    for closer in [
        ["8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "8/3k4/8/8/8/8/8/R3K3 w - - 0 1"],
        ["3k4/8/8/8/8/8/8/R3K3 w - - 0 1", "3k4/8/3K4/8/8/8/8/R7 w - - 0 1"],
        ["3k4/8/3K4/8/8/8/8/R7 w - - 0 1", "3k4/8/3K4/8/8/8/8/Q7 w - - 0 1"],
        // The bishop stands on a dark square, as a1 and h8 are.
        ["k7/8/2K5/2N5/8/8/8/2B5 w - - 0 1", "7k/8/5K2/5N2/8/8/8/2B5 w - - 0 1"],
    ] {
        assert!(score(closer[0]) < score(closer[1]), "{closer:?}");
    }
}

/// Colours exchanged, the other side wins, by as much.
#[test]
fn colours_are_alike() {
    for fen in ["8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "7k/8/5K2/5N2/8/8/8/2B5 b - - 0 1"] {
        let setup = position(fen).to_setup(shakmaty::EnPassantMode::Legal).into_mirrored();
        let mirrored = setup.position::<Chess>(CastlingMode::Standard).unwrap();
        let (won, other) = (Win::of(&position(fen)).unwrap(), Win::of(&mirrored).unwrap());
        assert!(won.winner == !other.winner && (won.score - other.score).abs() < 1e-6);
    }
}

#[test]
fn only_such_endings_are_answered_for() {
    let won = position("8/8/8/3k4/8/8/8/R3K3 w - - 0 1");
    let lost = position("8/8/8/3k4/8/8/8/R3K3 b - - 0 1");
    let batch: Vec<Request> =
        [&Chess::new(), &won, &lost].into_iter().map(Request::single).collect();
    let (mut plain, mut known) = (Guesser::new(8), KnownWins::over(Box::new(Guesser::new(8))));
    plain.submit(batch.clone());
    known.submit(Vec::new());
    known.submit(batch.clone());
    assert_eq!(known.collect().unwrap(), Vec::new());
    let (plain, known) = (plain.collect().unwrap(), known.collect().unwrap());
    assert_eq!(plain[0], known[0]);
    for (answer, asked) in known[1..].iter().zip(&batch[1..]) {
        let is_winner = asked.position.turn() == Color::White;
        assert_eq!(answer.value > 0.9, is_winner);
        let of_wdl = answer.wdl[0] + answer.wdl[1] / 2.0;
        assert!((of_wdl - answer.value).abs() < 1e-6 && answer.error > 0.0);
        let sum: f32 = answer.moves.iter().map(|said| said.policy).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        let likeliest = answer.moves.iter().max_by(|a, b| a.policy.total_cmp(&b.policy));
        let best = answer.moves.iter().map(|said| said.action_value).fold(0.0, f32::max);
        assert!((likeliest.unwrap().action_value - best).abs() < 1e-6);
    }
    assert_eq!(known[1].moves.len(), batch[1].moves.len());
}

/// Whether this is answered for where the king's moves or the winner's are looked at too.
fn is_won(fen: &str) -> bool {
    Known::of(0, &Request::single(&position(fen))).is_some()
}

#[test]
fn a_fork_of_bishop_and_knight_is_no_win() {
    for drawn in ["8/8/8/8/NB6/8/2k5/7K b - - 0 1", "N7/1k6/8/8/8/8/8/B6K w - - 0 1"] {
        assert!(score(drawn).is_some() && !is_won(drawn), "{drawn}");
    }
    assert!(is_won("8/8/8/8/NB6/8/5k2/7K b - - 0 1"));
}

#[test]
fn a_stalemate_is_no_win() {
    let asked = Request::single(&position("k7/8/2K5/8/8/8/8/1R6 w - - 0 1"));
    let known = Known::of(0, &asked).unwrap();
    for (played, win) in asked.moves.iter().zip(known.moves) {
        // Rb8 loses the rook.
        let is_out = matches!(played.to(), Square::B7 | Square::B8);
        assert_eq!(win.is_none(), is_out, "{played}");
    }
}

/// Its device fails once, as that of a search which ended may.
struct FailsOnce(Guesser, bool);

impl Evaluator for FailsOnce {
    fn description(&self) -> String {
        self.0.description()
    }

    fn batch_size(&self) -> usize {
        self.0.batch_size()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.0.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let answer = self.0.collect();
        if std::mem::replace(&mut self.1, true) {
            answer
        } else {
            Err(EvalError::DeviceLost("for once".to_owned()))
        }
    }
}

#[test]
fn a_lost_batch_takes_its_part_along() {
    let won = Request::single(&position("8/8/8/3k4/8/8/8/R3K3 w - - 0 1"));
    let start = Request::single(&Chess::new());
    let mut known = KnownWins::over(Box::new(FailsOnce(Guesser::new(8), false)));
    for asked in [&won, &start, &won] {
        known.submit(vec![asked.clone()]);
    }
    known.collect().unwrap_err();
    assert!(known.collect().unwrap()[0].value < 0.6);
    assert!(known.collect().unwrap()[0].value > 0.9);
}
