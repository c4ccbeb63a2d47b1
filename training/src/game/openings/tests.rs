use proptest::prelude::*;

use super::*;

const FEN: &str = "r2qk1nr/p4pbp/1pp1b1p1/2p1p3/4P3/2NP1N2/PPPQ1PP1/R3K1BR w KQkq - 1 9";

fn parse(name: &str, text: &str, options: &BookOptions) -> Result<Book> {
    Book::parse(Path::new(name), text.as_bytes(), options)
}

fn read(name: &str, text: &str) -> Vec<Opening> {
    parse(name, text, &BookOptions::default()).unwrap().openings().to_vec()
}

fn refusal(name: &str, text: &str) -> String {
    parse(name, text, &BookOptions::default()).unwrap_err().to_string()
}

fn moves(opening: &Opening) -> String {
    opening.moves.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn lines_of_fen_and_epd() {
    let board = "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq -";
    let text = format!(
        "\u{feff}# a book\n{FEN}\r\n\r\n{board}\n{board} hmvc 2; fmvn 2; id \"a; b\"; bm e2e4;\n\
         \x20 {board} 4 3 ; ok\n"
    );
    let book = read("x.epd", &text);
    let fens: Vec<&str> = book.iter().map(|opening| opening.fen.as_str()).collect();
    let counters = |text: &str| format!("{board} {text}");
    assert_eq!(fens, [FEN, &counters("0 1"), &counters("2 2"), &counters("4 3")]);
    assert_eq!(book[2].name.as_deref(), Some("a; b"));
    // Duplicates may stand, and the format is seen without an extension.
    assert_eq!(read("book", &format!("{FEN}\n{FEN}")).len(), 2);
    // A square en passant that nobody can use is dropped.
    let book = read("x.fen", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1");
    assert_eq!(book[0].fen, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
}

#[test]
fn bad_lines_are_named() {
    for (line, what) in [
        ("hello", "neither EPD nor FEN"),
        ("4k3/8/8/8/8/8/P7/4K3 w -", "neither EPD nor FEN"),
        ("4k3/8/8/8/8/8/P7/4K3 x - -", "is not a FEN"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - 0", "the move number '' is not a number"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - -1 1", "the halfmove clock '-1' is not a number"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - hmvc x;", "hmvc 'x' is not a number"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - id \"x;", "the string after 'id' is not closed"),
        ("4k3/8/8/8/8/8/P7/4K3 w KQ - 0 1", "invalid castling rights"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "opposite check"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "already over after 0 moves"),
        ("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1", "(checkmate)"),
        ("rnkrqbbn/pppppppp/8/8/8/8/PPPPPPPP/RNKRQBBN w KQkq - 0 1", "play it as Chess960"),
    ] {
        let error = refusal("dir/x.epd", &format!("{FEN}\n\n{line}\n{FEN}"));
        assert!(error.starts_with("opening book dir/x.epd, line 3: "), "{error}");
        assert!(error.contains(what), "{error}");
    }
    let bytes = Book::parse(Path::new("x.epd"), b"\xff", &BookOptions::default());
    assert!(bytes.unwrap_err().to_string().contains("line 1: it is not UTF-8"));
    for name in ["x.epd", "x.pgn", "x"] {
        assert_eq!(refusal(name, " \n"), format!("the opening book {name} holds no openings"));
    }
    assert!(Book::read(Path::new("no such file.epd"), &BookOptions::default()).is_err());
}

#[test]
fn chess960_books() {
    let fen = "rnkrqbbn/pppppppp/8/8/8/8/PPPPPPPP/RNKRQBBN w KQkq - 0 1";
    let options = BookOptions { chess960: true, ..BookOptions::default() };
    for text in [fen.to_owned(), fen.replace("KQkq", "DAda")] {
        let book = parse("frc.epd", &text, &options).unwrap();
        assert_eq!(book.opening(0).fen, fen);
        assert!(book.opening(0).chess960);
    }
    let pgn = "[Variant \"Chess960\"]\n[SetUp \"1\"]\n[FEN \
               \"bnrkqrnb/pppppppp/8/8/8/8/PPPPPPPP/BNRKQRNB w KQkq - 0 1\"]\n\n1. Nf3 Nf6 2. e3 \
               e6 3. Qe2 Qe7 4. Nd4 Nd5 *\n";
    assert_eq!(parse("x.pgn", pgn, &options).unwrap().opening(9).moves.len(), 8);
    assert!(refusal("x.pgn", pgn).contains("Chess960"));
}

const GAMES: &str = "\
[Event \"one\"]
[ECO \"C50\"]
[Opening \"Italian \\\"Game\\\"\"]

1. e4 e5 2. Nf3! {a } (2. f4 exf4 (2... d5) Bxx) $1 2... Nc6 3. Bc4 ; Bxx9
% Kz9
Bc5 1-0

[Event \"two\"]
[FEN \"4k2r/8/8/8/8/8/8/R3K3 b Qk - 5 40\"]

40... 0-0 41. O-O-O *
";

#[test]
fn games_of_pgn() {
    for name in ["x.PGN", "x"] {
        let book = read(name, GAMES);
        assert_eq!(book.len(), 2);
        assert_eq!(moves(&book[0]), "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5");
        assert_eq!(book[0].name.as_deref(), Some("Italian \"Game\""));
        assert_eq!(book[1].fen, "4k2r/8/8/8/8/8/8/R3K3 b Qk - 5 40");
        assert_eq!(moves(&book[1]), "e8g8 e1c1");
    }
    let options = BookOptions { plies: Some(3), ..BookOptions::default() };
    let book = parse("x.pgn", GAMES, &options).unwrap();
    assert_eq!(moves(book.opening(0)), "e2e4 e7e5 g1f3");
    assert_eq!(moves(book.opening(1)), "e8g8 e1c1", "a shorter game is taken whole");
}

#[test]
fn bad_games_are_named() {
    for (game, what) in [
        ("1. e4 e5 2. Nf6 *", "move 3 of the game, Nf6: illegal san"),
        ("1. e4 e5 2. N\u{a7}f3 *", "\"N\u{a7}f3\" is not a move"),
        ("1. e4 e5 2. Nf3 Nc6 Hello *", "\"Hello\" is not a move"),
        ("1. e4 e5 2. Nf3x *", "\"Nf3x\" is not a move"),
        ("1. e4 e5 2. -- *", "move 3 of the game, --: illegal san"),
        ("1. f3 e5 2. g4 Qh4# 0-1", "already over after 4 moves of the opening (checkmate)"),
        ("1-0", "neither moves nor a FEN"),
        ("[SetUp \"1\"]\n\n1. e4 *", "a SetUp tag but no FEN"),
        ("[Variant \"Crazyhouse\"]\n\n1. e4 *", "variant \"Crazyhouse\""),
        ("[FEN \"8/8\"]\n\n1. e4 *", "\"8/8\" is not a FEN"),
    ] {
        let error = refusal("x.pgn", &format!("{GAMES}\n\n{game}\n\n{GAMES}"));
        assert!(error.starts_with("opening book x.pgn, game 3 (line 15): "), "{error}");
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn what_is_never_closed_is_named() {
    let error = refusal("x.pgn", &format!("{GAMES}\n1. e4 {{never closed"));
    assert!(error.contains("game 3 (line 14): unterminated comment"), "{error}");
    let error = refusal("x.pgn", "[Event \"x");
    assert!(error.contains("game 1 (line 1): unterminated tag"), "{error}");
}

fn numbered(count: usize, order: Order, start: u64) -> Book {
    let lines: Vec<String> =
        (1..=count).map(|n| format!("4k3/8/8/8/8/8/P7/4K3 w - - 0 {n}")).collect();
    let text = lines.join("\n");
    parse("x.epd", &text, &BookOptions { order, start, ..BookOptions::default() }).unwrap()
}

/// Places in the book of the openings `0..count` of a match.
fn taken(book: &Book, count: u64) -> Vec<usize> {
    let place =
        |opening: &Opening| opening.fen.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
    (0..count).map(|n| place(book.opening(n)) - 1).collect()
}

#[test]
fn sequential_order_starts_over() {
    assert_eq!(taken(&numbered(3, Order::Sequential, 0), 7), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(taken(&numbered(3, Order::Sequential, 5), 3), [2, 0, 1]);
    assert_eq!(taken(&numbered(3, Order::Sequential, u64::MAX), 2), [0, 1]);
    assert_eq!(Book::start_position(true).opening(12).fen, start_fen());
}

#[test]
fn random_order_is_a_fresh_shuffle_each_round() {
    let order = taken(&numbered(10, Order::Random { seed: 42 }, 0), 30);
    let rounds: Vec<&[usize]> = order.chunks(10).collect();
    for round in &rounds {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..10).collect::<Vec<_>>());
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2] && rounds[0] != rounds[2]);
    let skipped = taken(&numbered(10, Order::Random { seed: 42 }, 13), 17);
    assert_eq!(skipped, order[13..]);
    assert_ne!(taken(&numbered(10, Order::Random { seed: 43 }, 0), 30), order);
    // Fixed for good: an old match must resume with the same openings.
    assert_eq!(rounds[0], [2, 1, 4, 3, 7, 0, 5, 8, 6, 9]);
}

#[test]
fn positions_that_repeat_count_once() {
    assert_eq!(numbered(10, Order::Sequential, 0).different(10), 1, "but for the move's number");
    for order in [Order::Sequential, Order::Random { seed: 3 }] {
        let text = "1. e4 e5 2. Nf3 *\n\n1. Nf3 e5 2. e4 *\n\n1. e4 e5 2. Nf3 Nc6 *\n\n1. d4 *\n";
        let with = |plies, start| {
            parse("x.pgn", text, &BookOptions { plies, order, start, ..BookOptions::default() })
        };
        let whole = with(None, 0).unwrap();
        assert_eq!((whole.different(9), whole.different(0)), (3, 0));
        assert_eq!(with(Some(3), 0).unwrap().different(4), 2);
        assert!(with(None, 1).unwrap().different(4) < 4);
        assert_eq!(with(None, 4).unwrap().different(4), 0, "the book is through");
    }
}

#[test]
fn every_opening_comes_first_about_as_often() {
    let mut firsts = [0_u32; 5];
    for seed in 0..2000 {
        firsts[permutation(5, seed, 1)[0]] += 1;
    }
    // 400 expected, standard deviation 18.
    assert!(firsts.iter().all(|&count| (310..490).contains(&count)), "{firsts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_make_it_panic(
        noise in prop::collection::vec(any::<u8>(), 0..40),
        at in 0..GAMES.len(),
        plies in prop::option::of(0..4_usize),
    ) {
        let options = BookOptions { plies, ..BookOptions::default() };
        let mut game = GAMES.as_bytes().to_vec();
        game.splice(at..at, noise.iter().copied());
        let mut line = FEN.as_bytes().to_vec();
        line.splice(at % FEN.len()..at % FEN.len(), noise.iter().copied());
        for bytes in [&noise, &game, &line] {
            for name in ["x.pgn", "x.epd", "x"] {
                if let Ok(book) = Book::parse(Path::new(name), bytes, &options) {
                    prop_assert!(!book.opening(1).fen.is_empty());
                }
            }
        }
    }
}

#[test]
fn a_book_may_be_compressed() {
    let folder = std::env::temp_dir().join(format!("tesla-openings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 0;\n";
    let path = folder.join("book.epd.zst");
    std::fs::write(&path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    let book = Book::read(&path, &BookOptions::default()).unwrap();
    assert_eq!(book.openings().len(), 1);
    std::fs::write(&path, [&ZSTD[..], b"and no more"].concat()).unwrap();
    let error = Book::read(&path, &BookOptions::default()).unwrap_err().to_string();
    assert!(error.contains("it cannot be unpacked"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
