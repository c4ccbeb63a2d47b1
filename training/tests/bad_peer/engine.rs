//! A UCI engine that misbehaves as its first argument says.

use std::io::{self, BufRead as _, Write};
use std::process::{Command, ExitCode, Stdio, abort};
use std::thread::sleep;
use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};

const FOREVER: Duration = Duration::from_hours(1);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map_or("good", String::as_str);
    let milliseconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let delay = Duration::from_millis(milliseconds);
    match mode {
        "sleep-at-start" => sleep(FOREVER),
        "exit-at-start" => {
            let _ = writeln!(io::stderr(), "bad_peer: cannot find the network");
            return ExitCode::from(4);
        }
        _ => {}
    }
    serve(mode, delay).unwrap_or(ExitCode::from(9))
}

fn serve(mode: &str, delay: Duration) -> io::Result<ExitCode> {
    let mut out = io::stdout();
    let mut best = String::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().next() {
            Some("uci") => greet(mode, &mut out)?,
            Some("isready") => {
                writeln!(out, "readyok")?;
                out.flush()?;
                if mode == "deaf" {
                    sleep(FOREVER);
                }
            }
            Some("position") => best = answer(&line).unwrap_or_else(|| "0000".to_owned()),
            Some("go") => {
                if let Some(code) = go(mode, delay, &best, &mut out)? {
                    return Ok(code);
                }
                out.flush()?;
            }
            Some("quit") if mode != "stubborn" => return Ok(ExitCode::SUCCESS),
            _ => {}
        }
    }
    if mode == "stubborn" {
        sleep(FOREVER);
    }
    Ok(ExitCode::SUCCESS)
}

fn greet(mode: &str, out: &mut impl Write) -> io::Result<()> {
    if mode == "chatty" {
        for number in 0..20_000 {
            writeln!(out, "info string hello {number}")?;
        }
    }
    writeln!(out, "id name Bad {mode}\nid author nobody")?;
    let largest = if mode == "wrong-options" { 4 } else { 1024 };
    writeln!(out, "option name Hash type spin default 1 min 1 max {largest}")?;
    if mode != "wrong-options" {
        writeln!(out, "option name UCI_Chess960 type check default false")?;
        writeln!(out, "option name Book File type string default <empty>")?;
    }
    if mode != "never-uciok" {
        writeln!(out, "uciok")?;
    }
    out.flush()
}

/// Misbehaves; `Some` ends the program.
fn go(
    mode: &str,
    delay: Duration,
    best: &str,
    out: &mut impl Write,
) -> io::Result<Option<ExitCode>> {
    match mode {
        "flood-line" | "flood-lines" | "flood-then-answer" | "stderr" => flood(mode, best, out)?,
        "garbage" => writeln!(out, "%%\u{1b}[2J §$\ninfo depth x\n\nbestmove rubbish")?,
        "binary" => {
            out.write_all(b"info string \xff\xfe\x00\n")?;
            writeln!(out, "bestmove {best}")?;
        }
        "sleep" => sleep(FOREVER),
        "slow" => {
            sleep(delay);
            writeln!(out, "bestmove {best}")?;
        }
        "exit" => {
            writeln!(io::stderr(), "bad_peer: out of ideas")?;
            return Ok(Some(ExitCode::from(3)));
        }
        "answer-exit" => {
            writeln!(out, "bestmove {best}")?;
            return Ok(Some(ExitCode::from(5)));
        }
        "cut" => {
            write!(out, "bestmove {best}")?;
            return Ok(Some(ExitCode::SUCCESS));
        }
        "abort" => abort(),
        "kill" => {
            let me = std::process::id().to_string();
            Command::new("kill").args(["-KILL", &me]).stdout(Stdio::null()).status()?;
            sleep(FOREVER);
        }
        "say" => writeln!(out, "{}", std::env::args().nth(2).unwrap_or_default())?,
        "double" => writeln!(out, "bestmove {best}\nbestmove a1a1")?,
        "double-late" => {
            writeln!(out, "bestmove {best}")?;
            out.flush()?;
            sleep(delay);
            writeln!(out, "bestmove a1a1")?;
        }
        _ => {
            writeln!(out, "info depth 1 score cp 12 nodes 20 time 0 pv {best}")?;
            writeln!(out, "info depth 2 score cp 99 lowerbound nodes 40")?;
            writeln!(out, "info string thinking done\nbestmove {best}")?;
        }
    }
    Ok(None)
}

/// Says far too much.
fn flood(mode: &str, best: &str, out: &mut impl Write) -> io::Result<()> {
    match mode {
        "flood-line" => loop {
            out.write_all(&[b'x'; 4096])?;
        },
        "flood-lines" => loop {
            writeln!(out, "info depth 1 score cp 3 pv e2e4")?;
        },
        "flood-then-answer" => {
            for _ in 0..50_000 {
                writeln!(out, "info depth x")?;
            }
            writeln!(out, "bestmove {best}")?;
        }
        _ => {
            for number in 0..50_000 {
                writeln!(io::stderr(), "bad_peer: complaint {number}")?;
            }
            writeln!(out, "bestmove {best}")?;
        }
    }
    Ok(())
}

/// A mate if there is one, else a capture, else a move that depends on the ply.
fn answer(position: &str) -> Option<String> {
    let (start, moves) = position.split_once(" moves ").unwrap_or((position, ""));
    let mut board = match start.strip_prefix("position fen ") {
        Some(fen) => {
            fen.parse::<Fen>().ok()?.into_position::<Chess>(CastlingMode::Chess960).ok()?
        }
        None => Chess::default(),
    };
    let mut ply = 0;
    for word in moves.split_whitespace() {
        let m = word.parse::<UciMove>().ok()?.to_move(&board).ok()?;
        board.play_unchecked(m);
        ply += 1;
    }
    let moves = board.legal_moves();
    let mates = |m: &&Move| {
        let mut after = board.clone();
        after.play_unchecked(**m);
        after.is_checkmate()
    };
    let best = moves
        .iter()
        .find(mates)
        .or_else(|| moves.iter().find(|m| m.is_capture()))
        .or_else(|| moves.get(ply * 7 % moves.len().max(1)))?;
    Some(best.to_uci(CastlingMode::Standard).to_string())
}
