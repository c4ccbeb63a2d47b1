//! Games against an opponent that learns nothing: what the decider's experience is worth.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shakmaty::{Color, KnownOutcome, Move, Position};

use super::{Memory, ThreeState, played, report};
use crate::chess::game::Game;
use crate::console::output::Output;
use crate::console::terminal::{INTERRUPTED, resumed};
use crate::minimax::{Material, Pruning, solve};
use crate::search::clock::Budget;
use crate::search::{Clock, Limits, Search, StopToken, Task};

/// The clock that the economic limiter is shown: five seconds a move, as in a game of a few
/// minutes. Searches take a thousandth of that, so it decides nothing else.
const CLOCK: Clock =
    Clock { remaining: Duration::from_secs(125), increment: Duration::ZERO, moves_to_go: Some(25) };
/// The most positions that a move may cost, so that games depend on no clock at all.
const NODES: u64 = 100_000;

/// How many games, and against whom.
#[derive(Clone, Debug, Args)]
pub struct LearnArgs {
    /// The experience file; one that is there goes on, from the number of games in it
    pub file: PathBuf,
    /// Games in the file at the end
    #[arg(long, default_value_t = 1_000)]
    pub games: u32,
    /// `random` or `minimax-N`, minimax of depth N with seed 002's material
    #[arg(long, default_value = "minimax-1")]
    pub opponent: Opponent,
    /// Of the random moves, ours and the opponent's
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Most positions that are remembered
    #[arg(long, default_value_t = 1_000_000)]
    pub size: usize,
    /// An opening book whose positions count as known: PGN, EPD or FEN, as for `BookFile`
    #[arg(long)]
    pub book: Option<PathBuf>,
    /// A line a game: result, moves by state, threshold, positions
    #[arg(long)]
    pub csv: Option<PathBuf>,
}

/// Who plays against us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opponent {
    /// Any legal move.
    Random,
    /// Minimax of this depth; the first of equal moves.
    Minimax(u32),
}

impl FromStr for Opponent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('-') {
            None if text == "random" => Ok(Self::Random),
            Some(("minimax", depth)) => match depth.parse() {
                Ok(depth @ 1..=6) => Ok(Self::Minimax(depth)),
                _ => Err("the depth goes from 1 to 6".to_owned()),
            },
            _ => Err("the opponents are random and minimax-1 to minimax-6".to_owned()),
        }
    }
}

impl Opponent {
    fn reply(self, game: &Game, random: &mut ChaCha8Rng) -> Option<Move> {
        let moves = game.position().legal_moves();
        match self {
            Self::Random if moves.is_empty() => None,
            Self::Random => Some(moves[random.random_range(0..moves.len())]),
            Self::Minimax(depth) => {
                solve(game, depth, Pruning::Ordered, Material).line.first().copied()
            }
        }
    }
}

