//! `tesla analyse`: queries as lines of JSON on standard input, answers as lines of JSON on
//! standard output. Many positions are searched side by side and fill the device's batches
//! together.
//!
//! * [`query`] — a line to what it asks for; every fault is told with its field;
//! * [`reply`] — what is answered;
//! * [`pool`] — the searches;
//! * `schema` — both as JSON Schema, for other programs (`docs/analyse`).

// What comes from stdin is untrusted, so nothing here may panic.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

pub mod pool;
pub mod query;
pub mod reply;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::sync::Arc;

use clap::Args;

use self::pool::{Pool, Register, Tell, Work};
use self::query::{Analysis, Defaults, Order, Query};
use self::reply::{Refusal, Reply, Terminated, Version};
use crate::console::lines::{Line, next_line};
use crate::console::output::Output;
use crate::console::terminal::complain;
use crate::search::StopToken;
use crate::setup::machine::Machine;
use crate::setup::mode::SearchMode;
use crate::setup::options::{self, Change};
use crate::setup::settings::Settings;

/// How searches are run.
#[derive(Clone, Debug, Args)]
pub struct AnalyseArgs {
    /// Evaluations a position, unless another limit is given
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: u64,
    /// Positions that are searched side by side
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub concurrency: u64,
    /// An option of the search, as NAME=VALUE; Hash is what all searches have together
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
}

impl AnalyseArgs {
    /// What the options choose, and their memory, MiB.
    ///
    /// # Errors
    /// A sentence on the option that cannot be set.
    pub fn machine(&self) -> Result<(Machine, usize), String> {
        let mut settings = Settings::default();
        for pair in &self.options {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                format!("--set takes NAME=VALUE, for example Device=cpu, not '{pair}'")
            })?;
            if options::is_program_only(name) {
                return Err(format!("--set {name} has no effect here, so leave it out"));
            }
            match settings.set(name, value).map_err(|error| error.to_string())? {
                Change::Clamped { range, taken } => complain(&format!("{range}; {taken} is used")),
                Change::Taken | Change::ClearHash => {}
            }
        }
        // Whole: a query may ask for another search, which uses more.
        let machine = settings.machine.clone();
        if SearchMode::ANALYSING.contains(&machine.search) {
            return Ok((machine, settings.hash_mb));
        }
        Err(format!(
            "{} plays at random in positions that it has not met, so it judges none; Search is \
             Tesla, PUCT, AlphaBeta or Minimax here",
            machine.search
        ))
    }
}

/// Answers queries until the input ends and all are answered.
///
/// # Errors
/// A sentence, when an option or the device cannot be used.
pub fn run(args: &AnalyseArgs, input: impl BufRead, output: &Output) -> Result<(), String> {
    let (machine, hash_mb) = args.machine()?;
    let defaults = Defaults { nodes: args.nodes, search: machine.search };
    let register = Register::default();
    let tell: Tell = {
        let (register, output) = (register.clone(), output.clone());
        Arc::new(move |reply: Reply| {
            match &reply {
                Reply::Answer(answer) if !answer.during => register.remove(&answer.id, answer.turn),
                Reply::NoResults(none) => register.remove(&none.id, none.turn),
                Reply::Refusal(Refusal { id: Some(id), turn: Some(turn), .. }) => {
                    register.remove(id, *turn);
                }
                _ => {}
            }
            output.print(&reply.line());
            if output.is_gone() {
                // Nobody reads what would be found.
                register.stop(None);
            }
        })
    };
    let size = (args.concurrency as usize, hash_mb);
    let (pool, device) = Pool::start(&machine, size, Arc::clone(&tell), complain)?;
    let desk = Desk { pool, register, tell, device, defaults };
    desk.serve(input);
    Ok(())
}

/// Where queries arrive.
struct Desk {
    pool: Pool,
    register: Register,
    tell: Tell,
    device: String,
    defaults: Defaults,
}

impl Desk {
    fn serve(&self, mut input: impl BufRead) {
        loop {
            match next_line(&mut input) {
                Line::Text(line) if line.trim().is_empty() => {}
                Line::Text(line) => {
                    if let Err(refusal) = self.take(&line) {
                        (self.tell)(Reply::Refusal(refusal));
                    }
                }
                Line::TooLong => {
                    let refusal = Refusal::new("", None, "the line is too long and was not read");
                    (self.tell)(Reply::Refusal(refusal));
                }
                Line::End => return,
            }
        }
    }

    fn take(&self, line: &str) -> Result<(), Refusal> {
        match Query::read(line)?.order(self.defaults)? {
            Order::Version { id } => {
                (self.tell)(Reply::Version(Version::new(id, &self.device)));
            }
            Order::Terminate { id, which } => {
                let positions = self.register.stop(which.as_deref());
                let terminated = Terminated { id, terminate_id: which, positions };
                (self.tell)(Reply::Terminated(terminated));
            }
            Order::Analyse(analysis) => self.analyse(*analysis)?,
        }
        Ok(())
    }

    fn analyse(&self, analysis: Analysis) -> Result<(), Refusal> {
        let Analysis { id, search, positions, multipv, report_every, include } = analysis;
        if self.register.has(&id) {
            let text = "a query of this name is not answered yet";
            return Err(Refusal::new(&id, Some("id"), text));
        }
        let work = positions.into_iter().map(|position| Work {
            id: id.clone(),
            position,
            search,
            multipv,
            report_every,
            include,
            stop: StopToken::default(),
        });
        let work: Vec<Work> = work.collect();
        // All of them before the first is begun, so that the name stays taken until the last.
        for one in &work {
            self.register.add(&one.id, one.position.turn, one.stop.clone());
        }
        for one in work {
            self.pool.add(one);
        }
        Ok(())
    }
}
