//! What the options ask for, made on a thread of its own: a network takes longer to load than some
//! clocks have left.

use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::search::clock::Stopwatch;
use crate::setup::factory::{self, Made};
use crate::setup::machine::Machine;

/// Who waits for longer is told that it goes on.
const SILENCE: Duration = Duration::from_secs(2);

/// How often who waits looks for something more urgent.
const LOOK: Duration = Duration::from_millis(1);

/// A search that is being made.
pub(super) struct Loading {
    machine: Machine,
    /// None where the system gave no thread.
    thread: Option<JoinHandle<Result<Made, String>>>,
    done: Receiver<()>,
}

impl Loading {
    /// Begins to make what this machine asks for, once what was begun `before` is made: drivers
    /// want no thread that outlives the program.
    pub(super) fn begin(machine: Machine, before: Option<Self>) -> Self {
        let (is_loading, done): (Sender<()>, _) = bounded(0);
        let wanted = machine.clone();
        let work = move || {
            if let Some(before) = before {
                before.discard();
            }
            let made = factory::search(&wanted);
            drop(is_loading);
            made
        };
        let thread = thread::Builder::new().name("load".to_owned()).spawn(work).ok();
        Self { machine, thread, done }
    }

    pub(super) fn is_for(&self, machine: &Machine) -> bool {
        self.machine == *machine
    }

    /// A channel that is closed when there is nothing left to wait for.
    pub(super) fn done(&self) -> Receiver<()> {
        self.done.clone()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits while `goes_on`; `tell` gets a sentence every two seconds. Whether it is made.
    pub(super) fn wait_for(&self, goes_on: impl Fn() -> bool, tell: impl Fn(&str)) -> bool {
        let mut silent = Stopwatch::start();
        while goes_on() {
            if self.done.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                return true;
            }
            if silent.elapsed() >= SILENCE {
                tell("loading the network; a GPU's kernels take some seconds to compile");
                silent = Stopwatch::start();
            }
        }
        false
    }

    /// What was made, or a sentence.
    ///
    /// # Panics
    /// As making it has.
    pub(super) fn wait(self) -> Result<Made, String> {
        let Some(thread) = self.thread else { return factory::search(&self.machine) };
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Waits for its end, and forgets what was made.
    pub(super) fn discard(self) {
        let _ = self.thread.map(JoinHandle::join);
    }
}
