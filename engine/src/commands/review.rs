//! `tesla review`: a game with what each move lost, as annotated PGN and as a table.
//!
//! * [`game`] — a game of a PGN, read and written;
//! * [`judgement`] — what a move lost, and what that is called.

pub mod game;
pub mod judgement;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use crossbeam_channel::{Receiver, unbounded};
use shakmaty::Position as _;
use tesla_nn::files;

use self::game::{Annotation, ReadGame, games};
use self::judgement::{Judgement, Loss, Summary};
use crate::commands::analyse::AnalyseArgs;
use crate::commands::analyse::pool::{Pool, Tell, Work};
use crate::commands::analyse::query::{Include, Position};
use crate::commands::analyse::reply::{Answer, Reply};
use crate::console::output::Output;
use crate::console::terminal::complain;
use crate::search::snapshot::Proof;
use crate::search::{Limits, StopToken};
use crate::setup::mode::SearchMode;

/// Largest PGN that is reviewed, bytes: it is in memory whole.
const LARGEST_PGN: u64 = 1 << 26;

/// What to review, and how.
#[derive(Clone, Debug, Args)]
pub struct ReviewArgs {
    /// The games, PGN
    pub pgn: PathBuf,
    /// Where the annotated games go; without it, only the table is printed
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// How it is searched
    #[command(flatten)]
    pub searches: AnalyseArgs,
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
}

/// Reviews games and prints a table of each.
///
/// # Errors
/// A sentence, when a file, an option or the device cannot be used, or a search fails.
pub fn run(args: &ReviewArgs, output: &Output) -> Result<(), String> {
    let (machine, hash_mb) = args.searches.machine()?;
    let path = args.pgn.display();
    let text = files::read_bounded(&args.pgn, LARGEST_PGN).map_err(|error| error.to_string())?;
    let games = games(&text).map_err(|fault| format!("{path}: {fault}"))?;
    let (answers, told) = unbounded();
    let tell: Tell = Arc::new(move |reply| {
        // Who asked is gone only after a fault, which was told.
        let _ = answers.send(reply);
    });
    let size = (args.searches.concurrency as usize, hash_mb);
    let (pool, _) = Pool::start(&machine, size, tell, &complain)?;
    let desk = Desk { pool, told, search: machine.search, nodes: args.searches.nodes };
    let mut annotated = String::new();
    for (number, game) in (1..).zip(&games) {
        let verdicts = desk.verdicts(game)?;
        let (annotations, summary) = judged(game, &verdicts);
        annotated += &game.written(&annotations);
        if number > 1 {
            output.print("");
        }
        output.print(&format!("{}\n{summary}", game.title()));
    }
    match &args.out {
        Some(out) => files::replace(out, annotated.as_bytes()).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

/// Where positions are sent and answers come back.
struct Desk {
    pool: Pool,
    told: Receiver<Reply>,
    search: SearchMode,
    nodes: u64,
}

impl Desk {
    /// What is known of each position of a game, its last among them.
    fn verdicts(&self, game: &ReadGame) -> Result<Vec<Assessment>, String> {
        let positions = game.positions();
        let count = positions.len();
        let limits = Limits { nodes: Some(self.nodes), ..Limits::default() };
        for (turn, game) in positions.into_iter().enumerate() {
            self.pool.add(Work {
                id: String::new(),
                position: Position { turn, game, limits: limits.clone() },
                search: self.search,
                multipv: 1,
                report_every: None,
                include: Include::default(),
                stop: StopToken::default(),
            });
        }
        let mut verdicts = vec![None; count];
        for _ in 0..count {
            match self.told.recv().map_err(|error| error.to_string())? {
                Reply::Answer(answer) => {
                    let verdict = verdict(&answer);
                    if let Some(place) = verdicts.get_mut(answer.turn) {
                        *place = Some(verdict);
                    }
                }
                Reply::Refusal(refusal) => return Err(refusal.error),
                _ => {}
            }
        }
        let missing = "a position was not searched";
        verdicts.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| missing.to_owned())
    }
}

fn verdict(answer: &Answer) -> Assessment {
    let root = &answer.root;
    let best = root.moves.first();
    Assessment {
        // What the best move promises; where there is none, the game is over.
        value: best.and_then(|best| best.value).or(root.value).unwrap_or(50.0),
        error: root.error.unwrap_or_default(),
        proof: root.proof,
    }
}

/// What each move is worth, and all of them together.
fn judged(game: &ReadGame, verdicts: &[Assessment]) -> (Vec<Annotation>, Summary) {
    let (mut annotations, mut summary) = (Vec::new(), Summary::default());
    let mut turn = game.start().turn();
    for pair in verdicts.windows(2) {
        let &[before, after] = pair else { continue };
        let loss = Loss::of(before, after);
        summary.add(turn, loss);
        annotations.push(Annotation {
            verdict: after,
            to_move: !turn,
            judgement: Judgement::of(loss),
        });
        turn = !turn;
    }
    (annotations, summary)
}
