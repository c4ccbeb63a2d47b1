//! What `fastchess --compliance` asks of an engine, of every search mode, and the grammar of every
//! line that is said.

use std::collections::BTreeMap;

use shakmaty::uci::UciMove;

use crate::SEARCHES;
use crate::process::Engine;

/// Words of `info` that one whole number follows, none of them negative.
const NUMBERS: [&str; 9] = [
    "depth",
    "seldepth",
    "multipv",
    "nodes",
    "nps",
    "hashfull",
    "tbhits",
    "time",
    "currmovenumber",
];

/// Reads an `info` line word by word; answers with each word's value. Panics where it is not as UCI
/// has it.
fn info(line: &str) -> BTreeMap<String, String> {
    let mut words = line.split(' ').peekable();
    assert_eq!(words.next(), Some("info"), "{line}");
    let mut values = BTreeMap::new();
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_else(|| panic!("{word} has no value: {line}"));
        let whole = |text: &str| assert!(text.parse::<i64>().is_ok(), "'{text}' in {line}");
        let value = match word {
            word if NUMBERS.contains(&word) => {
                let number = next();
                assert!(number.parse::<u64>().is_ok(), "{word} '{number}' in {line}");
                number.to_owned()
            }
            "score" => {
                let (kind, number) = (next(), next());
                assert!(["cp", "mate"].contains(&kind), "{line}");
                whole(number);
                // Of a search that was stopped before a wider window had answered.
                let bounds = ["lowerbound", "upperbound"];
                let _ = words.next_if(|word| bounds.contains(word));
                format!("{kind} {number}")
            }
            "wdl" => {
                let permille: u32 = (0..3).map(|_| next().parse::<u32>().unwrap()).sum();
                assert_eq!(permille, 1000, "{line}");
                String::new()
            }
            "currmove" => next().parse::<UciMove>().unwrap().to_string(),
            "pv" => {
                let moves: Vec<String> = words
                    .by_ref()
                    .map(|text| text.parse::<UciMove>().unwrap().to_string())
                    .collect();
                assert!(!moves.is_empty(), "{line}");
                moves.join(" ")
            }
            "string" => words.by_ref().collect::<Vec<_>>().join(" "),
            _ => panic!("'{word}' is no word of info: {line}"),
        };
        assert!(values.insert(word.to_owned(), value).is_none(), "{word} twice: {line}");
    }
    values
}

/// One search: every line is checked, the last info comes directly before the one `bestmove` and
/// begins with its move.
fn search(engine: &mut Engine, position: &str, go: &str) -> String {
    engine.send(position);
    engine.send(go);
    let read = engine.read_to("bestmove");
    let (best, told) = read.split_last().unwrap();
    let told: Vec<_> = told.iter().map(|line| info(line)).collect();
    for values in told.iter().filter(|values| values.contains_key("pv")) {
        for word in ["depth", "seldepth", "score", "nodes", "nps", "hashfull", "tbhits", "time"] {
            assert!(values.contains_key(word), "{word} is missing after {go}: {values:?}");
        }
        let number = |word: &str| values[word].parse::<u64>().unwrap();
        assert!(number("seldepth") >= number("depth") && number("hashfull") <= 1000);
        assert!(!values.contains_key("string") && !values.contains_key("multipv"), "{values:?}");
    }
    let last = told.last().unwrap_or_else(|| panic!("no info after {go}"));
    let words: Vec<&str> = best.split(' ').collect();
    assert!(words.len() == 2 || words.len() == 4 && words[2] == "ponder", "{best}");
    assert_eq!(words[0], "bestmove");
    assert_eq!(last["pv"].split(' ').next(), Some(words[1]), "{position}; {go}: {read:?}");
    words[1].to_owned()
}

