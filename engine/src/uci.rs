//! The Universal Chess Interface: text in, text out. Nothing else in the engine prints.
//!
//! The thread that reads stdin answers at once, also while a search runs. The [`session`] thread
//! owns search and evaluator: [`go`] is parsed, becomes a [`search_job`] and is answered by
//! `bestmove`. Bad input is answered by a sentence. What still runs when the input ends is stopped
//! or finished (`end`).

// What comes from stdin is untrusted, so nothing here may panic.
#![deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod bestmove;
mod board;
pub mod command;
mod end;
pub mod go;
pub mod search_job;
pub mod session;
mod stats;

use std::io::BufRead;
use std::thread;

use crossbeam_channel::{Sender, bounded, unbounded};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use self::command::{Command, HELP};
use self::end::AtEnd;
use self::session::{Busy, Job, SearchJob};
use crate::chess::game::{Game, position_key};
use crate::chess::notation as position;
use crate::commands::genfens::GenfensOrder;
use crate::console::lines::{Line, next_line};
use crate::console::output::{Output, Style};
use crate::search::StopToken;
use crate::search::clock::{Budget, PonderHit};
use crate::setup::options::{self, Change, Shown};
use crate::setup::settings::Settings;

/// What is left when [`run`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// No thread of the session's.
    Nothing,
    /// A thread that loads something, and was told to `quit`. A process that runs the destructors
    /// of C libraries now may take from under it what it works with.
    Loading,
}

/// Speaks UCI until `quit` or the end of `input`.
pub fn run(input: impl BufRead, output: &Output, shown: Shown) -> Remains {
    serve(input, output, shown, AtEnd::StopSearch)
}

/// Does what these lines say, and ends when all of it is done: searches with a limit too.
pub fn run_lines(lines: &str, output: &Output) -> Remains {
    serve(lines.as_bytes(), output, Shown::default(), AtEnd::FinishSearch)
}

fn serve(mut input: impl BufRead, output: &Output, shown: Shown, at_end: AtEnd) -> Remains {
    let (jobs, queue) = unbounded();
    let (alive, ended) = bounded::<()>(0);
    let session_output = output.clone();
    let session = thread::spawn(move || {
        session::run(&queue, session_output);
        drop(alive);
    });
    let mut frontend = Frontend {
        output: output.clone(),
        shown,
        settings: Settings::default(),
        game: Game::new(Chess::default()),
        jobs,
        debug: false,
        running: None,
        ready: None,
    };
    let quit = loop {
        match next_line(&mut input) {
            Line::Text(line) => {
                frontend.output.received(&line);
                if frontend.handle(&Command::parse(&line)) == After::Quit {
                    break true;
                }
            }
            Line::TooLong => output.info("the line was too long and was ignored"),
            Line::End => break false,
        }
    };
    let at_end = if quit { AtEnd::Quit } else { at_end };
    if !frontend.end(at_end, &ended) {
        return Remains::Loading;
    }
    // What drivers keep for a thread they let go of when it ends, behind our back: a process that
    // ends at the same time has them free it twice.
    let _ = session.join();
    Remains::Nothing
}

/// What a budget plans, for `debug on`.
fn plan_text(budget: &Budget) -> String {
    match (budget.soft(), budget.hard()) {
        (Some(soft), Some(hard)) => {
            format!("planned {} ms for this move, at most {}", soft.as_millis(), hard.as_millis())
        }
        _ => "planned no time limit for this move".to_owned(),
    }
}

/// Whether to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Read,
    Quit,
}

/// What the reading thread knows.
struct Frontend {
    output: Output,
    shown: Shown,
    settings: Settings,
    game: Game,
    jobs: Sender<Job>,
    /// `debug on`.
    debug: bool,
    /// The last job that can be stopped, perhaps ended meanwhile.
    running: Option<Running>,
    /// The last `isready` that went to the session, perhaps answered meanwhile.
    ready: Option<Busy>,
}

/// How to reach a job from outside.
struct Running {
    busy: Busy,
    stop: StopToken,
    /// Dropping it allows `bestmove`.
    hold: Option<Sender<()>>,
    /// Of `go ponder`.
    ponder: Option<PonderHit>,
    /// `go infinite`: `ponderhit` does not end the wait.
    infinite: bool,
    /// Ends with stdin, rather than being finished first.
    search: bool,
}

