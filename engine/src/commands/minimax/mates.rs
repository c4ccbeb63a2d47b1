//! Mates counted by exhaustive search, against the distances that an EPD file gives.

use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;

use super::positions::{position, read};
use crate::chess::game::Game;
use crate::console::output::Output;
use crate::console::terminal::{bar, complain};
use crate::minimax::{EndsOnly, MATE, MATE_BOUND, Pruning, solve};
use crate::search::clock::Stopwatch;

/// Which mates.
#[derive(Clone, Debug, Args)]
pub struct MatesArgs {
    /// EPD with `dm N`: mate in N moves, negative where the side to move is mated
    pub file: PathBuf,
    /// Longest mate that is tried, in moves
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub longest: u32,
    /// None is minimax itself, and takes long from mates in 4 on
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(Pruning::NAMES),
          default_value = "Ordered")]
    pub pruning: String,
}

/// A position whose mate is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// Of the file.
    line: usize,
    /// The four fields of the position.
    fen: String,
    /// Moves to the mate; negative where the side to move is mated.
    moves: i32,
}

impl Item {
    /// Reads a line `FEN … dm N;` and its number; `None` where it has no `dm`.
    fn parse((number, line): (usize, &str)) -> Option<Self> {
        let moves = line.split_once(" dm ")?.1.split(';').next()?.trim().parse().ok()?;
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        Some(Self { line: number, fen: fields.join(" "), moves })
    }

    /// Plies within which the mate lies.
    fn plies(&self) -> u32 {
        let moves = self.moves.unsigned_abs();
        if self.moves > 0 { 2 * moves - 1 } else { 2 * moves }
    }
}

/// What the search says of a position.
struct Solution {
    /// As [`Item::moves`]; `None` = no mate within the depth.
    moves: Option<i32>,
    nodes: u64,
}

/// Searches to the depth of the mate and no further: if there were a shorter one, this would find
/// it.
fn answer(item: &Item, pruning: Pruning) -> Result<Solution, String> {
    let game = Game::new(position(&item.fen)?);
    let found = solve(&game, item.plies(), pruning, EndsOnly);
    let plies = MATE - found.value.abs();
    let moves = match found.value {
        value if value >= MATE_BOUND => Some((plies + 1) / 2),
        value if value <= -MATE_BOUND => Some(-plies / 2),
        _ => None,
    };
    Ok(Solution { moves, nodes: found.nodes })
}

/// Solves the file's mates and says how many came out exactly.
pub(super) fn run(args: &MatesArgs, output: &Output) -> Result<(), String> {
    let text = read(&args.file)?;
    let lines = || (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let all: Vec<Item> = lines().filter_map(Item::parse).collect();
    let longest = args.longest as i32;
    let items: Vec<&Item> = all
        .iter()
        .filter(|item| item.moves != 0 && item.moves.unsigned_abs() <= args.longest)
        .collect();
    if items.is_empty() {
        let file = args.file.display();
        return Err(format!("{file} holds no line with a mate of at most {longest} moves (dm N)"));
    }
    let (started, bar) = (Stopwatch::start(), bar(items.len() as u64, "mates"));
    let pruning = Pruning::named(&args.pruning);
    let answers = items.par_iter().map(|item| {
        let answer = answer(item, pruning);
        bar.inc(1);
        answer.map_err(|fault| format!("line {} of {}: {fault}", item.line, args.file.display()))
    });
    let answers: Vec<Solution> = answers.collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    let without = lines().count() - all.iter().filter(|item| item.moves != 0).count();
    if without > 0 {
        complain(&format!("{without} lines name no mate (dm N) and were passed over"));
    }
    output.print("| mate in | positions | exact | positions searched |\n|---|---|---|---|");
    let mut wrong = 0;
    for moves in (-longest..=longest).filter(|&moves| moves != 0) {
        let rows = || items.iter().zip(&answers).filter(|(item, _)| item.moves == moves);
        let exact = rows().filter(|(item, answer)| answer.moves == Some(item.moves)).count();
        let nodes: u64 = rows().map(|(_, answer)| answer.nodes).sum();
        wrong += rows().count() - exact;
        if rows().count() > 0 {
            output.print(&format!("| {moves} | {} | {exact} | {nodes} |", rows().count()));
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let solved = items.len() - wrong;
    output.print(&format!(
        "\n{solved} of {} exact, {} in {seconds:.1} s",
        items.len(),
        args.pruning
    ));
    for (item, answer) in
        items.iter().zip(&answers).filter(|(i, a)| a.moves != Some(i.moves)).take(9)
    {
        output.print(&difference(item, answer));
    }
    if wrong > 0 { Err(format!("{wrong} mates differ from the file")) } else { Ok(()) }
}

/// What the file says and what the search found.
fn difference(item: &Item, answer: &Solution) -> String {
    let here = answer.moves.map_or("none".to_owned(), |moves| format!("dm {moves}"));
    format!("{}: dm {} there, {here} here", item.fen, item.moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let parse = |line| Item::parse((7, line));
        let item = parse("8/1k6/8/1K5R/8/8/8/8 w - - dm 4; id \"x\";").unwrap();
        assert_eq!((item.fen.as_str(), item.moves), ("8/1k6/8/1K5R/8/8/8/8 w - -", 4));
        assert_eq!(item.line, 7);
        assert_eq!(parse("8/8/8/6R1/8/4K3/6k1/8 b - - dm -4;").unwrap().plies(), 8);
        assert_eq!(parse("8/8/8/6R1/8/4K3/6k1/8 b - - bm Kg1;"), None);
    }

    #[test]
    fn differences_are_told() {
        let item = Item { line: 1, fen: "8/8/8/8/8/8/8/8 w - -".to_owned(), moves: 3 };
        let told = |moves| difference(&item, &Solution { moves, nodes: 1 });
        assert_eq!(told(Some(2)), "8/8/8/8/8/8/8/8 w - -: dm 3 there, dm 2 here");
        assert_eq!(told(None), "8/8/8/8/8/8/8/8 w - -: dm 3 there, none here");
    }

    /// Rook endings from a table of mates, and a composed mate in three.
    #[test]
    fn mates_are_exact() {
        for (fen, moves) in [
            ("8/1k6/8/1K5R/8/8/8/8 w - -", 4),
            ("8/4K1k1/8/1R6/8/8/8/8 w - -", 4),
            ("8/6k1/4K3/8/8/8/8/6R1 b - -", -4),
            ("7k/8/6K1/8/8/8/8/R7 w - -", 1),
            ("7k/8/8/8/8/8/R7/1R4K1 w - -", 2),
            ("kbK5/pp6/1P6/8/8/8/8/R7 w - -", 2),
            ("rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq -", 3),
        ] {
            let item = Item { line: 1, fen: fen.to_owned(), moves };
            assert_eq!(answer(&item, Pruning::Ordered).unwrap().moves, Some(moves), "{fen}");
            // A ply less, and there is none.
            let game = Game::new(position(fen).unwrap());
            if item.plies() > 1 {
                let less = solve(&game, item.plies() - 1, Pruning::Ordered, EndsOnly);
                assert_eq!(less.value, 0, "{fen}");
            }
        }
    }
}
