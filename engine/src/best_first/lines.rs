//! More lines than one (`MultiPV`) where the best of them wins by force. Under a clock the proof
//! ends the search; who looks at several lines wants to know what the other moves are worth, too.
//! So the moves that win are set aside, as if `searchmoves` left them out, and the others are
//! searched until the limits, or until as many moves win as lines are wanted. At the end all are
//! back.

use tesla_nn::evaluator::EvalError;

use crate::best_first::root;
use crate::best_first::search::BestFirst;
use crate::chess::score::Verdict;
use crate::search::snapshot::Stop;
use crate::search::{Info, Task};
use crate::tree::node::{EXCLUDED, Goal, NodeId};
use crate::tree::remember::remember_line;

impl BestFirst {
    /// [`Self::think`], for as many lines as are wanted.
    pub(super) fn think_of_lines(
        &mut self,
        task: &Task<'_>,
        report: &mut dyn FnMut(&Info),
    ) -> Result<Stop, EvalError> {
        let mut ended = self.think(task, report);
        while ended == Ok(Stop::Proof) && self.set_winners_aside(task) {
            ended = self.think(task, report);
        }
        if !self.set_aside.is_empty() {
            self.set_aside.clear();
            self.exclude(task);
            self.recompute_root();
        }
        ended
    }

    /// The root move that is best by what is known so far.
    pub(super) fn best(&self) -> Option<NodeId> {
        let winner = self.set_aside.first().and_then(|&won| root::child(&self.tree, Some(won)));
        winner.or_else(|| self.rule.choose(&self.tree, &[]))
    }

    /// Sets the root moves that are known to win aside; `false` where there are none, or no line is
    /// wanted beside them.
    fn set_winners_aside(&mut self, task: &Task<'_>) -> bool {
        let limits = task.limits;
        let is_analysis = limits.clock.is_none() && !limits.is_weakened;
        if !is_analysis || self.tree.goal() != Goal::Result {
            return false;
        }
        let winners: Vec<_> = root::playable(&self.tree, &[])
            .filter(|(_, child)| matches!(child.verdict, Verdict::Loss(_)))
            .map(|(id, child)| (id, child.played))
            .collect();
        let others = root::searched_moves(&self.tree) - winners.len();
        let wanted = limits.multipv.saturating_sub(self.set_aside.len());
        if winners.is_empty() || others == 0 || winners.len() >= wanted {
            return false;
        }
        // Where room is made, what is proven goes first; the table keeps the line.
        remember_line(&self.tree, &mut self.table);
        for (id, played) in winners {
            self.set_aside.push(played);
            self.tree.node_mut(id).mark(EXCLUDED, true);
        }
        let tree = &self.tree;
        self.set_aside.sort_by_key(|&won| match root::child(tree, Some(won)) {
            Some(id) if let Verdict::Loss(plies) = tree.node(id).verdict => plies,
            _ => u16::MAX,
        });
        self.recompute_root();
        true
    }
}
