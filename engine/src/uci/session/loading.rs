//! What the options ask for, made on a thread of its own: a network takes longer to load than some
//! clocks have left.

use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::setup::factory::{self, Made};
use crate::setup::machine::Machine;

/// A search that is being made.
pub(super) struct Loading {
    machine: Machine,
    /// None where the system gave no thread.
    thread: Option<JoinHandle<Result<Made, String>>>,
    done: Receiver<()>,
}

impl Loading {
    /// Begins to make what this machine asks for.
    pub(super) fn begin(machine: Machine) -> Self {
        let (is_loading, done): (Sender<()>, _) = bounded(0);
        let wanted = machine.clone();
        let work = move || {
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

    /// What was made, or a sentence.
    ///
    /// # Panics
    /// As making it has.
    pub(super) fn wait(self) -> Result<Made, String> {
        let Some(thread) = self.thread else { return factory::search(&self.machine) };
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}
