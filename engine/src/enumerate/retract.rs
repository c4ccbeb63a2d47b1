//! Takes moves back: from which positions of a closure can a position have come?

use shakmaty::{
    Bitboard, Board, CastlingSide, Chess, Color, Piece, Position as _, Rank, Role, Square, attacks,
};

use super::space::Space;

/// Indices among which are all positions of the space that have a move to `target`; others may be
/// among them, and some may be no positions at all.
pub(super) fn candidates(space: &Space, target: &Chess) -> Vec<u128> {
    let mover = !target.turn();
    let board = target.board();
    let pawns = space.pawns(mover);
    let gone = pawns & !board.by_piece(mover.pawn());
    let came = board.by_piece(mover.pawn()) & !pawns;
    let mut boards = Vec::new();
    match (gone.single_square(), came.single_square()) {
        (None, None) if gone.is_empty() && came.is_empty() => {
            piece_moves(board, mover, &mut boards);
            castlings(space, board, mover, &mut boards);
        }
        (Some(from), Some(to)) => undo(board, mover.pawn(), from, to, &mut boards),
        (Some(from), None) if came.is_empty() => promotions(board, mover, from, &mut boards),
        // More than one pawn differs.
        _ => {}
    }
    let mut indices: Vec<u128> = boards
        .iter()
        .flat_map(|before| captures_undone(space, before, mover))
        .flat_map(|before| with_rights(space, &before, target, mover))
        .collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// A board before the move, and where a captured piece may have stood.
struct Before {
    board: Board,
    /// What captures may have been on; empty where the move was none.
    captured: Bitboard,
}

/// Puts the piece back that went from `from` to `to`.
fn undo(board: &Board, piece: Piece, from: Square, to: Square, boards: &mut Vec<Before>) {
    let mut before = board.clone();
    before.discard_piece_at(to);
    before.set_piece_at(from, piece);
    let mut captured = Bitboard::from_square(to);
    if piece.role == Role::Pawn && from.file() != to.file() {
        // Perhaps en passant.
        captured.add(Square::from_coords(to.file(), from.rank()));
    }
    boards.push(Before { board: before, captured });
}

fn piece_moves(board: &Board, mover: Color, boards: &mut Vec<Before>) {
    for to in board.by_color(mover) & !board.pawns() {
        let Some(piece) = board.piece_at(to) else { continue };
        for from in attacks::attacks(to, piece, board.occupied()) & !board.occupied() {
            undo(board, piece, from, to, boards);
        }
    }
}

fn promotions(board: &Board, mover: Color, from: Square, boards: &mut Vec<Before>) {
    let ahead = mover.fold_wb(Rank::Eighth, Rank::First);
    let near = attacks::king_attacks(from) & Bitboard::from_rank(ahead);
    for to in near & board.by_color(mover) {
        undo(board, mover.pawn(), from, to, boards);
    }
}

fn castlings(space: &Space, board: &Board, mover: Color, boards: &mut Vec<Before>) {
    let castles = space.start().castles();
    for side in [CastlingSide::KingSide, CastlingSide::QueenSide] {
        let king_from = space.start().board().king_of(mover);
        let (Some(king), Some(rook)) = (king_from, castles.rook(mover, side)) else { continue };
        let (king_to, rook_to) = (side.king_to(mover), side.rook_to(mover));
        if board.piece_at(king_to) == Some(mover.king())
            && board.piece_at(rook_to) == Some(mover.rook())
        {
            let mut before = board.clone();
            before.discard_piece_at(king_to);
            before.discard_piece_at(rook_to);
            before.set_piece_at(king, mover.king());
            before.set_piece_at(rook, mover.rook());
            boards.push(Before { board: before, captured: Bitboard::EMPTY });
        }
    }
}

/// The board itself, or with what the closure has and it lacks, on each square where that may have
/// been captured.
fn captures_undone(space: &Space, before: &Before, mover: Color) -> Vec<Board> {
    let them = !mover;
    let (had, has) = (space.start().board().material_side(them), before.board.material_side(them));
    let lacking: Vec<Role> =
        Role::ALL.into_iter().filter(|&role| had.get(role) > has.get(role)).collect();
    match lacking[..] {
        [] => vec![before.board.clone()],
        [role] => (before.captured & !before.board.occupied())
            .into_iter()
            .map(|square| {
                let mut board = before.board.clone();
                board.set_piece_at(square, role.of(them));
                board
            })
            .collect(),
        // Two captures lie between.
        _ => Vec::new(),
    }
}

/// The indices of a board with at least the castling rights that are left after the move.
fn with_rights(space: &Space, board: &Board, target: &Chess, mover: Color) -> Vec<u128> {
    let left = target.castles().castling_rights();
    let more = space.rights() & !left;
    let index = |extra: Bitboard| space.index(board, mover, left | extra);
    let mut indices: Vec<u128> = more.carry_rippler().filter_map(index).collect();
    let start = space.start();
    if *board == *start.board() && mover == start.turn() {
        indices.push(space.first());
    }
    indices
}
