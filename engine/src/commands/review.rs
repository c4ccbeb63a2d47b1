//! `tesla review`: a game with what each move lost, as annotated PGN and as a table.
//!
//! * [`game`] — a game of a PGN, read and written;
//! * [`judgement`] — what a move lost, and what that is called.

pub mod game;
pub mod judgement;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use crossbeam_channel::{Receiver, unbounded};
use indicatif::ProgressBar;
use shakmaty::fen::Epd;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, EnPassantMode, Move, Position as _};
use tesla_nn::files;

use self::game::{Annotation, ReadGame, games};
use self::judgement::Summary;
use crate::chess::notation::parse_move;
use crate::commands::analyse::AnalyseArgs;
use crate::commands::analyse::pool::{Pool, Tell, Work};
use crate::commands::analyse::query::{Include, Position};
use crate::commands::analyse::reply::{Answer, Reply};
use crate::console::output::Output;
use crate::console::terminal::{INTERRUPTED, bar, complain, interruptible};
use crate::search::snapshot::Proof;
use crate::search::{Limits, StopToken};
use crate::setup::mode::SearchMode;

/// Largest PGN that is reviewed, bytes: it is in memory whole.
const LARGEST_PGN: u64 = 1 << 26;

/// Plies of Minimax where nothing else is said.
const MINIMAX_DEPTH: u32 = 4;

/// What to review, and how.
#[derive(Clone, Debug, Args)]
pub struct ReviewArgs {
    /// The games, PGN
    pub pgn: PathBuf,
    /// Where the annotated games go; without it, only the table is printed
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Where the positions go in which another move was better, EPD with that move (`bm`)
    #[arg(long)]
    pub epd: Option<PathBuf>,
    /// Depth of every search, plies, in place of a number of evaluations; 4 for Minimax, which has
    /// no use for a number
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=100), conflicts_with = "nodes")]
    pub depth: Option<u32>,
    /// How it is searched
    #[command(flatten)]
    pub searches: AnalyseArgs,
}

