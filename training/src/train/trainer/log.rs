//! What a run tells while it goes on: `loss.csv` and the progress bar.
//!
//! Reads the clock for the speed shown in the progress line.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tesla_nn::files;

use super::held_out::HeldOut;
use super::progress::{Progress, Sums};
use super::{TrainError, access, replace};
use crate::train::config::TrainConfig;

/// Columns of `loss.csv`. The parts of the loss are means over the last [`STEPS`] steps, before
/// the parts' weights; `idle` is the share of the time in which the workers had no data; `skipped`
/// counts all steps so far that were left out; `valid_…` are of held-out positions, where they were
/// measured. New columns come last.
const COLUMNS: [&str; 17] = [
    "step",
    "positions",
    "rate",
    "value",
    "policy",
    "action",
    "error",
    "rmse_points",
    "norm",
    "positions_per_second",
    "consistency",
    "idle",
    "skipped",
    "valid_value",
    "valid_policy",
    "valid_rmse_points",
    "valid_top_1",
];

/// A line of `loss.csv`, by its columns; those of later versions may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct LogLine {
    /// Steps done.
    pub step: u64,
    /// Supervised positions seen.
    pub positions: u64,
    /// Learning rate.
    pub rate: f64,
    /// Loss of the value, nats.
    pub value: f64,
    /// Loss of the policy, nats.
    pub policy: f64,
    /// Loss of the action values.
    pub action: f64,
    /// Loss of the error head, nats.
    pub error: f64,
    /// Root-mean-square error of the value, points.
    pub rmse_points: f64,
    /// Pace.
    pub positions_per_second: f64,
    /// Share of the time in which the workers had no data.
    #[serde(default)]
    pub idle: Option<f64>,
    /// Steps left out so far because they were no numbers.
    #[serde(default)]
    pub skipped: Option<u64>,
    /// Loss of the value on held-out positions, nats.
    #[serde(default)]
    pub valid_value: Option<f64>,
    /// Loss of the policy on held-out positions, nats.
    #[serde(default)]
    pub valid_policy: Option<f64>,
    /// Root-mean-square error of the value on held-out positions, points.
    #[serde(default)]
    pub valid_rmse_points: Option<f64>,
    /// Share of the held-out positions whose best move has the highest prior.
    #[serde(default)]
    pub valid_top_1: Option<f64>,
}

/// The lines of a run's `loss.csv`; one that a kill cut short is skipped.
///
/// # Errors
/// A sentence, when the file cannot be read or is another one.
pub fn read_log(path: &Path) -> Result<Vec<LogLine>, String> {
    let bytes = files::read_bounded(path, files::LARGEST).map_err(|error| error.to_string())?;
    let mut reader = csv::Reader::from_reader(whole_lines(&bytes));
    let lines = reader.deserialize().collect::<Result<Vec<LogLine>, _>>();
    lines.map_err(|error| {
        format!(
            "{} is not a loss.csv of a training run ({error}); name another file",
            path.display()
        )
    })
}

/// The log without a last line that a kill cut short.
fn whole_lines(log: &[u8]) -> &[u8] {
    let end = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    &log[..end]
}

/// Steps of a line.
const STEPS: u64 = 50;

/// Measures the pace since the last line, or since the run was resumed.
#[derive(Debug)]
pub(super) struct Pace {
    started: Instant,
    waited: Duration,
    positions: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), waited: Duration::ZERO, positions: 0 }
    }

    /// Does what the workers have to wait for.
    pub(super) fn wait<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        self.waited += started.elapsed();
        done
    }

    pub(super) fn add(&mut self, positions: u64) {
        self.positions += positions;
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64().max(1e-9)
    }

    fn rate(&self) -> f64 {
        self.positions as f64 / self.seconds()
    }

    /// Share of the time without data.
    fn idle(&self) -> f64 {
        self.waited.as_secs_f64() / self.seconds()
    }
}

/// `loss.csv` of a run.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: fs::File,
    /// Measured last, for the bar.
    last: Option<HeldOut>,
}

impl Log {
    /// Opens the log in `folder` for a run that stands at `step`: lines that a killed run wrote
    /// after its last checkpoint are dropped, as they will be written again, and the columns of
    /// older versions are filled up.
    pub(super) fn open(folder: &Path, step: u64) -> Result<Self, TrainError> {
        let path = folder.join("loss.csv");
        let old = match files::read_bounded(&path, files::LARGEST) {
            Err(error) if error.is_missing() => Vec::new(),
            read => read?,
        };
        let kept = access(&path, mend(&old, step).map_err(std::io::Error::from))?;
        if kept != old {
            replace(&path, &kept)?;
        }
        let file = files::append(&path)?;
        Ok(Self { path, file, last: None })
    }