/// Plays the games that are missing, and prints what became of all. Stopped, it says so and ends
/// with the code of that; the same command goes on.
///
/// # Errors
/// A sentence, when a file cannot be used or a move was illegal.
pub fn run(args: &LearnArgs, stop: &StopToken, output: &Output) -> Result<ExitCode, String> {
    let (memory, note) = Memory::open(&args.file, args.size).map_err(|error| error.to_string())?;
    if let Some(sentence) = note {
        output.print(&sentence);
    }
    let done = || memory.ask(|experience| experience.totals().games);
    let bar = resumed(u64::from(args.games), u64::from(done()), "games");
    let (own, _) = Memory::open(&args.file, args.size).map_err(|error| error.to_string())?;
    let mut search = ThreeState::new(own, args.seed);
    if let Some(book) = &args.book {
        search.know(book).map_err(|error| error.to_string())?;
    }
    while done() < args.games && !stop.is_stopped() {
        match play(&mut search, args, done(), stop)? {
            Some(outcome) => search.game_over(outcome),
            None => search.abandon(),
        }
        bar.set_position(u64::from(done()));
        bar.set_message(memory.ask(report::lately));
        if let Some(sentence) = memory.error() {
            return Err(sentence);
        }
    }
    bar.finish_and_clear();
    output.print(&memory.ask(report::table));
    if let Some(path) = &args.csv {
        memory.ask(|experience| report::write_csv(experience, path))?;
    }
    if done() < args.games {
        output.print(&format!("stopped after {} games; the same command resumes", done()));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// One game; the decider has White in every second. `None` where it was stopped.
fn play(
    search: &mut ThreeState,
    args: &LearnArgs,
    number: u32,
    stop: &StopToken,
) -> Result<Option<KnownOutcome>, String> {
    let ours = if number.is_multiple_of(2) { Color::White } else { Color::Black };
    let mut random = ChaCha8Rng::seed_from_u64(args.seed);
    // Streams of their own, apart from those of our moves.
    random.set_stream(u64::MAX - u64::from(number));
    let mut game = Game::new(shakmaty::Chess::new());
    loop {
        if let Some(outcome) = played::known_end(&game) {
            return Ok(Some(outcome));
        }
        if stop.is_stopped() {
            return Ok(None);
        }
        let chosen = if game.position().turn() == ours {
            Some(choose(search, &game, stop)?)
        } else {
            args.opponent.reply(&game, &mut random)
        };
        match chosen.filter(|&chosen| game.position().is_legal(chosen)) {
            Some(chosen) => game.play(chosen),
            None => {
                return Err(format!(
                    "game {number}: {chosen:?} is not a legal move; please report it"
                ));
            }
        }
    }
}

/// The decider's move; a sentence where it could not be kept.
fn choose(search: &mut ThreeState, game: &Game, stop: &StopToken) -> Result<Move, String> {
    let limits = Limits { clock: Some(CLOCK), nodes: Some(NODES), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game, limits: &limits, budget: &budget, stop };
    let outcome = search.search(&task, &mut |_| {});
    // The first note is on the decision; another one says why the file is no longer written.
    outcome.notes.into_iter().nth(1).map_or(Ok(outcome.best), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::three_state::GameResult;

    fn args(opponent: Opponent) -> LearnArgs {
        let (file, book, csv) = (PathBuf::new(), None, None);
        LearnArgs { file, games: 0, opponent, seed: 3, size: 1_000_000, book, csv }
    }

    /// Games of one search in memory: the moves by state of each.
    fn games(opponent: Opponent, count: u32) -> Vec<([u32; 3], GameResult)> {
        let mut search = ThreeState::new(Memory::in_memory(1_000_000), 3);
        for number in 0..count {
            let outcome = play(&mut search, &args(opponent), number, &StopToken::default());
            search.game_over(outcome.unwrap().unwrap());
        }
        search
            .memory
            .ask(|experience| experience.past().map(|game| (game.moves, game.result)).collect())
    }

    #[test]
    fn equal_seeds_give_equal_games() {
        for opponent in [Opponent::Random, Opponent::Minimax(1)] {
            assert_eq!(games(opponent, 4), games(opponent, 4));
        }
    }

    /// Against one that always answers alike, the known line grows and random moves become rare.
    #[test]
    fn random_moves_become_rare() {
        let games = games(Opponent::Minimax(1), 120);
        let share = |games: &[([u32; 3], GameResult)]| {
            let random: u32 = games.iter().map(|(moves, _)| moves[1]).sum();
            let all: u32 = games.iter().flat_map(|(moves, _)| moves).sum();
            f64::from(random) / f64::from(all)
        };
        let (early, late) = (share(&games[..10]), share(&games[100..]));
        assert!(late < early / 2.0, "{early} {late}");
    }

    #[test]
    fn opponents_are_read() {
        assert_eq!("random".parse(), Ok(Opponent::Random));
        assert_eq!("minimax-2".parse(), Ok(Opponent::Minimax(2)));
        for wrong in ["", "minimax", "minimax-0", "minimax-x", "random-1", "stockfish"] {
            assert!(wrong.parse::<Opponent>().is_err(), "{wrong}");
        }
    }
}