#[test]
fn fastchess_finds_nothing_to_complain_about() {
    for mode in SEARCHES {
        let mut engine = Engine::start();
        engine.send("uci");
        let read = engine.read_to("uciok");
        assert!(read[0].starts_with("id name ") && read[1].starts_with("id author "), "{read:?}");
        let options = &read[2..read.len() - 1];
        assert!(options.iter().all(|line| line.starts_with("option name ")), "{read:?}");
        for wanted in ["Hash", "Threads"] {
            assert!(options.iter().any(|line| line.contains(&format!("name {wanted} type spin "))));
        }
        engine.send(&format!("setoption name Search value {mode}"));
        engine.ready();
        engine.send("ucinewgame");
        assert!(engine.ready().is_empty(), "{mode}");
        let kiwipete =
            "position fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let moved = format!("{kiwipete} moves e1g1 e8c8");
        let ending = "position fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 0 1";
        for position in
            ["position startpos", "position startpos moves e2e4 e7e5", kiwipete, &moved, ending]
        {
            for go in [
                "go wtime 100",
                "go btime 100",
                "go wtime 100 btime 100",
                "go wtime 100 winc 100 btime 100 binc 100",
                "go btime 100 binc 100 wtime 100 winc 100",
                "go wtime 200 btime 200 movestogo 5",
                "go movetime 60",
                "go depth 1",
                "go nodes 20",
            ] {
                search(&mut engine, position, go);
            }
            assert!(engine.ready().is_empty(), "{mode}: something is left over");
        }
        engine.send("ucinewgame");
        engine.ready();
        search(&mut engine, "position startpos", "go wtime 100");
        engine.send("quit");
        assert!(engine.exit().success(), "{mode}");
    }
}

#[test]
fn a_score_may_be_a_bound() {
    let told = info("info depth 11 seldepth 19 score cp 32 lowerbound nodes 24480 pv e2e4");
    assert_eq!((&*told["score"], &*told["pv"]), ("cp 32", "e2e4"));
}

/// `isready` is answered at once during a search, before its `bestmove`; the second search is as
/// good as the first.
#[test]
fn ready_while_searching() {
    for &mode in SEARCHES {
        let mut engine = Engine::with_search(mode);
        for _ in 0..3 {
            engine.send("position startpos");
            engine.send("go infinite");
            let read = engine.ready();
            assert!(read.iter().all(|line| !line.starts_with("bestmove")), "{mode}: {read:?}");
            for line in &read {
                info(line);
            }
            engine.send("stop");
            let read = engine.read_to("bestmove");
            assert!(read.len() > 1 && read[read.len() - 2].contains(" pv "), "{mode}: {read:?}");
        }
        assert!(engine.ready().is_empty(), "{mode}");
    }
}

/// More lines at once: together, in order, each with a move of its own.
#[test]
fn lines_of_several_moves_are_in_order() {
    for mode in ["Tesla", "AlphaBeta", "PUCT", "Minimax"] {
        let mut engine = Engine::with_search(mode);
        for option in ["MultiPV value 4", "UCI_ShowWDL value true"] {
            engine.send(&format!("setoption name {option}"));
        }
        engine.send("position startpos");
        engine.send("go depth 3");
        let read = engine.read_to("bestmove");
        let told: Vec<_> = read[..read.len() - 1].iter().map(|line| info(line)).collect();
        let numbers: Vec<_> = told.iter().filter_map(|values| values.get("multipv")).collect();
        assert!(numbers.len() >= 4 && numbers.len().is_multiple_of(4), "{mode}: {read:?}");
        assert!(numbers.chunks(4).all(|four| four == ["1", "2", "3", "4"]), "{mode}: {read:?}");
        let last = &told[told.len() - 4..];
        let mut firsts: Vec<_> = last.iter().map(|values| values["pv"].split(' ').next()).collect();
        assert_eq!(firsts[0], read[read.len() - 1].split(' ').nth(1), "{mode}");
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 4, "{mode}: {read:?}");
    }
}

#[cfg(feature = "net")]
#[test]
fn threads_are_those_of_the_network_on_a_cpu() {
    let mut engine = Engine::start();
    engine.send("setoption name Evaluator value Transformer");
    engine.send("setoption name Device value cpu");
    for (threads, told) in [(1, "on CPU (1 thread, "), (3, "on CPU (3 threads, ")] {
        engine.send(&format!("setoption name Threads value {threads}"));
        let said = engine.ready();
        assert!(said.iter().any(|line| line.contains(told)), "{said:?}");
        search(&mut engine, "position startpos", "go nodes 40");
    }
    engine.send("setoption name Threads value 1025");
    let refusal = engine.next_line();
    assert!(refusal.contains("Threads") && refusal.contains("1024"), "{refusal}");
}
