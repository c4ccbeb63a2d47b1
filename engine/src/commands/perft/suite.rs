//! `tesla perft DEPTH --suite FILE`: every position of an EPD file against its known counts.

use std::path::Path;

use tesla_nn::files::{LARGEST, read_text};

use super::{PerftLine, divide};
use crate::chess::notation::from_fen;
use crate::console::output::Output;
use crate::console::terminal::bar;
use crate::search::StopToken;

/// Checks all counts of lines of at most `deepest` plies; tells every one that differs. An error is
/// a sentence.
///
/// # Errors
/// When the file or one of its lines cannot be read, when a count differs, or when `stop` is set.
pub fn check(path: &Path, deepest: u32, stop: &StopToken, output: &Output) -> Result<(), String> {
    let name = path.display();
    let text = read_text(path, LARGEST).map_err(|error| error.to_string())?;
    let lines: Vec<(usize, &str)> =
        (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect();
    let bar = bar(lines.len() as u64, "positions");
    let (mut counts, mut nodes, mut wrong) = (0, 0, 0);
    for &(number, line) in &lines {
        let entry = PerftLine::parse(line).ok_or_else(|| {
            format!("line {number} of {name} is not of the form: FEN ;D1 20 ;D2 400")
        })?;
        let position = from_fen(&entry.fen, false)
            .map_err(|problem| format!("line {number} of {name}: {problem}"))?;
        for &(depth, known) in entry.counts.iter().filter(|(depth, _)| *depth <= deepest) {
            let counted = divide(&position, depth, stop, &mut |_, _| {})
                .ok_or_else(|| format!("stopped at line {number}; {counts} counts were right"))?;
            (counts, nodes) = (counts + 1, nodes + counted);
            if counted != known {
                wrong += 1;
                output
                    .print(&format!("line {number}, depth {depth}: {counted} instead of {known}"));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let positions = lines.len();
    output.print(&format!("{positions} positions, {counts} counts, {nodes} lines, {wrong} wrong"));
    if counts == 0 {
        return Err(format!("{name} holds no counts of at most {deepest} plies (;D1 20 ;D2 400)"));
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} counts of {name} differ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_wrong_and_unreadable_files() {
        let path = std::env::temp_dir().join(format!("tesla-perft-{}", std::process::id()));
        let verdict = |text: &str, deepest| {
            std::fs::write(&path, text).unwrap();
            let output = Output::new(Box::new(std::io::sink()));
            check(&path, deepest, &StopToken::default(), &output)
        };
        // Double Fischer random chess: the sides' kings and rooks stand on different files.
        let dfrc = "qbbnrk1r/1p2n2p/p2P1p2/2p5/1PP4P/6pN/P1NPP1P1/QR1KBBR1 b GBhe - 1 16 ;D1 29 \
            ;D2 863 ;D3 1";
        assert_eq!(verdict(dfrc, 2), Ok(()));
        assert!(verdict("\n", 3).unwrap_err().contains("no counts"));
        assert!(
            verdict("8/8/8/8/8/8/8/K1k5 w - - 0 1 ;D5 3", 3).unwrap_err().contains("no counts")
        );
        assert_eq!(verdict(&format!("\u{feff}{dfrc}"), 2), Ok(()));
        assert!(verdict(dfrc, 3).unwrap_err().starts_with("1 counts"));
        assert!(verdict("8/8/8/8/8/8/8/K1k5 w - - 0 1 ;D1 3 ;D2 9", 1).is_err());
        assert!(verdict("\nstartpos", 1).unwrap_err().contains("line 2"));
        assert!(verdict("9/8 w - - 0 1 ;D1 1", 1).unwrap_err().contains("eight ranks"));
        let queens = "QQQQQQQQ/".repeat(7) + "kQQQQQQK b - - 0 1 ;D1 0";
        assert!(verdict(&queens, 1).unwrap_err().contains("more pieces than a game allows"));
        assert!(
            verdict("4k3/8/8/8/8/8/8/P3K3 w - - 0 1 ;D1 5", 1).unwrap_err().contains("no pawn")
        );
        std::fs::remove_file(&path).unwrap();
        assert!(verdict_of_nothing(&path).contains("tesla-perft"));
    }

    fn verdict_of_nothing(path: &Path) -> String {
        let output = Output::new(Box::new(std::io::sink()));
        check(path, 1, &StopToken::default(), &output).unwrap_err()
    }
}
