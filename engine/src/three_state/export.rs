//! The experience as labelled games, which `tesla-train import` reads: each position is a game of
//! one move, the one that was chosen there, with the score of the games that went through it.

use std::fmt::Write as _;

use shakmaty::san::SanPlus;
use shakmaty::{Color, Position as _};
use tesla_nn::evaluator::centipawns_from_score;

use super::State;
use super::experience::Experience;
use super::packed::Packed;
use super::record::PositionRecord;

/// The PGN of all positions that at least `least` games went through to their ends and in which the
/// move was not a random one, which labels nothing; and how many those are.
pub(crate) fn labelled_games(experience: &Experience, least: u32) -> (String, usize) {
    let mut entries: Vec<(Packed, PositionRecord)> = experience
        .entries()
        .filter(|(_, known)| known.state != State::Ignorant && ended(known) >= least.max(1))
        .collect();
    entries.sort_unstable_by_key(|&(position, _)| position);
    let games = entries.iter().filter_map(|(position, known)| game(*position, known));
    games.fold((String::new(), 0), |(text, count), game| (text + &game, count + 1))
}

/// Games that went through a position and ended.
fn ended(known: &PositionRecord) -> u32 {
    known.wins.saturating_add(known.draws).saturating_add(known.losses)
}

fn game(packed: Packed, known: &PositionRecord) -> Option<String> {
    let position = packed.position()?;
    let played = known.best.find(&position.legal_moves())?;
    let points = f64::from(known.wins) + f64::from(known.draws) / 2.0;
    // One drawn game more, so that a single win is no certainty.
    let share = (points + 0.5) / (f64::from(ended(known)) + 1.0);
    let score = centipawns_from_score(share as f32) / 100.0;
    let result = match (known.wins.cmp(&known.losses), position.turn()) {
        (std::cmp::Ordering::Equal, _) => "1/2-1/2",
        (std::cmp::Ordering::Greater, Color::White) | (std::cmp::Ordering::Less, Color::Black) => {
            "1-0"
        }
        _ => "0-1",
    };
    let (fen, number) = (packed.fen(), if position.turn().is_white() { "1." } else { "1..." });
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "[Event \"experience\"]\n[Result \"{result}\"]\n[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n\
         {number} {} {{{score:+.2}/{}}} {result}\n\n",
        SanPlus::from_move(position, played),
        ended(known)
    );
    Some(text)
}
