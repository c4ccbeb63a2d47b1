//! Games of PGN with the engines' scores in the comments.
//!
//! Two forms are read. `{+0.35/12 ...}`, as fastchess, cutechess and our own matches write it, is
//! the mover's score of the move it stands behind, mates counted in plies (`+M5`, `-M2`).
//! `[%eval 0.35]`, as Lichess writes it, is White's score of the position behind the move, so it
//! labels the next move; mates are counted in moves (`#3`, `#-2`). Which move was best is not said:
//! the move played stands for it.

use std::io::{self, BufRead, Read as _};

use shakmaty::Position as _;
use tesla_engine::chess::pgn::{BYTE_ORDER_MARK, reader, unreadable_word};

use super::pieces::{Pieces, ReadError, Taken};
use super::score;
use crate::game::pgn::{PgnGame, PgnRules};
use crate::game::score::UciScore;

/// Longest text of one game, bytes.
const LONGEST_GAME: usize = 1 << 22;

/// Longest word that is repeated in a sentence, characters.
const LONGEST_WORD: usize = 40;

/// Reads a PGN game by game.
#[derive(Debug)]
pub struct PgnGames<R> {
    lines: R,
    /// The first line of the next game.
    held: Vec<u8>,
    /// Lines read so far.
    line: usize,
    game: usize,
    is_over: bool,
}

impl<R: BufRead> PgnGames<R> {
    /// Reads from here.
    pub fn new(lines: R) -> Self {
        Self { lines, held: Vec::new(), line: 0, game: 0, is_over: false }
    }

    /// The text of the next game, and the number of its first line.
    fn text(&mut self) -> Result<Option<(usize, Vec<u8>)>, ReadError> {
        let mut text = std::mem::take(&mut self.held);
        let first = if text.is_empty() { self.line + 1 } else { self.line };
        let (mut has_moves, mut in_comment) = (false, false);
        loop {
            let start = text.len();
            let room = (LONGEST_GAME + 1).saturating_sub(start) as u64;
            self.lines.by_ref().take(room).read_until(b'\n', &mut text)?;
            if text.len() > LONGEST_GAME {
                self.is_over = true;
                let what = "its text is longer than 4 MiB, so the rest of the file is not read";
                return Err(self.bad(first, what.to_owned()));
            }
            if self.line == 0 && text.starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len());
            }
            let line = &text[start..];
            if line.is_empty() {
                self.is_over = true;
                return Ok((!text.trim_ascii().is_empty()).then_some((first, text)));
            }
            self.line += 1;
            let is_tag = line.starts_with(b"[") && line.get(1).is_some_and(u8::is_ascii_alphabetic);
            if is_tag && has_moves && !in_comment {
                self.held = text.split_off(start);
                return Ok(Some((first, text)));
            }
            if in_comment || !is_tag {
                has_moves |= !line.trim_ascii().is_empty();
                for byte in line {
                    in_comment = *byte == b'{' || in_comment && *byte != b'}';
                }
            }
        }
    }

    fn bad(&self, line: usize, what: String) -> ReadError {
        ReadError::Bad { place: format!("game {} (line {line})", self.game), what }
    }

    fn read(&mut self) -> Result<Option<Taken>, ReadError> {
        let Some((line, text)) = self.text()? else { return Ok(None) };
        self.game += 1;
        // First, because a skipped word is often why the next move is not legal.
        if let Some(word) = unreadable_word(&text) {
            let shown: String =
                word.chars().filter(|c| !c.is_control()).take(LONGEST_WORD).collect();
            return Err(self.bad(line, format!("\"{shown}\" is not a move")));
        }
        let mut reader = reader(&text);
        let mut rules =
            PgnRules { chess960: false, plies: usize::MAX, variants: "not standard chess" };
        let game = match reader.read_game(&mut rules) {
            Ok(game) => game.unwrap_or(Err("it has no moves".to_owned())),
            Err(error) => Err(error.to_string()),
        };
        let is_split = reader.has_more().unwrap_or(false);
        match game {
            Ok(_) if is_split => {
                let what = "something follows its result; begin each game with its tags";
                Err(self.bad(line, what.to_owned()))
            }
            Ok(game) => Ok(Some(taken(game))),
            Err(what) => Err(self.bad(line, what)),
        }
    }
}

