//! Encoding along random games: what the tokens say is what stands on the board.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, Move, Position, Role};
use tesla_nn::encode::{ATTACK_STATES, MOVE_FEATURES, MOVE_SITUATIONS, TARGETS, Window};

/// Plays `choices` from the start position; stops where the game ends.
fn random_game(choices: &[u16]) -> Vec<(Chess, Option<Move>)> {
    let mut position = Chess::default();
    let mut line = vec![(position.clone(), None)];
    for &choice in choices {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        let played = moves[usize::from(choice) % moves.len()];
        position.play_unchecked(played);
        line.push((position.clone(), Some(played)));
    }
    line
}

/// Piece-squares of a board as `side` sees it, computed apart from the encoder.
fn expected(position: &Chess, side: Color) -> BTreeSet<u16> {
    let roles = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];
    position
        .board()
        .into_iter()
        .map(|(square, piece)| {
            let role = roles.iter().take_while(|&&role| role != piece.role).count() as u16;
            let kind = if piece.color == side { role } else { role + 6 };
            let square = if side == Color::White { square } else { square.flip_vertical() };
            kind * 64 + u16::from(square)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn visible_tokens_are_the_pieces_on_the_board(
        choices in prop::collection::vec(any::<u16>(), 1..160),
        plies in 0_usize..9,
    ) {
        let line = random_game(&choices);
        let anchor = line.len().saturating_sub(plies + 1);
        let (start, _) = &line[anchor];
        let mut window = Window::new(start, 0, &start.legal_moves());
        for (position, played) in &line[anchor + 1..] {
            prop_assert!(window.has_room());
            window.push(played.unwrap(), position, 0, &position.legal_moves());
        }
        for ((position, _), readout) in line[anchor..].iter().zip(&window.readouts) {
            let seen: BTreeSet<u16> = (0..window.tokens.len())
                .filter(|token| readout.visible >> token & 1 == 1)
                .map(|token| window.tokens[token].piece_square)
                .collect();
            prop_assert_eq!(&seen, &expected(position, start.turn()));
            prop_assert_eq!(readout.visible.count_ones() as usize, seen.len());
            prop_assert_eq!(readout.board.len(), seen.len());
            prop_assert_eq!(readout.moves.len(), position.legal_moves().len());
            prop_assert_eq!(readout.rules[0], u8::from(position.turn() != start.turn()));
        }
    }

    #[test]
    fn moves_name_the_tokens_of_mover_and_captured(
        choices in prop::collection::vec(any::<u16>(), 1..120),
    ) {
        let line = random_game(&choices);
        let (position, _) = line.last().unwrap();
        let moves = position.legal_moves();
        let window = Window::new(position, 0, &moves);
        let mut seen = BTreeSet::new();
        for (m, token) in moves.iter().zip(&window.readouts[0].moves) {
            let mover = window.tokens[usize::from(token.piece)];
            prop_assert_eq!(mover.kind(), m.role() as u8 - 1);
            let captured = token.captured.map(|t| window.tokens[usize::from(t)].kind());
            prop_assert_eq!(captured, m.capture().map(|role| role as u8 - 1 + 6));
            prop_assert!(usize::from(token.target) < TARGETS);
            prop_assert!(usize::from(token.feature) < MOVE_FEATURES);
            prop_assert!(usize::from(token.situation) < MOVE_SITUATIONS);
            prop_assert!(seen.insert((token.piece, token.target)), "two moves look the same");
        }
    }
}

/// Exchange class, threats and the mover's attack state, as the encoder sees a move.
fn situation(fen: &str, played: &str) -> [usize; 3] {
    let setup: Fen = fen.parse().unwrap();
    let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
    let played = played.parse::<UciMove>().unwrap().to_move(&position).unwrap();
    let window = Window::new(&position, 0, &[played]);
    let afterwards = MOVE_SITUATIONS / (5 * 3 * ATTACK_STATES);
    let row = usize::from(window.readouts[0].moves[0].situation) / afterwards;
    [row / ATTACK_STATES / 3, row / ATTACK_STATES % 3, row % ATTACK_STATES]
}

#[test]
fn situations_tell_exchanges_threats_and_the_state_left() {
    // A knight attacked by a pawn attacks the queen; one that hangs to her forks her and the king.
    assert_eq!(situation("3qk3/8/3p4/4N3/8/8/8/4K3 w - - 0 1", "e5c6"), [2, 1, 1]);
    assert_eq!(situation("q3k3/8/3p4/3N4/8/8/8/4K3 w - - 0 1", "d5c7"), [2, 2, 2]);
    // A queen takes a defended pawn; a rook takes an undefended knight.
    assert_eq!(situation("4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1", "d1d5")[0], 0);
    assert_eq!(situation("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "d1d5")[0], 4);
    // A knight takes a pawn that a pawn defends: loses two pawns and more.
    assert_eq!(situation("4k3/8/2p5/3p4/5N2/8/8/4K3 w - - 0 1", "f4d5")[0], 1);
}
