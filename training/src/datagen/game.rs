//! One game with its labels: the teacher is asked about every position, and by design not always
//! obeyed.

use anyhow::Result;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_engine::search::StopToken;

use super::config::DatagenConfig;
use super::dice::Dice;
use super::line::Line;
use super::policy::PolicyMoves;
use super::score;
use crate::game::adjudicate::Adjudicator;
use crate::game::ending::Termination;
use crate::game::openings::Book;
use crate::game::score::UciScore;
use crate::game::state::GameState;
use crate::labelled::{self, Candidate, GameRecord, Ply};
use crate::players::player::{Mishap, Player, Reply, Turn};

/// Who is asked in a game.
#[expect(missing_debug_implementations, reason = "players have none")]
pub struct Players<'a> {
    /// Plays, and labels every position.
    pub teacher: &'a mut dyn Player,
    /// Our network, where it draws some of the random moves.
    pub policy: Option<&'a mut PolicyMoves>,
}

/// A game while it is played and labelled.
struct LabelledGame<'a> {
    config: &'a DatagenConfig,
    players: Players<'a>,
    dice: Dice,
    state: GameState,
    plies: Vec<Ply>,
    /// By ply, where the teacher is asked about several moves.
    others: Vec<Vec<Candidate>>,
}

/// What the teacher says of a position.
struct Judged {
    best: Move,
    score: UciScore,
    reply: Reply,
}

/// Makes game `number`. It depends on the config, the book and its number alone, if the teacher
/// always answers alike after a new game. `stop` abandons it between two moves.
///
/// # Errors
/// When the run is stopped, the teacher fails or the opening cannot be played.
pub fn play<'a>(
    config: &'a DatagenConfig,
    book: &Book,
    number: u64,
    players: Players<'a>,
    stop: &StopToken,
) -> Result<GameRecord, Mishap> {
    let mut dice = Dice::new(config.seed, number);
    let start = start(config, book, number, &mut dice);
    let start = start.map_err(|error| Mishap::Fatal(error.to_string()))?;
    let random = dice.share(config.random);
    players.teacher.new_game(false)?;
    let mut state = GameState::from_position(start.clone());
    state.set_max_plies(Some(usize::from(config.max_plies)));
    let mut game = LabelledGame::new(config, players, dice, state);
    let mut adjudicator = Adjudicator::new(config.adjudication());
    loop {
        if stop.is_stopped() {
            return Err(Mishap::Stopped);
        }
        let judged = game.judged()?;
        let played = game.choose(judged.best, random)?;
        game.keep(&judged, played)?;
        game.go_on(played)?;
        let ruled = game.state.outcome();
        if let Some(ending) = ruled.or_else(|| adjudicator.observe(&game.state, Some(judged.score)))
        {
            return Ok(game.record(start, ending.result.white_half_points()));
        }
    }
}

/// Labels the positions of a line. Those of a game are judged from an empty hash each, so that a
/// label depends on nothing else; those of a tree's path one after another, as in a game, so that
/// what the teacher finds about one helps with the next. `stop` abandons it between two moves.
///
/// # Errors
/// When the run is stopped or the teacher fails.
pub fn label(
    config: &DatagenConfig,
    line: &Line,
    teacher: &mut dyn Player,
    stop: &StopToken,
) -> Result<GameRecord, Mishap> {
    let Line { start, moves, to_end, result } = line;
    let state = GameState::from_position(start.clone());
    let players = Players { teacher, policy: None };
    let mut game = LabelledGame::new(config, players, Dice::new(config.seed, 0), state);
    for played in moves.iter().copied().map(Some).chain(to_end.then_some(None)) {
        if stop.is_stopped() {
            return Err(Mishap::Stopped);
        }
        if game.state.outcome().is_some() {
            break;
        }
        if config.trees == 0 || game.plies.is_empty() {
            game.players.teacher.new_game(false)?;
        }
        let judged = game.judged()?;
        game.keep(&judged, played.unwrap_or(judged.best))?;
        if let Some(played) = played {
            game.go_on(played)?;
        }
    }
    Ok(game.record(start.clone(), *result))
}

/// Where the labels begin: an opening of the book and random plies.
fn start(config: &DatagenConfig, book: &Book, number: u64, dice: &mut Dice) -> Result<Chess> {
    let mut position = GameState::new(book.opening(number))?.position().clone();
    for _ in 0..dice.whole(config.random_plies) {
        let mut after: Vec<Chess> =
            position.legal_moves().iter().map(|&m| played(&position, m)).collect();
        after.retain(|after| GameState::from_position(after.clone()).outcome().is_none());
        if after.is_empty() {
            break;
        }
        position = after.swap_remove(dice.below(after.len()));
    }
    Ok(position)
}

fn played(position: &Chess, m: Move) -> Chess {
    let mut after = position.clone();
    after.play_unchecked(m);
    after
}

