//! Tesla's searches and its UCI front end: a library and the thin binary `tesla`.
//!
//! No module here knows tensors. In reading order, each one built on those above it:
//!
//! * [`chess`] — what needs no search: the game, scores, notation, endgame tables;
//! * [`search`] — the interface of every search mode; time budget and transposition table;
//! * [`console`] — output, the terminal, file locks;
//! * [`tree`] — the search tree; it knows no selection rule;
//! * [`best_first`] — **the search this engine is about**, with PUCT as its control;
//! * [`alphabeta`] — the baseline: alpha-beta over the classical evaluation or a network;
//! * [`minimax`] — plain recursion, alpha-beta without and with ordering, exhaustive search;
//! * [`three_state`] — a search that acts, guesses or calculates, and remembers;
//! * [`enumerate`] — all positions that can be reached without a pawn move or capture;
//! * [`setup`] — the options, the search modes, and the construction of a search;
//! * [`commands`] — `bench`, `perft`, `doctor` and the other commands of the program;
//! * [`uci`] — the protocol;
//! * `view` — the search in a browser (feature `view`).

pub mod alphabeta;
pub mod best_first;
pub mod chess;
pub mod commands;
pub mod console;
pub mod enumerate;
pub mod minimax;
pub mod search;
pub mod setup;
pub mod three_state;
pub mod tree;
pub mod uci;
#[cfg(feature = "view")]
pub mod view;