impl<R: BufRead> Iterator for PgnGames<R> {
    type Item = Result<Taken, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let game = self.read();
        self.is_over |= matches!(game, Err(ReadError::Io(_)));
        game.transpose()
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What a comment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// The mover's score before the move.
    OfMove(UciScore),
    /// White's score behind the move.
    Behind(UciScore),
}

fn centipawns(pawns: &str) -> Option<UciScore> {
    let pawns: f64 = pawns.parse().ok()?;
    pawns.is_finite().then(|| UciScore::Cp((pawns * 100.0).round() as i32))
}

fn said(comment: &str) -> Option<Said> {
    // Some programs break lines behind the word.
    if let Some((_, rest)) = comment.split_once("[%eval")
        && rest.starts_with(char::is_whitespace)
    {
        let word = rest.split([']', ',']).next()?.trim();
        let score = match word.strip_prefix('#') {
            Some(moves) => UciScore::Mate(moves.parse().ok()?),
            None => centipawns(word)?,
        };
        return Some(Said::Behind(score));
    }
    let word = comment.split_whitespace().next()?.trim_end_matches(',');
    let (word, is_score) = match word.split_once('/') {
        Some((word, _)) => (word, true),
        None => (word, word.contains(['.', 'M'])),
    };
    if !is_score {
        return None;
    }
    if let Some(plies) = word.strip_prefix("+M") {
        return Some(Said::OfMove(UciScore::Mate(
            plies.parse::<i32>().ok()?.saturating_add(1) / 2,
        )));
    }
    if let Some(plies) = word.strip_prefix("-M") {
        return Some(Said::OfMove(UciScore::Mate(
            -plies.parse::<i32>().ok()?.saturating_add(1) / 2,
        )));
    }
    centipawns(word).map(Said::OfMove)
}

