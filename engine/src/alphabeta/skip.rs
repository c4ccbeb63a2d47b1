//! What is known of a node before its moves, and which of these get no look. All margins are in
//! centipawns.

use shakmaty::{Chess, Move};
use tesla_nn::classical::exchange::nets_at_least;

use super::leaf::NetworkAnswer;
use super::ordering::is_tactical;
use super::value::Remembered;
use super::worker::Node;

/// Futility of quiet moves: deepest node, margin, margin per ply.
const FUTILITY: (i32, i32, i32) = (6, 110, 90);
/// Late quiet moves are skipped up to this depth.
const LATE_MOVES: i32 = 8;
/// Moves that lose more than this per ply on their square are skipped up to a depth.
const LOSING: (i32, i32, i32) = (7, 60, 100);
/// Moves of which the network promises less: deepest node, margin, margin per ply.
const PROMISE: (i32, i32, i32) = (4, 30, 60);

/// What is known of a node before its moves.
#[derive(Clone, Debug, Default)]
pub(super) struct Situation {
    pub(super) is_pv: bool,
    pub(super) checked: bool,
    /// Static value, sharpened by the table; none in check.
    pub(super) estimate: Option<i32>,
    /// Better than at our previous turn.
    pub(super) improving: bool,
    pub(super) remembered: Option<Remembered>,
    /// What the network says of the node.
    pub(super) answer: Option<NetworkAnswer>,
    /// Its legal moves, where a network is asked.
    pub(super) legal: Vec<Move>,
}

impl Situation {
    /// What the network says that a move is worth, centipawns.
    fn promise(&self, played: Move) -> Option<i32> {
        let index = self.legal.iter().position(|&legal| legal == played)?;
        self.answer.as_ref()?.promises.get(index).map(|&promise| i32::from(promise))
    }
}

/// Whether a move is not worth a look: too late in the order, too little to gain, too much lost.
pub(super) fn is_skippable(
    position: &Chess,
    node: &Node,
    now: &Situation,
    played: Move,
    quiets: usize,
) -> bool {
    let Some(estimate) = now.estimate else { return false };
    if node.ply == 0 {
        return false;
    }
    if is_hopeless(node, now, played) {
        return true;
    }
    if now.is_pv {
        return false;
    }
    let (deepest, quiet_loss, capture_loss) = LOSING;
    if is_tactical(played) {
        return node.depth <= deepest
            && !nets_at_least(position, played, -capture_loss * node.depth);
    }
    let allowed = (4 + node.depth * node.depth) / if now.improving { 1 } else { 2 };
    if node.depth <= LATE_MOVES && quiets as i32 >= allowed {
        return true;
    }
    let (futile, margin, per_ply) = FUTILITY;
    node.depth <= futile && estimate + margin + per_ply * node.depth <= node.alpha
        || node.depth <= deepest && !nets_at_least(position, played, -quiet_loss * node.depth)
}

/// Whether the network promises so little of a move that it is not asked about what comes after.
fn is_hopeless(node: &Node, now: &Situation, played: Move) -> bool {
    let (deepest, margin, per_ply) = PROMISE;
    let plies = node.depth * if now.is_pv { 2 } else { 1 };
    if plies > deepest {
        return false;
    }
    let enough = node.alpha - margin - per_ply * plies;
    now.promise(played).is_some_and(|promise| promise <= enough)
}
