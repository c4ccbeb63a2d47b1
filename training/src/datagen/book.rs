//! Makes opening books: random moves from the start position, kept where a teacher calls the
//! position even. The book inside the program was made so.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shakmaty::fen::Epd;
use shakmaty::{Chess, EnPassantMode, Position};
use tesla_engine::console::terminal::{LiveLine, resumed};
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::dice::Dice;
use super::span::Span;
use crate::disk::journal::{Journal, Resumed};
use crate::game::score::UciScore;
use crate::game::state::GameState;
use crate::players::devices::Devices;
use crate::players::lineup;
use crate::players::player::{Mishap, Player, Turn};
use crate::players::pool::RunContext;
use crate::players::programs::program_hash;
use crate::players::side::Side;
use crate::players::signature::search_signatures;

/// Candidates of a round: what is written to disk at once.
const ROUND: u64 = 64;

/// Candidates by opening that is wanted, after which a book is given up.
const MOST_CANDIDATES: u64 = 500;

/// How long to wait for the teacher beyond its time.
const PATIENCE: Duration = Duration::from_mins(1);

/// Of the compressed book.
const ZSTD_LEVEL: i32 = 19;

/// All that decides a book; how many candidates are judged at once does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BookPlan {
    /// Who judges.
    pub teacher: Side,
    /// Openings of the book.
    pub size: u64,
    /// Random plies; each opening draws a number from this range.
    pub plies: Span<u16>,
    /// How far the teacher's score may be from even, centipawns.
    pub bound_cp: u32,
    /// Decides the moves.
    pub seed: u64,
}

/// The candidates from `ROUND * number` on that were kept, as EPD, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    number: u64,
    kept: Vec<String>,
}

/// What has come of a run.
#[derive(Debug)]
pub struct Made {
    /// Whether the book is whole.
    pub is_complete: bool,
    /// Openings found.
    pub openings: u64,
    /// Candidates judged, those of earlier runs included.
    pub candidates: u64,
}

impl BookPlan {
    /// Checks all that can be checked before the first candidate.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        let limit = &self.teacher.limit;
        ensure!(
            limit.nodes.is_some() || limit.depth.is_some() || limit.movetime.is_some(),
            "a teacher needs a limit for each position; give it --nodes, --depth or --movetime"
        );
        self.teacher.check()?;
        ensure!(
            (1..=1_000_000).contains(&self.size),
            "--size is {}; it must be 1 to 1000000",
            self.size
        );
        ensure!(self.plies.high <= 200, "--plies is {}; it must be at most 200", self.plies);
        Ok(())
    }

    /// Candidate `number`: `None` where the game is over or the side to move is in check.
    fn candidate(&self, number: u64) -> Option<Chess> {
        let mut dice = Dice::new(self.seed, number);
        let mut position = Chess::default();
        for _ in 0..dice.whole(self.plies) {
            let moves = position.legal_moves();
            if moves.is_empty() {
                return None;
            }
            position.play_unchecked(moves[dice.below(moves.len())]);
        }
        (!position.is_check() && !position.is_game_over()).then_some(position)
    }

    /// Whether the teacher calls the position even.
    fn is_even(&self, position: &Chess, teacher: &mut dyn Player) -> Result<bool, Mishap> {
        teacher.new_game(false)?;
        let state = GameState::from_position(position.clone());
        let limit = &self.teacher.limit;
        let allowance = limit.move_time().unwrap_or_default().saturating_add(PATIENCE);
        let turn = Turn { state: &state, limit, clocks: [None; 2], allowance, only: &[] };
        let score = teacher.play(&turn)?.score;
        Ok(matches!(score, Some(UciScore::Cp(cp)) if cp.unsigned_abs() <= self.bound_cp))
    }

    /// The kept candidates of a round.
    fn round(&self, number: u64, teacher: &mut dyn Player) -> Result<Round, Mishap> {
        let mut kept = Vec::new();
        for candidate in ROUND * number..ROUND * (number + 1) {
            if let Some(position) = self.candidate(candidate)
                && self.is_even(&position, teacher)?
            {
                kept.push(Epd::from_position(&position, EnPassantMode::Legal).to_string());
            }
        }
        Ok(Round { number, kept })
    }

    /// All that decides which candidates are kept, for the head of the journal; `name` is what the
    /// teacher's program calls itself.
    fn fingerprint(&self, devices: &Devices, name: Option<&str>) -> Value {
        let Self { teacher, size: _, plies, bound_cp, seed } = self;
        json!({
            "plan": { "teacher": teacher, "plies": plies, "bound_cp": bound_cp, "seed": seed },
            "program": name.map(|name| format!("{name}, sha256 {}", program_hash(teacher))),
            "network": devices.network(teacher),
            "search_signature": search_signatures([teacher]),
        })
    }
}