/// The parts of the game whose moves have scores.
fn taken(game: PgnGame) -> Taken {
    let Some(result) = game.result else { return Taken::default() };
    let mut of_move = vec![None; game.moves.len()];
    let mut before = vec![None; game.moves.len() + 1];
    for (moves, comment) in &game.comments {
        match said(comment) {
            Some(Said::OfMove(score)) if *moves > 0 => {
                of_move[moves - 1] = Some(score::pack(score));
            }
            Some(Said::Behind(score)) => before[*moves] = Some(score::pack(score)),
            _ => {}
        }
    }
    let white_begins = game.start.turn().is_white();
    let mut pieces = Pieces::new(game.start);
    for (at, played) in game.moves.into_iter().enumerate() {
        let sign = if at.is_multiple_of(2) == white_begins { 1 } else { -1 };
        pieces.push(played, of_move[at].or(before[at].map(|score: i16| sign * score)));
    }
    pieces.finish(result.winner().map_or(1, |winner| winner.fold_wb(2, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_understood() {
        let cp = |centipawns| Some(Said::OfMove(UciScore::Cp(centipawns)));
        for (text, expected) in [
            ("+0.35/12 0.521s n=800", cp(35)),
            ("-1.20/8", cp(-120)),
            ("0.00/1 0.1s, Draw by stalemate", cp(0)),
            ("+M5/9 0.1s", Some(Said::OfMove(UciScore::Mate(3)))),
            ("-M2/9", Some(Said::OfMove(UciScore::Mate(-1)))),
            ("+0.35, White mates", cp(35)),
            ("book", None),
            ("0.521s n=800", None),
            ("12 good moves", None),
            ("", None),
            ("+Mx/3", None),
            ("[%eval 0.17] [%clk 0:00:30]", Some(Said::Behind(UciScore::Cp(17)))),
            ("good [%eval\n2.18] [%tesla\n60.0 1.0]", Some(Said::Behind(UciScore::Cp(218)))),
            ("[%evaluated]", None),
            ("[%eval #-3]", Some(Said::Behind(UciScore::Mate(-3)))),
            ("[%eval 2.5,31]", Some(Said::Behind(UciScore::Cp(250)))),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
    }

    fn read(text: &str) -> Vec<Result<Taken, String>> {
        let games = PgnGames::new(text.as_bytes());
        games.map(|game| game.map_err(|error| error.to_string())).collect()
    }

    fn scores(taken: &Taken) -> Vec<i16> {
        taken.games.iter().flat_map(|game| game.plies.iter().map(|ply| ply.score)).collect()
    }

    #[test]
    fn games_are_taken_over() {
        let games = read(
            "[Event \"a\"]\n[Result \"1-0\"]\n\n1. e4 {book} e5 {-0.10/4 {x 1s} 2. Nf3 {[%clk 1]\n\
             [Strange \"comment\"] +0.2/4} Nc6 {0.00/9} 3. Bb5 {+M3/5} 1-0\n\n[Event \"b\"]\n\n\
             1. e4 {[%eval 0.3]} e5 {[%eval -0.2]} 2. d4 1/2-1/2\n\n[Event \"c\"]\n\n1. e4 *\n",
        );
        let [Ok(first), Ok(second), Ok(third)] = &games[..] else {
            panic!("{games:?}");
        };
        assert_eq!((scores(first), first.gaps), (vec![-10, 0, 31_998], 1));
        assert!(first.games.iter().all(|game| game.result == 2));
        assert_eq!(*third, Taken::default());
        // A mark before the first tag, and a result that only a tag tells.
        let games = read(
            "\u{feff}[FEN \"4k3/8/8/8/8/8/4p3/K7 b - - 0 1\"]\n[Result \"0-1\"]\n\n\
             1... e1=Q {+1.90/3}\n",
        );
        let [Ok(only)] = &games[..] else { panic!("{games:?}") };
        assert_eq!((scores(only), only.games[0].result), (vec![190], 0));
        assert_eq!(only.games[0].start.board().occupied().count(), 3);
        // White's view turned into the mover's.
        assert_eq!((scores(second), second.gaps), (vec![-30, -20], 0));
    }

    /// As `tesla experience export` writes what it learnt.
    #[test]
    fn games_of_one_move_are_taken_over() {
        let games = read(
            "[Event \"experience\"]\n[Result \"0-1\"]\n[SetUp \"1\"]\n\
             [FEN \"4k3/8/8/8/8/8/4p3/K7 b - - 0 1\"]\n\n1... e1=Q {+1.90/3} 0-1\n\n",
        );
        let [Ok(taken)] = &games[..] else { panic!("{games:?}") };
        assert_eq!((scores(taken), taken.gaps), (vec![190], 0));
        assert!(taken.games.iter().all(|game| game.result == 0));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, sentence) in [
            ("1. e4 e5 2. Ke3 1-0", "move 3 of the game"),
            ("1. e4 e5 2. Nf9 1-0", "\"Nf9\" is not a move"),
            ("[FEN \"nonsense\"]\n\n1. e4 1-0", "not a FEN"),
            ("[Variant \"Atomic\"]\n\n1. e4 1-0", "Atomic"),
            ("[SetUp \"1\"]\n\n1. e4 1-0", "no FEN tag"),
            ("1. e4 1-0\n\n1. d4 1-0", "begin each game with its tags"),
        ] {
            let games = read(text);
            assert!(matches!(&games[..], [Err(error)] if error.contains(sentence)), "{games:?}");
        }
        assert_eq!(read(""), []);
        assert_eq!(read("\n\n"), []);
        let long = format!("1. e4 {{{}}} 1-0", "x".repeat(LONGEST_GAME));
        assert!(matches!(&read(&long)[..], [Err(error)] if error.contains("4 MiB")));
    }
}
