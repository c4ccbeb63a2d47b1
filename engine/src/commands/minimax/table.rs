//! The table of what pruning saves: the same values from fewer positions.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use crossbeam_channel::{Sender, unbounded};
use rayon::prelude::*;
use shakmaty::Chess;

use super::positions::{fen, position, read};
use crate::chess::game::Game;
use crate::console::output::Output;
use crate::console::terminal::bar;
use crate::minimax::{Found, Material, Pruning, solve};
use crate::search::clock::Stopwatch;

/// What the table is made of.
#[derive(Clone, Debug, Args)]
pub struct TableArgs {
    /// Deepest search in plies; plain minimax takes about 30 times as long for each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub depth: u32,
    /// One FEN or EPD a line; ten positions of the program's own if not given
    #[arg(long)]
    pub positions: Option<PathBuf>,
}

/// One FEN per line: the start, five test positions of move generators, and four from openings to
/// endings.
const POSITIONS: &str = include_str!("../../../data/minimax.epd");

/// What one pruning found at each depth from 1, and how long it took in all.
type Column = (Vec<Found>, Duration);
/// Those of a position, in the order of [`Pruning::ALL`].
type Columns = [Column; 3];

/// Searches all positions with all prunings, on all cores, and prints the table.
pub(super) fn run(args: &TableArgs, output: &Output) -> Result<(), String> {
    let text = match &args.positions {
        Some(path) => read(path)?,
        None => POSITIONS.to_owned(),
    };
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    let positions = lines
        .map(|(number, line)| position(line).map_err(|fault| format!("line {number}: {fault}")));
    let positions = positions.collect::<Result<Vec<Chess>, _>>()?;
    if positions.is_empty() {
        return Err("the file holds no position; write one FEN per line".to_owned());
    }
    output.print(HEAD);
    let columns = searched(&positions, args.depth, |place, columns| {
        output.print(&rows(place + 1, &positions[place], columns)?);
        Ok(())
    })?;
    output.print(&sums(args.depth, &columns));
    Ok(())
}

/// What each pruning found of each position, searched on all cores; `tell` is told of a position
/// once it and those before it are done.
fn searched(
    positions: &[Chess],
    depth: u32,
    mut tell: impl FnMut(usize, &Columns) -> Result<(), String>,
) -> Result<Vec<Columns>, String> {
    let places = 0..positions.len();
    let work: Vec<(usize, usize)> =
        places.flat_map(|place| (0..Pruning::ALL.len()).map(move |part| (place, part))).collect();
    let bar = bar(work.len() as u64, "searches");
    let (done, finished) = unbounded();
    thread::scope(|scope| {
        scope.spawn(|| {
            let each = |done: &mut Sender<_>, &(place, part): &(usize, usize)| {
                let column = column(&positions[place], depth, Pruning::ALL[part]);
                done.send((place, part, column)).map_err(|_| "nobody listens after an error")
            };
            work.par_iter().with_max_len(1).try_for_each_with(done, each)
        });
        let mut parts = vec![[None, None, None]; positions.len()];
        let mut whole: Vec<Columns> = Vec::with_capacity(positions.len());
        for (place, part, column) in finished {
            parts[place][part] = Some(column);
            bar.inc(1);
            while let Some([Some(plain), Some(pruned), Some(ordered)]) = parts.get(whole.len()) {
                let columns = [plain.clone(), pruned.clone(), ordered.clone()];
                bar.suspend(|| tell(whole.len(), &columns))?;
                whole.push(columns);
            }
        }
        bar.finish_and_clear();
        Ok(whole)
    })
}

fn column(position: &Chess, deepest: u32, pruning: Pruning) -> Column {
    let (game, started) = (Game::new(position.clone()), Stopwatch::start());
    let found = (1..=deepest).map(|depth| solve(&game, depth, pruning, Material)).collect();
    (found, started.elapsed())
}

const HEAD: &str = "\
| position | depth | value | minimax | alpha-beta | saved | ordered | saved |
|---|---|---|---|---|---|---|---|";

/// The rows of one position.
///
/// # Errors
/// When the values differ, which they must not.
fn rows(number: usize, position: &Chess, columns: &Columns) -> Result<String, String> {
    let mut text = String::new();
    let [plain, pruned, ordered] = columns.each_ref().map(|(found, _)| found);
    for (depth, ((plain, pruned), ordered)) in (1..).zip(plain.iter().zip(pruned).zip(ordered)) {
        if plain.value != pruned.value || plain.value != ordered.value {
            return Err(format!("the values of {} differ; please report it", fen(position)));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let nodes = [plain.nodes, pruned.nodes, ordered.nodes];
        // Writing to a String cannot fail.
        let _ = write!(text, "| {number} | {depth} | {} |{}", plain.value, counts(nodes));
    }
    Ok(text)
}

/// Positions searched by minimax, and by the others with what they save.
fn counts([plain, pruned, ordered]: [u64; 3]) -> String {
    let saved = |nodes: u64| 100.0 * (1.0 - nodes as f64 / plain.max(1) as f64);
    let (one, two) = (saved(pruned), saved(ordered));
    format!(" {plain} | {pruned} | {one:.2} % | {ordered} | {two:.2} % |")
}

/// All positions together, by depth, and the time.
fn sums(deepest: u32, positions: &[Columns]) -> String {
    let mut text = String::new();
    for depth in 1..=deepest as usize {
        let sum =
            |part: usize| positions.iter().map(|columns| columns[part].0[depth - 1].nodes).sum();
        let _ = writeln!(text, "| all | {depth} | |{}", counts([0, 1, 2].map(sum)));
    }
    for (part, pruning) in Pruning::ALL.iter().enumerate() {
        let column = || positions.iter().map(|columns| &columns[part]);
        let seconds = column().map(|(_, time)| time.as_secs_f64()).sum::<f64>().max(1e-9);
        let nodes: u64 = column().flat_map(|(found, _)| found).map(|found| found.nodes).sum();
        let pace = nodes as f64 / seconds / 1e6;
        let name = pruning.name();
        let _ = write!(text, "\n{name}: {nodes} positions in {seconds:.1} s, {pace:.1} million/s");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_compares_ten_positions() {
        let positions: Vec<Chess> = POSITIONS.lines().map(|line| position(line).unwrap()).collect();
        assert_eq!(positions.len(), 10);
        let mut told = 0;
        let columns = searched(&positions, 2, |place, columns| {
            let text = rows(place + 1, &positions[place], columns)?;
            assert_eq!((place, text.lines().count()), (told, 2), "{text}");
            told += 1;
            Ok(())
        });
        let columns = columns.unwrap();
        assert_eq!(told, 10);
        let text = sums(2, &columns);
        assert!(text.contains("| all | 2 | |") && text.contains("Ordered: "), "{text}");
    }

    #[test]
    fn savings_are_shares_of_minimax() {
        assert_eq!(counts([200, 100, 20]), " 200 | 100 | 50.00 % | 20 | 90.00 % |");
    }
}
