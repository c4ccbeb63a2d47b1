//! Content is old or new and never half; nothing but a regular file is read or replaced.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
    let folder = folder();
    let path = folder.path().join("a.json");
    replace(&path, b"first, and longer").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first, and longer");
    replace(&path, b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn a_new_file_appears_when_it_is_committed() {
    let folder = folder();
    let path = folder.path().join("games");
    replace(&path, b"old").unwrap();
    let mut file = NewFile::create(&path).unwrap();
    assert_eq!(file.path(), path);
    file.write_all(&vec![7; 100_000]).unwrap();
    file.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), vec![7; 100_000]);
    assert_eq!(names(folder.path()), ["games"]);
}

#[test]
fn a_new_file_that_is_dropped_leaves_the_old_one() {
    let folder = folder();
    let path = folder.path().join("games");
    replace(&path, b"old").unwrap();
    let mut file = NewFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["games"]);
}

#[test]
fn of_two_writers_the_last_to_commit_wins() {
    let folder = folder();
    let path = folder.path().join("a");
    let [mut one, mut two] = [(); 2].map(|()| NewFile::create(&path).unwrap());
    one.write_all(b"one").unwrap();
    two.write_all(b"two").unwrap();
    two.commit().unwrap();
    one.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn what_killed_writers_leave_is_removed_and_nothing_else() {
    let folder = folder();
    let path = folder.path().join("a.json");
    for file in [NewFile::create(&path).unwrap(), NewFile::create(&path).unwrap()] {
        // A killed process runs no destructor.
        std::mem::forget(file);
    }
    let others =
        ["a.json", "a.json.new", "a.json.old.new", "b.json.abc123.new", "a.json.abc12 .new"];
    for other in others {
        fs::write(folder.path().join(other), "theirs").unwrap();
    }
    assert_eq!(names(folder.path()).len(), others.len() + 2);
    remove_unfinished(&path).unwrap();
    let mut left = others.map(str::to_owned);
    left.sort();
    assert_eq!(names(folder.path()), left);
    remove_unfinished(&folder.path().join("missing/a.json")).unwrap();
}

#[test]
fn a_folder_is_neither_read_nor_replaced() {
    let folder = folder();
    let path = folder.path().join("sub");
    make_folder(&path).unwrap();
    make_folder(&path).unwrap();
    fs::write(path.join("inside"), "x").unwrap();
    let refused = |error: FileError, action: &str| {
        let path = path.display();
        let sentence = format!(
            "cannot {action} {path}: it is a folder, not a regular file; name a file in it"
        );
        assert_eq!(error.to_string(), sentence);
    };
    refused(replace(&path, b"x").unwrap_err(), "write");
    refused(open(&path).unwrap_err(), "read");
    refused(read_bounded(&path, 10).unwrap_err(), "read");
    assert!(path.join("inside").exists());
    assert!(make_folder(&path.join("inside/deeper")).is_err());
}

#[test]
fn a_path_without_a_file_name_is_refused() {
    for path in ["", "..", "/"] {
        assert!(replace(Path::new(path), b"x").is_err(), "{path}");
        assert!(read_bounded(Path::new(path), 10).is_err(), "{path}");
    }
    let error = replace(Path::new(""), b"x").unwrap_err();
    assert!(matches!(error.cause, FileCause::NoName), "{error}");
}

#[test]
fn a_missing_file_is_told_from_other_errors() {
    let folder = folder();
    let path = folder.path().join("missing");
    let error = read_bounded(&path, 10).unwrap_err();
    assert!(error.is_missing());
    let sentence = error.to_string();
    let start = format!("cannot read {}: ", path.display());
    assert!(sentence.starts_with(&start) && sentence.ends_with("; check the path"), "{sentence}");
    // The folder of a new file must be there; the error names the file, not the unfinished one.
    let error = replace(&path.join("file"), b"x").unwrap_err();
    assert!(error.is_missing() && !error.to_string().contains(".new"), "{error}");
    assert!(!open(folder.path()).unwrap_err().is_missing());
}

#[test]
fn content_is_read_up_to_its_limit() {
    let folder = folder();
    let path = folder.path().join("a");
    replace(&path, b"12345").unwrap();
    assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
    assert_eq!(read_bounded(&path, u64::MAX).unwrap(), b"12345");
    let error = read_bounded(&path, 4).unwrap_err();
    assert!(matches!(error.cause, FileCause::TooLarge { limit: 4 }), "{error}");
    assert!(error.to_string().contains("more than 4 bytes"), "{error}");
    replace(&path, b"").unwrap();
    assert_eq!(read_bounded(&path, 0).unwrap(), b"");
}

#[test]
fn a_sparse_file_without_end_is_refused_at_once() {
    let folder = folder();
    let path = folder.path().join("a");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read_bounded(&path, 1 << 20).unwrap_err();
    assert!(matches!(error.cause, FileCause::TooLarge { .. }), "{error}");
}

#[test]
fn a_file_grows_and_changes_in_its_place() {
    let folder = folder();
    let path = folder.path().join("a");
    assert!(edit(&path).unwrap_err().is_missing());
    append(&path).unwrap().write_all(b"12").unwrap();
    append(&path).unwrap().write_all(b"34").unwrap();
    edit(&path).unwrap().write_all(b"5").unwrap();
    edit_or_make(&path).unwrap().write_all(b"6").unwrap();
    append_log(&path).unwrap().write_all(b"7").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"62347");
    assert!(make(&path).unwrap_err().is_there_already());
    make(&folder.path().join("b")).unwrap();
    edit_or_make(&folder.path().join("c")).unwrap();
    assert_eq!(names(folder.path()), ["a", "b", "c"]);
}

