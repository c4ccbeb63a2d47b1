//! `tesla benchmark`: what each device of this machine can do, and which options follow from it.
//!
//! * [`run`] — measures and tells;
//! * `measure` — batches of every size, and searches of some lengths.

mod measure;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::Args;
use serde::Serialize;

use self::measure::Measured;
use crate::console::output::Output;
use crate::setup::factory;
use crate::setup::machine::Machine;
use crate::setup::mode::{EvaluatorKind, SearchMode};
use crate::setup::settings::Settings;

/// A batch that is this near to the best rate is large enough.
const NEARLY: f64 = 0.95;

/// `tesla benchmark`: the choices are those of the UCI options of the same names.
#[derive(Args, Debug)]
pub struct BenchmarkArgs {
    /// Only this device: cpu, gpu, gpu:1, gpu:4070 or software; all real ones if not given
    #[arg(long)]
    device: Option<String>,
    /// A network's file; the one inside the program if not given
    #[arg(long)]
    weights: Option<String>,
    /// Prints JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// A device, and what came of it.
#[derive(Debug, Serialize)]
struct Report {
    /// The value of `Device` that names it.
    device: String,
    /// Network and device, for people.
    description: String,
    /// Sentences on how it started.
    notes: Vec<String>,
    measured: Measured,
}

/// An adapter that a graphics API names.
#[derive(Debug, Serialize)]
struct Adapter {
    name: String,
    /// With its version, and the API.
    driver: String,
    /// The value of `Device` that names it, of a real GPU.
    device: Option<String>,
    /// What its workgroups and buffers can hold.
    limits: Option<String>,
    /// Why it is not used.
    refused: Option<String>,
}

/// All of them.
#[derive(Debug, Serialize)]
struct Reports {
    version: &'static str,
    adapters: Vec<Adapter>,
    devices: Vec<Report>,
    /// Devices that cannot be used, and why.
    failed: Vec<String>,
    advice: Vec<String>,
    /// Lines of UCI that follow the advice.
    options: Vec<String>,
}

/// Measures every device and says which options to set.
///
/// # Errors
/// When no device can be used.
pub fn run(args: &BenchmarkArgs, output: &Output) -> Result<(), String> {
    let devices = args.device.clone().map_or_else(all_devices, |device| vec![device]);
    let (mut reports, mut failed) = (Vec::new(), Vec::new());
    for device in devices {
        if !args.json {
            output.print(&format!("measuring {device}, some seconds"));
        }
        // A driver's fault may come as a panic from below.
        let measured = catch_unwind(AssertUnwindSafe(|| report(args, &device)));
        match measured.unwrap_or_else(|_| Err("internal error; please report it".to_owned())) {
            Ok(report) => {
                if !args.json {
                    output.print(&table(&report));
                }
                reports.push(report);
            }
            Err(sentence) => {
                let sentence = format!("{device}: {sentence}");
                if !args.json {
                    output.print(&sentence);
                }
                failed.push(sentence);
            }
        }
    }
    let measured = if reports.is_empty() {
        Err("no device could be measured; see above".to_owned())
    } else {
        Ok(())
    };
    if args.json {
        output.print(&json(adapters(), reports, failed)?);
        return measured;
    }
    measured?;
    let (advice, options) = advice(&reports);
    for line in advice.iter().chain(&options) {
        output.print(line);
    }
    Ok(())
}

fn json(
    adapters: Vec<Adapter>,
    devices: Vec<Report>,
    failed: Vec<String>,
) -> Result<String, String> {
    let (advice, options) = advice(&devices);
    let version = env!("CARGO_PKG_VERSION");
    let reports = Reports { version, adapters, devices, failed, advice, options };
    serde_json::to_string_pretty(&reports).map_err(|error| error.to_string())
}

/// Every adapter of every graphics API, software rasterisers included.
#[cfg(feature = "net")]
fn adapters() -> Vec<Adapter> {
    let of = |found: tesla_nn::device::Found| Adapter {
        name: found.name,
        driver: found.driver,
        device: found.number.map(|number| format!("gpu:{number}")),
        limits: found.usable.clone().ok(),
        refused: found.usable.err(),
    };
    let found = catch_unwind(tesla_nn::device::adapters).unwrap_or_default();
    found.into_iter().map(of).collect()
}

#[cfg(not(feature = "net"))]
fn adapters() -> Vec<Adapter> {
    Vec::new()
}

/// The CPU and every real GPU, as `Device` names them.
fn all_devices() -> Vec<String> {
    let gpus = (0..gpu_count()).map(|index| format!("gpu:{index}"));
    std::iter::once("cpu".to_owned()).chain(gpus).collect()
}

#[cfg(feature = "net")]
fn gpu_count() -> usize {
    catch_unwind(tesla_nn::device::gpus).map_or(0, |gpus| gpus.len())
}

#[cfg(not(feature = "net"))]
fn gpu_count() -> usize {
    0
}

fn report(args: &BenchmarkArgs, device: &str) -> Result<Report, String> {
    let machine = Machine {
        search: SearchMode::Tesla,
        evaluator: EvaluatorKind::Transformer,
        device: device.to_owned(),
        weights_file: args.weights.clone(),
        ..Settings::default().machine()
    };
    let (evaluator, notes) = factory::evaluator(&machine)?;
    let description = evaluator.description();
    let measured = measure::all(&machine, evaluator)?;
    Ok(Report { device: device.to_owned(), description, notes, measured })
}

fn table(report: &Report) -> String {
    let Report { description, notes, measured, .. } = report;
    let mut text = format!("\n{description}\n");
    // Writing to a String cannot fail.
    for note in notes {
        let _ = writeln!(text, "  {note}");
    }
    text.push_str("   children   ms a batch   evaluations/s\n");
    for batch in &measured.batches {
        let _ = writeln!(
            text,
            "  {:>9}   {:>10.2}   {:>13.0}",
            batch.positions, batch.milliseconds, batch.per_second
        );
    }
    let (fixed, each) = (measured.fixed_milliseconds, measured.each_microseconds);
    let _ = writeln!(
        text,
        "  a batch takes {fixed:.2} ms and {each:.2} µs for each child of a cached position"
    );
    for search in &measured.searches {
        let (seconds, evaluations) = (search.seconds, search.evaluations);
        let _ = writeln!(text, "  {evaluations:>9} evaluations in a search of {seconds} s");
    }
    text
}

/// What follows: sentences, and options.
fn advice(reports: &[Report]) -> (Vec<String>, Vec<String>) {
    let longest = |report: &&Report| report.measured.searches.last().map_or(0, |s| s.evaluations);
    let Some(best) = reports.iter().max_by_key(longest) else { return (Vec::new(), Vec::new()) };
    let mut advice = vec![format!("{} searches most: {}", best.device, best.description)];
    for other in reports.iter().filter(|other| other.device != best.device) {
        let mut pairs = best.measured.searches.iter().zip(&other.measured.searches);
        let behind = pairs.rfind(|(ours, theirs)| ours.evaluations < theirs.evaluations);
        if let Some((search, _)) = behind {
            let (device, seconds) = (&other.device, search.seconds);
            advice.push(format!("{device} searches more at {seconds} s a move and below"));
        }
    }
    let rate = |batch: &measure::Batch| batch.per_second;
    let most = best.measured.batches.iter().map(rate).fold(0.0, f64::max);
    let enough = best.measured.batches.iter().find(|batch| rate(batch) >= NEARLY * most);
    let size = enough.map_or(0, |batch| batch.positions);
    // Not as `BatchSize`: a cap on what the search chooses, at this size, makes it slower.
    advice.push(format!(
        "batches of {size} are within 5 % of its best rate; leave BatchSize at 0, where the search \
         chooses; paste:"
    ));
    (advice, vec![format!("setoption name Device value {}", best.device)])
}

#[cfg(test)]
mod tests {
    use super::measure::{Batch, Searched};
    use super::*;

