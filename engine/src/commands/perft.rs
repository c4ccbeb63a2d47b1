//! Counts the positions at the end of all lines of a length: whether the rules are right.

pub mod suite;

use shakmaty::{Chess, Move, Position};

use crate::chess::notation::{PositionProblem, from_fen};
use crate::console::output::{Output, Style};
use crate::search::StopToken;

/// The longest lines worth asking for: no machine will count them, and the stack can hold them.
pub const LONGEST: u32 = 30;

/// Number of lines of `depth` plies. The last ply is counted without being played.
pub fn perft(position: &Chess, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => position.legal_moves().len() as u64,
        _ => position
            .legal_moves()
            .iter()
            .map(|&played| perft(&after(position, played), depth - 1))
            .sum(),
    }
}

/// The same, move by move: calls `report` with each legal move and its count. Gives up with `None`
/// when `stop` is set.
pub fn divide(
    position: &Chess,
    depth: u32,
    stop: &StopToken,
    report: &mut dyn FnMut(Move, u64),
) -> Option<u64> {
    if depth == 0 {
        return Some(1);
    }
    let mut total = 0;
    for &played in &position.legal_moves() {
        let count = stoppable(&after(position, played), depth - 1, stop)?;
        report(played, count);
        total += count;
    }
    Some(total)
}

/// Looks at `stop` where that costs nothing: far enough from the leaves.
fn stoppable(position: &Chess, depth: u32, stop: &StopToken) -> Option<u64> {
    if stop.is_stopped() {
        return None;
    }
    if depth <= 3 {
        return Some(perft(position, depth));
    }
    position
        .legal_moves()
        .iter()
        .map(|&played| stoppable(&after(position, played), depth - 1, stop))
        .sum()
}

fn after(position: &Chess, played: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(played);
    next
}

/// A line of an EPD file: `FEN ;D1 20 ;D2 400 …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerftLine {
    /// The position, as text.
    pub fen: String,
    /// Depth and the number of lines of that length.
    pub counts: Vec<(u32, u64)>,
}

impl PerftLine {
    /// Reads a line; `None` when it is not of this form.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(';');
        let fen = fields.next()?.trim().to_owned();
        let counts = fields
            .map(|field| {
                let (depth, count) = field.trim().strip_prefix('D')?.split_once(' ')?;
                Some((depth.parse().ok()?, count.trim().parse().ok()?))
            })
            .collect::<Option<Vec<_>>>()?;
        (!fen.is_empty() && !counts.is_empty()).then_some(Self { fen, counts })
    }
}

/// Counts lines and prints each move's share; the answer is the total.
pub fn print(
    position: &Chess,
    depth: u32,
    style: Style,
    stop: &StopToken,
    output: &Output,
) -> String {
    let total = divide(position, depth, stop, &mut |played, count| {
        output.print(&format!("{}: {count}", style.written(played)));
    });
    total.map_or("info string perft was stopped".to_owned(), |total| {
        format!("\nNodes searched: {total}")
    })
}

/// Counts the lines of the command line's position.
///
/// # Errors
/// When the FEN is wrong.
pub fn command(fen: Option<&str>, depth: u32, output: &Output) -> Result<(), PositionProblem> {
    let position = fen.map_or(Ok(Chess::default()), |fen| from_fen(fen, false))?;
    let style = Style { castling: position.castles().mode(), wdl: false };
    output.print(&print(&position, depth, style, &StopToken::default(), output));
    Ok(())
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn check(line: &str) {
        let entry = PerftLine::parse(line).unwrap();
        let fen: Fen = entry.fen.parse().unwrap();
        let mode = CastlingMode::detect(fen.as_setup());
        let position: Chess = fen.into_position(mode).unwrap();
        for (depth, count) in entry.counts {
            assert_eq!(perft(&position, depth), count, "{} at depth {depth}", entry.fen);
            let total = divide(&position, depth, &StopToken::default(), &mut |_, _| {});
            assert_eq!(total, Some(count));
        }
    }

    // The first six: https://www.chessprogramming.org/Perft_Results.
    #[test]
    fn famous_positions() {
        check(
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 ;D0 1 ;D1 20 ;D2 400 ;D3 \
             8902 ;D4 197281",
        );
        check(
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1 ;D1 48 ;D2 2039 \
             ;D3 97862",
        );
        check(
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1 ;D1 14 ;D2 191 ;D3 2812 ;D4 43238 ;D5 \
             674624",
        );
        check(
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1 ;D1 6 ;D2 264 ;D3 \
             9467 ;D4 422333",
        );
        check(
            "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8 ;D1 44 ;D2 1486 ;D3 62379",
        );
        check(
            "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10 ;D1 46 ;D2 \
             2079 ;D3 89890",
        );
        // Fischer random castling.
        check(
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9 ;D1 21 ;D2 528 ;D3 \
             12189",
        );
    }

    // Stockfish 15.1 counts the same.
    #[test]
    fn double_fischer_random_castling() {
        check(
            "qbbnrk1r/1p2n2p/p2P1p2/2p5/1PP4P/6pN/P1NPP1P1/QR1KBBR1 b GBhe - 1 16 ;D1 29 ;D2 863 \
             ;D3 25497",
        );
        check(
            "nb1rkrb1/p1q1pp1p/2p3n1/1p1pB1p1/2P5/P2P1P1N/1P2P1PP/QNRK1B1R b HCfd - 5 8 ;D1 30 \
             ;D2 1021 ;D3 32291",
        );
        check(
            "br2n1kr/pp2pp2/2pp3p/5n2/1b2PPqp/NP5B/P1PP2Q1/B1N1R1KR w HEhb - 0 12 ;D1 30 ;D2 961 \
             ;D3 28070",
        );
    }

    #[test]
    fn a_stopped_count_gives_up() {
        let stop = StopToken::default();
        stop.stop();
        assert_eq!(divide(&Chess::default(), 6, &stop, &mut |_, _| {}), None);
    }

    #[test]
    fn odd_lines_are_refused() {
        assert_eq!(PerftLine::parse(""), None);
        assert_eq!(PerftLine::parse("8/8/8/8/8/8/8/8 w - -"), None);
        assert_eq!(PerftLine::parse("startpos ;D1 many"), None);
    }
}
