//! The page of `report`: made from what the other commands write, whole in itself, and refused in
//! words where there is nothing to show.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
mod program;

use std::fs;

use tesla_training::evaluate::Evaluated;
use tesla_training::evaluate::puzzles::{Band, Solved};
use tesla_training::evaluate::{Figures, Report};

use program::{Scratch, complaint, done};

const LOSS: &str = "step,positions,rate,value,policy,action,error,rmse_points,norm,\
                    positions_per_second,consistency,idle,skipped\n\
                    50,1000,0.005,4.1,2.8,0.7,-0.3,33,1,1361,0,0.06,0\n\
                    100,2000,0.01,3.9,2.5,0.6,-0.5,31,1,1389,0,,\n\
                    150,3000,0.0";

/// What a page of all commands' runs says.
const PARTS: [&str; 24] = [
    "<h2>Games</h2>",
    "<h2>Networks</h2>",
    "<h2>Suites</h2>",
    "Solver (20 nodes)",
    "<p class=\"lead\">Measured 20",
    "<p class=\"lead\">Networks: tiny-&lt;01234567&gt;.",
    "<p class=\"lead\">Games played on ",
    " by tesla-train ",
    "<h2>The search's errors</h2>",
    "<h2>Tuned by games</h2>",
    "2 of 2 pairs of games at 20 nodes",
    "The way of the knobs",
    "settled at",
    "<h2>Training</h2>",
    "<h2>Experience</h2>",
    "random moves, %",
    "Elo by evaluations",
    "Te20 \u{2212} Pu",
    "tiny-&lt;01234567&gt;",
    "How often a move overtakes",
    "error by missing depth",
    "Puzzles solved by rating",
    "cross entropy, nats",
    "1 match, 1 set of answers to suites, 1 file of figures of networks, 1 tuning, \
     1 tuning by games, ",
];

/// A network of which nothing was measured but two puzzles.
fn figures() -> Evaluated {
    let band = Band {
        label: "600\u{2013}799".to_owned(),
        items: 2,
        solved: 1,
        first_right: 1,
        low: 0.1,
        high: 0.9,
    };
    let solved = Solved {
        player: "policy".to_owned(),
        all: band.clone(),
        bands: vec![band],
        rating: "700".to_owned(),
    };
    Evaluated {
        network: "tiny-<01234567>".to_owned(),
        block_parameters: 1,
        parameters: 2,
        every: 1,
        games: Some(Report::from(&Figures::default())),
        puzzles: vec![solved],
    }
}

/// Runs of all commands in `runs`, each as short as can be.
fn measured(scratch: &Scratch) {
    let data = scratch.join("data");
    let classical = "--option Evaluator=Classical";
    let games = format!(
        "datagen --games 12 --nodes 60 --max-plies 60 --option Search=AlphaBeta {classical}"
    );
    done(&games, &["--out", &data]);
    let tune = scratch.join("runs/tune");
    done(
        &format!("tune log --positions 40 --most 200 {classical}"),
        &["--data", &data, "--out", &tune],
    );
    done("tune fit", &["--out", &tune]);
    let book = scratch.join("book.epd");
    fs::write(
        &book,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n",
    )
    .unwrap();
    let side = |name: &str, nodes: u32| {
        format!("--side name={name} nodes={nodes} option.Evaluator=Classical")
    };
    let line = format!(
        "match --games 4 --max-moves 12 {} {} {} --side name=Pu nodes=20 option.Search=PUCT \
         option.Evaluator=Classical",
        side("Te20", 20),
        side("Te40", 40),
        side("Te80", 80)
    );
    done(&line, &["--openings", &book, "--out", &scratch.join("runs/match")]);
    let spsa = "tune spsa --knob error_scale static_weight=0.3 --pairs 2 --batch 1 --nodes 20 \
                --resign movecount=1,score=300 --option Evaluator=Classical";
    done(spsa, &["--openings", &book, "--out", &scratch.join("runs/spsa")]);
    let suite = scratch.join("mates.epd");
    fs::write(&suite, "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#; id \"back rank\";\n").unwrap();
    let out = scratch.join("runs/suites");
    let side = ["--side", "name=Solver", "option.Evaluator=Classical"];
    done("suite --nodes 20", &[&[suite.as_str(), "--out", &out][..], &side].concat());
    fs::create_dir_all(scratch.join("runs/train")).unwrap();
    fs::write(scratch.join("runs/train/loss.csv"), LOSS).unwrap();
}

