//! A game of a PGN: its tags and its main line, read and written. Comments and variations of others
//! are left out: what is written is this program's view.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use pgn_reader::{Outcome, RawTag, SanPlus, Visitor};
use shakmaty::{Chess, Color, Move, Position};
use tesla_nn::evaluator::centipawns_from_score;

use super::Assessment;
use super::judgement::{Judgement, Loss};
use crate::chess::game::Game;
use crate::chess::notation::{from_fen, is_chess};
use crate::chess::pgn::{Games, tag_text};
use crate::search::snapshot::Outlook;

/// Most moves of a game.
const MOST_MOVES: usize = 6_000;
/// Columns of a written line.
const COLUMNS: usize = 80;

/// A game as it was read.
#[derive(Clone, Debug)]
pub struct ReadGame {
    tags: Vec<(String, String)>,
    start: Chess,
    moves: Vec<Move>,
    outcome: String,
}

/// What is written behind a move.
#[derive(Clone, Copy, Debug)]
pub struct Annotation {
    /// What is known of the position behind it.
    pub verdict: Assessment,
    /// Who is to move there.
    pub to_move: Color,
    /// What the move lost.
    pub loss: Loss,
    /// What that is called.
    pub judgement: Option<Judgement>,
    /// What was to be played instead, where the loss has a name.
    pub better: Option<Move>,
}

/// The games of a PGN that have a move, and a sentence in the place of each that cannot be played
/// through.
///
/// # Errors
/// A sentence when there is none.
pub fn games(text: &[u8]) -> Result<Vec<Result<ReadGame, String>>, String> {
    let mut visit = Visit;
    let numbered = (1..).zip(Games::new(text, &mut visit));
    let mut games: Vec<Result<ReadGame, String>> = numbered
        .map(|(number, (_, game))| game.map_err(|fault| format!("game {number}: {fault}")))
        .collect();
    games.retain(|game| game.as_ref().map_or(true, |game| !game.moves.is_empty()));
    if games.is_empty() { Err("there is no game with a move in it".to_owned()) } else { Ok(games) }
}

impl ReadGame {
    /// Where it starts.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// Every move and the position before it.
    pub fn moves(&self) -> impl Iterator<Item = (Chess, Move)> {
        let mut position = self.start.clone();
        self.moves.iter().map(move |&played| {
            let before = position.clone();
            position.play_unchecked(played);
            (before, played)
        })
    }

    /// Every position with the game before it, from the start to the end.
    pub fn positions(&self) -> Vec<Game> {
        let mut game = Game::new(self.start.clone());
        let mut positions = vec![game.clone()];
        for &played in &self.moves {
            game.play(played);
            positions.push(game.clone());
        }
        positions
    }

    /// Who played whom.
    pub fn title(&self) -> String {
        let tag = |wanted: &str| {
            let found = self.tags.iter().find(|(name, _)| name == wanted);
            found.map_or("?", |(_, value)| value.as_str())
        };
        // Question marks stand in a PGN for what is not known.
        let place = ["Event", "Date"].map(tag).into_iter().filter(|text| !text.starts_with('?'));
        let mut title = format!("{} - {}", tag("White"), tag("Black"));
        for text in place {
            title.push_str(", ");
            title.push_str(text);
        }
        title
    }

    /// The game as PGN, with an annotation behind each move.
    pub fn written(&self, annotations: &[Annotation]) -> String {
        let mut text = String::new();
        for (name, value) in &self.tags {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "[{name} \"{value}\"]");
        }
        text.push('\n');
        let mut words = Vec::new();
        for ((position, played), annotation) in self.moves().zip(annotations) {
            // After a comment the number stands before Black's move too.
            let dots = if position.turn().is_white() { "." } else { "..." };
            words.push(format!("{}{dots}", position.fullmoves()));
            words.push(SanPlus::from_move(position.clone(), played).to_string());
            if let Some(judgement) = annotation.judgement {
                words.push(format!("${}", judgement.nag()));
            }
            let comment = annotation.comment(&position, played);
            words.extend(pieces(&comment).map(str::to_owned));
        }
        words.push(self.outcome.clone());
        text += &wrapped(&words);
        text + "\n\n"
    }
}

impl Annotation {
    /// Of the move between two positions, the second of which has this side to move.
    pub fn between(before: Assessment, after: Assessment, to_move: Color) -> Self {
        let loss = Loss::of(before, after);
        let judgement = Judgement::of(loss);
        let better = before.best.filter(|_| judgement.is_some());
        Self { verdict: after, to_move, loss, judgement, better }
    }