    /// Writes a line where one is due, and says what the bar is to show.
    pub(super) fn tell(
        &mut self,
        progress: &mut Progress,
        config: &TrainConfig,
        pace: &mut Pace,
    ) -> Result<Option<String>, TrainError> {
        if !progress.step.is_multiple_of(STEPS) || progress.sums.steps == 0 {
            return Ok(None);
        }
        // In one piece, so that a kill leaves no half line that looks like a whole one.
        let line = lines([fields(progress, config, pace)]).map_err(std::io::Error::from);
        let line = access(&self.path, line)?;
        access(&self.path, self.file.write_all(&line))?;
        let held_out = progress.held_out.take();
        self.last = held_out.or(self.last);
        let message = message(&progress.sums, self.last, pace);
        progress.sums = Sums::default();
        *pace = Pace::new();
        Ok(Some(message))
    }
}

fn message(sums: &Sums, held_out: Option<HeldOut>, pace: &Pace) -> String {
    let [value, policy, action, error, squared, _] = sums.means();
    let learnt = format!(
        "{:.0} positions/s, {:.0} % idle, value {value:.3}, policy {policy:.3}, action \
         {action:.4}, error {error:.3}, RMSE {:.2} points",
        pace.rate(),
        100.0 * pace.idle(),
        squared.sqrt() * 100.0
    );
    match held_out {
        Some(HeldOut { rmse_points, top_1, .. }) => {
            format!("{learnt}; held out: RMSE {rmse_points:.2} points, top-1 {top_1:.3}")
        }
        None => learnt,
    }
}

/// The fields of a line, see [`COLUMNS`].
fn fields(progress: &Progress, config: &TrainConfig, pace: &Pace) -> [String; COLUMNS.len()] {
    let sums = &progress.sums;
    let [value, policy, action, error, squared, consistency] = sums.means();
    let valid = |digits: usize, of: fn(&HeldOut) -> f64| {
        progress
            .held_out
            .as_ref()
            .map_or_else(String::new, |valid| format!("{:.digits$}", of(valid)))
    };
    [
        progress.step.to_string(),
        progress.positions.to_string(),
        format!("{:.6}", config.rate_at(progress.step)),
        format!("{value:.4}"),
        format!("{policy:.4}"),
        format!("{action:.4}"),
        format!("{error:.4}"),
        format!("{:.3}", squared.sqrt() * 100.0),
        format!("{:.3}", sums.norm / sums.steps.max(1) as f64),
        format!("{:.0}", pace.rate()),
        format!("{consistency:.5}"),
        format!("{:.4}", pace.idle()),
        progress.guard.skipped.to_string(),
        valid(4, |valid| valid.value),
        valid(4, |valid| valid.policy),
        valid(3, |valid| valid.rmse_points),
        valid(4, |valid| valid.top_1),
    ]
}

/// The log without lines after `step` and without a line that a kill cut short, under today's
/// columns.
fn mend(old: &[u8], step: u64) -> csv::Result<Vec<u8>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(whole_lines(old));
    let mut kept = vec![csv::ByteRecord::from(COLUMNS.to_vec())];
    for line in reader.byte_records() {
        let mut line = line?;
        let at = line.get(0).and_then(|at| std::str::from_utf8(at).ok()?.parse().ok());
        if at.is_some_and(|at: u64| at <= step) {
            line.extend(std::iter::repeat_n("", COLUMNS.len().saturating_sub(line.len())));
            kept.push(line);
        }
    }
    lines(kept.iter())
}

/// These records as lines of CSV.
fn lines<R: IntoIterator<Item: AsRef<[u8]>>>(
    records: impl IntoIterator<Item = R>,
) -> csv::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record)?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_mended() {
        let mend =
            |old: &str, step| String::from_utf8(mend(old.as_bytes(), step).unwrap()).unwrap();
        let columns = COLUMNS.join(",");
        let whole = "50,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n";
        assert_eq!(mend("", 7), format!("{columns}\n"));
        let log = format!("{columns}\n{whole}");
        assert_eq!(mend(&log, 50), log);
        assert_eq!(mend(&log, 49), format!("{columns}\n"));
        // Cut short by a kill: "10" was to become 100.
        assert_eq!(mend(&format!("{log}10"), 60), log);
        // An older version's.
        let old = "step,positions,rate,value,policy,action,error,rmse_points,norm,\
                   positions_per_second\n50,1,2,3,4,5,6,7,8,9\n";
        assert_eq!(mend(old, 50), format!("{columns}\n50,1,2,3,4,5,6,7,8,9,,,,,,,\n"));
    }
}
