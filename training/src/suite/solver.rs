//! Short mates, solved by trying everything.

use shakmaty::{Chess, Move, Position};

/// Tries everything. `None` means out of nodes. The 50-move rule and repetitions, too far off for
/// short mates, are left out.
pub(super) struct Solver {
    nodes_left: u64,
}

impl Solver {
    /// A solver that gives up after so many positions.
    pub(super) fn new(nodes: u64) -> Solver {
        Solver { nodes_left: nodes }
    }

    /// Whether the side to move is mated in so many moves or fewer, whatever it plays.
    pub(super) fn is_mated(&mut self, position: &Chess, moves: u32) -> Option<bool> {
        let replies = position.legal_moves();
        if replies.is_empty() {
            return Some(position.is_check());
        }
        if moves == 0 {
            return Some(false);
        }
        for m in replies {
            let after = self.play(position, m)?;
            if !self.mates(&after, moves)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether the side to move can force mate in so many moves or fewer.
    pub(super) fn mates(&mut self, position: &Chess, moves: u32) -> Option<bool> {
        if moves == 0 {
            return Some(false);
        }
        let mut quiet = Vec::new();
        for m in position.legal_moves() {
            let after = self.play(position, m)?;
            if after.is_check() {
                if self.is_mated(&after, moves - 1)? {
                    return Some(true);
                }
            } else if moves > 1 {
                quiet.push(after);
            }
        }
        // Few replies first: such moves threaten most.
        quiet.sort_by_cached_key(|after| after.legal_moves().len());
        for after in &quiet {
            if self.is_mated(after, moves - 1)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn play(&mut self, position: &Chess, m: Move) -> Option<Chess> {
        self.nodes_left = self.nodes_left.checked_sub(1)?;
        let mut after = position.clone();
        after.play_unchecked(m);
        Some(after)
    }
}