    fn report(device: &str, rates: [f64; 2], found: [u64; 2]) -> Report {
        let batches = [(1, rates[0]), (64, rates[1])];
        let batch = |(positions, per_second): (usize, f64)| Batch {
            positions,
            milliseconds: positions as f64 / per_second * 1e3,
            per_second,
        };
        let searches = [(0.1, found[0]), (1.0, found[1])];
        let measured = Measured {
            batches: batches.map(batch).to_vec(),
            fixed_milliseconds: 0.3,
            each_microseconds: 1.0,
            searches: searches
                .map(|(seconds, evaluations)| Searched { seconds, evaluations })
                .into(),
        };
        let description = format!("a network on {device}");
        Report { device: device.to_owned(), description, notes: Vec::new(), measured }
    }

    #[test]
    fn the_device_that_searches_most_is_advised_and_where_another_does() {
        let reports =
            [report("cpu", [9e3, 1e4], [900, 9000]), report("gpu:0", [1e3, 9e4], [500, 70_000])];
        let (advice, options) = advice(&reports);
        assert!(advice[0].starts_with("gpu:0 searches most"), "{advice:?}");
        assert!(advice[1].contains("cpu searches more at 0.1 s a move and below"), "{advice:?}");
        assert_eq!(options, ["setoption name Device value gpu:0"]);
        assert!(advice[2].contains("batches of 64 are within 5 %"), "{advice:?}");
        assert!(table(&reports[0]).contains("9000 evaluations in a search of 1 s"));
        assert_eq!(super::advice(&[]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn programs_read_all_of_it() {
        let adapter = Adapter {
            name: "Card 9".to_owned(),
            driver: "maker 1.2 Vulkan".to_owned(),
            device: Some("gpu:0".to_owned()),
            limits: Some("48 KiB and 1024 units a workgroup, 2047 MiB a buffer".to_owned()),
            refused: None,
        };
        let devices = vec![report("gpu:0", [1e3, 9e4], [500, 70_000])];
        let failed = vec!["gpu:1: it is gone".to_owned()];
        let text = json(vec![adapter], devices, failed).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let measured = &read["devices"][0]["measured"];
        for (value, expected) in [
            (&read["adapters"][0]["driver"], "maker 1.2 Vulkan".into()),
            (&read["adapters"][0]["refused"], serde_json::Value::Null),
            (&read["devices"][0]["device"], "gpu:0".into()),
            (&measured["batches"][1]["positions"], 64.into()),
            (&measured["batches"][1]["per_second"], 9e4.into()),
            (&measured["fixed_milliseconds"], 0.3.into()),
            (&measured["each_microseconds"], 1.0.into()),
            (&measured["searches"][1]["evaluations"], 70_000.into()),
            (&read["failed"][0], "gpu:1: it is gone".into()),
            (&read["options"][0], "setoption name Device value gpu:0".into()),
        ] {
            assert_eq!(*value, expected, "{text}");
        }
    }
}