fn uci(m: Move) -> UciMove {
    m.to_uci(CastlingMode::Standard)
}

impl<'a> LabelledGame<'a> {
    fn new(config: &'a DatagenConfig, players: Players<'a>, dice: Dice, state: GameState) -> Self {
        Self { config, players, dice, state, plies: Vec::new(), others: Vec::new() }
    }

    fn record(self, start: Chess, result: u8) -> GameRecord {
        GameRecord { start, result, plies: self.plies, others: self.others }
    }

    /// Labels the position, from which this move was played.
    fn keep(&mut self, judged: &Judged, played: Move) -> Result<(), Mishap> {
        let (pack, score) = (labelled::pack, score::pack(judged.score));
        self.plies.push(Ply { played: pack(played), best: pack(judged.best), score });
        if self.config.multipv > 1 {
            self.others.push(self.candidates(&judged.reply)?);
        }
        Ok(())
    }

    fn go_on(&mut self, played: Move) -> Result<(), Mishap> {
        self.state.play(uci(played)).map_err(|illegal| Mishap::Fatal(illegal.to_string()))
    }

    /// Asks about the position, or about some of its moves.
    fn ask(&mut self, only: &[UciMove]) -> Result<Reply, Mishap> {
        let limit = &self.config.teacher.limit;
        let allowance = limit.move_time().unwrap_or_default();
        let allowance = allowance.saturating_add(self.config.patience());
        let turn = Turn { state: &self.state, limit, clocks: [None; 2], allowance, only };
        self.players.teacher.play(&turn)
    }

    /// The teacher's best move and its score.
    fn judged(&mut self) -> Result<Judged, Mishap> {
        let reply = self.ask(&[])?;
        let best = self.legal(reply.best)?;
        let Some(score) = reply.latest else {
            let what = format!("the teacher gave its move {} no score", reply.best);
            return Err(Mishap::Failed { how: Termination::BadUci, what });
        };
        Ok(Judged { best, score, reply })
    }

    fn legal(&self, answer: UciMove) -> Result<Move, Mishap> {
        answer.to_move(self.state.position()).map_err(|_| {
            let position = self.state.uci_position();
            let what = format!("the teacher answered {answer} to \"{position}\"");
            Mishap::Failed { how: Termination::IllegalMove, what }
        })
    }

    /// What the teacher says of other moves than its best.
    fn candidates(&self, reply: &Reply) -> Result<Vec<Candidate>, Mishap> {
        let candidate = |&(answer, score): &_| {
            let played = labelled::pack(self.legal(answer)?);
            Ok(Candidate { played, score: score::pack(score) })
        };
        reply.others.iter().map(candidate).collect()
    }

