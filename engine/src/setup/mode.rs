//! The names of search modes and evaluators.

/// The search modes; the first is the default.
pub const SEARCHES: &[&str] = &[TESLA, ALPHA_BETA, PUCT, MINIMAX, THREE_STATE];

/// Best-first minimax.
pub const TESLA: &str = "Tesla";

/// The control: lc0's rule on Tesla's tree.
pub const PUCT: &str = "PUCT";

/// The baseline.
pub const ALPHA_BETA: &str = "AlphaBeta";

/// The foundation, on seed 002's piece values.
pub const MINIMAX: &str = "Minimax";

/// Acts, guesses or calculates, and remembers.
pub const THREE_STATE: &str = "ThreeState";

/// The evaluators: the network first, then the one that needs none.
pub const EVALUATORS: &[&str] = &[TRANSFORMER, CLASSICAL];

/// The network, which not every build has.
pub const TRANSFORMER: &str = "Transformer";

/// The evaluator that needs no network and works everywhere.
pub const CLASSICAL: &str = "Classical";

/// Whether the search of this name keeps a tree.
pub fn keeps_tree(search: &str) -> bool {
    matches!(search, TESLA | PUCT)
}

/// Whether the search of this name has an evaluation of its own, and asks no evaluator.
pub fn judges_itself(search: &str) -> bool {
    matches!(search, MINIMAX | THREE_STATE)
}