/// Judges candidates until the book is whole, and writes `book.epd` into the context's folder,
/// sorted, with its compressed form beside it. With more of `size` a book grows.
///
/// # Errors
/// When it cannot begin or go on; what was judged stays.
pub fn run(plan: &BookPlan, context: &RunContext<'_>) -> Result<Made> {
    let RunContext { folder, pool, say } = *context;
    plan.check()?;
    files::make_folder(folder)?;
    let sides = std::slice::from_ref(&plan.teacher);
    let names = lineup::try_engines(sides, PATIENCE, false, pool.interrupted)?;
    let devices = Devices::start(sides, pool.concurrency, say)?;
    let name = names.first().and_then(Option::as_deref);
    let path = folder.join("rounds.jsonl");
    let Resumed { journal, records, .. } =
        Journal::<Round>::open(&path, &plan.fingerprint(&devices, name))?;
    if !records.is_empty() {
        say(&format!("{} candidates were judged before", ROUND * records.len() as u64));
    }
    let done: HashSet<u64> = records.iter().map(|round| round.number).collect();
    let mut found = Found::new(plan.size);
    for round in records {
        found.take(round);
    }
    let most = (plan.size * MOST_CANDIDATES).div_ceil(ROUND);
    let rounds = (0..most).filter(|round| !done.contains(round) && !found.is_whole()).collect();
    let mut making = Making::new(found, journal);
    let worker = |stop: StopToken| {
        let (devices, mut teacher) = (&devices, None);
        move |number| {
            let teacher = match &mut teacher {
                Some(teacher) => teacher,
                None => teacher.insert(
                    lineup::player(&plan.teacher, devices, PATIENCE, stop.clone())
                        .map_err(Mishap::Fatal)?,
                ),
            };
            plan.round(number, teacher.as_mut())
        }
    };
    let outcome = pool.run(rounds, worker, |round| making.hear(round));
    making.progress.bar.finish_and_clear();
    outcome?;
    let found = making.found;
    ensure!(found.is_whole() || pool.interrupted.is_stopped(), found.lack());
    let (is_complete, size) = (found.is_whole(), found.len());
    let Found { next, mut openings, .. } = found;
    if is_complete {
        // Like lines beside each other compress well, and a match shuffles them anyway.
        openings.sort_unstable();
        let text = openings.join("\n") + "\n";
        files::replace(&folder.join("book.epd"), text.as_bytes())?;
        let bytes = zstd::encode_all(text.as_bytes(), ZSTD_LEVEL).context("zstd failed")?;
        files::replace(&folder.join("book.epd.zst"), &bytes)?;
    }
    Ok(Made { is_complete, openings: size, candidates: ROUND * next })
}

/// The openings found so far.
struct Found {
    size: u64,
    /// The first round that is not judged; what was kept of later ones waits.
    next: u64,
    waiting: BTreeMap<u64, Vec<String>>,
    openings: Vec<String>,
    seen: HashSet<String>,
    /// Even candidates that were found before.
    repeats: u64,
}

impl Found {
    fn new(size: u64) -> Self {
        let (waiting, openings, seen) = (BTreeMap::new(), Vec::new(), HashSet::new());
        Self { size, next: 0, waiting, openings, seen, repeats: 0 }
    }

    fn len(&self) -> u64 {
        self.openings.len() as u64
    }

    fn is_whole(&self) -> bool {
        self.len() >= self.size
    }

    /// Takes the openings in the order of the candidates, whichever was judged first.
    fn take(&mut self, round: Round) {
        self.waiting.insert(round.number, round.kept);
        while let Some(kept) = self.waiting.remove(&self.next) {
            self.next += 1;
            for epd in kept {
                if self.is_whole() {
                    break;
                }
                if self.seen.insert(epd.clone()) {
                    self.openings.push(epd);
                } else {
                    self.repeats += 1;
                }
            }
        }
    }

    /// Why the book is not whole: too few candidates are even, or they are the same over and over.
    fn lack(&self) -> String {
        let Self { size, repeats, .. } = *self;
        let (candidates, found) = (ROUND * self.next, self.len());
        if found + repeats < size {
            return format!(
                "of {candidates} candidates only {found} different ones are even; raise --bound, \
                 or use fewer --plies"
            );
        }
        format!(
            "of {candidates} candidates {} are even, but only {found} of them are different \
             positions; use more --plies, or --size {found}",
            found + repeats
        )
    }
}

