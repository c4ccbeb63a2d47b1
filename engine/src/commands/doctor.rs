//! `tesla doctor`: what the program sees of this machine, and what to do about each error.
//!
//! * [`run`] — all checks in turn, told as they end;
//! * `system` — processor, memory, drivers;
//! * `gpus` — the adapters, and why each is taken or refused;
//! * `evaluator` — network and device, started as for play; their speed in three sizes of batches.

mod evaluator;
mod gpus;
mod system;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::best_first::params::Params;
use crate::chess::tablebase;
use crate::console::output::Output;
use crate::setup::mode::EvaluatorKind;
use crate::setup::settings::Settings;

/// `tesla doctor`: the choices are those of the UCI options of the same names.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Where the network would run: auto, cpu, gpu, gpu:1, gpu:4070 or software
    #[arg(long, default_value = "auto")]
    device: String,
    /// A network's file; the one inside the program if not given
    #[arg(long)]
    weights: Option<String>,
    /// A file of tunables to check
    #[arg(long)]
    tunables: Option<PathBuf>,
    /// Folders of Syzygy tables to check
    #[arg(long)]
    syzygy: Option<String>,
}

/// Cores and vector instructions of this machine, in a few words.
pub(crate) fn processor_text() -> String {
    system::processor().found
}

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Health {
    Fine,
    /// Tesla plays, but not as well as it could.
    Weak,
    /// What was asked for does not work.
    Broken,
}

/// What a check found.
#[derive(Clone, Debug)]
struct Finding {
    health: Health,
    what: &'static str,
    found: String,
    /// What to do about it; empty where it is fine.
    advice: String,
}

impl Finding {
    fn fine(what: &'static str, found: String) -> Self {
        Self { health: Health::Fine, what, found, advice: String::new() }
    }

    fn weak(what: &'static str, found: String, advice: &str) -> Self {
        Self { health: Health::Weak, what, found, advice: advice.to_owned() }
    }

    fn broken(what: &'static str, found: String, advice: &str) -> Self {
        Self { health: Health::Broken, what, found, advice: advice.to_owned() }
    }

    fn text(&self) -> String {
        let health = match self.health {
            Health::Fine => "fine",
            Health::Weak => "weak",
            Health::Broken => "BROKEN",
        };
        let mut text = format!("{health:<8}{:<12}{}", self.what, self.found);
        if !self.advice.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{:20}-> {}", "", self.advice);
        }
        text
    }
}

/// Makes all checks and prints each result at once.
///
/// # Errors
/// When something that was asked for does not work; the sentence says how many things.
pub fn run(args: &DoctorArgs, output: &Output) -> Result<(), String> {
    let mut settings = Settings::default();
    settings.machine.device.clone_from(&args.device);
    settings.machine.weights_file.clone_from(&args.weights);
    if wants_network(args) {
        settings.machine.evaluator = EvaluatorKind::Transformer;
    }
    let mut worst = Vec::new();
    let mut tell = |finding: Finding| {
        output.print(&finding.text());
        worst.push(finding.health);
    };
    tell(program());
    tell(system::processor());
    tell(system::memory(settings.hash_mb + settings.machine.kv_cache_mb));
    tell(tunables(args.tunables.as_deref()));
    if let Some(path) = &args.syzygy {
        tell(tables(path));
    }
    if cfg!(feature = "wgpu") {
        tell(system::drivers());
        gpus::check(&args.device, &mut tell);
    }
    evaluator::check(&settings, &mut tell);
    let count = |wanted| worst.iter().filter(|&&health| health == wanted).count();
    match (count(Health::Weak), count(Health::Broken)) {
        (0, 0) => output.print("all is fine"),
        (weak, 0) => output.print(&format!("Tesla plays; {weak} of these could be better")),
        (_, broken) => return Err(format!("{broken} of these checks failed; see above")),
    }
    Ok(())
}

/// Whether a network was asked for that not every build has.
fn wants_network(args: &DoctorArgs) -> bool {
    args.weights.is_some() || !matches!(args.device.as_str(), "auto" | "cpu")
}

fn program() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    if cfg!(feature = "wgpu") {
        Finding::fine("program", format!("Tesla {version}, with the network and GPU support"))
    } else if cfg!(feature = "net") {
        let found = format!("Tesla {version}, with the network, without GPU support");
        Finding::weak(
            "program",
            found,
            "to use a GPU take the archive that ends in -gpu, or build with: cargo build --release",
        )
    } else {
        let found = format!("Tesla {version}, without the network: its evaluation is classical");
        Finding::weak("program", found, "to play well, build with: cargo build --release")
    }
}

fn tunables(path: Option<&std::path::Path>) -> Finding {
    match path.map(Params::read) {
        None => Finding::fine("tunables", "as shipped".to_owned()),
        Some(Ok(params)) if params == Params::default() => {
            Finding::fine("tunables", "the file changes nothing".to_owned())
        }
        Some(Ok(_)) => Finding::fine("tunables", "the file can be read".to_owned()),
        Some(Err(error)) => {
            let advice = "fix the file, or write it again with: tesla-train tune fit";
            Finding::broken("tunables", error.to_string(), advice)
        }
    }
}

fn tables(path: &str) -> Finding {
    let settings =
        tablebase::TablebaseSettings { path: Some(path.to_owned()), ..Default::default() };
    let (opened, notes) = tablebase::open(&settings);
    let found = notes.join("; ");
    match opened {
        Some(_) if notes.len() == 1 => Finding::fine("tables", found),
        Some(_) => Finding::weak("tables", found, "name only existing folders"),
        None => Finding::broken("tables", found, "name folders that hold *.rtbw and *.rtbz files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(args: &DoctorArgs) -> (Result<(), String>, String) {
        #[derive(Clone, Default)]
        struct Page(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl std::io::Write for Page {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let page = Page::default();
        let result = run(args, &Output::new(Box::new(page.clone())));
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        (result, text)
    }

    #[test]
    fn a_working_program_is_told_so() {
        let args =
            DoctorArgs { device: "cpu".to_owned(), weights: None, tunables: None, syzygy: None };
        let (result, text) = said(&args);
        assert_eq!(result, Ok(()), "{text}");
        for what in ["program", "processor", "memory", "tunables", "evaluator", "speed"] {
            assert!(text.contains(what), "{what} is not in {text}");
        }
    }

    #[test]
    fn every_trouble_comes_with_advice() {
        let args = DoctorArgs {
            device: "cpu".to_owned(),
            weights: None,
            tunables: Some("no/such/file.toml".into()),
            syzygy: Some("no/such/folder".to_owned()),
        };
        let (result, text) = said(&args);
        assert!(result.is_err_and(|sentence| sentence.starts_with("2 of")), "{text}");
        assert_eq!(text.matches("BROKEN").count(), 2, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].starts_with("BROKEN")) {
            assert!(pair[1].contains("-> "), "{text}");
        }
    }
}
