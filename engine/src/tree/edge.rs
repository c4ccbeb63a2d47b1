//! A legal move without a node: policy and action value in two bytes.
//!
//! Most moves of most positions are never searched. Only their policy and action value are kept;
//! the move itself is the one with the same index among the position's legal moves.

/// A code is exponent and four bits of mantissa: sixteen steps to an octave.
const DROPPED_BITS: u32 = 23 - 4;
/// What is taken off those bits: code 0 would be 2^-16.
const LOWEST: u32 = (127 - 16) << 4;
/// The code of a move that has a node.
const TAKEN: u8 = 0;

/// Policy and action value of one legal move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    policy: u8,
    action: u8,
}

impl Edge {
    /// A move with this policy and this expected score for the side that makes it, both in [0, 1].
    pub fn new(policy: f32, action_value: f32) -> Self {
        let bits = policy.clamp(0.0, 1.0).to_bits() + (1 << (DROPPED_BITS - 1));
        let code = (bits >> DROPPED_BITS).saturating_sub(LOWEST).clamp(1, 255);
        let action = action_value.clamp(0.0, 1.0) * 255.0;
        Self { policy: code as u8, action: (action + 0.5) as u8 }
    }

    /// As two bytes.
    pub fn to_bytes(self) -> [u8; 2] {
        [self.policy, self.action]
    }

    /// From [`Self::to_bytes`].
    pub fn from_bytes([policy, action]: [u8; 2]) -> Self {
        Self { policy, action }
    }

    /// The policy, within 3.2 % from 2^-16 on; meaningless where the move has a node, which holds
    /// it then.
    pub fn policy(self) -> f32 {
        f32::from_bits((u32::from(self.policy) + LOWEST) << DROPPED_BITS)
    }

    /// The move with the highest policy among those without a node, the first of equals, and its
    /// index.
    pub fn likeliest(edges: &[Self]) -> Option<(usize, Self)> {
        let highest = edges.iter().map(|edge| edge.policy).max()?;
        let index = edges.iter().position(|edge| edge.policy == highest)?;
        (highest != TAKEN).then_some((index, edges[index]))
    }

    /// Expected score for the side that makes the move, within 0.002.
    pub fn action_value(self) -> f32 {
        f32::from(self.action) * (1.0 / 255.0)
    }

    /// Whether the move has a node.
    pub fn is_taken(self) -> bool {
        self.policy == TAKEN
    }

    /// The same move, with a node.
    #[must_use]
    pub fn taken(self) -> Self {
        Self { policy: TAKEN, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_promises() {
        let mut before = Edge::new(0.0, 0.0);
        for step in 0..=100_000_u32 {
            let share = step as f32 / 100_000.0;
            let edge = Edge::new(share, share);
            assert!((edge.action_value() - share).abs() < 0.002_1);
            assert!(!edge.is_taken() && edge.policy >= before.policy);
            before = edge;
            let policy = edge.policy();
            let nearest = share.max(2.0_f32.powi(-16));
            assert!((policy / nearest - 1.0).abs() < 0.07, "{share} {policy}");
            if step > 1 {
                assert!((policy / share - 1.0).abs() < 0.032, "{share} {policy}");
            }
            assert!(edge.taken().is_taken());
        }
        let edges = [0.1, 0.3, 0.3, 0.2].map(|policy| Edge::new(policy, 0.5));
        assert_eq!(Edge::likeliest(&edges), Some((1, edges[1])));
        assert_eq!(Edge::likeliest(&edges.map(Edge::taken)), None);
        let nonsense = Edge::new(f32::NAN, f32::NAN);
        assert!(!nonsense.is_taken() && (0.0..=1.0).contains(&nonsense.action_value()));
    }
}
