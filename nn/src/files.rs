//! Files: the one place where the workspace reads and writes them safely.
//!
//! Writing: [`replace`] for content in memory, [`NewFile`] for content that is written bit by bit.
//! Both write beside the file, wait for the disk and rename, so that a kill or a power cut leaves
//! the old content or the new. Neither replaces a folder, a pipe, a socket or a device.
//!
//! Reading: [`read_bounded`] and [`read_text`] for content that is kept, [`open`] and
//! [`open_bounded`] for content that streams by. In place: [`edit`], [`append`] and their like. All
//! accept regular files only, so that no pipe makes a program wait and no device fills its memory.
//!
//! Nothing else in the workspace opens a file; `benches/tests/tidy.rs` sees to it.
//!
//! [`sha256`] tells one content from another.
//!
//! Errors: [`FileError`] names the path, what was tried, the system's words and the remedy.

mod error;
mod hash;
mod open;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::{FileCause, FileError, FileKind};
pub use hash::sha256;
pub use open::{append, append_log, edit, edit_or_make, is_null, make, open, open_bounded};
pub use read::{LARGEST, is_same, read_bounded, read_text};
pub use write::{NewFile, make_folder, remove_unfinished, replace, sync_folder};
