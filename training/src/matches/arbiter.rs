//! One game: asks the sides in turn, keeps the clocks, and says how it ended.

use std::time::Duration;

use shakmaty::{Color, Position};
use tesla_engine::chess::score::Verdict;
use tesla_engine::chess::tablebase::Tables;
use tesla_engine::search::StopToken;

use super::record::{Breaches, MoveRecord};
use crate::game::adjudicate::{Adjudication, Adjudicator};
use crate::game::ending::{Ending, Termination};
use crate::game::limit::{self, GameClock, Limit};
use crate::game::openings::Opening;
use crate::game::state::GameState;
use crate::players::player::{Mishap, Player, Reply, Turn};

/// What every game of a match is played by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Ends games by the sides' own scores.
    pub adjudication: Adjudication,
    /// Endgame tables, which end the games that they know.
    pub tables: Option<Tables>,
    /// What a clock may be overrun by before the game is lost.
    pub margin: Duration,
    /// How long after its time a side is waited for before it counts as hanging; with nothing but
    /// nodes or depth, how long it may take for a move.
    pub patience: Duration,
}

/// One side of one game.
pub struct Seat<'a> {
    /// Who makes the moves.
    pub player: &'a mut dyn Player,
    /// What ends each thought.
    pub limit: &'a Limit,
}

impl std::fmt::Debug for Seat<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seat").field(self.limit).finish()
    }
}

/// A finished game.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The sides' moves, after the opening's.
    pub moves: Vec<MoveRecord>,
    /// How it ended.
    pub ending: Ending,
    /// What a side did wrong, where one did.
    pub failure: Option<Failure>,
    /// Breaches of the protocol that were tolerated, by White and Black.
    pub breaches: [Breaches; 2],
}

/// What cost a side the game besides bad play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose it is.
    pub side: Color,
    /// What happened, for people.
    pub what: String,
    /// What was said to and by the side, oldest first.
    pub transcript: Vec<String>,
}

/// Plays one game; the seats are White's and Black's. `stop` abandons it between two moves.
///
/// # Errors
/// When the game was abandoned; it does not count then.
pub fn play(
    opening: &Opening,
    seats: &mut [Seat<'_>; 2],
    rules: &Rules,
    stop: &StopToken,
) -> Result<Played, Mishap> {
    let state = GameState::new(opening).map_err(|error| Mishap::Fatal(error.to_string()))?;
    let mut game = InPlay {
        state,
        adjudicator: Adjudicator::new(rules.adjudication),
        clocks: [0, 1].map(|seat: usize| seats[seat].limit.tc.map(GameClock::new)),
        moves: Vec::new(),
        breaches: Default::default(),
        rules,
    };
    for (seat, color) in seats.iter_mut().zip([Color::White, Color::Black]) {
        if let Err(mishap) = seat.player.new_game(opening.chess960) {
            return game.lost(color, mishap, seat.player);
        }
    }
    loop {
        if stop.is_stopped() {
            return Err(Mishap::Stopped);
        }
        let color = game.state.position().turn();
        let seat = &mut seats[color_index(color)];
        match seat.player.play(&game.turn(seat.limit)) {
            Err(mishap) => return game.lost(color, mishap, seat.player),
            Ok(reply) => match game.take(color, seat.limit, &reply) {
                Step::GoOn => {}
                Step::End(ending) => {
                    let InPlay { moves, breaches, .. } = game;
                    return Ok(Played { moves, ending, failure: None, breaches });
                }
                Step::Fault(how, what) => {
                    return game.lost(color, Mishap::Failed { how, what }, seat.player);
                }
            },
        }
    }
}

/// White 0, Black 1.
fn color_index(color: Color) -> usize {
    color.fold_wb(0, 1)
}

struct InPlay<'a> {
    state: GameState,
    adjudicator: Adjudicator,
    clocks: [Option<GameClock>; 2],
    moves: Vec<MoveRecord>,
    breaches: [Breaches; 2],
    rules: &'a Rules,
}

enum Step {
    GoOn,
    End(Ending),
    Fault(Termination, String),
}

