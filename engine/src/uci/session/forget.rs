//! What a search remembers, and when it forgets.

use std::sync::atomic::Ordering;

use super::Session;
use crate::search::handicap::Handicap;
use crate::uci::search_job::SearchJob;

impl Session {
    /// Forgets earlier searches; the game goes on.
    pub(super) fn clear(&mut self) {
        if let Some(search) = &mut self.search {
            search.clear();
        }
        self.knows_more = false;
    }

    /// Another game begins.
    pub(super) fn new_game(&mut self) {
        if let Some(search) = &mut self.search {
            search.new_game();
        }
        self.knows_more = false;
        if self.has_lost.swap(false, Ordering::Relaxed) {
            self.output.info("the device that was lost is tried again");
            self.tried = None;
        }
    }

    /// Another seed asks for no other search, whose game would be over.
    pub(super) fn reseed(&mut self) {
        let (Some(search), Some(tried)) = (&mut self.search, &mut self.tried) else { return };
        let seed = self.settings.machine().three_state.seed;
        search.set_seed(seed);
        tried.three_state.seed = seed;
    }

    /// What full strength has found out is not for a level to know.
    pub(super) fn forget_full_strength(&mut self, job: &SearchJob) {
        let is_weak = self.settings.handicap().is_some() && !Handicap::spares(&job.limits);
        if let Some(search) = &mut self.search
            && is_weak
            && self.knows_more
        {
            search.clear();
        }
        self.knows_more = !is_weak;
    }
}
