//! Where programs are, the files that they are given, and the hashes of both.

use std::path::{Path, PathBuf};

use tesla_nn::files::{LARGEST, read_bounded, sha256};

use super::side::Side;

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

/// SHA-256 of the program of a side, hexadecimal, and of the files that it is given, each behind
/// its name; `unknown` where a file is not found, nothing for a side of ours.
pub fn program_hash(side: &Side) -> String {
    let Some(cmd) = &side.cmd else { return String::new() };
    let hash = |path: &Path| read_bounded(path, LARGEST).ok().map(|bytes| sha256(&bytes));
    let told = |hash: Option<String>| hash.unwrap_or_else(|| "unknown".to_owned());
    let program = find(cmd).and_then(|path| hash(&path));
    named_files(side)
        .into_iter()
        .fold(told(program), |all, (name, path)| all + &format!(", {name} {}", told(hash(&path))))
}

/// The existing files that options and arguments of a side's program name, such as its network,
/// each with the option's name or `argument`; but no logs and others that the engine itself writes.
fn named_files(side: &Side) -> Vec<(&str, PathBuf)> {
    let here = || side.dir.clone().unwrap_or_default();
    let beside = side.cmd.as_deref().and_then(find);
    let beside = beside.and_then(|program| program.parent().map(Path::to_owned));
    let file = |text: &str| {
        // An absolute path replaces the folder.
        let places = [Some(here()), beside.clone()].into_iter().flatten();
        places.map(|folder| folder.join(text)).find(|path| path.is_file())
    };
    let is_written = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["log", "experience", "learn"].iter().any(|word| name.contains(word))
    };
    let options = side.option.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let options =
        options.filter(|(name, _)| !is_written(name)).map(|(name, value)| (name, file(value)));
    let before = std::iter::once("").chain(side.args.iter().map(String::as_str));
    let arguments = before.zip(&side.args).filter_map(|(before, argument)| {
        // `--weights FILE` and `--weights=FILE`; a file that stands alone has no name before it.
        let (name, value) = argument.split_once('=').unwrap_or((before, argument));
        (!is_written(name) || !name.starts_with('-')).then(|| ("argument", file(value)))
    });
    let named = options.chain(arguments);
    named.filter_map(|(name, path)| Some((name, path?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_an_engine_is_given_are_found() {
        let folder = std::env::temp_dir().join(format!("tesla-named-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.net"), "1").unwrap();
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut side = Side {
            cmd: Some("no-such-program-of-ours".into()),
            dir: Some(folder.clone()),
            args: ["--x", "a.net", "--weights=a.net", "--logfile", "a.net"]
                .map(str::to_owned)
                .into(),
            ..Side::default()
        };
        side.option.0 = vec![option("EvalFile", "a.net"), option("Debug Log File", "a.net")];
        side.option.0.push(option("Threads", "2"));
        let names: Vec<&str> = named_files(&side).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["EvalFile", "argument", "argument"]);
        let hash = program_hash(&side);
        assert!(hash.starts_with("unknown, EvalFile ") && hash.contains(", argument "), "{hash}");
        std::fs::write(folder.join("a.net"), "2").unwrap();
        assert_ne!(program_hash(&side), hash);
        (side.args, side.option) = Default::default();
        assert_eq!(program_hash(&side), "unknown", "as before there were such files");
        std::fs::remove_dir_all(&folder).unwrap();
    }

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
