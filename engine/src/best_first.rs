//! Best-first minimax, the search this engine is about, and PUCT as its control. In reading order:
//!
//! * [`search`] — the loop: select, evaluate, expand, back up;
//! * [`rule`] — what a selection rule decides, and its three implementations:
//!   * [`tesla`] — benefit per cost: [`fill_batch`] is its way down the tree,
//!     [`benefit_cost_ratio`] the ratio of the probability that a move overtakes the best
//!     ([`overtake`]) to the [`mod@cost`] of one more ply;
//!   * [`puct`] — the control;
//!   * [`mod@mate`] — either of them in search of a mate (`go mate`);
//! * [`lead`] — the two best children; [`error_model`] — how far a value may still move;
//!   [`backup`] — a node's value from its children's;
//! * [`stop`] — when a search ends; [`satisfaction`] — when more search is not worth its time;
//!   [`spent`] — what these are told of the time;
//!   `lines` — several lines where one is proven; [`root`] — from the tree to the move; `report` —
//!   what is reported on the way;
//! * [`explain`] — how a rule rates all children of a node, for display; `share` — the shares of
//!   the next evaluations; `snapshot` — the search seen from outside;
//! * `device` — the evaluator and its batches; `batch_size` — how many batches, and their size;
//! * `start` — what carries over from one search to the next; [`params`] — the tunables.

pub mod backup;
mod batch_size;
pub mod benefit_cost_ratio;
pub mod cost;
mod device;
pub mod error_model;
pub mod explain;
pub mod fill_batch;
pub mod lead;
mod lines;
pub mod mate;
pub mod overtake;
pub mod params;
pub mod puct;
mod report;
pub mod root;
pub mod rule;
pub mod satisfaction;
pub mod search;
mod share;
mod snapshot;
pub mod spent;
mod start;
pub mod stop;
pub mod tesla;

pub use self::params::Params;
pub use self::search::BestFirst;
