//! `tesla-train import`: others' labelled games as ours.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use tesla_engine::console::terminal::bar;
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::{BEGINS_ANEW, Outcome, print, stopped};
use crate::datagen::binpack::BinpackGames;
use crate::datagen::config::LARGEST_SHARD;
use crate::datagen::output::{Fate, Output, Written};
use crate::datagen::pgn::PgnGames;
use crate::datagen::pieces::{ReadError, Taken};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// PGN with scores in the comments.
    Pgn,
    /// Stockfish's binpack.
    Binpack,
}

/// The command line of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files to read: PGN with scores in the comments ({+0.35/12 ...} or [%eval 0.35]), or
    /// Stockfish binpacks.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for shards, or one file that ends in .games.zst.
    #[arg(long)]
    out: PathBuf,
    /// What the files hold [default: as their names end, .pgn or .binpack].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Games of a shard.
    #[arg(long, default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=LARGEST_SHARD))]
    shard_games: u64,
    /// Share of the games that go into valid.games.zst, which training leaves out, as in 0.02.
    #[arg(long, default_value_t = 0.0)]
    valid: f64,
    /// Leave out moves without a score; a game is cut there. Moves before a game's first score are
    /// its opening and left out in any case.
    #[arg(long)]
    skip_unscored: bool,
    /// Skip games, and in binpacks the rest of a chunk, that cannot be read, and report how many.
    #[arg(long)]
    lenient: bool,
    /// Centipawns of one unit of a binpack's scores: 1, or 0.48 where 208 units were a pawn.
    #[arg(long, default_value_t = 1.0)]
    unit: f64,
}

/// What became of what was read.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    read: u64,
    unfinished: u64,
    unscored: u64,
    gaps: usize,
    bad: u64,
}

/// Reads the files and says what became of the games.
///
/// # Errors
/// When a file cannot be read or is damaged, or the output exists or cannot be written; nothing is
/// left of it then.
pub fn run(args: &ImportArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    if !(args.unit.is_finite() && args.unit > 0.0) {
        return Err(format!("--unit is {}; it must be more than 0", args.unit).into());
    }
    let formats = args.inputs.iter().map(|path| args.format_of(path));
    let formats = formats.collect::<Result<Vec<_>, _>>()?;
    let mut output = Output::create(&args.out, args.shard_games, args.valid)?;
    let bar = bar(args.inputs.len() as u64, "files");
    let mut import = Import { args, interrupted, counts: Counts::default(), bar };
    silence_binpack_reader();
    let is_whole = import.files(&formats, &mut output);
    import.bar.finish_and_clear();
    if !is_whole? {
        return Ok(stopped(say, BEGINS_ANEW));
    }
    let Written { files, kept, held_out, dropped } = output.finish()?;
    let Counts { read, unfinished, unscored, gaps, bad } = import.counts;
    let told = format!(
        "{read} games read: {unfinished} without a result, {unscored} without a score and {bad} \
         that cannot be read were left out, and {gaps} moves without a score"
    );
    if kept == 0 {
        return Err(format!("nothing was written; {told}").into());
    }
    print(format!(
        "{told}\n{kept} games in {} files, {held_out} of them held out, {dropped} dropped because \
         they were there before\n",
        files.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The reader of binpacks panics on damaged files. That is caught and reported as an error.
fn silence_binpack_reader() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("sfbinpack")) {
            hook(panic);
        }
    }));
}

impl ImportArgs {
    fn format_of(&self, path: &Path) -> Result<Format, String> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match (self.format, extension.as_str()) {
            (Some(format), _) => Ok(format),
            (None, "pgn") => Ok(Format::Pgn),
            (None, "binpack" | "bin") => Ok(Format::Binpack),
            (None, _) => Err(format!(
                "{} ends neither in .pgn nor in .binpack; say what it holds with --format",
                path.display()
            )),
        }
    }
}

struct Import<'a> {
    args: &'a ImportArgs,
    interrupted: &'a StopToken,
    counts: Counts,
    bar: indicatif::ProgressBar,
}

impl Import<'_> {
    /// `false` = somebody wants to stop.
    fn files(&mut self, formats: &[Format], output: &mut Output) -> Result<bool> {
        for (path, format) in self.args.inputs.iter().zip(formats) {
            let file = BufReader::new(files::open(path)?);
            let is_whole = match format {
                Format::Pgn => self.file(path, PgnGames::new(file), output)?,
                Format::Binpack => {
                    self.file(path, BinpackGames::new(file, self.args.unit), output)?
                }
            };
            if !is_whole {
                return Ok(false);
            }
            self.bar.inc(1);
        }
        Ok(true)
    }

    fn file(
        &mut self,
        path: &Path,
        games: impl Iterator<Item = Result<Taken, ReadError>>,
        output: &mut Output,
    ) -> Result<bool> {
        for game in games {
            if self.interrupted.is_stopped() {
                return Ok(false);
            }
            let place = path.display();
            match game {
                Ok(game) => self.game(game, output).map_err(|error| anyhow!("{place}: {error}"))?,
                Err(ReadError::Bad { .. }) if self.args.lenient => self.counts.bad += 1,
                Err(error @ ReadError::Bad { .. }) => {
                    let hint = "fix it, or skip what cannot be read with --lenient";
                    bail!("{place}, {error}; {hint}");
                }
                Err(error) => bail!("cannot read {place}: {error}"),
            }
        }
        Ok(true)
    }

    fn game(&mut self, game: Taken, output: &mut Output) -> Result<()> {
        self.counts.read += 1;
        if self.counts.read.is_multiple_of(1000) {
            self.bar.set_message(format!("{} games", self.counts.read));
        }
        let Taken { games, gaps, has_result } = game.without_mistakes();
        if !has_result {
            self.counts.unfinished += 1;
            return Ok(());
        }
        ensure!(
            gaps == 0 || self.args.skip_unscored,
            "game {}: {gaps} moves behind the first score have none; leave them out with \
             --skip-unscored, which cuts the game there",
            self.counts.read
        );
        self.counts.gaps += gaps;
        self.counts.unscored += u64::from(games.is_empty());
        // The parts of a game lie side by side, so they are held out together or not at all.
        let fate = games.first().map_or(Fate::Drawn, |first| output.fate(first));
        for game in &games {
            output.add(game, fate)?;
        }
        Ok(())
    }
}
