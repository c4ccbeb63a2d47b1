//! Who may use an experience: every search of the process that names its file, one at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::experience::Experience;
use super::file::{self, ExperienceFile, FileError, Opened};
use super::record::Record;

/// A file is rewritten when it has this many times the records that a new one would take.
const OLD_SHARE: usize = 2;
/// And how many more, so that a small file is not rewritten all the time.
const OLD_RECORDS: usize = 4_096;

/// The files that searches of this process have open: the one thing in the engine that is global,
/// because the parallel games of a match, which know nothing of each other, learn together.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<Store>>>>> = LazyLock::new(Mutex::default);

/// An experience and the file that it is kept in.
#[derive(Debug)]
struct Store {
    experience: Experience,
    /// `None`: in memory only.
    file: Option<ExperienceFile>,
    /// Whether something was learnt since the file was opened.
    has_learnt: bool,
    /// Why the file is no longer written, until it is reported.
    error: Option<String>,
}

/// A share of an experience. The file is closed with the last one.
#[derive(Debug)]
pub(crate) struct Memory {
    store: Arc<Mutex<Store>>,
    /// Its key among the open ones.
    path: Option<PathBuf>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking search left behind is whole: nothing in here panics half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One name for a file, however it is written.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (whole.parent().map(Path::canonicalize), whole.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => whole,
    }
}

/// A file's experience, to look at, and how many bytes at its end are of a record that is not
/// whole.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn load(path: &Path) -> Result<(Experience, usize), FileError> {
    let mut experience = Experience::new(usize::MAX);
    let (_, opened) = file::read(path, |record| experience.apply(&record))?;
    Ok((experience, opened.cut_bytes))
}

impl Memory {
    /// An experience of at most `size` positions that ends with the search.
    pub(crate) fn in_memory(size: usize) -> Self {
        let store = Store::of(Experience::new(size), None);
        Self { store: Arc::new(Mutex::new(store)), path: None }
    }

    /// The experience of a file, shared with the other searches of this process; and a sentence
    /// where a crash had cut its last record short, or the file was empty or holds more.
    ///
    /// # Errors
    /// When the file cannot be used; it stays as it is then.
    pub(super) fn open(path: &Path, size: usize) -> Result<(Self, Option<String>), FileError> {
        let path = canonical(path);
        let mut open = lock(&OPEN);
        if let Some(store) = open.get(&path) {
            let experience = &mut lock(store).experience;
            let had_forgotten = experience.has_forgotten();
            experience.set_size(size);
            let note = experience.has_forgotten() && !had_forgotten;
            let note = note.then(|| too_small(&path, size));
            return Ok((Self { store: Arc::clone(store), path: Some(path) }, note));
        }
        let mut experience = Experience::new(size);
        let (file, opened) = ExperienceFile::open(&path, |record| experience.apply(&record))?;
        let name = path.display();
        let is_too_small = experience.has_forgotten().then(|| too_small(&path, size));
        let note = match opened {
            Opened { was_empty: true, .. } => Some(format!(
                "the experience file {name} was empty, so a new experience begins in it; if it \
                 held one before, end this program and put a copy in its place"
            )),
            Opened { cut_bytes: 0, .. } => None,
            Opened { cut_bytes, .. } => Some(format!(
                "a crash cut the last record of {name} short; its {cut_bytes} bytes are discarded"
            )),
        };
        let notes: Vec<String> = note.into_iter().chain(is_too_small).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let store = Arc::new(Mutex::new(Store::of(experience, Some(file))));
        open.insert(path.clone(), Arc::clone(&store));
        Ok((Self { store, path: Some(path) }, note))
    }

    /// Asks the experience something.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&Experience) -> T) -> T {
        question(&lock(&self.store).experience)
    }

    /// Takes in what happened. When it returns, it is in the file; the end of a game is on the
    /// disk.
    pub(super) fn record(&self, record: &Record) {
        let mut store = lock(&self.store);
        store.has_learnt = true;
        store.append(record);
        store.experience.apply(record);
        store.tidy(matches!(record, Record::Game(_)));
    }

    /// Why the file is no longer written; reported once.
    pub(super) fn error(&self) -> Option<String> {
        lock(&self.store).error.take()
    }
}

/// Said where a file holds more than may be kept.
fn too_small(path: &Path, size: usize) -> String {
    format!(
        "{} holds more positions than the {size} that are kept (ExperienceSize, --size); the \
         others leave it once something is learnt",
        path.display()
    )
}

impl Store {
    fn of(experience: Experience, file: Option<ExperienceFile>) -> Self {
        Self { experience, file, has_learnt: false, error: None }
    }

    fn append(&mut self, record: &Record) {
        let Some(file) = &mut self.file else { return };
        let mut written = file.append(record);
        if written.is_ok() && matches!(record, Record::Game(_)) {
            written = file.sync();
        }
        if let Err(error) = written {
            self.give_up(&error);
        }
    }

    /// Rewrites the file when most of it is outdated: between games, or when it grows too large.
    fn tidy(&mut self, is_between_games: bool) {
        let Some(file) = &self.file else { return };
        let live = self.experience.len() + self.experience.past().len();
        let most = OLD_RECORDS + OLD_SHARE * live;
        let is_due = file.records() > most && is_between_games || file.records() > 2 * most;
        if let Some(file) = self.file.take_if(|_| is_due) {
            match file.rewrite(self.experience.snapshot()) {
                Ok(file) => self.file = Some(file),
                Err(error) => self.give_up(&error),
            }
        }
    }

    /// Closes the file; what was forgotten leaves it. Whoever only looked changes nothing: the next
    /// one may want to keep more.
    fn close(&mut self) {
        let Some(file) = self.file.take() else { return };
        if self.has_learnt && self.experience.has_forgotten() {
            // Where that fails the file is good as it is, and nobody is left to be told.
            let _ = file.rewrite(self.experience.snapshot());
        }
    }

    /// The file is good as it is; what comes is kept in memory only.
    fn give_up(&mut self, error: &std::io::Error) {
        self.file = None;
        self.error = Some(format!(
            "the experience file cannot be written ({error}); what is learnt from here on is not \
             kept"
        ));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(path) = &self.path else { return };
        let mut open = lock(&OPEN);
        // The register's and ours: nobody else is left, and under the register's lock nobody comes.
        if Arc::strong_count(&self.store) == 2 {
            open.remove(path);
            lock(&self.store).close();
        }
    }
}
