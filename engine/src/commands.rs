//! The commands of the program besides UCI, one file each.
//!
//! * [`mod@bench`], [`perft`] — fixed work: the signature of the search, and the move generator's
//!   check;
//! * [`genfens`] — openings for self-play;
//! * [`about`], [`describenet`] — the program's version and features; what is known of a network;
//! * [`doctor`], [`benchmark`] — a check of the machine; what its devices can do;
//! * [`analyse`], [`review`] — positions and games, for other programs and for people;
//! * [`minimax`], [`enumerate`], [`experience`] — the other searches from the command line.

pub mod about;
pub mod analyse;
pub mod bench;
pub mod benchmark;
pub mod describenet;
pub mod doctor;
pub mod enumerate;
pub mod experience;
pub mod genfens;
pub mod minimax;
pub mod perft;
pub mod review;

use std::path::Path;

use tesla_nn::files;

/// Refuses an output that cannot be written: into a folder that is not there, or in the place of
/// one. So nothing is computed in vain.
///
/// # Errors
/// A sentence that names the folder.
pub fn check_output(file: &Path) -> Result<(), String> {
    if file.is_dir() {
        return Err(format!("{} is a folder; name a file", file.display()));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let (folder, name) = (folder.display(), file.display());
        return Err(format!("there is no folder {folder} for {name}; make it first"));
    }
    Ok(())
}

/// Refuses an output that would replace what is read, which is `what`.
pub(crate) fn spare(input: &Path, what: &str, output: &Path) -> Result<(), String> {
    if files::is_same(input, output) {
        let name = output.display();
        return Err(format!("{name} holds the {what}, and is not replaced; name another file"));
    }
    Ok(())
}