/// A book in the making.
struct Making {
    found: Found,
    journal: Journal<Round>,
    progress: LiveLine,
}

impl Making {
    /// Goes on from what was `found` before.
    fn new(found: Found, journal: Journal<Round>) -> Self {
        let progress = LiveLine::new(resumed(found.size, found.len(), "openings"));
        Self { found, journal, progress }
    }

    fn hear(&mut self, round: Option<Result<Round, Mishap>>) -> Result<bool> {
        match round {
            None => self.progress.tick(),
            Some(Err(Mishap::Stopped)) => {}
            Some(Err(why)) => {
                bail!("{why}; what was judged is kept, and the same command resumes")
            }
            Some(Ok(round)) => {
                self.journal.append(&round)?;
                self.found.take(round);
                self.progress.bar.set_position(self.found.len());
                self.progress.show(format!("of {} candidates", ROUND * self.found.next));
            }
        }
        Ok(!self.found.is_whole())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::game::openings::{BookOptions, BookSource};
    use crate::players::pool::Pool;

    fn plan(size: u64) -> BookPlan {
        let teacher = Side {
            name: "teacher".to_owned(),
            option: serde_json::from_str(r#"{ "Evaluator": "Classical", "Search": "AlphaBeta" }"#)
                .unwrap(),
            limit: serde_json::from_str(r#"{ "nodes": 200 }"#).unwrap(),
            ..Side::default()
        };
        BookPlan { teacher, size, plies: Span { low: 4, high: 5 }, bound_cp: 30, seed: 3 }
    }

    fn make(plan: &BookPlan, folder: &Path, concurrency: usize) -> Result<Made> {
        let never = StopToken::default();
        let pool = Pool { concurrency, interrupted: &never };
        run(plan, &RunContext { folder, pool, say: &|_| () })
    }

    #[test]
    fn a_book_depends_on_its_plan_alone_and_can_grow() {
        let folder = std::env::temp_dir().join(format!("tesla-book-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let book = |run: &str| std::fs::read_to_string(folder.join(run).join("book.epd")).unwrap();
        assert!(make(&plan(200), &folder.join("one"), 1).unwrap().is_complete);
        make(&plan(20), &folder.join("many"), 3).unwrap();
        make(&plan(200), &folder.join("many"), 3).unwrap();
        assert_eq!(book("one"), book("many"));
        let source = BookSource::from(folder.join("one/book.epd"));
        let openings = source.read(&BookOptions::default()).unwrap();
        assert_eq!(openings.openings().len(), 200);
        let turns: HashSet<_> =
            openings.openings().iter().filter_map(|o| o.fen.split(' ').nth(1)).collect();
        assert_eq!(turns.len(), 2, "even and odd plies");
        let bytes = std::fs::read(folder.join("one/book.epd.zst")).unwrap();
        assert_eq!(zstd::decode_all(&bytes[..]).unwrap(), book("one").as_bytes());

        let strict = BookPlan { bound_cp: 0, plies: Span { low: 90, high: 90 }, ..plan(2) };
        let error = make(&strict, &folder.join("strict"), 2).unwrap_err().to_string();
        assert!(error.contains("raise --bound"), "{error}");
        // One ply makes twenty positions, however often it is drawn.
        let short = BookPlan { plies: Span { low: 1, high: 1 }, bound_cp: 300, ..plan(21) };
        let error = make(&short, &folder.join("short"), 2).unwrap_err().to_string();
        assert!(error.contains("only 20 of them") && error.contains("more --plies"), "{error}");
        let other = BookPlan { seed: 4, ..plan(8) };
        assert!(make(&other, &folder.join("one"), 1).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_kept_is_even_and_what_is_not_is_not() {
        let plan = plan(1);
        let devices = Devices::start(std::slice::from_ref(&plan.teacher), 1, &|_| ()).unwrap();
        let mut teacher =
            lineup::player(&plan.teacher, &devices, PATIENCE, StopToken::default()).unwrap();
        let mut is_even = |fen: &str| {
            let position = crate::game::state::set_up(fen, false).unwrap();
            plan.is_even(&position, teacher.as_mut()).unwrap()
        };
        assert!(is_even("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"));
        assert!(!is_even("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"));
        assert!(!is_even("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"), "a mate");
    }
}
