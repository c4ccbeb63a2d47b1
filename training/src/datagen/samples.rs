//! Some positions of files of games, as text.

use std::fmt::Write as _;
use std::path::PathBuf;

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move, Position, Rank, Square};

use super::dice::Dice;
use super::score;
use crate::game::state::fen_of;
use crate::labelled::{GameReader, GameRecord, RecordError, unpack};

/// Chooses games at random from a stream of unknown length, each with the same chance.
#[derive(Clone, Debug)]
struct Reservoir {
    wanted: usize,
    dice: Dice,
    seen: usize,
    chosen: Vec<(String, usize, GameRecord)>,
}

impl Reservoir {
    fn offer(&mut self, file: &str, number: usize, game: GameRecord) {
        self.seen += 1;
        let place = if self.chosen.len() < self.wanted {
            self.chosen.len()
        } else {
            self.dice.below(self.seen)
        };
        let chosen = (file.to_owned(), number, game);
        match self.chosen.get_mut(place) {
            Some(old) => *old = chosen,
            None if place < self.wanted => self.chosen.push(chosen),
            None => {}
        }
    }
}

/// So many positions of different games of these files, drawn with this seed: board, FEN, move
/// played, best move, score and result.
///
/// # Errors
/// When a file cannot be read or is damaged.
pub fn samples(files: &[PathBuf], count: usize, seed: u64) -> Result<String, RecordError> {
    let dice = Dice::new(seed, 0);
    let mut reservoir = Reservoir { wanted: count, dice, seen: 0, chosen: Vec::new() };
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for (number, game) in GameReader::open(file)?.enumerate() {
            let game = game?;
            if !game.plies.is_empty() {
                reservoir.offer(&name, number, game);
            }
        }
    }
    let Reservoir { mut dice, chosen, .. } = reservoir;
    let shown = chosen.iter().map(|(file, number, game)| {
        let ply = dice.below(game.plies.len());
        format!("{file}, game {number}, ply {ply}\n{}", show(game, ply))
    });
    Ok(shown.collect::<Vec<_>>().join("\n"))
}

fn show(game: &GameRecord, index: usize) -> String {
    let mut position = game.start.clone();
    for ply in &game.plies[..index] {
        let Some(played) = unpack(&position, ply.played) else {
            return "an illegal move comes before it\n".to_owned();
        };
        position.play_unchecked(played);
    }
    let ply = game.plies[index];
    let word =
        |packed| unpack(&position, packed).map_or("illegal".to_owned(), |m| san(&position, m));
    let result = ["Black won", "draw", "White won"][usize::from(game.result.min(2))];
    let mut others = String::new();
    for other in game.others_at(index) {
        // Writing to a String cannot fail.
        let _ = write!(others, ", {} {}", word(other.played), score::words(other.score));
    }
    format!(
        "{}{}\nplayed {}, best {}, score {}{others}, {result}\n",
        board(&position),
        fen_of(&position),
        word(ply.played),
        word(ply.best),
        score::words(ply.score)
    )
}

fn san(position: &Chess, m: Move) -> String {
    SanPlus::from_move(position.clone(), m).to_string()
}

/// The board as text, from White's side.
fn board(position: &Chess) -> String {
    let mut text = String::new();
    for rank in Rank::ALL.into_iter().rev() {
        let squares = shakmaty::File::ALL.map(|file| {
            let piece = position.board().piece_at(Square::from_coords(file, rank));
            piece.map_or('.', shakmaty::Piece::char).to_string()
        });
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {}", squares.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::{Ply, pack};

    #[test]
    fn a_position_is_shown() {
        let start = Chess::default();
        let mut position = start.clone();
        let mut plies = Vec::new();
        for uci in ["e2e4", "e7e5"] {
            let m = uci.parse::<shakmaty::uci::UciMove>().unwrap().to_move(&position).unwrap();
            plies.push(Ply { played: pack(m), best: pack(m), score: -31_998 });
            position.play_unchecked(m);
        }
        plies[1].best = 0;
        let mut game = GameRecord { start, result: 2, plies, others: Vec::new() };
        let text = show(&game, 1);
        assert!(text.starts_with("  r n b q k b n r\n  p p p p p p p p\n  . ."), "{text}");
        assert!(text.ends_with("played e5, best illegal, score mated in 2, White won\n"), "{text}");
        game.plies[0].played = 0;
        assert!(show(&game, 1).contains("illegal"));
    }
}
