//! The search modes and evaluators, with their names in the options. [`super::factory`] builds
//! them.

use std::fmt;

/// An enum whose variants have names.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$note:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind { $($(#[$note])* $variant,)* }

        impl $kind {
            /// All names, in order; the first one is the default's.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The one with this name.
            pub fn named(name: &str) -> Option<Self> {
                [$(Self::$variant),*].into_iter().find(|one| one.name() == name)
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// A search mode.
    SearchMode {
        /// Best-first minimax.
        #[default]
        Tesla = "Tesla",
        /// The baseline.
        AlphaBeta = "AlphaBeta",
        /// The control: lc0's rule on Tesla's tree.
        Puct = "PUCT",
        /// Plain recursion over piece values.
        Minimax = "Minimax",
        /// Acts, guesses or calculates, and remembers.
        ThreeState = "ThreeState",
    }
}

named! {
    /// What evaluates positions.
    EvaluatorKind {
        /// The network, which not every build has.
        #[default]
        Transformer = "Transformer",
        /// Material, squares, mobility, pawns and kings, weighed by hand: needs no network.
        Classical = "Classical",
    }
}

/// What PUCT does not read: the errors of values, what is made of them, and Tesla's stop rule.
const NOT_OF_PUCT: [&str; 23] = [
    "error_scale",
    "error_growth",
    "error_decay",
    "error_reference",
    "error_trust",
    "error_family",
    "missing_min",
    "policy_floor",
    "policy_trust",
    "verify",
    "verify_root",
    "horizon",
    "inherit",
    "grant_share",
    "grant_least",
    "final_caution",
    "final_work",
    "mate_visits",
    "table_depth",
    "table_policy",
    "stop_gain",
    "stop_decay",
    "doubt_extension",
];

impl SearchMode {
    /// Whether the tunable of this name may change what the search plays.
    pub fn reads(self, tunable: &str) -> bool {
        match self {
            Self::Tesla => !tunable.starts_with("puct_"),
            Self::Puct => !NOT_OF_PUCT.contains(&tunable),
            // The network's cache has anchors whoever asks it.
            Self::AlphaBeta => tunable.starts_with("anchor_"),
            Self::Minimax | Self::ThreeState => false,
        }
    }

    /// The modes that say of each root move what they know, for `tesla view`.
    pub const WATCHABLE: [Self; 3] = [Self::Tesla, Self::Puct, Self::AlphaBeta];

    /// The modes whose value of a position means something, for `tesla analyse` and `tesla review`:
    /// all but the one that plays at random where it was never before.
    pub const ANALYSING: [Self; 4] = [Self::Tesla, Self::Puct, Self::AlphaBeta, Self::Minimax];

    /// Whether the search keeps a tree.
    pub fn keeps_tree(self) -> bool {
        matches!(self, Self::Tesla | Self::Puct)
    }

    /// Whether the search has an evaluation of its own, and asks no evaluator.
    pub fn has_own_evaluation(self) -> bool {
        matches!(self, Self::Minimax | Self::ThreeState)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best_first::params::Params;

    #[test]
    fn what_is_not_read_is_in_the_register() {
        for name in NOT_OF_PUCT {
            assert!(Params::TUNABLES.iter().any(|row| row.name == name), "{name}");
            assert!(SearchMode::Tesla.reads(name) && !SearchMode::Puct.reads(name), "{name}");
        }
    }
}
