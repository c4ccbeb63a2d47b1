//! One game of a PGN, with the parts that this program uses.

use std::io::Cursor;
use std::ops::ControlFlow;

use pgn_reader::{KnownOutcome, Outcome, RawComment, RawTag, Reader, SanPlus, Visitor};
use shakmaty::{Chess, Move, Position};
use tesla_engine::chess::notation::is_chess;

use super::state::{fen_of, set_up, start_fen};

/// Longest line of tags and longest comment that are read whole, bytes.
const LONGEST_TOKEN: usize = 4096;

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

/// A reader of games in `text`.
pub(crate) fn reader<T: AsRef<[u8]>>(text: T) -> Reader<Cursor<T>> {
    Reader::build(Cursor::new(text))
        .set_supported_tag_line_length(LONGEST_TOKEN)
        .set_supported_comment_length(LONGEST_TOKEN)
        .finish()
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
        let value = value.decode_utf8_lossy();
        match name {
            b"FEN" => tags.fen = Some(value.into_owned()),
            b"SetUp" => tags.is_set_up = value == "1",
            b"Result" => tags.result = value.parse().ok(),
            b"Opening" => tags.opening = Some(value.into_owned()),
            b"ECO" if tags.opening.is_none() => tags.opening = Some(value.into_owned()),
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

/// The first word of a game's main line that is neither a move nor a number nor a result. The
/// reader passes over such words, so that a misprinted move would be lost silently.
pub(crate) fn unreadable_word(game: &[u8]) -> Option<String> {
    let mut rest = game.trim_ascii_start();
    while rest.starts_with(b"[") {
        rest = after(rest, b'\n').trim_ascii_start();
    }
    let mut depth = 0_usize;
    let mut line_starts = true;
    while let Some((&byte, tail)) = rest.split_first() {
        let at_line_start = std::mem::replace(&mut line_starts, byte == b'\n');
        rest = match byte {
            b'{' => after(tail, b'}'),
            b';' | b'%' if byte == b';' || at_line_start => {
                line_starts = true;
                after(tail, b'\n')
            }
            b'(' | b')' => {
                depth = if byte == b'(' { depth + 1 } else { depth.saturating_sub(1) };
                tail
            }
            _ if ends_word(byte) => tail,
            _ => {
                let length = rest.iter().position(|&byte| ends_word(byte)).unwrap_or(rest.len());
                let (word, tail) = rest.split_at(length);
                if depth == 0 && !is_readable(word) {
                    return Some(String::from_utf8_lossy(word).into_owned());
                }
                tail
            }
        };
    }
    None
}

fn after(text: &[u8], end: u8) -> &[u8] {
    text.iter().position(|&byte| byte == end).map_or(&[], |at| &text[at + 1..])
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b".!?*(){};".contains(&byte)
}

fn is_readable(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"$").unwrap_or(word);
    let text = String::from_utf8_lossy(word).replace(['\u{2013}', '\u{2014}'], "-");
    digits.iter().all(u8::is_ascii_digit)
        || ["1-0", "0-1", "1/2-1/2", "½-½"].contains(&text.as_str())
        || SanPlus::from_ascii(text.replace('0', "O").as_bytes()).is_ok()
}