#[test]
fn text_is_utf_8() {
    let folder = folder();
    let path = folder.path().join("a");
    replace(&path, "Zürich".as_bytes()).unwrap();
    assert_eq!(read_text(&path, 100).unwrap(), "Zürich");
    replace(&path, b"Z\xfcrich").unwrap();
    let error = read_text(&path, 100).unwrap_err();
    assert!(matches!(error.cause, FileCause::NotText), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn what_is_written_is_read(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20_000), 0..5),
    ) {
        let folder = folder();
        let path = folder.path().join("a");
        let mut file = NewFile::create(&path).unwrap();
        for piece in &pieces {
            file.write_all(piece).unwrap();
        }
        file.commit().unwrap();
        let whole = pieces.concat();
        prop_assert_eq!(&read_bounded(&path, whole.len() as u64).unwrap(), &whole);
        prop_assert!(whole.is_empty() || read_bounded(&path, whole.len() as u64 - 1).is_err());
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_is_refused_and_never_waited_for() {
        let folder = folder();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        is_refused(&path, FileKind::Pipe);
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        is_refused(&link, FileKind::Pipe);
        // Even if it takes the name of a file between look and open.
        open::open_at_once(&path, fs::File::options().read(true)).unwrap();
    }

    #[test]
    fn sockets_and_devices_are_refused() {
        let folder = folder();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        is_refused(&path, FileKind::Socket);
        is_refused(Path::new("/dev/null"), FileKind::Device);
        is_refused(Path::new("/dev/zero"), FileKind::Device);
    }

    #[test]
    fn a_log_may_go_to_a_device_that_takes_letters_and_nothing_else() {
        let folder = folder();
        append_log(Path::new("/dev/null")).unwrap().write_all(b"x").unwrap();
        assert!(append_log(Path::new("/dev/full")).unwrap().write_all(b"x").is_err());
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(append_log(&path).is_err() && append_log(folder.path()).is_err());
    }

    #[test]
    fn the_null_device_is_known_by_every_name() {
        let folder = folder();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        assert!(is_null(Path::new("/dev/null")) && is_null(&link));
        let empty = folder.path().join("empty");
        replace(&empty, b"").unwrap();
        for path in [&empty, &folder.path().join("missing"), Path::new("/dev/zero")] {
            assert!(!is_null(path), "{}", path.display());
        }
    }

    fn is_refused(path: &Path, kind: FileKind) {
        let errors = [
            replace(path, b"x").unwrap_err(),
            read_bounded(path, 10).unwrap_err(),
            append(path).unwrap_err(),
            edit(path).unwrap_err(),
            edit_or_make(path).unwrap_err(),
        ];
        for error in errors {
            let is_kind = matches!(error.cause, FileCause::NotRegular(other) if other == kind);
            assert!(is_kind && error.to_string().contains(&kind.to_string()), "{error}");
        }
        assert!(fs::symlink_metadata(path).is_ok());
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = folder();
        make_folder(&folder.path().join("far")).unwrap();
        let (file, link) = (folder.path().join("far/file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink("far/file", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read_bounded(&link, 10).unwrap(), b"new");
        // A link that leads nowhere is left alone.
        fs::remove_file(&file).unwrap();
        assert!(replace(&link, b"new").unwrap_err().is_missing());
        assert_eq!(names(folder.path()), ["far", "link"]);
    }

    #[test]
    fn permissions_are_those_of_the_old_file_or_as_usual() {
        let folder = folder();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let [usual, path] = ["usual", "path"].map(|name| folder.path().join(name));
        fs::write(&usual, "x").unwrap();
        replace(&path, b"x").unwrap();
        assert_eq!(mode(&path), mode(&usual));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"y").unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn a_full_disk_is_told_with_its_remedy() {
        // Every write to this device fails as on a full disk.
        let error = fs::write("/dev/full", "x").unwrap_err();
        let sentence = FileError::at("write", Path::new("games"))(error).to_string();
        assert!(sentence.starts_with("cannot write games: No space left"), "{sentence}");
        assert!(sentence.ends_with("; free some space and try again"), "{sentence}");
    }
}
