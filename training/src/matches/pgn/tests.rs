use std::ops::ControlFlow;
use std::path::Path;

use pgn_reader::{RawComment, RawTag, Reader, Visitor};
use proptest::prelude::*;
use shakmaty::{Color, Move};

use super::*;
use crate::game::ending::{Ending, Termination};
use crate::game::openings::{Book, BookOptions, Opening};
use crate::game::state::{GameState, castling_mode, fen_of};
use crate::matches::record::Breaches;

fn played(uci: &str, score: Option<UciScore>) -> MoveRecord {
    MoveRecord { uci: uci.to_owned(), score, depth: Some(12), nodes: Some(800), micros: 520_900 }
}

fn fools_mate() -> MatchGame {
    MatchGame {
        number: 7,
        round: "3.1".to_owned(),
        white: "Tesla \"dev\" \\ {x}".to_owned(),
        black: "Other\nengine".to_owned(),
        opening: Opening {
            fen: start_fen(),
            moves: vec!["f2f3".parse().unwrap(), "e7e5".parse().unwrap()],
            chess960: false,
            name: None,
        },
        moves: vec![
            MoveRecord { depth: None, nodes: None, ..played("g2g4", Some(UciScore::Mate(-1))) },
            played("d8h4", Some(UciScore::Mate(1))),
        ],
        ending: Ending::loss(Color::White, Termination::Checkmate),
        detail: None,
        white_breaches: Breaches::default(),
        black_breaches: Breaches::default(),
        transcript: None,
    }
}

#[test]
fn a_game_in_full() {
    let tags = PgnTags {
        event: "Test".to_owned(),
        white_time_control: "10+0.1".to_owned(),
        black_time_control: "10+0.1".to_owned(),
        ..PgnTags::default()
    };
    let expected = r#"[Event "Test"]
[Site "?"]
[Date "????.??.??"]
[Round "3.1"]
[White "Tesla \"dev\" \\ {x}"]
[Black "Other engine"]
[Result "0-1"]
[GameDuration "00:00:01"]
[PlyCount "4"]
[Termination "normal"]
[TimeControl "10+0.1"]

1. f3 {book} 1... e5 {book} 2. g4 {-M2 0.521s} 2... Qh4# {+M1/12 0.521s n=800,
Black mates} 0-1

"#;
    assert_eq!(to_pgn(&fools_mate(), &tags).unwrap(), expected);
}

#[test]
fn scores_in_pawns() {
    let cases = [(35, "+0.35"), (-5, "-0.05"), (0, "0.00"), (12_345, "+123.45")];
    for (cp, text) in cases {
        assert_eq!(score_in_pawns(UciScore::Cp(cp)), text);
    }
    assert_eq!(score_in_pawns(UciScore::Cp(i32::MIN)), "-21474836.48");
    for (moves, text) in [(3, "+M5"), (-2, "-M4"), (0, "-M0"), (i32::MIN, "-M4294967296")] {
        assert_eq!(score_in_pawns(UciScore::Mate(moves)), text);
    }
}

#[test]
fn what_an_engine_sent_cannot_break_the_game() {
    let mut game = fools_mate();
    game.moves.clear();
    game.ending = Ending::loss(Color::White, Termination::IllegalMove);
    game.detail = Some(format!("}} {{1. e4\u{1b} %x {}", "y".repeat(500)));
    let text = to_pgn(&game, &PgnTags::default()).unwrap();
    assert!(text.contains("White makes an illegal move: ) (1. e4"), "{text}");
    assert!(text.contains("[Termination \"rules infraction\"]"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let read = read_back(&text);
    assert_eq!(read.moves, ["f2f3", "e7e5"]);
    assert_eq!(wrap(&format!("{} %y z", "x".repeat(79))), format!("{} %y\nz", "x".repeat(79)));
    game.opening.moves.clear();
    let text = to_pgn(&game, &PgnTags::default()).unwrap();
    assert!(text.contains("\n\n{White makes an illegal move"), "{text}");
    assert!(text.ends_with("}\n0-1\n\n"), "{text}");
}

#[test]
fn records_that_are_no_games_are_refused() {
    let mut game = fools_mate();
    game.moves[0].uci = "g2g5".to_owned();
    let error = to_pgn(&game, &PgnTags::default()).unwrap_err().to_string();
    let expected = "game 7 cannot be written as PGN: its move 3 of both sides, g2g5, is not legal";
    assert_eq!(error, expected);
    game.moves[0].uci = "hello".to_owned();
    assert!(to_pgn(&game, &PgnTags::default()).is_err());
    game.opening.fen = "8/8".to_owned();
    assert!(to_pgn(&game, &PgnTags::default()).is_err());
}

/// What pgn-reader makes of a text.
#[derive(Default)]
struct ReadGame {
    tags: Vec<(String, String)>,
    moves: Vec<String>,
    comments: Vec<String>,
    result: Option<String>,
}

impl ReadGame {
    fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(tag, _)| tag == name).map(|(_, value)| value.as_str())
    }
}

