//! What searches where the options, or a device, cannot be used.

use std::sync::atomic::Ordering;

use super::Session;
use crate::search::discard;
use crate::setup::factory;
use crate::setup::machine::Machine;

impl Session {
    /// Obeys the options as far as possible where what they ask for cannot be made: with the device
    /// and the network that are in use; where there are none, on the CPU or without a network.
    pub(super) fn go_without(&mut self, wanted: &Machine, sentence: &str) {
        let next = match &self.running {
            Some(running) if self.search.is_some() => {
                let next = wanted.with_evaluator_of(running);
                if next == *running {
                    return self
                        .output
                        .info(&format!("{sentence}; the previous search stays in use"));
                }
                self.output.info(&format!("{sentence}; the device and network in use stay"));
                next
            }
            _ => match factory::stand_in(wanted, sentence, factory::search) {
                Ok((made, next, sentence)) => {
                    self.output.info(&sentence);
                    return self.adopt(made, next);
                }
                Err(sentence) => return self.output.info(&sentence),
            },
        };
        match factory::search(&next) {
            Ok(made) => self.adopt(made, next),
            Err(sentence) => self.output.info(&sentence),
        }
    }

    /// Goes on without the device that failed, until the options name another or a game begins.
    pub(super) fn step_down(&mut self) {
        self.has_lost.store(true, Ordering::Relaxed);
        let Some(mut next) = self.running.clone() else { return };
        if let Some(failed) = self.search.take() {
            discard(failed);
        }
        loop {
            next = next.stepped_down();
            match factory::search(&next) {
                Ok(made) => return self.adopt(made, next),
                Err(sentence) => self.output.info(&sentence),
            }
            if !next.needs_device() {
                return;
            }
        }
    }
}
