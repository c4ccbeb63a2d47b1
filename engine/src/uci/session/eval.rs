//! `eval`: the board with what each piece is worth, and what the evaluator says of the moves.

use std::fmt::Write as _;

use shakmaty::{Chess, Color, Move, Position, Square};
use tesla_nn::evaluator::{Evaluation, Request, centipawns_from_score};

use super::Session;
use crate::chess::game::Game;
use crate::console::output::Style;
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::uci::board;

impl Session {
    /// The answer to `eval`, or a sentence on why there is none.
    pub(super) fn eval(&mut self, game: &Game, style: Style) -> Result<String, String> {
        let moves = game.position().legal_moves();
        if moves.is_empty() {
            return Err(
                "the game is over in this position: there is nothing to evaluate".to_owned()
            );
        }
        let wanted = Machine { kv_cache_mb: 0, gpu_kv_cache_mb: 0, ..self.settings.machine() };
        if self.evaluator.as_ref().is_none_or(|(machine, _)| *machine != wanted) {
            self.evaluator = None;
            let (made, _) = factory::evaluator(&wanted)?;
            self.evaluator = Some((wanted, made));
        }
        let Some((_, evaluator)) = &mut self.evaluator else { return Err(String::new()) };
        let position = game.position();
        let occupied = position.board().occupied().into_iter();
        let less: Vec<(Square, Chess)> =
            occupied.filter_map(|sq| Some((sq, board::without(position, sq)?))).collect();
        let whole =
            Request { repetitions: game.repetitions().min(2) as u8, ..Request::single(position) };
        let requests = less.iter().map(|(_, position)| Request::single(position));
        evaluator.submit(std::iter::once(whole).chain(requests).collect());
        let answers = match evaluator.collect() {
            Ok(answers) => answers,
            Err(error) => {
                // The next one asks a new device.
                self.evaluator = None;
                return Err(error.to_string());
            }
        };
        let (evaluation, others) = answers.split_first().ok_or("the evaluator gave no answer")?;
        // As pawns of White's, whoever is to move.
        let side = if position.turn() == Color::White { 0.01 } else { -0.01 };
        let pawns = |answer: &Evaluation| side * centipawns_from_score(answer.value);
        let worth = |square: Square| {
            let (_, other) = less.iter().zip(others).find(|((of, _), _)| *of == square)?;
            Some(format!("{:+.2}", pawns(evaluation) - pawns(other)))
        };
        let drawn = board::draw(position, &worth);
        let told = evaluation_text(&evaluator.description(), evaluation, &moves, style);
        Ok(format!(
            "{drawn}\n\nUnder each piece: what it is worth, in pawns for White (the value with it \
             and without).\n\n{} to move: {:+.2} pawns for White\n{told}",
            board::turn(position),
            pawns(evaluation)
        ))
    }
}

fn evaluation_text(device: &str, answer: &Evaluation, moves: &[Move], style: Style) -> String {
    let [win, draw, loss] = answer.wdl;
    let mut text = format!(
        "evaluator  {device}\nvalue      {:.4} (error {:.4}), for the side to move\n\
         wdl        {win:.3} {draw:.3} {loss:.3}\nmove       policy   value after it",
        answer.value, answer.error
    );
    let mut ranked: Vec<_> = moves.iter().zip(&answer.moves).collect();
    ranked.sort_by(|(_, a), (_, b)| b.policy.total_cmp(&a.policy));
    for (&played, estimate) in ranked.into_iter().take(8) {
        let played = style.written(played);
        // Writing to a String cannot fail.
        let _ =
            write!(text, "\n{played:<9}  {:.4}   {:.4}", estimate.policy, estimate.action_value);
    }
    text
}
