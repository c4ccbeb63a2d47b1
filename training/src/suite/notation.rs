//! Positions and moves as suites write them.

use anyhow::{Result, anyhow, bail, ensure};
use shakmaty::fen::Fen;
use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, FromSetup, Move, Position, PositionError, Setup};
use tesla_nn::encode::MAX_PIECES;

/// The setup that a FEN, or the first four fields of an EPD line, describes.
pub(super) fn setup(fen: &str) -> Result<Setup> {
    let read = Fen::from_ascii(fen.as_bytes());
    Ok(read
        .map_err(|what| anyhow!("'{fen}' is not a FEN ({what}); fix the position"))?
        .into_setup())
}

/// A position, and whether it castles as in Chess960.
///
/// Composed problems and old suites need some leniency: left-over castling rights and en passant
/// squares are dropped; more pieces of a kind than a game can give, and checks no game can give,
/// are kept.
pub(super) fn position(fen: &str, setup: Setup) -> Result<(Chess, CastlingMode)> {
    let pieces = setup.board.occupied().count();
    ensure!(pieces <= MAX_PIECES, "'{fen}' has {pieces} pieces; a board takes {MAX_PIECES} here");
    let mode = CastlingMode::detect(&setup);
    Chess::from_setup(setup, mode)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .map(|position| (position, mode))
        .map_err(|what| anyhow!("'{fen}' is not a chess position ({what}); fix the position"))
}

/// A move in SAN or UCI coordinates.
///
/// SAN may carry check and comment signs, may lack the `x` of a capture or the `=` of a promotion,
/// and may castle with zeros.
pub(super) fn parse_move(name: &str, text: &str, position: &Chess) -> Result<Move> {
    let candidates = candidates(text, position);
    match *candidates.as_slice() {
        [m] => Ok(m),
        [] => bail!(
            "the move '{text}' of {name} is not legal here; write a legal one as SAN (Nf3) or as \
             coordinates (g1f3)"
        ),
        _ => {
            let all: Vec<String> =
                candidates.iter().map(|&m| San::from_move(position, m).to_string()).collect();
            bail!("the move '{text}' of {name} can be any of {}; write out which", all.join(", "))
        }
    }
}

/// The legal moves that a text can mean.
fn candidates(text: &str, position: &Chess) -> Vec<Move> {
    let Some(san) = parse_san(text) else { return coordinates(text, position) };
    let legal = position.legal_moves();
    let exact: Vec<Move> = legal.iter().copied().filter(|&m| san.matches(m)).collect();
    if !exact.is_empty() {
        return exact;
    }
    let San::Normal { role, file, rank, capture, to, promotion } = san else { return Vec::new() };
    let other = San::Normal { role, file, rank, capture: !capture, to, promotion };
    let loose: Vec<Move> = legal.iter().copied().filter(|&m| other.matches(m)).collect();
    // "b1c3" also parses as the SAN of a pawn move.
    if loose.is_empty() { coordinates(text, position) } else { loose }
}

fn coordinates(text: &str, position: &Chess) -> Vec<Move> {
    let uci = UciMove::from_ascii(text.as_bytes()).ok();
    uci.and_then(|uci| uci.to_move(position).ok()).into_iter().collect()
}

fn parse_san(text: &str) -> Option<San> {
    let text = text.trim_end_matches(['+', '#', '!', '?']);
    if let Ok(san) = San::from_ascii(text.as_bytes()) {
        return Some(san);
    }
    if text.starts_with("0-0") {
        return San::from_ascii(text.replace('0', "O").as_bytes()).ok();
    }
    let (squares, role) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let promotes = matches!(role, "Q" | "R" | "B" | "N") && squares.ends_with(['1', '8']);
    if promotes { San::from_ascii(format!("{squares}={role}").as_bytes()).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(fen: &str) -> Chess {
        position(fen, setup(fen).unwrap()).unwrap().0
    }

    fn read(fen: &str, text: &str) -> String {
        let position = at(fen);
        match parse_move("bm", text, &position) {
            Ok(m) => m.to_uci(CastlingMode::Standard).to_string(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn reads_moves_as_old_suites_write_them() {
        let fen = "r3k2r/1P1n4/8/3p4/4P3/8/1P6/1N2K2R w Kkq - 0 1";
        for (text, uci) in [
            ("exd5", "e4d5"),
            ("d5", "e4d5"),
            ("Nc3+", "b1c3"),
            ("Nc3!?", "b1c3"),
            ("b1c3", "b1c3"),
            ("b2b4", "b2b4"),
            ("O-O", "e1g1"),
            ("0-0", "e1g1"),
            ("e1g1", "e1g1"),
            ("bxa8Q", "b7a8q"),
            ("b8=N", "b7b8n"),
            ("b7a8r", "b7a8r"),
            ("Nxc3", "b1c3"),
        ] {
            assert_eq!(read(fen, text), uci, "{text}");
        }
        for text in ["Qd1", "zz", "", "\u{e9}4", "b1c4", "--", "b7b8", "b8", "Q", "é"] {
            assert!(read(fen, text).contains("is not legal here"), "{text}: {}", read(fen, text));
        }
    }

    #[test]
    fn names_the_ways_to_read_a_move() {
        let fault = read("4k3/8/8/8/8/8/4P3/1N2KN2 w - - 0 1", "Nd2");
        assert!(fault.contains("any of Nbd2, Nfd2"), "{fault}");
    }

    #[test]
    fn drops_left_over_rights_and_keeps_composed_material() {
        let fen = "4k3/8/8/8/8/8/8/QQQQKQQQ w Qq e6 0 1";
        assert_eq!(at(fen).castles().castling_rights(), shakmaty::Bitboard::EMPTY);
        let bad = "4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1";
        let fault = position(bad, setup(bad).unwrap()).unwrap_err();
        assert!(fault.to_string().contains("is not a chess position"), "{fault}");
        assert!(setup("nonsense").unwrap_err().to_string().contains("is not a FEN"));
    }

    #[test]
    fn knows_chess960_by_the_castling_rights() {
        for (fen, mode) in [
            ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", CastlingMode::Standard),
            ("r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1", CastlingMode::Standard),
            ("1r1k3r/8/8/8/8/8/8/1R1K3R w HBhb - 0 1", CastlingMode::Chess960),
        ] {
            assert_eq!(position(fen, setup(fen).unwrap()).unwrap().1, mode, "{fen}");
        }
    }
}