impl Frontend {
    fn handle(&mut self, command: &Command<'_>) -> After {
        match *command {
            Command::Uci => self.introduce(),
            Command::IsReady if self.is_busy() => self.output.print("readyok"),
            Command::IsReady => {
                let busy = Busy::default();
                self.send(Job::Ready(busy.clone()));
                self.ready = Some(busy);
            }
            Command::NewGame => self.send(Job::NewGame),
            Command::Position(text) => match position::parse(text, self.settings.chess960) {
                Ok(game) => self.game = game,
                Err(problem) => self.output.info(&problem.to_string()),
            },
            Command::Go(text) => self.go(text),
            Command::Stop => self.stop(),
            Command::PonderHit => self.ponder_hit(),
            Command::SetOption { name, value } => self.set_option(name, value),
            Command::Debug(on) => self.debug = on,
            Command::Quit => return After::Quit,
            Command::Display => self.display(),
            // One evaluation is short: what comes behind it waits and is not refused.
            Command::Eval if self.refuses("eval") => {}
            Command::Eval => self.send(Job::Eval(Box::new(self.game.clone()), self.style())),
            Command::Bench(text) => self.bench(text),
            Command::Perft(text) => match text.trim().parse() {
                Ok(depth) => self.perft(depth),
                Err(_) => self.output.info("perft needs a depth, for example: perft 5"),
            },
            Command::GenFens(text) => self.genfens(text),
            Command::Help => self.output.print(HELP),
            Command::Nothing => {}
            Command::Unknown("debug") => self.output.info("debug needs on or off behind it"),
            Command::Unknown(text) => {
                let start: String = text.chars().take(60).collect();
                self.output.info(&format!("unknown command '{start}'; send help to see them all"));
            }
        }
        After::Read
    }

    fn introduce(&self) {
        let version = env!("CARGO_PKG_VERSION");
        let options = options::uci_lines(self.shown).join("\n");
        self.output.print(&format!(
            "id name Tesla {version}\nid author the Tesla authors\n{options}\nuciok"
        ));
    }