    /// The better move, if it is another one than was played: what a deeper look finds wrong with a
    /// move, the look before had not seen.
    pub fn better_than(&self, played: Move) -> Option<Move> {
        self.better.filter(|&better| better != played)
    }

    /// `[%eval]` in pawns or moves to mate for White, as Lichess writes it, `[%tesla]`: value and
    /// error in points, for White, and the better move.
    fn comment(&self, position: &Chess, played: Move) -> String {
        let sign = if self.to_move.is_white() { 1.0 } else { -1.0 };
        let proof = self.verdict.proof;
        let mate = proof.and_then(|proof| {
            let sign = if proof.result == Outlook::Win { sign } else { -sign };
            proof.mate.map(|moves| (sign, moves))
        });
        let value = if sign > 0.0 { self.verdict.value } else { 100.0 - self.verdict.value };
        let eval = match mate {
            // The move before it has said so.
            Some((_, 0)) => String::new(),
            Some((sign, moves)) if sign > 0.0 => format!("[%eval #{moves}] "),
            Some((_, moves)) => format!("[%eval #-{moves}] "),
            None => format!("[%eval {:.2}] ", centipawns_from_score(value / 100.0) / 100.0),
        };
        let better = self.better_than(played).map_or_else(String::new, |better| {
            format!("{} was better. ", SanPlus::from_move(position.clone(), better))
        });
        format!("{{ {eval}[%tesla {value:.1} {:.1}] {better}}}", self.verdict.error)
    }
}

/// The words of a comment; what stands in brackets is one, for readers look for `[%eval 0.5]`.
pub(super) fn pieces(comment: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    comment.split(move |letter| {
        is_inside = letter == '[' || is_inside && letter != ']';
        letter == ' ' && !is_inside
    })
}

/// Words in lines.
fn wrapped(words: &[String]) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in words {
        if width > 0 && width + 1 + word.len() > COLUMNS {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text += word;
        width += word.len();
    }
    text
}

/// Reads one game.
struct Visit;

impl Visitor for Visit {
    type Tags = Vec<(String, String)>;
    type Movetext = (ReadGame, Chess);
    type Output = Result<ReadGame, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Self::Tags> {
        ControlFlow::Continue(Vec::new())
    }

    fn tag(
        &mut self,
        tags: &mut Self::Tags,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<Self::Output> {
        let name = String::from_utf8_lossy(name).into_owned();
        let value = tag_text(value);
        if name == "Variant" && !is_chess(&value) {
            return ControlFlow::Break(Err(format!("the variant {value} is not chess")));
        }
        tags.push((name, value));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Self::Tags) -> ControlFlow<Self::Output, Self::Movetext> {
        let fen = tags.iter().find(|(name, _)| name == "FEN").map(|(_, fen)| fen.as_str());
        let start = fen.map_or_else(|| Ok(Chess::default()), |fen| from_fen(fen, false));
        match start {
            Ok(start) => {
                let result = tags.iter().find(|(name, _)| name == "Result");
                // What stands at the end of the moves comes before it.
                let outcome = result.and_then(|(_, result)| result.parse::<Outcome>().ok());
                let outcome = outcome.unwrap_or(Outcome::Unknown).to_string();
                let game = ReadGame { tags, start: start.clone(), moves: Vec::new(), outcome };
                ControlFlow::Continue((game, start))
            }
            Err(fault) => ControlFlow::Break(Err(fault.to_string())),
        }
    }

    fn san(
        &mut self,
        (game, position): &mut Self::Movetext,
        san: SanPlus,
    ) -> ControlFlow<Self::Output> {
        if game.moves.len() >= MOST_MOVES {
            return ControlFlow::Break(Err(format!("it has more than {MOST_MOVES} moves")));
        }
        let Ok(played) = san.san.to_move(position) else {
            let dots = if position.turn().is_white() { "." } else { "..." };
            let number = position.fullmoves();
            return ControlFlow::Break(Err(format!("{number}{dots} {san} cannot be played")));
        };
        game.moves.push(played);
        position.play_unchecked(played);
        ControlFlow::Continue(())
    }

    fn outcome(
        &mut self,
        (game, _): &mut Self::Movetext,
        outcome: Outcome,
    ) -> ControlFlow<Self::Output> {
        game.outcome = outcome.to_string();
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (game, _): Self::Movetext) -> Self::Output {
        Ok(game)
    }
}