#[test]
fn everything_is_on_one_page_that_needs_nothing_else() {
    let scratch = Scratch::new("report");
    let [runs, page] = ["runs", "page.html"].map(|name| scratch.join(name));
    measured(&scratch);
    let json = scratch.join("runs/figures.json");
    fs::write(&json, serde_json::to_vec(&figures()).unwrap()).unwrap();

    let learnt = scratch.join("minimax-1.csv");
    fs::write(
        &learnt,
        "game,score,estimated,confident,random,searched,threshold,positions\n\
         1,0,0,0,9,1,50.0,10\n2,0.5,0,4,4,2,50.0,18\n3,1,1,8,0,2,49.5,20\n",
    )
    .unwrap();
    let pictures = scratch.join("pictures");
    done("report", &[&runs, &learnt, "--out", &page, "--svg", &pictures]);
    let picture = fs::read_to_string(scratch.join("pictures/training-1.svg")).unwrap();
    assert!(picture.starts_with("<svg xmlns") && picture.contains("RMSE, points"), "{picture}");
    assert!(fs::exists(scratch.join("pictures/experience-2.svg")).unwrap());
    let html = fs::read_to_string(&page).unwrap();
    for part in PARTS {
        assert!(html.contains(part), "there is no {part}");
    }
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("url("));
    assert!(!html.replace("http://www.w3.org/2000/svg", "").contains("http"));
    // The last line of the log was cut short: two points, in the four curves that need no idle
    // share.
    assert!(html.matches("<svg").count() >= 12, "{}", html.matches("<svg").count());

    // The same games once more are no news.
    let copy = scratch.join("runs/copy");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(scratch.join("runs/match/results.jsonl"), scratch.join("runs/copy/results.jsonl"))
        .unwrap();
    let told = program::program("report", &[&runs, "--out", &page]).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("24 games are in the folders twice"), "{told}");
    fs::write(scratch.join("runs/copy/results.jsonl"), b"").unwrap();

    // A single file, and the same page again.
    done("report", &[&json, "--out", &page]);
    let small = fs::read_to_string(&page).unwrap();
    assert!(small.contains("<h2>Networks</h2>") && !small.contains("<h2>Games</h2>"));
    done("report", &[&runs, &learnt, "--out", &page]);
    assert_eq!(fs::read_to_string(&page).unwrap(), html);
}

#[test]
fn what_shows_nothing_is_refused_in_words() {
    let scratch = Scratch::new("no-report");
    let page = scratch.join("page.html");
    let file = |name: &str, content: &[u8]| {
        let path = scratch.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        scratch.join(name)
    };
    let refused = |path: &str, part: &str| {
        let said = complaint("report", &[path, "--out", &page]);
        assert!(said.contains(part), "{said}");
    };
    refused(&scratch.join("none"), "cannot read");
    file("empty/readme.txt", b"hello");
    refused(&scratch.join("empty"), "holds nothing to report");
    refused(&file("a.json", b"{}"), "cannot be understood");
    refused(&file("cut.json", b"{\"network\": \"tin"), "cannot be understood");
    file("fit/fit.json", b"\x00\xff");
    refused(&scratch.join("fit"), "cannot be understood");
    file("match/results.jsonl", b"1. e4 e5\n");
    refused(&scratch.join("match"), "is not a results file");
    refused(&file("match/report.md", b"# A match"), "name the folder");
    refused(&scratch.join("match/results.jsonl"), "name the folder");
    refused(&file("train/loss.csv", b"a,b\n1,2\n"), "name the folder");
    refused(&scratch.join("train"), "is not a loss.csv");
    file("spsa/spsa.jsonl", b"{\"format\":\"tesla-match-journal\",\"version\":1,\"match\":0}\n");
    refused(&scratch.join("spsa"), "cannot be understood");
    file("new/loss.csv", LOSS.lines().next().unwrap().as_bytes());
    refused(&scratch.join("new"), "nothing was measured");
    assert!(!std::path::Path::new(&page).exists());

    let json = file("whole.json", &serde_json::to_vec(&figures()).unwrap());
    let said = complaint("report", &[&json, "--out", &scratch.join("no/folder/page.html")]);
    assert!(said.contains("cannot write"), "{said}");

    // Nothing of anybody's is written over, nor what a report would read.
    let mine = file("mine.html", b"<!DOCTYPE html><p>mine</p>");
    let said = complaint("report", &[&json, "--out", &mine]);
    assert!(said.contains("no page of report"), "{said}");
    assert_eq!(fs::read(&mine).unwrap(), b"<!DOCTYPE html><p>mine</p>");
    for name in ["match/report.md", "new/results.jsonl", "whole.json"] {
        let said = complaint("report", &[&json, "--out", &scratch.join(name)]);
        assert!(said.contains("ends in .html"), "{said}");
    }
    assert_eq!(fs::read(scratch.join("match/report.md")).unwrap(), b"# A match");
    assert!(!fs::exists(scratch.join("new/results.jsonl")).unwrap());
}

/// Runs in folders of the same name are told apart, in the table as in the legend.
#[test]
fn folders_of_one_name_are_told_apart() {
    let scratch = Scratch::new("folders");
    let page = scratch.join("page.html");
    let folders = ["one/train", "two/train"].map(|name| scratch.join(name));
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
        fs::write(scratch.0.join(folder).join("loss.csv"), LOSS).unwrap();
    }
    done("report", &[&folders[0], &folders[1], "--out", &page]);
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains(">train<") && page.contains(">two/train<"), "{page}");
    // The last lines tell of no idle time.
    assert!(!page.contains("NaN"), "{page}");
}

/// Sides that are the same are reported, and keep their names where only their limits differ.
#[test]
fn sides_of_one_configuration_are_told() {
    let scratch = Scratch::new("alike");
    let [runs, page] = ["runs", "page.html"].map(|name| scratch.join(name));
    let report = |sides: &str| {
        let line = format!("match --games 2 --max-moves 6 {sides}");
        let _ = fs::remove_dir_all(&runs);
        done(&line, &["--out", &runs]);
        done("report", &[&runs, "--out", &page]);
        fs::read_to_string(&page).unwrap()
    };
    let classical = "option.Evaluator=Classical";
    let page =
        report(&format!("--side name=A nodes=9 {classical} --side name=B nodes=9 {classical}"));
    for part in ["A against itself (9", "for the first side", "<h2>Games</h2>", ">B</td>"] {
        assert!(page.contains(part), "there is no {part}");
    }
    let page = report(&format!(
        "--side name=Fast nodes=9 {classical} --side name=Slow nodes=30 {classical}"
    ));
    assert!(page.contains("Fast \u{2212} Slow") && !page.contains("Fast \u{2212} Fast"), "{page}");
}