    /// The session outlives the reading thread, so its channel is open.
    fn send(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// Whether something runs that was not told to stop. What comes after `stop` simply waits for
    /// the end, so that `stop` and another `go` may be sent in one breath.
    fn is_busy(&self) -> bool {
        let runs = |running: &Running| running.busy.is_running() && !running.stop.is_stopped();
        self.running.as_ref().is_some_and(runs)
    }

    /// Castling is written the standard way only where that is unambiguous.
    fn style(&self) -> Style {
        let castling = if self.settings.chess960 {
            CastlingMode::Chess960
        } else {
            self.game.position().castles().mode()
        };
        Style { castling, wdl: self.settings.show_wdl }
    }

    fn refuses(&self, what: &str) -> bool {
        let busy = self.is_busy();
        if busy {
            self.output.info(&format!("cannot {what} while something is running; send stop first"));
        }
        busy
    }

    fn go(&mut self, text: &str) {
        if self.refuses("go") {
            return;
        }
        let go = go::parse(text, self.game.position());
        if let Some(remark) = &go.remark {
            self.output.info(remark);
        }
        if let Some(depth) = go.perft {
            return self.perft(depth);
        }
        let overhead = self.settings.move_overhead;
        let (budget, ponder) = if go.ponder {
            let (budget, hit) = Budget::pondering(&go.limits, overhead);
            (budget, Some(hit))
        } else {
            (Budget::new(&go.limits, overhead), None)
        };
        if self.debug {
            // What is planned from a `ponderhit` on is known before it.
            self.output.info(&plan_text(&Budget::new(&go.limits, overhead)));
        }
        let infinite = go.limits.infinite;
        let (hold, held) = bounded(0);
        let waits = go.ponder || infinite;
        let (busy, stop) = (Busy::default(), StopToken::default());
        self.send(Job::Search(Box::new(SearchJob {
            game: self.game.clone(),
            limits: go.limits,
            budget,
            stop: stop.clone(),
            hold: waits.then_some(held),
            style: self.style(),
            debug: self.debug,
            busy: busy.clone(),
        })));
        let hold = waits.then_some(hold);
        self.running = Some(Running { busy, stop, hold, ponder, infinite, search: true });
    }

    fn start(&mut self, what: &str, job: impl FnOnce(StopToken, Busy) -> Job) {
        if self.refuses(what) {
            return;
        }
        let (busy, stop) = (Busy::default(), StopToken::default());
        self.send(job(stop.clone(), busy.clone()));
        let (hold, ponder) = (None, None);
        self.running = Some(Running { busy, stop, hold, ponder, infinite: false, search: false });
    }

    fn bench(&mut self, text: &str) {
        match text.trim() {
            "" => self.start("bench", |stop, busy| {
                Job::Bench(crate::commands::bench::DEFAULT_NODES, stop, busy)
            }),
            text => match text.parse() {
                Ok(nodes) => self.start("bench", |stop, busy| Job::Bench(nodes, stop, busy)),
                Err(_) => {
                    self.output.info("bench needs a number of nodes, for example: bench 1000");
                }
            },
        }
    }

    fn perft(&mut self, depth: u32) {
        if depth > crate::commands::perft::LONGEST {
            let longest = crate::commands::perft::LONGEST;
            return self.output.info(&format!("perft counts lines of at most {longest} plies"));
        }
        let (position, style) = (Box::new(self.game.position().clone()), self.style());
        self.start("perft", |stop, busy| Job::Perft(position, depth, style, stop, busy));
    }

    fn genfens(&mut self, text: &str) {
        match GenfensOrder::parse(text) {
            Ok(order) => self.start("genfens", |stop, busy| Job::GenFens(order, stop, busy)),
            Err(problem) => self.output.info(&problem.to_string()),
        }
    }

    fn stop(&mut self) {
        if let Some(running) = &mut self.running {
            running.stop.stop();
            running.hold = None;
        }
    }

    fn ponder_hit(&mut self) {
        let Some(running) = &mut self.running else { return };
        if let Some(hit) = running.ponder.take() {
            hit.hit();
            if !running.infinite {
                running.hold = None;
            }
        }
    }

    fn set_option(&mut self, name: &str, value: &str) {
        let change = self.settings.set(name, value);
        if name.eq_ignore_ascii_case("LogFile") {
            self.open_log();
        }
        match change {
            Ok(Change::ClearHash) => return self.send(Job::Clear),
            Ok(Change::Taken) => {}
            Ok(Change::Clamped { range, taken }) => {
                self.output.info(&format!("{range}; {taken} is used"));
            }
            Err(problem) => return self.output.info(&problem.to_string()),
        }
        if self.debug {
            self.tell_opponent(name);
        }
        self.send(Job::Configure(Box::new(self.settings.clone())));
    }

    /// How `UCI_Opponent` was understood, if this is the option that was set.
    fn tell_opponent(&self, option: &str) {
        if let Some(opponent) = &self.settings.opponent
            && option.eq_ignore_ascii_case("UCI_Opponent")
        {
            self.output.info(&format!("the opponent is {opponent}"));
        }
    }

    fn open_log(&mut self) {
        let path = self.settings.log_file.as_deref();
        if let Err(error) = self.output.log_to(path) {
            let path = path.unwrap_or_default();
            self.output
                .info(&format!("the log {path} cannot be written ({error}); logging is off"));
            self.settings.log_file = None;
        }
    }

    fn display(&self) {
        let position = self.game.position();
        let style = self.style();
        let moves: Vec<_> = position.legal_moves().iter().map(|&m| style.written(m)).collect();
        self.output.print(&format!(
            "{}\n\nTo move: {}\nFen: {}\nKey: {:016X}\nCheckers: {}\nRepetitions: {}\n\
             Moves ({}): {}",
            board::draw(position, &|_| None),
            board::turn(position),
            Fen::from_position(position, EnPassantMode::Legal),
            position_key(position),
            board::checkers(position),
            self.game.repetitions(),
            moves.len(),
            moves.join(" ")
        ));
    }
}
