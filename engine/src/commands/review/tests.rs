//! A short game, reviewed over the evaluator that needs no network.

use std::fs;

use shakmaty::Color;

use super::judgement::{Judgement, Loss};
use super::*;
use crate::console::output::heard::Heard;
use crate::search::snapshot::Outlook;

const GAME: &str = "[Event \"A \\\"fool's\\\" mate\"]\n[White \"First\"]\n[Black \"Second\"]\n\n\
    1. f3 {a comment} e5 (1... d5 2. e4) 2. g4?? Qh4# 0-1\n";

fn verdict(value: f32, proof: Option<Proof>) -> Assessment {
    Assessment { value, error: 1.5, proof, best: None }
}

#[test]
fn losses_have_lichess_names() {
    let named = |lost: f32| Judgement::of(Loss(lost));
    assert_eq!([named(0.0), named(4.9)], [None, None]);
    assert_eq!([named(5.0), named(9.9)], [Some(Judgement::Inaccuracy); 2]);
    assert_eq!([named(10.0), named(14.9)], [Some(Judgement::Mistake); 2]);
    assert_eq!([named(15.0), named(100.0)], [Some(Judgement::Blunder); 2]);
    // 60 for the side to move, then 52 for the other one: 48 of 60 are left.
    assert_eq!(Loss::of(verdict(60.0, None), verdict(52.0, None)), Loss(12.0));
    assert_eq!(Loss::of(verdict(40.0, None), verdict(52.0, None)), Loss(0.0));
}

#[test]
fn games_are_written_as_others_read_them() {
    let game = &readable(GAME.as_bytes()).unwrap()[0];
    let mated = Proof { result: Outlook::Loss, mate: Some(0) };
    let mates = Proof { result: Outlook::Win, mate: Some(1) };
    let verdicts = [(45.0, None), (55.0, None), (44.0, None), (100.0, Some(mates))];
    let mut verdicts: Vec<Assessment> = verdicts.map(|(v, proof)| verdict(v, proof)).to_vec();
    verdicts.push(verdict(0.0, Some(mated)));
    let (annotations, summary) = judged(game, &verdicts, &verdicts);
    let text = game.written(&annotations);
    let flat = text.replace('\n', " ");
    for part in [
        "[Event \"A \\\"fool's\\\" mate\"]",
        "1. f3 { [%eval -0.54] [%tesla 45.0 1.5] } 1... e5 { ",
        "2. g4 $4 { [%eval #-1] [%tesla 0.0 1.5] } 2... Qh4# { [%tesla 0.0 1.5] } 0-1",
    ] {
        assert!(flat.contains(part), "{part} is not in {flat}");
    }
    assert!(text.lines().all(|line| line.len() <= 80));
    // No line ends within brackets, where other programs look for `[%eval `.
    assert!(text.lines().all(|line| line.matches('[').count() == line.matches(']').count()));
    assert_eq!(
        game::pieces("{ [%eval 1 2] a b }").collect::<Vec<_>>(),
        ["{", "[%eval 1 2]", "a", "b", "}"]
    );
    // What is written can be read, and is the same game.
    let again = &readable(text.as_bytes()).unwrap()[0];
    assert_eq!(again.positions().len(), 5);
    assert_eq!(again.title(), game.title());
    assert!(!game.title().contains('?'), "{}", game.title());
    let mut wanted = Summary::default();
    for (color, lost) in
        [(Color::White, 0.0), (Color::Black, 0.0), (Color::White, 44.0), (Color::Black, 0.0)]
    {
        wanted.add(color, Loss(lost));
    }
    assert_eq!(summary, wanted);
    assert!(summary.to_string().contains("White      2                22.0"), "{summary}");
}