struct Collector;

impl Visitor for Collector {
    type Tags = ReadGame;
    type Movetext = (ReadGame, Chess);
    type Output = ReadGame;

    fn begin_tags(&mut self) -> ControlFlow<ReadGame, ReadGame> {
        ControlFlow::Continue(ReadGame::default())
    }

    fn tag(
        &mut self,
        game: &mut ReadGame,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<ReadGame> {
        let name = String::from_utf8(name.to_vec()).unwrap();
        // Unescaped here: RawTag::decode of pgn-reader 0.29 reads `\\\"` as one quote.
        let mut plain = String::new();
        let mut characters = str::from_utf8(value.as_bytes()).unwrap().chars();
        while let Some(c) = characters.next() {
            plain.push(if c == '\\' { characters.next().unwrap() } else { c });
        }
        game.tags.push((name, plain));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, game: ReadGame) -> ControlFlow<ReadGame, (ReadGame, Chess)> {
        let fen = game.tag("FEN").map_or_else(start_fen, str::to_owned);
        let position = set_up(&fen, game.tag("Variant") == Some("Chess960")).unwrap();
        ControlFlow::Continue((game, position))
    }

    fn san(
        &mut self,
        (game, position): &mut (ReadGame, Chess),
        san: SanPlus,
    ) -> ControlFlow<ReadGame> {
        let m = san.san.to_move(position).unwrap();
        game.moves.push(m.to_uci(position.castles().mode()).to_string());
        assert_eq!(SanPlus::from_move_and_play_unchecked(position, m), san);
        ControlFlow::Continue(())
    }

    fn comment(
        &mut self,
        game: &mut (ReadGame, Chess),
        text: RawComment<'_>,
    ) -> ControlFlow<ReadGame> {
        game.0.comments.push(str::from_utf8(text.as_bytes()).unwrap().to_owned());
        ControlFlow::Continue(())
    }

    fn outcome(
        &mut self,
        game: &mut (ReadGame, Chess),
        outcome: pgn_reader::Outcome,
    ) -> ControlFlow<ReadGame> {
        game.0.result = Some(outcome.to_string());
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (game, _): (ReadGame, Chess)) -> ReadGame {
        game
    }
}

/// The one game of a text.
fn read_back(text: &str) -> ReadGame {
    let mut reader = Reader::new(text.as_bytes());
    let game = reader.read_game(&mut Collector).unwrap().unwrap();
    assert!(reader.read_game(&mut Collector).unwrap().is_none(), "a second game in {text}");
    game
}

const STARTS: [(bool, &str); 6] = [
    (false, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    (false, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 17"),
    (false, "8/P6P/8/2k5/8/2K5/p6p/8 b - - 3 90"),
    (true, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    (true, "r1k1r2q/p1ppp1pp/8/8/8/8/P1PPP1PP/R1K1R2Q w KQkq - 0 1"),
    (true, "bnrkqrnb/pppppppp/8/8/8/8/PPPPPPPP/BNRKQRNB w KQkq - 0 1"),
];

fn random_game(start: usize, choices: &[u16], book: usize, text: &str) -> MatchGame {
    let (chess960, fen) = STARTS[start];
    let mut position = set_up(fen, chess960).unwrap();
    let opening = Opening { fen: fen_of(&position), moves: vec![], chess960, name: None };
    let mut state = GameState::new(&opening).unwrap();
    let mut game = MatchGame {
        opening,
        moves: vec![],
        white: text.to_owned(),
        detail: Some(text.to_owned()),
        ending: Ending::loss(Color::Black, Termination::BadUci),
        ..fools_mate()
    };
    for &choice in choices {
        let moves = position.legal_moves();
        // Castling and promotions are what goes wrong: take them where they come.
        let rare = |m: &&Move| m.is_castle() || m.is_promotion();
        let Some(&m) = moves
            .iter()
            .find(rare)
            .filter(|_| choice % 3 == 0)
            .or_else(|| moves.get(usize::from(choice) % moves.len().max(1)))
        else {
            break;
        };
        let uci = m.to_uci(castling_mode(chess960));
        state.play(uci).unwrap();
        position.play_unchecked(m);
        if state.moves().len() <= book && state.outcome().is_none() && game.moves.is_empty() {
            game.opening.moves.push(uci);
        } else {
            let score = match choice % 5 {
                0 => None,
                1 => Some(UciScore::Mate(i32::from(choice) - 30_000)),
                _ => Some(UciScore::Cp(i32::from(choice) - 30_000)),
            };
            game.moves.push(played(&uci.to_string(), score));
        }
        if let Some(ending) = state.outcome() {
            game.ending = ending;
            break;
        }
    }
    game
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn games_read_back_as_they_were(
        start in 0..STARTS.len(),
        choices in prop::collection::vec(any::<u16>(), 0..160),
        book in 0..12_usize,
        text in r#"[ -~\n\u{e4}\u{1f600}"\\{}%]{0,300}"#,
    ) {
        let game = random_game(start, &choices, book, &text);
        let pgn = to_pgn(&game, &PgnTags::default()).unwrap();
        let read = read_back(&pgn);
        let moves: Vec<String> = game.opening.moves.iter().map(ToString::to_string)
            .chain(game.moves.iter().map(|m| m.uci.clone())).collect();
        prop_assert_eq!(&read.moves, &moves);
        prop_assert_eq!(read.result.as_deref(), Some(game.ending.result.pgn()));
        let number = moves.len().max(1);
        prop_assert!(read.comments.len() >= number, "{} comments", read.comments.len());
        let white = read.tag("White").unwrap();
        let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let same = if text.is_empty() { white == "?" } else { plain.starts_with(white) };
        prop_assert!(same, "{white:?}");
        prop_assert!(!pgn.chars().any(|c| c.is_control() && c != '\n'), "{pgn:?}");
        prop_assert!(!pgn.contains("\n%"), "{pgn}");
        if game.opening.chess960 {
            prop_assert_eq!(read.tag("FEN"), Some(game.opening.fen.as_str()));
            prop_assert_eq!(read.tag("Variant"), Some("Chess960"));
        }
        // A word of the engine's may be longer than a line.
        for line in pgn.lines() {
            let longest = line.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
            let allowed = if line.starts_with('[') { 255 } else { LINE_LENGTH };
            let is_short = line.chars().count() <= allowed;
            prop_assert!(is_short || longest > 60 || line.contains(" %"), "{line}");
        }
        // And the reader of openings takes the game back as an opening.
        let plies = game.opening.moves.len();
        let chess960 = game.opening.chess960;
        let options = BookOptions { chess960, plies: Some(plies), ..BookOptions::default() };
        let book = Book::parse(Path::new("x.pgn"), pgn.as_bytes(), &options).unwrap();
        prop_assert_eq!(book.openings(), std::slice::from_ref(&game.opening));
        // Records survive their own text too, all but their times.
        let json = serde_json::to_string(&game).unwrap();
        let mut timeless = game;
        timeless.moves.iter_mut().for_each(|played| played.micros = 0);
        prop_assert_eq!(serde_json::from_str::<MatchGame>(&json).unwrap(), timeless);
    }
}