impl InPlay<'_> {
    fn turn<'b>(&'b self, limit: &'b Limit) -> Turn<'b> {
        let clock = self.clocks[color_index(self.state.position().turn())];
        let own_time = clock.map(|clock| clock.remaining).or(limit.move_time()).unwrap_or_default();
        let allowance =
            own_time.saturating_add(self.rules.margin).saturating_add(self.rules.patience);
        Turn { state: &self.state, limit, clocks: self.clocks, allowance, only: &[] }
    }

    fn take(&mut self, color: Color, limit: &Limit, reply: &Reply) -> Step {
        self.breaches[color_index(color)].add(&reply.remarks);
        if let Some(what) = self.overrun(color, limit, reply.elapsed) {
            return Step::Fault(Termination::TimeForfeit, what);
        }
        if let Err(illegal) = self.state.play(reply.best) {
            return Step::Fault(Termination::IllegalMove, illegal.to_string());
        }
        self.moves.push(MoveRecord {
            uci: reply.best.to_string(),
            score: reply.score,
            depth: reply.depth,
            nodes: reply.nodes,
            micros: u64::try_from(reply.elapsed.as_micros()).unwrap_or(u64::MAX),
        });
        let ruled = self.state.outcome().or_else(|| self.known_ending());
        match ruled.or_else(|| self.adjudicator.observe(&self.state, reply.score)) {
            Some(ending) => Step::End(ending),
            None => Step::GoOn,
        }
    }

    /// What the tables know of the position, which they do after a capture or pawn move.
    fn known_ending(&self) -> Option<Ending> {
        let position = self.state.position();
        let how = Termination::TableAdjudication;
        match self.rules.tables.as_ref()?.verdict(position)? {
            Verdict::Open => None,
            Verdict::Draw => Some(Ending::draw(how)),
            Verdict::Loss(_) => Some(Ending::loss(position.turn(), how)),
            Verdict::Win(_) => Some(Ending::loss(!position.turn(), how)),
        }
    }

    /// Takes the time off the clock. A sentence where there was too little.
    fn overrun(&mut self, color: Color, limit: &Limit, used: Duration) -> Option<String> {
        let margin = self.rules.margin;
        let had = match (&mut self.clocks[color_index(color)], limit.move_time()) {
            (Some(clock), _) => {
                let had = clock.remaining;
                (!clock.spend(used, margin)).then_some(had)?
            }
            (None, Some(time)) => (used > time + margin).then_some(time)?,
            (None, None) => return None,
        };
        Some(limit::overrun(used, had))
    }

    fn lost(self, side: Color, mishap: Mishap, player: &dyn Player) -> Result<Played, Mishap> {
        match mishap {
            Mishap::Stopped | Mishap::Fatal(_) => Err(mishap),
            Mishap::Failed { how, what } => Ok(Played {
                moves: self.moves,
                ending: Ending::loss(side, how),
                failure: Some(Failure { side, what, transcript: player.transcript() }),
                breaches: self.breaches,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tesla_engine::chess::tablebase::{self, TablebaseSettings};

    use super::*;
    use crate::game::score::UciScore;
    use crate::game::state::start_fen;

    /// Plays prepared answers; with none it does not even begin.
    struct Scripted(VecDeque<Result<Reply, Mishap>>);

    impl Player for Scripted {
        fn new_game(&mut self, _: bool) -> Result<(), Mishap> {
            let failed = Mishap::Failed { how: Termination::Hang, what: "silent".to_owned() };
            if self.0.is_empty() { Err(failed) } else { Ok(()) }
        }

        fn play(&mut self, _: &Turn<'_>) -> Result<Reply, Mishap> {
            self.0.pop_front().unwrap_or(Err(Mishap::Stopped))
        }

        fn transcript(&self) -> Vec<String> {
            vec!["> go".to_owned()]
        }
    }

    fn moves(text: &str, ms: u64) -> Scripted {
        let reply = |uci: &str| {
            Ok(Reply {
                best: uci.parse().unwrap(),
                score: Some(UciScore::Cp(0)),
                latest: Some(UciScore::Cp(0)),
                depth: Some(1),
                nodes: Some(1),
                pv: Vec::new(),
                others: Vec::new(),
                remarks: Vec::new(),
                elapsed: Duration::from_millis(ms),
            })
        };
        Scripted(text.split(' ').map(reply).collect())
    }

    fn run(white: Scripted, black: Scripted, limit: &str) -> Result<Played, Mishap> {
        run_from(&start_fen(), None, [white, black], limit)
    }

    fn run_from(
        fen: &str,
        tables: Option<Tables>,
        [mut white, mut black]: [Scripted; 2],
        limit: &str,
    ) -> Result<Played, Mishap> {
        let limit = Limit { tc: Some(limit.parse().unwrap()), ..Limit::default() };
        let rules = Rules {
            adjudication: Adjudication::default(),
            tables,
            margin: Duration::from_millis(10),
            patience: Duration::from_secs(1),
        };
        let opening =
            Opening { fen: fen.to_owned(), moves: Vec::new(), chess960: false, name: None };
        let mut seats = [
            Seat { player: &mut white, limit: &limit },
            Seat { player: &mut black, limit: &limit },
        ];
        play(&opening, &mut seats, &rules, &StopToken::default())
    }

    #[test]
    fn mates_are_seen() {
        let played = run(moves("f2f3 g2g4", 1), moves("e7e5 d8h4", 1), "10").unwrap();
        assert_eq!(played.ending, Ending::loss(Color::White, Termination::Checkmate));
        assert_eq!((played.moves.len(), played.failure), (4, None));
        assert_eq!(played.moves[3].uci, "d8h4");
    }

    #[test]
    fn a_clock_that_runs_out_loses() {
        let played = run(moves("e2e4 d2d4", 10), moves("e7e5 e5d4", 60), "0.1").unwrap();
        assert_eq!(played.ending, Ending::loss(Color::Black, Termination::TimeForfeit));
        let failure = played.failure.unwrap();
        assert!(failure.what.contains("0.060 s of 0.040 s"), "{}", failure.what);
        assert_eq!(failure.transcript, ["> go"]);
        assert_eq!(played.moves.len(), 3);
        // The increment arrives after the move.
        let played = run(moves("e2e4 d2d4 a2a3", 10), moves("e7e5 e5d4", 60), "0.1+0.05");
        assert_eq!(played, Err(Mishap::Stopped));
    }

    #[test]
    fn tables_end_what_they_know() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/data/syzygy").to_owned();
        let settings = TablebaseSettings { path: Some(path), ..TablebaseSettings::default() };
        let tables = tablebase::open(&settings).0;
        let how = Termination::TableAdjudication;
        for (fen, first, ending) in [
            ("4k3/8/8/8/3q4/8/3R4/3K4 w - - 0 1", "d2d4", Ending::loss(Color::Black, how)),
            ("8/8/3K4/4P3/8/1k6/P7/8 b - - 0 1", "b3a2", Ending::loss(Color::Black, how)),
            ("k7/8/K7/Pn6/8/8/8/8 w - - 0 1", "a6b5", Ending::draw(how)),
        ] {
            let sides = || [moves(first, 1), moves(first, 1)];
            let played = run_from(fen, tables.clone(), sides(), "10").unwrap();
            assert_eq!((played.ending, played.moves.len()), (ending, 1), "{fen}");
            assert!(
                run_from(fen, None, sides(), "10")
                    .is_ok_and(|played| { played.ending.termination == Termination::IllegalMove })
            );
        }
        // A king's move there is not the last word: the clock of fifty moves runs.
        let sides = [moves("d1c1", 1), moves("e8e7", 1)];
        let played = run_from("4k3/8/8/8/8/8/3R4/3K4 w - - 0 1", tables, sides, "10");
        assert_eq!(played, Err(Mishap::Stopped));
    }

    #[test]
    fn illegal_moves_and_crashes_lose() {
        let played = run(moves("e2e4 e4e6", 1), moves("e7e5", 1), "10").unwrap();
        assert_eq!(played.ending, Ending::loss(Color::White, Termination::IllegalMove));
        assert!(played.failure.unwrap().what.contains("e4e6"));
        let how = Termination::Crash;
        let crash = Scripted([Err(Mishap::Failed { how, what: "gone".to_owned() })].into());
        let played = run(moves("e2e4", 1), crash, "10").unwrap();
        assert_eq!(played.ending, Ending::loss(Color::Black, Termination::Crash));
        for (white, black, loser) in [("", "e7e5", Color::White), ("e2e4", "", Color::Black)] {
            let side = |text: &str| match text {
                "" => Scripted(VecDeque::new()),
                _ => moves(text, 1),
            };
            let played = run(side(white), side(black), "10").unwrap();
            assert_eq!(played.ending, Ending::loss(loser, Termination::Hang));
            assert_eq!(played.failure.map(|failure| failure.side), Some(loser));
        }
        let fatal = Scripted([Err(Mishap::Fatal("no device".to_owned()))].into());
        assert!(matches!(run(fatal, moves("e7e5", 1), "10"), Err(Mishap::Fatal(_))));
    }
}