#[test]
fn a_file_is_reviewed() {
    let folder = std::env::temp_dir().join(format!("tesla-review-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [pgn, out, epd] = ["in.pgn", "out.pgn", "out.epd"].map(|name| folder.join(name));
    fs::write(&pgn, format!("{GAME}\n{GAME}")).unwrap();
    let options = ["Evaluator=Classical", "Hash=4"].map(str::to_owned).to_vec();
    let searches = AnalyseArgs { nodes: 400, concurrency: 2, options };
    let args =
        ReviewArgs { pgn, out: Some(out.clone()), epd: Some(epd.clone()), depth: None, searches };
    let heard = Heard::default();
    run(&args, &heard.output()).unwrap();
    let table = heard.take();
    assert_eq!(table.matches("First - Second").count(), 2);
    let text = fs::read_to_string(&out).unwrap();
    assert_eq!(text.matches("2. g4 $4 { [%eval #-1]").count(), 2, "{text}");
    assert_eq!(table.matches("\n2. g4 ?? lost ").count(), 2, "{table}");
    assert!(table.contains(" was better"), "{table}");
    let epd = fs::read_to_string(&epd).unwrap();
    let blunder = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - bm ";
    assert!(epd.lines().any(|line| line.starts_with(blunder)), "{epd}");
    fs::remove_dir_all(&folder).unwrap();
    let fault = run(&args, &heard.output()).unwrap_err();
    assert!(fault.contains("cannot read"), "{fault}");
}

#[test]
fn what_is_no_game_is_told() {
    for (text, fault) in [
        ("", "no game"),
        ("[Event \"x\"]\n\n*", "no game"),
        ("1. e4 e4 *", "1... e4 cannot be played"),
        ("1. e4 e5 2. Ng1-f3 Nc6 3. Bb5 *", "\"Ng1-f3\" is not a move"),
        ("1. e4 e5 2. Sf3 Sc6 *", "\"Sf3\" is not a move"),
        ("1. e4 {no end", "unterminated comment"),
        ("1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. O–O d6 *", "\"O–O\" is not a move"),
        ("1. e4 e5\n\n2. Nf3 Nc6\n\n3. Bb5 a6 1-0", "a blank line lies among its moves"),
        ("[FEN \"nonsense\"]\n\n1. e4 *", "cannot be read"),
        ("[Variant \"Crazyhouse\"]\n\n1. e4 *", "the variant Crazyhouse is not chess"),
    ] {
        let told = readable(text.as_bytes()).unwrap_err();
        assert!(told.contains(fault), "{text:?}: {told}");
    }
}

/// One bad game of many does not keep the others from being reviewed.
#[test]
fn a_bad_game_is_left_out() {
    // What stands behind the move that cannot be played is no fault of the next game.
    let bad = "[Event \"bad\"]\n\n1. e4 e4 2. Sf3 *\n";
    let text = format!("{bad}\n{GAME}\n[Event \"none\"]\n\n*\n\n{GAME}");
    let all = games(text.as_bytes()).unwrap();
    assert!(all[0].as_ref().unwrap_err().starts_with("game 1: 1... e4"), "{:?}", all[0]);
    assert_eq!((all.len(), readable(text.as_bytes()).unwrap().len()), (3, 2));
    // Games without tags or results are games; moves that go on are none.
    for (text, count) in [
        ("1. e4 e5\n\n1. d4 d5", [true, true]),
        ("e4 e5 *\n\nd4 d5 *", [true, true]),
        ("e4 e5\n\nd4 d5", [true, true]),
        ("1. e4 e4 *\n\nd4 d5 *", [false, true]),
        ("1. e4 e5 1-0\n\n2. d4 d5 *", [true, false]),
        ("1. e4 e5\n\n2. d4 d5 *", [false, false]),
        ("1. e4\n\n1... e5 *", [false, false]),
        ("1. e4 e5 2. Nf3\n\n{here} (2. f4 exf4) $1 Nc6 1-0", [false, false]),
        ("[White \"a\"]\n\n1. e4 e5\n\n[White \"b\"]\n\n1. d4 *", [true, true]),
    ] {
        let whole = games(text.as_bytes()).unwrap().iter().map(Result::is_ok).collect::<Vec<_>>();
        assert_eq!(whole, count, "{text:?}");
    }
    // What is read before the file breaks off is kept.
    let text = format!("\u{feff}{GAME}\n[Event \"bad\"]\n\n1. d4 {{no end");
    assert_eq!(readable(text.as_bytes()).unwrap().len(), 1);
}

#[test]
fn names_in_latin_1_and_results_of_tags_are_kept() {
    let text = b"[White \"M\xfcller\"]\n[Black \"\"]\n[Result \"1-0\"]\n\n1. e4 e5\n";
    let game = &readable(text).unwrap()[0];
    assert!(game.title().starts_with("M\u{fc}ller - "), "{}", game.title());
    let nothing = verdict(50.0, None);
    let written = game.written(&judged(game, &[nothing; 3], &[nothing; 3]).0);
    assert!(written.trim_end().ends_with("1-0"), "{written}");
}

/// Every search that judges positions finds the blunder; the one that plays at random is refused.
#[test]
fn any_search_reviews() {
    let folder = std::env::temp_dir().join(format!("tesla-reviews-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let pgn = folder.join("in.pgn");
    fs::write(&pgn, GAME).unwrap();
    for (search, nodes) in [("PUCT", 400), ("AlphaBeta", 20_000), ("Minimax", 1)] {
        let mut options = ["Evaluator=Classical", "Hash=4"].map(str::to_owned).to_vec();
        options.push(format!("Search={search}"));
        let searches = AnalyseArgs { nodes, concurrency: 2, options };
        let args = ReviewArgs { pgn: pgn.clone(), out: None, epd: None, depth: None, searches };
        let heard = Heard::default();
        run(&args, &heard.output()).unwrap();
        let table = heard.take();
        assert!(table.contains("2. g4 ?? lost "), "{search}: {table}");
        // Nothing but the mate is to be seen in three moves by who counts pieces.
        assert!(search != "Minimax" || table.matches("? lost ").count() == 1, "{table}");
    }
    let options = vec!["Search=ThreeState".to_owned()];
    let searches = AnalyseArgs { nodes: 10, concurrency: 1, options };
    let args = ReviewArgs { pgn, out: None, epd: None, depth: None, searches };
    let fault = run(&args, &Heard::default().output()).unwrap_err();
    assert!(fault.contains("at random") && fault.contains("Minimax"), "{fault}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn games_are_not_replaced_by_what_is_written() {
    let folder = std::env::temp_dir().join(format!("tesla-review-files-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let pgn = folder.join("in.pgn");
    fs::write(&pgn, GAME).unwrap();
    let refusal = |out: &str, epd: &str| {
        let searches = AnalyseArgs { nodes: 10, concurrency: 1, options: Vec::new() };
        let (out, epd) = (Some(folder.join(out)), Some(folder.join(epd)));
        let args = ReviewArgs { pgn: pgn.clone(), out, epd, depth: None, searches };
        run(&args, &Heard::default().output()).unwrap_err()
    };
    for (out, epd, what) in [
        ("in.pgn", "a", "holds the games"),
        ("a", "./in.pgn", "holds the games"),
        ("a", "a", "the same file"),
        ("none/a", "b", "there is no folder"),
    ] {
        let refusal = refusal(out, epd);
        assert!(refusal.contains(what), "{refusal}");
    }
    assert_eq!(fs::read_to_string(&pgn).unwrap(), GAME);
    fs::remove_dir_all(&folder).unwrap();
}