impl ReviewArgs {
    /// Refuses outputs that would replace the games or each other, or that have no folder, before
    /// anything is searched.
    fn check_outputs(&self) -> Result<(), String> {
        let outputs: Vec<&Path> =
            [&self.out, &self.epd].into_iter().flatten().map(PathBuf::as_path).collect();
        for &file in &outputs {
            super::spare(&self.pgn, "games", file)?;
            super::check_output(file)?;
        }
        match outputs[..] {
            [out, epd] if files::is_same(out, epd) => {
                Err("--out and --epd name the same file; name two".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// What was found out about one position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// Its value for the side to move, points.
    pub value: f32,
    /// Error scale of the value, points.
    pub error: f32,
    /// What is proven, for the side to move.
    pub proof: Option<Proof>,
    /// The move to play there.
    pub best: Option<Move>,
}

/// Reviews games and prints a table of each.
///
/// # Errors
/// A sentence, when a file, an option or the device cannot be used, or a search fails.
pub fn run(args: &ReviewArgs, output: &Output) -> Result<ExitCode, String> {
    let (machine, hash_mb) = args.searches.machine()?;
    // Without the network, which takes a while to load, where nobody asks it.
    let machine = machine.used();
    let path = args.pgn.display();
    let text = files::read_bounded(&args.pgn, LARGEST_PGN).map_err(|error| error.to_string())?;
    let games = readable(&text).map_err(|fault| format!("{path}: {fault}"))?;
    args.check_outputs()?;
    let stop = interruptible()?;
    let (answers, told) = unbounded();
    let tell: Tell = Arc::new(move |reply| {
        // Who asked is gone only after a fault, which was told.
        let _ = answers.send(reply);
    });
    let size = (args.searches.concurrency as usize, hash_mb);
    let (pool, _) = Pool::start(&machine, size, tell, complain)?;
    let desk = Desk { pool, told, search: machine.search, stop };
    let mut reviewed = Reviewed::default();
    let ended = desk.review_all(args, &games, &mut reviewed, output);
    // Also after a fault: what was found out took its time.
    let written = reviewed.write(args);
    ended.and(written)?;
    if reviewed.games < games.len() {
        complain(&format!("stopped after {} of {} games", reviewed.games, games.len()));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// What was found out so far.
#[derive(Debug, Default)]
struct Reviewed {
    games: usize,
    annotated: String,
    epd: String,
}

impl Reviewed {
    /// Puts it into the files; where nothing was found out, they stay as they are.
    fn write(&self, args: &ReviewArgs) -> Result<(), String> {
        let files = [(&args.out, &self.annotated), (&args.epd, &self.epd)];
        let mut written = Ok(());
        for (file, text) in files.into_iter().filter(|_| self.games > 0) {
            let Some(file) = file else { continue };
            // Where one fails, the other is written all the same.
            let one = files::replace(file, text.as_bytes()).map_err(|error| error.to_string());
            written = written.and(one);
        }
        written
    }
}

/// The games that can be played through; the user is told of the others.
fn readable(text: &[u8]) -> Result<Vec<ReadGame>, String> {
    let (mut readable, mut faults) = (Vec::new(), Vec::new());
    for game in games(text)? {
        match game {
            Ok(game) => readable.push(game),
            Err(fault) => faults.push(fault),
        }
    }
    if let (true, Some(fault)) = (readable.is_empty(), faults.first()) {
        return Err(fault.clone());
    }
    for fault in faults {
        complain(&format!("{fault}; it is left out"));
    }
    Ok(readable)
}

/// Limits of a search, so many plies less deep.
///
/// What plain minimax says of a position depends on whose move is the last one that it sees, so a
/// position behind a move is searched one ply less deep than the one before it: both see the same
/// last move. Other searches end where the position is quiet.
fn limits(args: &ReviewArgs, search: SearchMode, less: u32) -> Limits {
    let depth = args.depth.or((search == SearchMode::Minimax).then_some(MINIMAX_DEPTH));
    let nodes = depth.is_none().then_some(args.searches.nodes);
    Limits { nodes, depth: depth.map(|depth| depth - less), ..Limits::default() }
}

/// Where positions are sent and answers come back.
struct Desk {
    pool: Pool,
    told: Receiver<Reply>,
    search: SearchMode,
    stop: StopToken,
}

impl Desk {
    /// Reviews the games until all are done or somebody wants to stop, and prints a table of each.
    fn review_all(
        &self,
        args: &ReviewArgs,
        games: &[ReadGame],
        reviewed: &mut Reviewed,
        output: &Output,
    ) -> Result<(), String> {
        let is_minimax = self.search == SearchMode::Minimax;
        let passes = 1 + usize::from(is_minimax);
        let count: usize = games.iter().map(|game| passes * game.positions().len()).sum();
        let bar = bar(count as u64, "positions");
        for game in games {
            let verdicts = |less| self.verdicts(game, &limits(args, self.search, less), &bar);
            let Some(before) = verdicts(0)? else { return Ok(()) };
            let Some(after) = (if is_minimax { verdicts(1)? } else { Some(before.clone()) }) else {
                return Ok(());
            };
            let (annotations, summary) = judged(game, &before, &after);
            let mistakes = mistakes(game, &annotations);
            let gap = if reviewed.games > 0 { "\n" } else { "" };
            let table = format!("{gap}{}\n{summary}{mistakes}", game.title());
            bar.suspend(|| output.print(&table));
            reviewed.games += 1;
            reviewed.annotated += &game.written(&annotations);
            reviewed.epd += &positions(game, &annotations);
        }
        Ok(())
    }

    /// What is known of each position of a game, its last among them; `None` = stopped.
    fn verdicts(
        &self,
        game: &ReadGame,
        limits: &Limits,
        bar: &ProgressBar,
    ) -> Result<Option<Vec<Assessment>>, String> {
        let games = game.positions();
        let count = games.len();
        for (turn, game) in games.iter().enumerate() {
            self.pool.add(Work {
                id: String::new(),
                position: Position { turn, game: game.clone(), limits: limits.clone() },
                search: self.search,
                multipv: 1,
                report_every: None,
                include: Include::default(),
                stop: self.stop.clone(),
            });
        }
        let mut verdicts = vec![None; count];
        for _ in 0..count {
            let reply = self.told.recv().map_err(|error| error.to_string())?;
            bar.inc(1);
            match reply {
                Reply::Answer(answer) => {
                    if let (Some(place), Some(game)) =
                        (verdicts.get_mut(answer.turn), games.get(answer.turn))
                    {
                        *place = Some(verdict(&answer, game.position()));
                    }
                }
                Reply::Refusal(refusal) if !self.stop.is_stopped() => return Err(refusal.error),
                _ => {}
            }
        }
        if self.stop.is_stopped() {
            return Ok(None);
        }
        let verdicts: Option<Vec<_>> = verdicts.into_iter().collect();
        verdicts.map(Some).ok_or_else(|| "a position was not searched".to_owned())
    }
}

fn verdict(answer: &Answer, position: &Chess) -> Assessment {
    let root = &answer.root;
    let best = root.moves.first();
    Assessment {
        // What the best move promises; where there is none, the game is over.
        value: best.and_then(|best| best.value).or(root.value).unwrap_or(50.0),
        error: root.error.unwrap_or_default(),
        proof: root.proof,
        best: best.and_then(|best| parse_move(&best.uci, position).ok()),
    }
}

/// What each move is worth, and all of them together: by what is known of the positions before it
/// (`before`, of the whole game) and behind it (`after`).
fn judged(
    game: &ReadGame,
    before: &[Assessment],
    after: &[Assessment],
) -> (Vec<Annotation>, Summary) {
    let (mut annotations, mut summary) = (Vec::new(), Summary::default());
    let mut turn = game.start().turn();
    for (&before, &after) in before.iter().zip(after.iter().skip(1)) {
        let annotation = Annotation::between(before, after, !turn);
        summary.add(turn, annotation.loss);
        annotations.push(annotation);
        turn = !turn;
    }
    (annotations, summary)
}

/// A line for each move with a judgement: what it lost, and what was better.
fn mistakes(game: &ReadGame, annotations: &[Annotation]) -> String {
    let mut text = String::new();
    for ((position, played), annotation) in game.moves().zip(annotations) {
        let Some(judgement) = annotation.judgement else { continue };
        let dots = if position.turn().is_white() { "." } else { "..." };
        let san = SanPlus::from_move(position.clone(), played);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n{}{dots} {san} {} lost {:.1} points",
            position.fullmoves(),
            judgement.sign(),
            annotation.loss.0
        );
        if let Some(better) = annotation.better_than(played) {
            let _ = write!(text, "; {} was better", SanPlus::from_move(position, better));
        }
    }
    text
}

/// The positions of the moves with a judgement as EPD, with the better move.
fn positions(game: &ReadGame, annotations: &[Annotation]) -> String {
    let mut text = String::new();
    for ((position, played), annotation) in game.moves().zip(annotations) {
        let Some(better) = annotation.better_than(played) else { continue };
        let epd = Epd::from_position(&position, EnPassantMode::Legal);
        let number = position.fullmoves();
        let [played, better] =
            [played, better].map(|one| SanPlus::from_move(position.clone(), one));
        let title = game.title().replace(['"', ';'], "'");
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{epd} bm {better}; id \"{title}, move {number}\"; c0 \"{played} lost {:.1} points\";",
            annotation.loss.0
        );
    }
    text
}
