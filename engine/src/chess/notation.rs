//! `position …` and moves: text to a game.

use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::uci::UciMove;
use shakmaty::{
    CastlingMode, Chess, Move, Position, PositionError, PositionErrorKinds, Rank, Role,
};
use tesla_nn::encode::MAX_PIECES;

use crate::chess::game::Game;

/// Most characters of a FEN that a sentence repeats; the longest real ones have about 90.
const LONGEST_SHOWN: usize = 120;

/// What is wrong with a `position` command, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionProblem {
    /// Neither `startpos` nor `fen`.
    #[error("position needs startpos or fen, for example: position startpos moves e2e4")]
    NoPosition,
    /// A field of the FEN cannot be read.
    #[error("the FEN '{fen}' cannot be read: {fault}")]
    BadFen {
        /// As it was given.
        fen: String,
        /// What to fix.
        fault: &'static str,
    },
    /// The FEN is readable but no chess position.
    #[error("the FEN '{fen}' is not a chess position: {fault}")]
    Impossible {
        /// As it was given.
        fen: String,
        /// What to fix.
        fault: &'static str,
    },
    /// Something else stands where `moves` belongs.
    #[error("'{0}' stands where moves belongs, for example: position startpos moves e2e4")]
    NoMoves(String),
    /// A move that cannot be played.
    #[error("move {number}, '{text}', {fault}; the position is unchanged")]
    IllegalMove {
        /// Counted from 1.
        number: usize,
        /// As it was given.
        text: String,
        /// What is wrong with it.
        fault: &'static str,
    },
}

/// Reads what follows `position`.
///
/// # Errors
/// When the position or one of the moves is wrong.
pub fn parse(text: &str, chess960: bool) -> Result<Game, PositionProblem> {
    let (kind, rest) = split_word(text);
    let (start, rest) = match kind {
        "startpos" => (Chess::default(), rest),
        "fen" => {
            let (fen, rest) = split_at_moves(rest);
            (from_crowded_fen(fen, chess960)?, rest)
        }
        _ => return Err(PositionProblem::NoPosition),
    };
    let mut game = Game::new(start);
    let (word, moves) = split_word(rest);
    if !matches!(word, "" | "moves") {
        return Err(PositionProblem::NoMoves(word.to_owned()));
    }
    for (index, text) in moves.split_whitespace().enumerate() {
        let played = parse_move(text, game.position()).map_err(|fault| {
            PositionProblem::IllegalMove { number: index + 1, text: text.to_owned(), fault }
        })?;
        game.play(played);
    }
    Ok(game)
}

/// Reads a FEN. Castling rights and en-passant squares that cannot be are dropped, as is usual.
///
/// # Errors
/// When a field is unreadable or the position cannot be played from.
pub fn from_fen(text: &str, chess960: bool) -> Result<Chess, PositionProblem> {
    read_fen(text, chess960, 0)
}

/// The same, and positions that no game from the usual start can reach, with nine pawns or three
/// bishops of a colour: up to the [`MAX_PIECES`] that an evaluator takes.
///
/// # Errors
/// The same.
pub fn from_crowded_fen(text: &str, chess960: bool) -> Result<Chess, PositionProblem> {
    read_fen(text, chess960, MAX_PIECES)
}

/// Pieces in the first field of a FEN.
fn pieces(text: &str) -> usize {
    split_word(text).0.bytes().filter(u8::is_ascii_alphabetic).count()
}

/// Reads a FEN; with up to `crowded` pieces they may be more than a game gives.
fn read_fen(text: &str, chess960: bool, crowded: usize) -> Result<Chess, PositionProblem> {
    // Editors of Windows mark the beginning of a file.
    let text = text.trim_start_matches('\u{feff}');
    let unreadable = |error: ParseFenError| PositionProblem::BadFen {
        fen: shortened(text),
        fault: field_fault(&error),
    };
    let fen: Fen = text.parse().map_err(unreadable)?;
    // What belongs to other variants would be dropped without a word.
    if fen.as_setup().pockets.is_some() {
        return Err(unreadable(ParseFenError::InvalidPocket));
    }
    if fen.as_setup().remaining_checks.is_some() {
        return Err(unreadable(ParseFenError::InvalidRemainingChecks));
    }
    let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::detect(fen.as_setup()) };
    let found = fen
        .into_position::<Chess>(mode)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_impossible_check);
    let found = if pieces(text) <= crowded {
        found.or_else(PositionError::ignore_too_much_material)
    } else {
        found
    };
    found.map_err(|error| PositionProblem::Impossible {
        fen: shortened(text),
        fault: position_fault(error.kinds()),
    })
}

/// What somebody gave as a FEN, as far as it fits into a sentence.
fn shortened(text: &str) -> String {
    let mut rest = text.chars();
    let mut shown: String = rest.by_ref().take(LONGEST_SHOWN).collect();
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Reads a move in the notation of UCI; castling may be written either way.
///
/// # Errors
/// What is wrong with it, to follow the move in a sentence.
pub fn parse_move(text: &str, position: &Chess) -> Result<Move, &'static str> {
    let uci = UciMove::from_ascii(text.as_bytes())
        .map_err(|_| "is not a move like e2e4, e7e8q or, for castling, e1g1")?;
    uci.to_move(position).map_err(|_| {
        match uci.from().map(|from| position.board().piece_at(from)) {
            Some(None) => "starts from an empty square",
            Some(Some(piece)) if piece.color != position.turn() => "moves the opponent's piece",
            Some(Some(piece)) if piece.role == Role::Pawn && needs_promotion(uci) => {
                "needs the piece it promotes to, for example e7e8q"
            }
            _ => "is not legal here",
        }
    })
}

