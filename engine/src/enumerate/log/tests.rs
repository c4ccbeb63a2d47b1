use super::*;
use crate::enumerate::test_folder::TestFolder;

fn contents(log: &Log, folder: &Path) -> Result<Vec<u8>, EnumerateError> {
    let mut all = Vec::new();
    log.read(folder, &mut |block| {
        all.extend_from_slice(block);
        Ok(())
    })?;
    Ok(all)
}

#[test]
fn what_was_appended_comes_back() {
    let folder = TestFolder::new();
    let mut log = Log::new(Kind::Packed, 7, 0);
    assert_eq!(contents(&log, folder.path()).unwrap(), b"");
    let long: Vec<u8> = (0..BLOCK * 2 + 5).map(|i| i as u8).collect();
    log.append(folder.path(), &long).unwrap();
    log.append(folder.path(), b"end").unwrap();
    log.sync(folder.path()).unwrap();
    assert_eq!(contents(&log, folder.path()).unwrap(), [&long[..], b"end"].concat());
}

#[test]
fn what_does_not_count_is_cut_off() {
    let folder = TestFolder::new();
    let mut log = Log::new(Kind::Packed, 7, 0);
    log.append(folder.path(), b"counts").unwrap();
    let mut checked_in = log.clone();
    log.append(folder.path(), b"is lost").unwrap();
    assert_eq!(contents(&checked_in, folder.path()).unwrap(), b"counts");
    checked_in.append(folder.path(), b", too").unwrap();
    assert_eq!(contents(&checked_in, folder.path()).unwrap(), b"counts, too");
}

#[test]
fn a_file_goes_when_no_state_speaks_of_it() {
    let folder = TestFolder::new();
    for is_checked_in in [false, true] {
        let mut log = Log::new(Kind::Inbox, 7, 0);
        log.append(folder.path(), b"contents").unwrap();
        let path = folder.path().join(log.name());
        if is_checked_in {
            log.sync(folder.path()).unwrap();
            log.append(folder.path(), b", and more").unwrap();
        }
        log.discard(folder.path()).unwrap();
        assert_eq!(path.exists(), is_checked_in);
    }
}

#[test]
fn no_bit_may_change() {
    let folder = TestFolder::new();
    let mut log = Log::new(Kind::Packed, 7, 0);
    log.append(folder.path(), b"first").unwrap();
    log.append(folder.path(), b"second").unwrap();
    let path = folder.path().join(log.name());
    let bytes = std::fs::read(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, changed).unwrap();
        let error = contents(&log, folder.path()).unwrap_err();
        assert!(matches!(error, EnumerateError::Damaged { .. }), "bit {bit}: {error}");
    }
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(contents(&log, folder.path()).is_err(), "{length} bytes");
    }
    // Nor may a file take the place of another one.
    std::fs::write(folder.path().join(log.successor().name()), &bytes).unwrap();
    let other = Log { length: bytes.len() as u64, ..log.successor() };
    assert!(contents(&other, folder.path()).is_err());
}
