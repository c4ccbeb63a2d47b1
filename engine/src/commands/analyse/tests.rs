//! Conversations in JSON over the evaluator that needs no network.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::console::output::heard::Heard;

/// What is answered to these lines.
fn answers(lines: &[u8]) -> Vec<Value> {
    let heard = Heard::default();
    let options = ["Evaluator=Classical", "Hash=8"].map(str::to_owned).to_vec();
    let args = AnalyseArgs { nodes: 50, concurrency: 3, options };
    run(&args, lines, &heard.output()).unwrap();
    heard.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn asked(queries: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = queries.iter().map(Value::to_string).collect();
    answers(lines.join("\n").as_bytes())
}

#[test]
fn positions_of_a_game_are_answered_each() {
    let moves = ["e2e4", "e7e5", "g1f3"];
    let query = json!({
        "id": "game", "moves": moves, "turns": [0, 1, 3], "nodes": 120, "multipv": 2,
        "include": ["policy", "wdl", "tree:2"],
    });
    let mut told = asked(&[query, json!({"id": "v", "action": "version"})]);
    assert_eq!(told.len(), 4);
    told.retain(|told| told["id"] == "game");
    told.sort_by_key(|told| told["turn"].as_u64());
    for (told, (turn, legal)) in told.iter().zip([(0, 20), (1, 20), (3, 29)]) {
        assert_eq!((&told["turn"], &told["during"]), (&json!(turn), &json!(false)), "{told}");
        assert_eq!(told["progress"]["evaluations"], 120);
        assert_eq!(told["progress"]["stopped"], "nodes");
        assert_eq!(told["root"]["moves"].as_array().unwrap().len(), 2);
        assert_eq!(told["policy"].as_object().unwrap().len(), legal);
        let wdl: u64 = told["wdl"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
        assert_eq!(wdl, 1000);
        let tree = told["tree"].as_array().unwrap();
        assert_eq!(tree[0]["move"]["uci"], told["root"]["best"]);
        assert!(!tree[0]["replies"].as_array().unwrap().is_empty());
        assert!(told["why"].as_str().unwrap().ends_with("its 120 evaluations are spent."));
    }
}

/// What others ask meanwhile changes no answer.
#[test]
fn answers_do_not_depend_on_company() {
    let query = |id: String, search: &str| {
        json!({"id": id, "search": search, "nodes": 300,
            "fen": "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"})
    };
    for search in ["Tesla", "PUCT", "AlphaBeta", "Minimax"] {
        let alone = asked(&[query("0".to_owned(), search)]);
        let crowd: Vec<Value> = (0..12).map(|id| query(id.to_string(), search)).collect();
        for told in asked(&crowd) {
            assert_eq!(told["root"], alone[0]["root"], "{search}");
        }
    }
}

#[test]
fn searches_report_and_end_when_told() {
    let queries = [
        json!({"id": "long", "seconds": 600, "reportEvery": 0.05}),
        json!({"id": "short", "nodes": 20_000}),
        json!({"id": "end", "action": "terminate", "terminateId": "long"}),
    ];
    let told = asked(&queries);
    let of = |id: &str| -> Vec<&Value> { told.iter().filter(|told| told["id"] == id).collect() };
    assert_eq!(of("short").len(), 1);
    assert_eq!(of("end")[0]["positions"], 1);
    let long = of("long");
    let last = long.last().unwrap();
    // It may have been ended before it began.
    assert!(last["progress"]["stopped"] == "asked" || last["noResults"] == true, "{last}");
    assert!(long[..long.len() - 1].iter().all(|told| told["during"] == true));
    let timed = asked(&[json!({"id": "timed", "seconds": 0.6, "reportEvery": 0.1})]);
    assert!(timed.len() > 2, "{}", timed.len());
    let evaluations = timed.iter().map(|told| told["progress"]["evaluations"].as_u64().unwrap());
    assert!(evaluations.clone().zip(evaluations.skip(1)).all(|(one, next)| one <= next));
    assert_eq!(timed.last().unwrap()["progress"]["stopped"], "time");
    let timed = asked(&[json!({"id": "timed", "search": "Minimax", "seconds": 0.1})]);
    assert_eq!(timed[0]["progress"]["stopped"], "time");
    // One move of twenty is asked for.
    let one = asked(&[json!({"id": "one", "searchMoves": ["e2e4"], "nodes": 20})]);
    let why = one[0]["why"].as_str().unwrap();
    assert!(why.contains("e4 is the only move that was to be searched"), "{why}");
}

/// Nobody reads on: what was asked for is not searched to its end.
#[test]
fn a_reader_that_is_gone_ends_the_searches() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options = ["Evaluator=Classical", "Hash=4"].map(str::to_owned).to_vec();
    let args = AnalyseArgs { nodes: 1_000, concurrency: 1, options };
    let query = json!({"id": "long", "seconds": 600, "reportEvery": 0.05});
    let began = std::time::Instant::now();
    run(&args, query.to_string().as_bytes(), &Output::new(Box::new(Gone))).unwrap();
    assert!(began.elapsed().as_secs() < 60);
}

#[test]
fn the_end_of_a_game_is_no_fault() {
    let mate = json!({"id": "mate", "moves": ["f2f3", "e7e5", "g2g4", "d8h4"]});
    let told = asked(&[mate, json!({"id": "stalemate", "fen": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"})]);
    let of = |id: &str| told.iter().find(|told| told["id"] == id).unwrap();
    assert_eq!(of("mate")["root"]["proof"], json!({"result": "loss", "mate": 0}));
    assert_eq!(of("stalemate")["root"]["proof"]["result"], "draw");
}

#[test]
fn faults_name_their_fields() {
    let faults = [
        (json!({"id": ""}), "id"),
        (json!({"nodes": 5}), "id"),
        (json!({"id": 5}), "id"),
        (json!({"id": "1", "nodes": 0}), "nodes"),
        (json!({"id": "1", "nodes": -1}), "nodes"),
        (json!({"id": "1", "nodes": "many"}), "nodes"),
        (json!({"id": "1", "depth": 0}), "depth"),
        (json!({"id": "1", "seconds": 0}), "seconds"),
        (json!({"id": "1", "seconds": 1e300}), "seconds"),
        (json!({"id": "1", "fen": "nonsense"}), "fen"),
        (json!({"id": "1", "fen": "8/8/8/8/8/8/8/8 w - - 0 1"}), "fen"),
        (json!({"id": "1", "moves": ["e2e4", "e2e4"]}), "moves"),
        (json!({"id": "1", "moves": "e2e4"}), "moves"),
        (json!({"id": "1", "turns": [1]}), "turns"),
        (json!({"id": "1", "turns": [0, 0]}), "turns"),
        (json!({"id": "1", "turns": []}), "turns"),
        (json!({"id": "1", "search": "Magic"}), "search"),
        (json!({"id": "1", "search": "ThreeState"}), "search"),
        (json!({"id": "1", "searchMoves": ["e7e5"]}), "searchMoves"),
        (json!({"id": "1", "multipv": 0}), "multipv"),
        (json!({"id": "1", "reportEvery": 0}), "reportEvery"),
        (json!({"id": "1", "include": ["tree:9"]}), "include"),
        (json!({"id": "1", "include": ["ownership"]}), "include"),
        (json!({"id": "1", "action": "dance"}), "action"),
        (json!({"id": "1", "maxVisits": 5}), "maxVisits"),
    ];
    for (query, field) in faults {
        let told = asked(std::slice::from_ref(&query));
        assert_eq!((told.len(), &told[0]["field"]), (1, &json!(field)), "{query}: {told:?}");
        assert!(told[0]["error"].as_str().unwrap().len() > 10);
    }
    let twice = asked(&[json!({"id": "1", "nodes": 90_000}), json!({"id": "1"})]);
    assert!(twice.iter().any(|told| told["field"] == "id"), "{twice:?}");
}

/// Any JSON for a field, often of the right kind.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-3_i64..40).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-h1-8:]{0,5}|tree:[0-9]|wdl|PUCT|AlphaBeta|terminate".prop_map(Value::from),
        prop::collection::vec((0_i64..4).prop_map(Value::from), 0..3).prop_map(Value::from),
        prop::collection::vec("[a-h][1-8][a-h][1-8]|policy".prop_map(Value::from), 0..3)
            .prop_map(Value::from),
        Just(Value::Null),
        Just(json!({"a": [{}]})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every line that is not empty gets an answer: a result, or an error.
    #[test]
    fn any_bytes_are_answered(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6),
    ) {
        let lines: Vec<Vec<u8>> = lines
            .into_iter()
            .map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
            .collect();
        let text = |line: &Vec<u8>| String::from_utf8_lossy(line).trim().is_empty();
        let wanted = lines.iter().filter(|line| !text(line)).count();
        let told = answers(&lines.join(&b'\n'));
        prop_assert_eq!(told.len(), wanted);
        prop_assert!(told.iter().all(|told| told["error"].is_string()));
    }

    #[test]
    fn any_json_is_answered(
        fields in prop::collection::btree_map(
            "action|fen|moves|turns|nodes|depth|search|searchMoves|multipv|include|terminateId|x",
            value(),
            0..4,
        ),
    ) {
        let mut query: serde_json::Map<String, Value> = fields.into_iter().collect();
        query.insert("id".to_owned(), Value::from("1"));
        // Otherwise a depth of forty would be searched.
        if query.get("nodes").is_none_or(Value::is_null) {
            query.insert("nodes".to_owned(), Value::from(3));
        }
        let told = asked(&[Value::from(query.clone())]);
        prop_assert!(!told.is_empty(), "{:?}", query);
        for told in told {
            let has_field = told["field"].as_str().is_some_and(|field| query.contains_key(field));
            let is_result = told["error"].is_null();
            prop_assert!(is_result || has_field, "{:?}: {}", query, told);
        }
    }
}
