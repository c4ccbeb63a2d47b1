//! The register of tunables: every number that changes how Tesla plays is one line here.
//!
//! A line says name, default, range and step; its doc says the unit and what a larger value does.
//! The macro makes the field, its default, the range check and the row that UCI and the tuner read.

mod file;

pub use self::file::{Preset, TunablesError};

/// One tunable as UCI and the tuner see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tunable {
    /// Name for [`Params::set`].
    pub name: &'static str,
    /// What it does and its unit.
    pub doc: &'static str,
    /// The default value.
    pub default: f32,
    /// Smallest value accepted.
    pub min: f32,
    /// Largest value accepted.
    pub max: f32,
    /// A change worth trying in tuning.
    pub step: f32,
}

/// Why a tunable was not set, in one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// No tunable has this name.
    #[error("there is no tunable named {0}")]
    Unknown(String),
    /// The value is not a number or out of range.
    #[error("{name} takes a number from {min} to {max}, not '{value}'")]
    OutOfRange {
        /// The tunable.
        name: &'static str,
        /// Its smallest value.
        min: f32,
        /// Its largest value.
        max: f32,
        /// What was asked for.
        value: String,
    },
}

macro_rules! params {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident = $default:literal in $min:literal..=$max:literal step $step:literal;
    )+) => {
        /// The tunables. Made by [`Default`], changed by [`Params::set`].
        #[derive(Clone, Debug, PartialEq)]
        pub struct Params {
            $($(#[doc = $doc])+ pub $name: f32,)+
        }

        impl Default for Params {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Params {
            /// Every tunable, in the order of the register.
            pub const TUNABLES: &'static [Tunable] = &[
                $(Tunable {
                    name: stringify!($name),
                    doc: concat!($($doc),+),
                    default: $default,
                    min: $min,
                    max: $max,
                    step: $step,
                },)+
            ];

            /// The value of a tunable, `None` where there is none of this name.
            pub fn get(&self, name: &str) -> Option<f32> {
                match name {
                    $(stringify!($name) => Some(self.$name),)+
                    _ => None,
                }
            }

            fn field(&mut self, name: &str) -> Option<&mut f32> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

// Scores are expected scores in [0, 1]: 0.01 is one point. Most numbers of the selection rule are
// tuned by games (benches/results/2026-11-27-spsa.md says which).
params! {
    /// Scale of a value's error at one missing ply (k), score units, in a node of 100 evaluations;
    /// larger searches wider.
    error_scale = 0.013 in 0.001..=1.0 step 0.005;
    /// Growth of the error scale with missing depth (p in k·m^p).
    error_growth = 0.5 in 0.1..=1.5 step 0.05;
    /// Decrease of the error scale with the visits of the choosing node: power of its visits in
    /// hundreds. Larger searches wider where little is known and narrower where much is.
    error_decay = 0.213 in 0.0..=1.0 step 0.05;
    /// Extra error of a child that was never evaluated (tau), score units.
    unevaluated_error = 0.048 in 0.0..=1.0 step 0.01;
    /// Penalty on the value of an unevaluated child (kappa), in units of `unevaluated_error`;
    /// larger searches narrower.
    unevaluated_doubt = 0.22 in 0.0..=4.0 step 0.1;
    /// Evaluations below a position that count as much as its own evaluation; 0 = plain minimax.
    static_weight = 1.0 in 0.0..=100.0 step 0.5;
    /// Weight of the children's average, by visits, in the backup; the rest is minimax.
    average_share = 0.19 in 0.0..=1.0 step 0.1;
    /// Share of the policy in the benefit (eps); the rest is the overtake probability.
    policy_floor = 0.018 in 0.0..=1.0 step 0.01;
    /// Power of the policy in the odds that a child is better than the best; 0 = its value alone
    /// counts, 1 = the policy is a prior of full weight.
    policy_trust = 1.0 in 0.0..=2.0 step 0.1;
    /// Benefit of searching the best child: 0 = its probability of being overtaken, 1 = a constant
    /// one half, 2 = its probability of staying best. Larger searches the principal variation more.
    verify = 0.66 in 0.0..=4.0 step 0.25;
    /// The same at the root, where visits of the best move also serve the next search.
    verify_root = 0.72 in 0.0..=4.0 step 0.25;
    /// Effective branching factor: one more ply multiplies the evaluations by this.
    branching = 2.13 in 1.1..=10.0 step 0.1;
    /// The network's error at which its error scale counts as average, score units.
    error_reference = 0.1 in 0.005..=1.0 step 0.01;
    /// How far the network's own error moves the error scale; 0 = not at all, 1 = in proportion.
    error_trust = 0.53 in 0.0..=1.0 step 0.1;
    /// Plies by which the desired depth of a node exceeds its depth.
    horizon = 1.0 in 0.0..=8.0 step 0.25;
    /// Share of the desired depth that a child inherits from its parent; the rest is its own.
    inherit = 0.0 in 0.0..=1.0 step 0.1;
    /// Smallest missing depth, plies.
    missing_min = 0.3 in 0.01..=2.0 step 0.1;
    /// Distribution of errors: 0 Student t with 2 degrees of freedom, 1 normal, 2 logistic, 3
    /// Laplace.
    error_family = 0.0 in 0.0..=3.0 step 1.0;
    /// How much less an evaluation is worth when it is selected without the answers in flight: c in
    /// 1 - c·(leaves in flight / visits). Larger makes smaller batches.
    pending_cost = 3.0 in 0.1..=100.0 step 0.5;
    /// Fixed cost of a batch, in evaluations; 0 = as measured or as the device states. Larger makes
    /// larger batches. Where evaluations are the clock (`nodestime`), a batch takes this more.
    fixed_cost = 0.0 in 0.0..=100_000.0 step 8.0;
    /// Launch overhead of a batch, in evaluations; hidden when two batches are in flight.
    handover = 2.5 in 0.0..=1000.0 step 0.5;
    /// CPU cost per leaf, as a share of the fixed cost of a batch, where it is not measured (under
    /// a clock it is); also hidden when two batches are in flight.
    host_share = 0.003 in 0.0..=1.0 step 0.001;
    /// Batches in flight at once, at most.
    batches_in_flight = 2.0 in 1.0..=4.0 step 1.0;
    /// Evaluations a child may be granted at once, as a share of its visits; larger selects faster.
    grant_share = 0.125 in 0.0..=1.0 step 0.05;
    /// Evaluations a child is granted at least, as a share of its visits; larger selects faster.
    grant_least = 0.016 in 0.0..=1.0 step 0.004;
    /// Error scales subtracted from a root move's value when the move to play is chosen.
    final_caution = 0.48 in 0.0..=4.0 step 0.1;
    /// Bonus for a root move's visits when the move to play is chosen, score units per natural
    /// logarithm.
    final_work = 0.0133 in 0.0..=1.0 step 0.02;
    /// Evaluations below a position from which it is encoded whole, which starts new chains for its
    /// children.
    anchor_work = 128.0 in 1.0..=1_000_000.0 step 16.0;
    /// Distance from its own anchor, in plies, from which such a position is encoded whole.
    anchor_staleness = 1.0 in 1.0..=8.0 step 1.0;
    /// Share of `Hash` for the transposition table. `evaluations_share` of it is for evaluations by
    /// position, and the tree has what is left.
    table_share = 0.25 in 0.0..=0.9 step 0.05;
    /// Share of `Hash` for evaluations by position, so that none is evaluated twice in one tree or
    /// in a game's next trees; 0 = every time.
    evaluations_share = 0.15 in 0.0..=0.5 step 0.05;
    /// PUCT: weight of the policy against the value (lc0's `CPuct`, for values in [-1, 1]).
    puct_exploration = 1.0 in 0.0..=10.0 step 0.2;
    /// PUCT: growth of that weight with the logarithm of the visits (`CPuctFactor`).
    puct_growth = 3.894 in 0.0..=20.0 step 0.5;
    /// PUCT: visits at which the growth sets in (`CPuctBase`).
    puct_base = 38739.0 in 1.0..=1_000_000.0 step 2000.0;
    /// PUCT: how far a child never visited starts below its parent's value, per square root of the
    /// policy visited (`FpuValue`, for values in [-1, 1]).
    puct_reduction = 0.12 in 0.0..=2.0 step 0.05;
    /// PUCT: temperature of the policy (`PolicyTemperature`); larger = flatter.
    puct_temperature = 1.17 in 0.1..=5.0 step 0.1;
    /// PUCT: share of minimax in the backup; the rest is the average of all visits.
    puct_minimax = 0.35 in 0.0..=1.0 step 0.1;
    /// Plies to which the rules alone look for a mate at a leaf: 1 = a mate in one, 2 = moves that
    /// all allow one too, 3 = a mate in two by a check too. From 2 on all moves of the root are
    /// looked through for a mate in two.
    mate_plies = 3.0 in 1.0..=3.0 step 1.0;
    /// Evaluations below a position from which all its moves are looked through for a mate in two;
    /// 0 = never.
    mate_visits = 32.0 in 0.0..=1_000_000.0 step 16.0;
    /// Smallest depth of a value that is stored in the table, plies.
    table_depth = 1.0 in 0.0..=16.0 step 0.5;
    /// Policy from which a new child is looked up in the table at once; the others when selected,
    /// because a lookup costs a cache miss.
    table_policy = 0.1 in 0.0..=1.0 step 0.01;
    /// Price of a planned time of 4,000 visits, score units: stop when the gain expected from
    /// doubling the tree is below the price of the time that takes. Larger stops sooner.
    stop_gain = 0.0011 in 0.0..=0.1 step 0.0002;
    /// How that price falls with the visits of the planned time, as their power; 0 = not.
    stop_decay = 0.37 in 0.0..=1.0 step 0.1;
    /// Maximum thinking time, in planned times.
    doubt_extension = 2.0 in 1.0..=5.0 step 0.25;
}

impl Params {
    /// Sets the tunable `name`.
    ///
    /// # Errors
    /// A [`ParamError`] where there is no such tunable or the value is out of its range; the old
    /// value stays.
    pub fn set(&mut self, name: &str, value: f32) -> Result<(), ParamError> {
        let unknown = || ParamError::Unknown(name.to_owned());
        let row = Self::TUNABLES.iter().find(|row| row.name == name).ok_or_else(unknown)?;
        if !(row.min..=row.max).contains(&value) {
            let (name, min, max) = (row.name, row.min, row.max);
            return Err(ParamError::OutOfRange { name, min, max, value: value.to_string() });
        }
        self.field(name).map(|field| *field = value).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_readable() {
        let params = Params::default();
        for row in Params::TUNABLES {
            assert!((row.min..=row.max).contains(&row.default), "{}", row.name);
            assert_eq!(params.get(row.name), Some(row.default));
            assert!(row.step > 0.0 && row.doc.len() > 10);
        }
    }

    #[test]
    fn sets_what_is_in_range_only() {
        let mut params = Params::default();
        assert_eq!(params.set("branching", 3.0), Ok(()));
        assert_eq!(params.get("branching"), Some(3.0));
        assert!(params.set("branching", 0.5).is_err());
        assert!(params.set("branching", f32::NAN).is_err());
        assert_eq!(params.get("branching"), Some(3.0));
        let text = params.set("brunching", 1.0).unwrap_err().to_string();
        assert_eq!(text, "there is no tunable named brunching");
    }
}
