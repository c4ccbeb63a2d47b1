use proptest::prelude::*;

use super::*;
use crate::game::ending::GameResult;

fn opening(fen: &str, chess960: bool) -> Opening {
    Opening { fen: fen.to_owned(), moves: Vec::new(), chess960, name: None }
}

fn standard(fen: &str) -> GameState {
    GameState::new(&opening(fen, false)).unwrap()
}

/// Plays all moves; none but the last may end the game.
fn play(state: &mut GameState, moves: &str) -> Option<Ending> {
    for uci in moves.split_whitespace() {
        assert_eq!(state.outcome(), None, "before {uci}");
        state.play(uci.parse().unwrap()).unwrap();
    }
    state.outcome()
}

#[test]
fn mates_and_stalemates() {
    let mut state = standard(&start_fen());
    let mated = Some(Ending::loss(shakmaty::Color::White, Termination::Checkmate));
    assert_eq!(play(&mut state, "f2f3 e7e5 g2g4 d8h4"), mated);
    let mut state = standard("7k/5Q2/8/8/8/8/8/K7 w - - 0 1");
    assert_eq!(play(&mut state, "a1a2"), Some(Ending::draw(Termination::Stalemate)));
    let mut state = standard("8/8/4k3/8/8/3pK3/8/8 w - - 0 1");
    assert_eq!(play(&mut state, "e3d3"), Some(Ending::draw(Termination::InsufficientMaterial)));
}

#[test]
fn mate_goes_before_the_fifty_moves() {
    let fen = "7k/8/6K1/8/8/8/8/R7 w - - 99 80";
    let ending = play(&mut standard(fen), "a1a8").unwrap();
    assert_eq!(ending.termination, Termination::Checkmate);
    assert_eq!(ending.result, GameResult::WhiteWins);
    assert_eq!(play(&mut standard(fen), "a1a2"), Some(Ending::draw(Termination::FiftyMoves)));
}

#[test]
fn opening_moves_count_for_repetition() {
    let shuffle = "g1f3 g8f6 f3g1 f6g8";
    let mut start = opening(&start_fen(), false);
    start.moves = shuffle.split(' ').map(|uci| uci.parse().unwrap()).collect();
    let mut state = GameState::new(&start).unwrap();
    assert_eq!(play(&mut state, shuffle), Some(Ending::draw(Termination::Repetition)));
    assert_eq!(state.engine_plies(), 4);
    assert_eq!(state.moves().len(), 8);
}

#[test]
fn castling_rights_and_en_passant_make_positions_different() {
    // The start position has rights that no later one has.
    let mut state = standard("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
    let shuffle = "a1b1 a8b8 b1a1 b8a8 ";
    assert_eq!(play(&mut state, &shuffle.repeat(2)), None);
    assert_eq!(play(&mut state, "a1b1 a8b8"), Some(Ending::draw(Termination::Repetition)));
    // Only the first position after the push allows a capture en passant.
    let shuffle = "e8e7 e1e2 e7e8 e2e1 ";
    let mut state = standard("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1");
    assert_eq!(play(&mut state, &format!("e2e4 {}", shuffle.repeat(2))), None);
    assert_eq!(play(&mut state, "e8e7"), Some(Ending::draw(Termination::Repetition)));
    // Here nobody can capture, so the push makes no difference.
    let mut state = standard("4k3/8/8/8/p7/8/4P3/4K3 w - - 0 1");
    let ending = play(&mut state, &format!("e2e4 {}", shuffle.repeat(2)));
    assert_eq!(ending, Some(Ending::draw(Termination::Repetition)));
}

#[test]
fn castling_must_be_written_as_the_mode_asks() {
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    for (chess960, right, wrong) in [(false, "e1g1", "e1h1"), (true, "e1h1", "e1g1")] {
        let mut state = GameState::new(&opening(fen, chess960)).unwrap();
        let error = state.play(wrong.parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), format!("{wrong} is not a legal move in \"{fen}\""));
        assert!(state.moves().is_empty());
        state.play(right.parse().unwrap()).unwrap();
    }
    // King f1 and rook g1: one square is a king move, the rook's square is castling.
    let fen = "1k6/8/8/8/8/8/8/5KR1 w K - 0 1";
    let mut state = GameState::new(&opening(fen, true)).unwrap();
    state.play("f1g1".parse().unwrap()).unwrap();
    assert_eq!(fen_of(state.position()), "1k6/8/8/8/8/8/8/5RK1 b - - 1 1");
}

