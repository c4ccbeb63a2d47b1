//! `tesla-train report`: everything that was measured on one page, to be read offline.
//!
//! Folders and files of other commands go in and are recognised by what they hold (`sources`);
//! one HTML file with its pictures inside comes out. Nothing is measured here.

mod chart;
pub mod command;
mod errors;
mod games;
mod law;
mod network;
mod page;
mod players;
mod sources;
mod training;
