//! The board as text, for `d` and `eval`.

use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, File, Piece, Position, PositionError};
use shakmaty::{Rank, Role, Square};

/// Draws the board with White below, as Stockfish does, with ranks and files; under each piece what
/// `below` has for its square, where it has anything for any square.
pub(super) fn draw(position: &Chess, below: &dyn Fn(Square) -> Option<String>) -> String {
    let is_annotated = Square::ALL.into_iter().any(|square| below(square).is_some());
    let width = if is_annotated { 7 } else { 3 };
    let row = |cells: [String; 8]| {
        let cells = cells.map(|cell| format!("|{cell:^width$}"));
        format!(" {}|", cells.concat())
    };
    let edge = format!(" {}+", format!("+{}", "-".repeat(width)).repeat(8));
    let mut lines = vec![edge.clone()];
    for rank in Rank::ALL.into_iter().rev() {
        let squares = File::ALL.map(|file| Square::from_coords(file, rank));
        let piece = |square| position.board().piece_at(square).map(Piece::char);
        let pieces = squares.map(|square| piece(square).map(String::from).unwrap_or_default());
        lines.push(format!("{} {}", row(pieces), rank.char()));
        if is_annotated {
            lines.push(row(squares.map(|square| below(square).unwrap_or_default())));
        }
        lines.push(edge.clone());
    }
    let files = File::ALL.map(|file| format!(" {:^width$}", file.char()));
    lines.push(format!(" {}", files.concat()).trim_end().to_owned());
    lines.join("\n")
}

/// The position without the piece on `square`; `None` where that is no position: without a king, or
/// with the side that is not to move in check.
pub(super) fn without(position: &Chess, square: Square) -> Option<Chess> {
    let mut setup = position.to_setup(EnPassantMode::Legal);
    let piece = setup.board.remove_piece_at(square)?;
    if piece.role == Role::King {
        return None;
    }
    setup.castling_rights.discard(square);
    setup.ep_square = None;
    let mode: CastlingMode = position.castles().mode();
    let position = setup.position::<Chess>(mode).or_else(PositionError::ignore_too_much_material);
    position.ok().filter(|position| !position.is_game_over())
}

/// The squares from which the side to move is in check, in words.
pub(super) fn checkers(position: &Chess) -> String {
    let squares: Vec<String> = position.checkers().into_iter().map(|sq| sq.to_string()).collect();
    if squares.is_empty() { "none".to_owned() } else { squares.join(" ") }
}

/// The side to move, in a word.
pub(super) fn turn(position: &Chess) -> &'static str {
    match position.turn() {
        Color::White => "White",
        Color::Black => "Black",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::notation::from_fen;

    #[test]
    fn the_board_has_ranks_files_and_what_is_below_its_pieces() {
        let plain = draw(&Chess::default(), &|_| None);
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines.first(), Some(&" +---+---+---+---+---+---+---+---+"));
        assert_eq!(lines.get(1), Some(&" | r | n | b | q | k | b | n | r | 8"));
        assert_eq!(lines.get(15), Some(&" | R | N | B | Q | K | B | N | R | 1"));
        assert_eq!(lines.get(17), Some(&"   a   b   c   d   e   f   g   h"));
        let worth =
            draw(&Chess::default(), &|square| (square == Square::E4).then(|| "+1.25".to_owned()));
        assert!(worth.contains("| +1.25 |") && worth.lines().count() == 8 * 3 + 2, "{worth}");
    }

    #[test]
    fn pieces_are_taken_away_where_that_leaves_a_position() {
        let position = from_fen("r3k2r/8/8/8/8/8/4q3/R3K2R w KQkq - 0 1", false).unwrap();
        assert_eq!(checkers(&position), "e2");
        assert!(without(&position, Square::E1).is_none(), "a king");
        assert!(without(&position, Square::D4).is_none(), "an empty square");
        let less = without(&position, Square::A1).unwrap();
        assert!(less.board().piece_at(Square::A1).is_none());
        // Black's king would be in check with White to move.
        let pinned = from_fen("4k3/4r3/8/8/8/8/8/K3R3 w - - 0 1", false).unwrap();
        assert!(without(&pinned, Square::E7).is_none());
        assert!(without(&pinned, Square::E1).is_some());
    }
}