#[test]
fn illegal_moves_change_nothing() {
    let mut state = standard("4k3/P7/8/8/8/8/8/4K3 w - - 0 1");
    for uci in ["a7a8", "a7a8k", "a7a8p", "a7b8q", "0000", "N@f3", "e1e3", "e8e7", "e1e2q"] {
        assert!(state.play(uci.parse().unwrap()).is_err(), "{uci}");
    }
    assert_eq!(state.uci_position(), "position fen 4k3/P7/8/8/8/8/8/4K3 w - - 0 1");
    state.play("a7a8n".parse().unwrap()).unwrap();
}

#[test]
fn position_commands() {
    let mut state = standard(&start_fen());
    assert_eq!(state.uci_position(), "position startpos");
    play(&mut state, "e2e4 e7e5");
    assert_eq!(state.uci_position(), "position startpos moves e2e4 e7e5");
    let fen = "nqrkbbrn/pppppppp/8/8/8/8/PPPPPPPP/NQRKBBRN w KQkq - 0 1";
    let mut state = GameState::new(&opening(fen, true)).unwrap();
    play(&mut state, "h1g3 h8g6 e2e3 e7e6 f1e2 f8e7 d2d3 d7d6 e1c3 e8c6 d1g1");
    let moves = "moves h1g3 h8g6 e2e3 e7e6 f1e2 f8e7 d2d3 d7d6 e1c3 e8c6 d1g1";
    assert_eq!(state.uci_position(), format!("position fen {fen} {moves}"));
    // Both rooks stand on one side: the castling right must name the inner one's file.
    let fen = "1k6/8/8/8/8/8/8/1K3R1R w F - 0 1";
    let state = GameState::new(&opening(fen, true)).unwrap();
    assert_eq!(state.uci_position(), format!("position fen {fen}"));
}

#[test]
fn openings_that_cannot_be_played_are_refused() {
    let refusal = |fen: &str| GameState::new(&opening(fen, false)).unwrap_err().to_string();
    let frc = "rnkrqbbn/pppppppp/8/8/8/8/PPPPPPPP/RNKRQBBN w KQkq - 0 1";
    assert!(refusal(frc).contains("play it as Chess960"), "{}", refusal(frc));
    let two_kings = refusal("4k3/8/8/8/8/8/8/3KK3 w - - 0 1");
    assert!(two_kings.contains("too many kings") && !two_kings.contains("Chess960"), "{two_kings}");
    assert!(refusal("4k3/8/8 w - - 0 1").contains("is not a FEN"));
    assert!(refusal("4k3/8/8/8/8/8/P7/4K3/Q w - - 0 1").contains("other variants"));
    assert!(refusal("4k3/8/8/8/8/8/P7/4K3 w - - 100 80").contains("fifty-moves"));
    let mut start = opening(&start_fen(), false);
    start.moves = vec!["e2e4".parse().unwrap(), "e4e5".parse().unwrap()];
    let error = GameState::new(&start).unwrap_err().to_string();
    assert!(error.starts_with("move 2 of the opening: e4e5 is not a legal move"), "{error}");
}

#[test]
fn the_longest_game_counts_the_engines_moves() {
    let mut start = opening(&start_fen(), false);
    start.moves = vec!["e2e4".parse().unwrap()];
    let mut state = GameState::new(&start).unwrap();
    state.set_max_plies(Some(2));
    assert_eq!(play(&mut state, "e7e5 g1f3"), Some(Ending::draw(Termination::MaxPlies)));
}

#[test]
fn counters_at_their_limit_do_not_overflow() {
    let mut state = standard("4k3/8/8/8/8/8/P7/4K3 b - - 98 4294967295");
    assert_eq!(play(&mut state, "e8e7 a2a4 e7e8 a4a5"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Against the definition: compare with every position of the game.
    #[test]
    fn repetition_is_the_third_occurrence(choices in prop::collection::vec(any::<u16>(), 300)) {
        // Few pieces, so that positions recur; a pawn, so that some moves are irreversible.
        let mut state = standard("r3k3/p7/8/8/8/8/7P/4K2R w Kq - 0 1");
        let mut seen = vec![state.position().clone()];
        for choice in choices {
            let moves = state.position().legal_moves();
            // Mostly the first two moves: they shuffle to and fro.
            let choice = usize::from(choice);
            let pick = if choice % 8 == 0 { choice / 8 } else { choice % 2 };
            let Some(&m) = moves.get(pick % moves.len().max(1)) else { break };
            state.play(m.to_uci(CastlingMode::Standard)).unwrap();
            seen.push(state.position().clone());
            let count = seen.iter().filter(|earlier| *earlier == state.position()).count();
            let ending = state.outcome().map(|ending| ending.termination);
            prop_assert_eq!(ending == Some(Termination::Repetition),
                count >= 3 && !matches!(ending, Some(Termination::FiftyMoves
                    | Termination::InsufficientMaterial)));
            if ending.is_some() { break; }
        }
    }
}
