//! Where programs are.

use std::path::{Path, PathBuf};

/// Folders of engines that are not in everybody's PATH: Debian keeps games out of root's.
const USUAL: [&str; 5] =
    ["/usr/games", "/usr/local/games", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin"];

/// The file of a program. A bare name is looked up in PATH and then in the usual folders of
/// engines; anything else is a path. `None` = there is no such file.
pub fn find(program: &Path) -> Option<PathBuf> {
    let is_bare = program.parent().is_some_and(|parent| parent.as_os_str().is_empty());
    if !is_bare {
        return program.is_file().then(|| program.to_owned());
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let usual = USUAL.iter().map(PathBuf::from);
    std::env::split_paths(&paths).chain(usual).find_map(|folder| {
        let file = folder.join(program);
        let with_suffix = file.with_extension(std::env::consts::EXE_EXTENSION);
        [file, with_suffix].into_iter().find(|file| file.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_are_looked_up_and_paths_are_not() {
        let this = std::env::current_exe().unwrap();
        assert_eq!(find(&this), Some(this));
        assert_eq!(find(Path::new("no-such-program-of-ours")), None);
        assert_eq!(find(Path::new("./cargo")), None);
        // Whoever runs this test has it in PATH, or in none of the folders.
        assert!(find(Path::new("cargo")).is_none_or(|path| path.is_file()));
    }
}
