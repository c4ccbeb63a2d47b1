//! Tesla's searches and its UCI front end: a library and the thin binary `tesla`.
//!
//! This room knows no tensors. In reading order:
//!
//! * [`score`], [`search_api`] — the words all searches share: scores, limits, reports, outcome;
//! * [`history`] — the game so far: repetitions and the fifty-move clock;
//! * [`tablebase`] — Syzygy tables, for every search;
//! * [`timeman`] — clock to budget; the only file that reads the time;
//! * [`table`] — the transposition table, 128 bits an entry;
//! * [`tesla`] — the Tesla search: the loop around the device;
//! * [`params`], [`estimate`] — its tunables, and its model of how far a value may still move;
//! * [`node`], [`mod@edge`], [`tree`] — its tree; [`gather`], [`leaf`] — the next batch; [`rules`] — what needs no
//!   device;
//! * [`mod@mate`] — what `go mate` answers;
//! * [`puct`] — the control: PUCT's choice and backup on the same tree; [`rule`] — either of them;
//! * [`expand`], [`backup`] — answers into the tree and up to the root;
//! * [`reuse`], [`answer`] — what survives a move, and what is told at its end;
//! * [`alphabeta`] — the baseline: alpha-beta over the classical evaluation or a network;
//! * [`minimax`] — the foundation: plain recursion, alpha-beta without and with ordering, exhaustive search;
//! * [`three_state`] — the decider that acts, guesses or calculates, and remembers;
//! * [`options`], [`roster`] — what the user can choose, and how it becomes a search that runs;
//! * `network` — the embedded network and its device (feature `net`);
//! * [`handicap`] — playing weaker on purpose;
//! * [`uci`] — the protocol; nothing else prints;
//! * [`terminal`] — a bar and Ctrl-C for long commands; [`mod@lock`] — files that one program writes at a time;
//! * [`about`], [`doctor`] — what the program is, and what it sees of the machine;
//! * [`mod@bench`], [`perft`] — fixed work: the signature of the search, and the rules' check.

pub mod about;
pub mod alphabeta;
pub mod answer;
pub mod backup;
pub mod bench;
pub mod doctor;
pub mod edge;
pub mod enumerate;
pub mod estimate;
pub mod expand;
pub mod gather;
pub mod genfens;
pub mod handicap;
pub mod history;
pub mod leaf;
pub mod lock;
pub mod mate;
pub mod minimax;
#[cfg(feature = "net")]
pub mod network;
pub mod node;
pub mod options;
pub mod params;
pub mod perft;
pub mod puct;
pub mod rates;
pub mod reuse;
pub mod roster;
pub mod rule;
pub mod rules;
pub mod score;
pub mod search_api;
pub mod table;
pub mod tablebase;
pub mod terminal;
pub mod tesla;
pub mod three_state;
pub mod timeman;
pub mod tree;
pub mod uci;