    /// The move to be played: the best one, or by chance another one.
    fn choose(&mut self, best: Move, random: f64) -> Result<Move, Mishap> {
        if !self.dice.chance(random) {
            return Ok(best);
        }
        if let Some(policy) = &mut self.players.policy
            && self.dice.chance(self.config.policy_share)
        {
            let drawn = policy.draw(self.state.position(), best, &mut self.dice);
            return Ok(drawn.map_err(|error| Mishap::Fatal(error.to_string()))?.unwrap_or(best));
        }
        let mut others = self.state.position().legal_moves();
        others.retain(|&mut m| m != best);
        let is_best_of = self.dice.chance(self.config.best_of_share);
        let count = if is_best_of { self.config.best_of } else { 1 };
        let few = self.dice.few(&others, count);
        match few[..] {
            [] => Ok(best),
            [only] => Ok(only),
            _ => {
                let words: Vec<UciMove> = few.iter().map(|&m| uci(m)).collect();
                let answer = self.ask(&words)?.best;
                let chosen = self.legal(answer)?;
                if few.contains(&chosen) {
                    return Ok(chosen);
                }
                Err(Mishap::Fatal(
                    "the teacher does not heed searchmoves, so it cannot choose among random \
                     moves; set --best-of-share 0"
                        .to_owned(),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use super::super::config::tests::small;
    use super::super::policy::tests::rising;
    use super::super::span::Span;
    use super::*;
    use crate::game::ending::Termination;

    /// Plays the first legal move, or the first that it may; notes what it may.
    struct First {
        asked: Vec<usize>,
        answers: VecDeque<Result<Option<&'static str>, Mishap>>,
    }

    impl Player for First {
        fn new_game(&mut self, _: bool) -> Result<(), Mishap> {
            Ok(())
        }

        fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap> {
            self.asked.push(turn.only.len());
            let first = turn.only.first().copied();
            let first = first.unwrap_or_else(|| uci(turn.state.position().legal_moves()[0]));
            let best = match self.answers.pop_front().unwrap_or(Ok(None))? {
                Some(text) => text.parse().unwrap(),
                None => first,
            };
            let legal = turn.state.position().legal_moves();
            let others = legal.iter().skip(1).take(2).map(|&m| (uci(m), UciScore::Mate(-3)));
            Ok(Reply {
                best,
                score: Some(UciScore::Cp(300)),
                latest: Some(UciScore::Cp(7)),
                depth: None,
                nodes: None,
                pv: Vec::new(),
                others: others.collect(),
                remarks: Vec::new(),
                elapsed: Duration::ZERO,
            })
        }

        fn transcript(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn make(config: &DatagenConfig, number: u64) -> (Result<GameRecord, Mishap>, Vec<usize>) {
        let mut teacher = First { asked: Vec::new(), answers: VecDeque::new() };
        let stop = StopToken::default();
        let book = config.book().unwrap();
        let mut policy = (config.policy_share > 0.0).then(rising);
        let players = Players { teacher: &mut teacher, policy: policy.as_mut() };
        let game = play(config, &book, number, players, &stop);
        (game, teacher.asked)
    }

    fn refuted(game: &GameRecord) -> usize {
        game.plies.iter().filter(|ply| ply.played != ply.best).count()
    }

    #[test]
    fn shares_are_kept() {
        let mut config = small();
        config.random = Span { low: 0.0, high: 0.0 };
        let (game, asked) = make(&config, 3);
        let game = game.unwrap();
        assert_eq!((game.plies.len(), refuted(&game)), (30, 0));
        assert_eq!(asked, vec![0; 30]);
        assert!(game.plies.iter().all(|ply| ply.score == 7));

        config.random = Span { low: 1.0, high: 1.0 };
        config.best_of_share = 0.0;
        let (game, asked) = make(&config, 3);
        let game = game.unwrap();
        assert_eq!(refuted(&game), game.plies.len());
        assert_eq!(asked, vec![0; game.plies.len()]);

        config.best_of_share = 1.0;
        let (game, asked) = make(&config, 3);
        let game = game.unwrap();
        assert_eq!(refuted(&game), game.plies.len());
        assert_eq!(asked.iter().filter(|&&only| only == 4).count(), game.plies.len());

        // The teacher, who would choose the first of some, is not asked about the network's moves.
        config.policy_share = 1.0;
        let (game, asked) = make(&config, 3);
        let game = game.unwrap();
        assert_eq!(refuted(&game), game.plies.len());
        assert_eq!(asked, vec![0; game.plies.len()]);
    }

    #[test]
    fn scores_of_other_moves_are_kept_on_request() {
        assert!(make(&small(), 4).0.unwrap().others.is_empty());
        let game = make(&DatagenConfig { multipv: 3, ..small() }, 4).0.unwrap();
        assert_eq!(game.others.len(), game.plies.len());
        let mut position = game.start.clone();
        for (ply, others) in game.plies.iter().zip(&game.others) {
            let moves = position.legal_moves();
            let expected = moves.iter().skip(1).take(2).map(|&m| labelled::pack(m));
            assert!(others.iter().map(|other| other.played).eq(expected));
            assert!(others.iter().all(|other| score::unpack(other.score) == UciScore::Mate(-3)));
            position.play_unchecked(labelled::unpack(&position, ply.played).unwrap());
        }
    }

    #[test]
    fn a_game_follows_from_its_number() {
        let config = small();
        assert_eq!(make(&config, 5), make(&config, 5));
        assert_ne!(make(&config, 5).0, make(&config, 6).0);
        let other = DatagenConfig { seed: 2, ..config.clone() };
        assert_ne!(make(&config, 5).0, make(&other, 5).0);
    }

    #[test]
    fn what_the_teacher_does_wrong_is_told() {
        let config = DatagenConfig { random_plies: Span { low: 0, high: 0 }, ..small() };
        let fault = |answer, config: &DatagenConfig| {
            let answers = VecDeque::from([Ok(None), answer]);
            let mut teacher = First { asked: Vec::new(), answers };
            let book = config.book().unwrap();
            let players = Players { teacher: &mut teacher, policy: None };
            play(config, &book, 0, players, &StopToken::default()).unwrap_err()
        };
        let crash = Mishap::Failed { how: Termination::Crash, what: "it is gone".to_owned() };
        assert_eq!(fault(Err(crash.clone()), &config), crash);
        let illegal = fault(Ok(Some("e2e5")), &config);
        assert!(matches!(illegal, Mishap::Failed { what, .. } if what.contains("e2e5")));
        let share = Span { low: 1.0, high: 1.0 };
        let config = DatagenConfig { random: share, best_of_share: 1.0, best_of: 2, ..config };
        // The first legal move is the best one, so it is not among those to choose from.
        let first = uci(Chess::default().legal_moves()[0]).to_string();
        let deaf = fault(Ok(Some(first.leak())), &config);
        assert!(matches!(deaf, Mishap::Fatal(what) if what.contains("searchmoves")));
    }
}