fn needs_promotion(uci: UciMove) -> bool {
    uci.promotion().is_none()
        && uci.to().is_some_and(|to| matches!(to.rank(), Rank::First | Rank::Eighth))
}

fn split_word(text: &str) -> (&str, &str) {
    text.trim_start().split_once(char::is_whitespace).unwrap_or((text.trim_start(), ""))
}

/// Splits before the word `moves`.
fn split_at_moves(text: &str) -> (&str, &str) {
    let is_border = |side: Option<char>| side.is_none_or(char::is_whitespace);
    for (at, word) in text.match_indices("moves") {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or_default();
        if is_border(before.chars().next_back()) && is_border(after.chars().next()) {
            return (before.trim(), rest);
        }
    }
    (text.trim(), "")
}

fn field_fault(error: &ParseFenError) -> &'static str {
    match error {
        ParseFenError::InvalidFen => "it needs pieces, side, castling, en passant and two counters",
        ParseFenError::InvalidBoard => {
            "the pieces must be eight ranks of eight squares with / between"
        }
        ParseFenError::InvalidPocket => "chess has no pocket",
        ParseFenError::InvalidTurn => "the second field must be w or b",
        ParseFenError::InvalidCastling => "the third field must be - or letters like KQkq or HAha",
        ParseFenError::InvalidEpSquare => "the fourth field must be - or a square like e3",
        ParseFenError::InvalidRemainingChecks => "chess counts no checks",
        ParseFenError::InvalidHalfmoveClock => {
            "the fifth field must be a number (the fifty-move count)"
        }
        ParseFenError::InvalidFullmoves => "the sixth field must be a number (the move number)",
    }
}

fn position_fault(kinds: PositionErrorKinds) -> &'static str {
    let faults = [
        (PositionErrorKinds::EMPTY_BOARD, "the board is empty"),
        (PositionErrorKinds::MISSING_KING, "each side needs a king"),
        (PositionErrorKinds::TOO_MANY_KINGS, "each side has exactly one king"),
        (PositionErrorKinds::PAWNS_ON_BACKRANK, "no pawn can stand on the first or last rank"),
        (
            PositionErrorKinds::OPPOSITE_CHECK,
            "the side to move could take the king; perhaps the other side is to move",
        ),
        (PositionErrorKinds::TOO_MUCH_MATERIAL, "one side has more pieces than a game allows"),
    ];
    let found = faults.into_iter().find(|(kind, _)| kinds.intersects(*kind));
    found.map_or("the rules forbid it", |(_, fault)| fault)
}

/// Whether this value of a PGN's tag `Variant` means the rules of chess, Chess960 included.
pub fn is_chess(variant: &str) -> bool {
    let plain: String = variant.chars().filter(char::is_ascii_alphanumeric).collect();
    ["", "standard", "chess", "normal", "fromposition", "chess960", "fischerandom", "fischerrandom"]
        .contains(&plain.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text, false).unwrap_err().to_string()
    }

    #[test]
    fn positions_and_moves() {
        let game = parse("startpos moves e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1", false).unwrap();
        assert_eq!(game.position().turn(), shakmaty::Color::Black);
        assert!(parse("startpos", true).is_ok());
        assert!(parse("startpos moves", true).is_ok());
        let line = "fen  4k3/8/8/8/8/8/8/4K2R w K - 0 1  moves e1h1";
        assert!(parse(line, false).is_ok() && parse(line, true).is_ok());
        assert!(parse("fen 4k3/8/8/8/8/8/8/4K2R w K -", false).is_ok());
        // Rights and squares that cannot be are dropped.
        assert!(parse("fen 4k3/8/8/8/8/8/8/4K3 w KQkq e3 0 1", false).is_ok());
        assert_eq!(parse("startpos moves g1f3 g8f6 f3g1 f6g8", false).unwrap().repetitions(), 1);
    }

    #[test]
    fn fischer_random_fens_need_no_option() {
        let fen = "fen bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
        for chess960 in [false, true] {
            let game = parse(fen, chess960).unwrap();
            assert_eq!(game.position().castles().mode(), CastlingMode::Chess960);
            assert_eq!(game.position().legal_moves().len(), 21);
        }
    }

    #[test]
    fn every_fault_has_its_sentence() {
        assert!(refused("").contains("startpos or fen"));
        assert!(refused("fen 9/8 w").contains("eight ranks"));
        assert!(refused("fen").contains("cannot be read"));
        assert!(refused(&format!("fen {}", "ä".repeat(100_000))).chars().count() < 300);
        assert!(refused("fen 8/8/8/8/8/8/8/8 w - - 0 1").contains("empty"));
        assert!(refused("fen 8/8/8/8/8/8/8/K7 w - - 0 1").contains("king"));
        assert!(refused("fen k7/8/8/8/8/8/8/KQ6 x - - 0 1").contains("w or b"));
        assert!(refused("fen k7/8/8/8/Q7/8/8/K7 w - - 0 1").contains("take the king"));
        assert!(refused("fen k6P/8/8/8/8/8/8/K7 w - - 0 1").contains("pawn"));
        assert!(refused("startpos e2e4").contains("moves belongs"));
        assert!(
            refused("startpos moves e2e4 e2e4").contains("move 2, 'e2e4', starts from an empty")
        );
        assert!(refused("startpos moves e7e5").contains("opponent's"));
        assert!(refused("startpos moves Nf3").contains("not a move like"));
        assert!(refused("startpos moves 0000").contains("not legal"));
        assert!(refused("startpos moves e1e2").contains("not legal"));
        assert!(refused("fen 7k/P7/8/8/8/8/8/K7 w - - 0 1 moves a7a8").contains("promotes"));
    }
}
