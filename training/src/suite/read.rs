//! Reading suites from files.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, bail};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tesla_nn::files::{self, FileError};

use super::item::{Item, JudgeBy};
use super::{epd, puzzle};

/// Which of a suite's items are taken. Lines with nothing to judge do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All.
    #[default]
    All,
    /// The first of the file, so many; the rest is not even read.
    First(usize),
    /// So many drawn at random, each set of them equally likely, in the file's order.
    Sample {
        /// Number of items.
        count: usize,
        /// Seed of the draw.
        seed: u64,
    },
}

/// How a suite is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What is judged.
    pub judge: JudgeBy,
    /// Which items are taken.
    pub selection: Selection,
    /// Skip wrong lines instead of refusing the file.
    pub lenient: bool,
}

/// A line that was left out because it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: String,
}

/// The items of a file.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The file's name without folder and ending.
    pub name: String,
    /// What is to be asked, in the file's order.
    pub items: Vec<Item>,
    /// Number of positions read in which there is nothing to judge.
    pub idle: usize,
    /// The wrong lines; empty unless read leniently.
    pub skipped: Vec<SkippedLine>,
}

impl Suite {
    /// How many lines were skipped, in a sentence; `None` where none was.
    pub fn skipped_note(&self) -> Option<String> {
        let SkippedLine { line, fault } = self.skipped.first()?;
        let (name, count) = (&self.name, self.skipped.len());
        Some(format!("{name}: {count} lines skipped, the first is line {line}: {fault}"))
    }
}

/// Reads a suite: a CSV file of puzzles if the name ends in `.csv`, else EPD.
///
/// A suite in which no line has anything to judge is read, with no items.
///
/// # Errors
///
/// When the file cannot be read, has no positions, or has a wrong line and `options.lenient` is
/// not set.
pub fn read(path: &Path, options: &Options) -> Result<Suite> {
    let file = files::open_bounded(path, files::LARGEST)?;
    let mut collector = Collector::new(path, options);
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")) {
        if options.judge != JudgeBy::Auto {
            bail!(
                "{} holds puzzles, which are judged by their solutions; leave out --judge",
                path.display()
            );
        }
        read_csv(file, &mut collector)?;
    } else {
        read_epd(file, &mut collector)?;
    }
    collector.finish()
}

fn read_epd(file: File, collector: &mut Collector<'_>) -> Result<()> {
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(FileError::at("read", collector.path))? == 0
        {
            break;
        }
        // Old suites have names in Latin-1; only comments are lost.
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let name = || format!("{}:{line}", collector.name);
        let item = epd::parse_line(text, collector.options.judge, name);
        if collector.add(line, item)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn read_csv(file: File, collector: &mut Collector<'_>) -> Result<()> {
    // `flexible`, so that a line with a wrong number of columns is that line's fault alone.
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(BufReader::new(file));
    let header = reader.headers().map_err(|e| collector.csv_error(e))?.clone();
    if header.iter().all(str::is_empty) {
        return Ok(());
    }
    let columns = puzzle::Columns::find(&header).map_err(|column| {
        anyhow!(
            "{} has no column '{column}'; its first line must name the columns, as in \
             PuzzleId,FEN,Moves,Rating,... or id,fen,moves,rating,...",
            collector.path.display()
        )
    })?;
    let mut record = csv::ByteRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_byte_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(e) => return Err(collector.csv_error(e)),
        }
        let line = record.position().map_or(line, csv::Position::line);
        let name = || format!("{}:{line}", collector.name);
        let item = puzzle::parse_record(&record, header.len(), &columns, name).map(Some);
        if collector.add(line, item)?.is_break() {
            return Ok(());
        }
    }
}

/// Takes the lines as they are read.
struct Collector<'a> {
    path: &'a Path,
    options: &'a Options,
    name: String,
    rng: ChaCha8Rng,
    /// Items with their place in the file.
    kept: Vec<(usize, Item)>,
    judged: usize,
    idle: usize,
    skipped: Vec<SkippedLine>,
}

impl<'a> Collector<'a> {
    fn new(path: &'a Path, options: &'a Options) -> Self {
        let seed = if let Selection::Sample { seed, .. } = options.selection { seed } else { 0 };
        Collector {
            path,
            options,
            name: path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned()),
            rng: ChaCha8Rng::seed_from_u64(seed),
            kept: Vec::new(),
            judged: 0,
            idle: 0,
            skipped: Vec::new(),
        }
    }

    fn add(&mut self, line: u64, item: Result<Option<Item>>) -> Result<ControlFlow<()>> {
        match item {
            Err(fault) if self.options.lenient => {
                self.skipped.push(SkippedLine { line, fault: fault.to_string() });
            }
            Err(fault) => return Err(self.error(line, &fault)),
            Ok(None) => self.idle += 1,
            Ok(Some(item)) => self.keep(item),
        }
        let full = matches!(self.options.selection, Selection::First(n) if self.judged >= n);
        Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// A sample is drawn with a reservoir (Vitter's algorithm R), so that files larger than the
    /// memory can be sampled.
    fn keep(&mut self, item: Item) {
        let place = self.judged;
        self.judged += 1;
        match self.options.selection {
            Selection::All => self.kept.push((place, item)),
            Selection::First(n) if place < n => self.kept.push((place, item)),
            Selection::First(_) => {}
            Selection::Sample { count, .. } if place < count => self.kept.push((place, item)),
            Selection::Sample { .. } => {
                let slot = self.rng.random_range(0..=place);
                if let Some(kept) = self.kept.get_mut(slot) {
                    *kept = (place, item);
                }
            }
        }
    }

    fn finish(mut self) -> Result<Suite> {
        if self.judged + self.idle == 0 {
            let path = self.path.display();
            let SkippedLine { line, fault } = self.skipped.first().with_context(|| {
                format!(
                    "{path} holds no positions; a suite has one EPD line, or one puzzle, a line"
                )
            })?;
            let skipped = self.skipped.len();
            bail!(
                "none of the {skipped} lines of {path} can be read; the first, line {line}: {fault}"
            );
        }
        self.kept.sort_by_key(|(place, _)| *place);
        let items = self.kept.into_iter().map(|(_, item)| item).collect();
        Ok(Suite { name: self.name, items, idle: self.idle, skipped: self.skipped })
    }

    fn error(&self, line: u64, fault: &impl Display) -> Error {
        let path = self.path.display();
        anyhow!("{path}, line {line}: {fault} (or skip such lines with --lenient)")
    }

    fn csv_error(&self, error: csv::Error) -> Error {
        let line = error.position().map_or(1, csv::Position::line);
        let text = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(error) => FileError::at("read", self.path)(error).into(),
            _ => self.error(line, &format!("not CSV ({text}); {}", puzzle::CHECK)),
        }
    }
}
