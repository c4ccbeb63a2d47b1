//! One game of a PGN, with the parts that this program uses.

use std::ops::ControlFlow;

use pgn_reader::{KnownOutcome, Outcome, RawComment, RawTag, SanPlus, Visitor};
use shakmaty::{Chess, Move, Position};
use tesla_engine::chess::notation::is_chess;
use tesla_engine::chess::pgn::tag_text;

use super::state::{fen_of, set_up, start_fen};

/// How a game is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PgnRules {
    /// Castling as in Chess960.
    pub(crate) chess960: bool,
    /// Most moves that are read, both sides' counted.
    pub(crate) plies: usize,
    /// Which variants may be, for people.
    pub(crate) variants: &'static str,
}

/// A game that was read.
#[derive(Debug)]
pub(crate) struct PgnGame {
    /// Its tags.
    pub(crate) tags: GameTags,
    /// Where it starts.
    pub(crate) start: Chess,
    /// Where its moves lead.
    pub(crate) position: Chess,
    /// Its moves.
    pub(crate) moves: Vec<Move>,
    /// Its comments, each with the number of moves before it.
    pub(crate) comments: Vec<(usize, String)>,
    /// Its result, if it has one.
    pub(crate) result: Option<KnownOutcome>,
}

/// The tags that say something here.
#[derive(Debug, Default)]
pub(crate) struct GameTags {
    /// Position that the game starts from.
    pub(crate) fen: Option<String>,
    /// Whether there is such a position.
    is_set_up: bool,
    /// Name of the opening, or its code.
    pub(crate) opening: Option<String>,
    /// The result, where there is one.
    result: Option<KnownOutcome>,
}

impl Visitor for PgnRules {
    type Tags = GameTags;
    type Movetext = PgnGame;
    type Output = Result<PgnGame, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, GameTags> {
        ControlFlow::Continue(GameTags::default())
    }

    fn tag(
        &mut self,
        tags: &mut GameTags,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<Self::Output> {
        let value = tag_text(value);
        match name {
            b"FEN" => tags.fen = Some(value),
            b"SetUp" => tags.is_set_up = value == "1",
            b"Result" => tags.result = value.parse().ok(),
            b"Opening" => tags.opening = Some(value),
            b"ECO" if tags.opening.is_none() => tags.opening = Some(value),
            b"Variant" if !is_chess(&value) => {
                let what = format!("the variant \"{value}\" is {}", self.variants);
                return ControlFlow::Break(Err(what));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: GameTags) -> ControlFlow<Self::Output, PgnGame> {
        if tags.is_set_up && tags.fen.is_none() {
            return ControlFlow::Break(Err("it has a SetUp tag but no FEN tag".to_owned()));
        }
        let fen = tags.fen.clone().unwrap_or_else(start_fen);
        match set_up(&fen, self.chess960) {
            Ok(start) => ControlFlow::Continue(PgnGame {
                position: start.clone(),
                start,
                moves: Vec::new(),
                comments: Vec::new(),
                result: tags.result,
                tags,
            }),
            Err(error) => ControlFlow::Break(Err(error.to_string())),
        }
    }

    fn san(&mut self, game: &mut PgnGame, san: SanPlus) -> ControlFlow<Self::Output> {
        if game.moves.len() >= self.plies {
            return ControlFlow::Continue(());
        }
        match san.san.to_move(&game.position) {
            Ok(played) => {
                game.moves.push(played);
                game.position.play_unchecked(played);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Err(format!(
                "move {} of the game, {san}: {error} in \"{}\"",
                game.moves.len() + 1,
                fen_of(&game.position)
            ))),
        }
    }

    fn comment(&mut self, game: &mut PgnGame, text: RawComment<'_>) -> ControlFlow<Self::Output> {
        let text = String::from_utf8_lossy(text.as_bytes()).into_owned();
        game.comments.push((game.moves.len(), text));
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, game: &mut PgnGame, outcome: Outcome) -> ControlFlow<Self::Output> {
        game.result = match outcome {
            Outcome::Known(result) => Some(result),
            Outcome::Unknown => None,
        };
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, game: PgnGame) -> Self::Output {
        Ok(game)
    }
}
