//! How long an enumeration took, over all the runs that it took.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tesla_nn::files::read_text;

use crate::search::clock::Stopwatch;

/// Clock ticks per second in Linux's `/proc`.
const TICKS: f64 = 100.0;

/// Elapsed and processor time, as a shell's `time` prints them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Wall-clock time.
    pub real: Duration,
    /// Processor time in the program.
    pub user: Duration,
    /// Processor time in the system.
    pub sys: Duration,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |time: Duration| {
            let minutes = time.as_secs() / 60;
            format!("{minutes}m{:.3}s", time.as_secs_f64() - 60.0 * minutes as f64)
        };
        write!(f, "- real {}", text(self.real))?;
        if self.user.is_zero() {
            return Ok(());
        }
        write!(f, "\n- user {}\n- sys {}", text(self.user), text(self.sys))
    }
}

/// Measures on from what earlier runs took.
#[derive(Debug)]
pub(super) struct Clock {
    earlier: Times,
    started: Stopwatch,
}

impl Clock {
    /// Starts now.
    pub(super) fn new(earlier: Times) -> Self {
        Self { earlier, started: Stopwatch::start() }
    }

    /// Since this run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Over all runs. Processor times are known on Linux only, and stay 0 elsewhere.
    pub(super) fn times(&self) -> Times {
        let (user, sys) = process_times().unwrap_or_default();
        Times {
            real: self.earlier.real + self.elapsed(),
            user: self.earlier.user + user,
            sys: self.earlier.sys + sys,
        }
    }
}

fn process_times() -> Option<(Duration, Duration)> {
    let text = read_text(Path::new("/proc/self/stat"), 1 << 12).ok()?;
    // The program's name is in parentheses and may hold anything; after it come fields 3, 4, ….
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next =
        || Some(Duration::from_secs_f64(f64::from(fields.next()?.parse::<u32>().ok()?) / TICKS));
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_a_shell_does() {
        let times = Times {
            real: Duration::from_millis(91 * 60_000 + 31_923),
            user: Duration::from_millis(42_208),
            sys: Duration::ZERO,
        };
        assert_eq!(times.to_string(), "- real 91m31.923s\n- user 0m42.208s\n- sys 0m0.000s");
    }

    #[test]
    fn runs_add_up() {
        let earlier = Times { real: Duration::from_secs(5), ..Times::default() };
        assert!(Clock::new(earlier).times().real >= earlier.real);
    }
}
