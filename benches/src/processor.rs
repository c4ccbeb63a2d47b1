//! What the processor has done for this process and its threads, where the system tells it (Linux).

#[cfg(feature = "net")]
use std::collections::BTreeMap;
use std::path::Path;

use tesla_nn::files::read_text;

/// Clock ticks of Linux in a second, as it reports them to programs on every machine.
const TICKS: f64 = 100.0;
/// What the system tells of a thread is shorter.
const SHORT: u64 = 1 << 12;

/// Seconds that this process has had the processor: all its threads', in the program and in the
/// system.
pub(crate) fn process_seconds() -> Option<f64> {
    let text = read_text(Path::new("/proc/self/stat"), SHORT).ok()?;
    // After the program's name, which may hold anything: the 14th and 15th fields are times.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

/// The same of the threads that live, by their names.
#[cfg(feature = "net")]
pub(crate) fn thread_seconds() -> BTreeMap<String, f64> {
    let mut threads = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| read_text(&thread.path().join(file), SHORT).ok();
        // The first field is the time on a processor, finer than ticks.
        let (Some(name), Some(text)) = (read("comm"), read("schedstat")) else { continue };
        let spent = text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok());
        *threads.entry(name.trim().to_owned()).or_insert(0.0) += spent.unwrap_or(0.0) / 1e9;
    }
    threads
}
