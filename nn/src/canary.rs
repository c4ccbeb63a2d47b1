//! A few known positions on which every device must agree with the CPU.

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Position};

use crate::evaluator::{Evaluation, Handle, Request};

/// Castling, en passant, promotion, check, few pieces and many.
const POSITIONS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkb1r/ppppp1pp/7n/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "8/8/8/8/8/3N1K2/2p1N3/1k6 w - - 0 5",
    "4k3/8/8/8/4r3/8/4P3/4K2R b K - 3 40",
];

/// The canary positions as requests.
pub fn requests() -> Vec<Request> {
    POSITIONS
        .iter()
        .filter_map(|fen| {
            let fen: Fen = fen.parse().ok()?;
            let position: Chess = fen.into_position(CastlingMode::Standard).ok()?;
            Some(Request::single(&position))
        })
        .collect()
}

/// The canary positions, to be kept for their children.
pub fn parents() -> Vec<Request> {
    requests().into_iter().map(|request| Request { keep: true, ..request }).collect()
}

/// One child of each canary position, whose names on the device are given: by castling, en passant
/// or promotion where that is legal.
pub fn children(parents: &[Handle]) -> Vec<Request> {
    let children = requests().into_iter().zip(parents).filter_map(|(request, &parent)| {
        let mut moves = request.moves.iter();
        let is_special =
            |m: &&shakmaty::Move| m.is_castle() || m.is_en_passant() || m.is_promotion();
        let played = *moves.clone().find(is_special).or_else(|| moves.next())?;
        let position = request.position.play(played).ok()?;
        Some(Request { parent: Some((parent, played)), ..Request::single(&position) })
    });
    children.collect()
}

/// Largest difference in value or in a move's policy; infinite where an answer is not a number.
pub fn difference(expected: &[Evaluation], actual: &[Evaluation]) -> f32 {
    let mut most: f32 = if expected.len() == actual.len() { 0.0 } else { f32::INFINITY };
    let mut see = |a: f32, b: f32| {
        let gap = (a - b).abs();
        most = if gap.is_finite() { most.max(gap) } else { f32::INFINITY };
    };
    for (a, b) in expected.iter().zip(actual) {
        see(a.value, b.value);
        see(a.error, b.error);
        for (a, b) in a.moves.iter().zip(&b.moves) {
            see(a.policy, b.policy);
            see(a.action_value, b.action_value);
        }
    }
    most
}
