//! Files that one program writes at a time.

use std::fs::{File, TryLockError};
use std::thread;
use std::time::Duration;

use crate::search::clock::Stopwatch;

/// How long a lock is waited for. A killed program's goes with its last thread, and a child of ours
/// has a copy of all locks between `fork` and `exec`.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock of this file, which goes when the file is closed. A lock that somebody is about
/// to let go of is waited for.
///
/// # Errors
/// When another program keeps it, or the system refuses.
pub fn take(file: &File) -> Result<(), TryLockError> {
    let began = Stopwatch::start();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_of_soon_is_waited_for_and_what_is_kept_is_not() {
        let path = std::env::temp_dir().join(format!("tesla-lock-{}", std::process::id()));
        let open = || File::create(&path).unwrap();
        let (first, second) = (open(), open());
        take(&first).unwrap();
        assert!(matches!(take(&second), Err(TryLockError::WouldBlock)));
        let other = thread::spawn(move || {
            thread::sleep(PATIENCE / 5);
            drop(first);
        });
        take(&second).unwrap();
        other.join().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
