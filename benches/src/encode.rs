//! Encoding positions for the network: microseconds of the processor each, and a checksum of all
//! that comes out, by which two builds can be compared.

use std::error::Error;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::hint::black_box;

use shakmaty::{Chess, MoveList, Position as _};
use tesla_nn::encode::Window;

use crate::processor::process_seconds;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    positions: crate::positions::Arguments,
    /// Measurements; the median is printed
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Positions encoded in a measurement, at least
    #[arg(long, default_value_t = 50_000)]
    encodes: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let of = |position: Chess| (position.legal_moves(), position);
    let positions: Vec<_> = arguments.positions.read()?.into_iter().map(of).collect();
    let (sum, count) = checksum(&positions);
    println!("{sum:016x} is the checksum of {count} encodes: positions, and all their children");
    let repeats = arguments.encodes.div_ceil(positions.len());
    let mut costs = Vec::new();
    for _ in 0..arguments.rounds {
        let before = process_seconds();
        for (moves, position) in (0..repeats).flat_map(|_| &positions) {
            black_box(Window::new(black_box(position), 0, moves));
        }
        let spent = before.and_then(|before| Some(process_seconds()? - before));
        let spent = spent.ok_or("this system does not tell the processor's time")?;
        costs.push(spent * 1e6 / (repeats * positions.len()) as f64);
    }
    costs.sort_by(f64::total_cmp);
    if let [least, .., most] = costs[..] {
        println!(
            "{} positions: {:.2} µs of the processor each ({least:.2} to {most:.2}, {} times {} \
             encodes)",
            positions.len(),
            costs[costs.len() / 2],
            costs.len(),
            repeats * positions.len()
        );
    }
    Ok(())
}

/// Of all that the encoder says of the positions and of their children, and how many they are.
fn checksum(positions: &[(MoveList, Chess)]) -> (u64, u64) {
    let (mut hasher, mut count) = (DefaultHasher::new(), 0);
    for (moves, position) in positions {
        let window = Window::new(position, 0, moves);
        add(&window, &mut hasher);
        count += 1;
        for &played in moves {
            let mut child = position.clone();
            child.play_unchecked(played);
            let mut window = window.clone();
            let moves = child.legal_moves();
            window.push(played, &child, 1, &moves);
            add(&window, &mut hasher);
            // As a position of its own too, of which not all moves are asked for.
            add(&Window::new(&child, 0, &moves[moves.len() / 2..]), &mut hasher);
            count += 2;
        }
    }
    (hasher.finish(), count)
}

fn add(window: &Window, hasher: &mut DefaultHasher) {
    for (index, token) in window.tokens.iter().enumerate() {
        (token.piece_square, token.state, window.seen_by(index)).hash(hasher);
    }
    for readout in &window.readouts {
        (&readout.rules, &readout.board, readout.visible, readout.moves.len()).hash(hasher);
        for m in &readout.moves {
            (m.piece, m.captured, m.target, m.feature, m.situation).hash(hasher);
        }
    }
}
