//! `tesla-train quickstart`: from nothing to a network that plays, by the commands that do it.
//!
//! Reads the clock: to say how long it took.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use clap::{Args, Parser as _};
use tesla_engine::search::StopToken;
use tesla_nn::files;

use super::{Cli, Outcome, print, run_until};
use crate::disk::network::weights_file;
use crate::labelled::find_files;
use crate::players::pool::MOST_AT_ONCE;
use crate::players::programs;

/// What our own search is called as a teacher.
const OWN: &str = "own";

/// The teacher that is looked for.
const STOCKFISH: &str = "stockfish";

/// The file in a folder that says with which options it was begun.
const OPTIONS: &str = "options.txt";

/// Longest such file, bytes.
const LONGEST: u64 = 1 << 16;

/// The command line of `quickstart`.
#[derive(Debug, Args)]
pub struct QuickstartArgs {
    /// Folder for everything that is made.
    #[arg(long, default_value = "runs/quickstart")]
    out: PathBuf,
    /// Who plays the games that are learnt from: a UCI engine, or own, our alpha-beta with the
    /// classical evaluation [default: stockfish where it is found, else own].
    #[arg(long)]
    teacher: Option<String>,
    /// Games that the teacher plays.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(20..))]
    games: u64,
    /// Steps of training.
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Games of the new network against each opponent.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(2..))]
    match_games: u64,
}

/// A command on the way.
struct Step {
    /// What it does, for people.
    what: String,
    /// Its words after the program's name.
    words: Vec<String>,
}

/// Does it all, or what is left of it.
///
/// # Errors
/// The sentence of the command that failed; what was done before is on disk.
pub fn run(args: &QuickstartArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let started = Instant::now();
    let teacher = teacher(args.teacher.as_deref(), say);
    let out = args.out.as_path();
    args.check(teacher)?;
    let mut steps = args.network_steps(teacher).into_iter().zip(1..);
    let go = |step: Step, number| -> Outcome {
        print(format!("\n{number}/7 {}\n    {}\n", step.what, shown(&step.words)))?;
        let words = std::iter::once("tesla-train").chain(step.words.iter().map(String::as_str));
        run_until(&Cli::try_parse_from(words)?.command, interrupted, say)
    };
    for (step, number) in &mut steps {
        if step.words[0] == "merge" {
            // Split games stay as they are.
            if args.has_data() {
                continue;
            }
            files::replace(&out.join(OPTIONS), args.options(teacher).as_bytes())?;
        }
        let code = go(step, number)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    let [new, before] = ["network", "untrained"].map(|run| weights_file(&out.join(run)));
    let new = new?;
    for (step, number) in args.measuring_steps(&new, &before?).into_iter().zip(5..) {
        let code = go(step, number)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    print(closing(&new, out, started.elapsed().as_secs()))?;
    Ok(ExitCode::SUCCESS)
}

impl QuickstartArgs {
    /// All that decides what is made, as it is written on the command line.
    fn options(&self, teacher: &str) -> String {
        let Self { games, steps, match_games, .. } = self;
        let numbers = format!("--games {games} --steps {steps} --match-games {match_games}");
        format!("--teacher {teacher} {numbers}")
    }

    /// Whether games were made and split.
    fn has_data(&self) -> bool {
        find_files(&self.out.join("data")).is_ok()
    }

    /// Refuses a folder that was begun with other options: of its steps, some would go on with
    /// theirs and some with these.
    fn check(&self, teacher: &str) -> anyhow::Result<()> {
        let (path, out) = (self.out.join(OPTIONS), self.out.display());
        if !path.exists() {
            ensure!(
                !self.has_data(),
                "{out} holds games of something else than a quickstart that could go on; choose \
                 another folder with --out"
            );
            return Ok(());
        }
        let begun = files::read_text(&path, LONGEST)?;
        ensure!(
            begun == self.options(teacher),
            "{out} was begun with {begun}; give the same to go on, or choose another folder with \
             --out"
        );
        Ok(())
    }

    /// The commands up to the trained network.
    fn network_steps(&self, teacher: &str) -> Vec<Step> {
        let Self { out, games, steps, .. } = self;
        // Of few games too, some are to be held out.
        let valid = (10.0 / *games as f64).max(0.05);
        let folder = |name: &str| out.join(name).display().to_string();
        let (played, data) = (folder("games"), folder("data"));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let train = |run: &str, steps: u64| {
            let network = folder(run);
            words(&format!(
                "train --shape tiny --rate 0.01 --warm-up 100 --checkpoint-seconds 20 \
                 --valid-steps 250 --steps {steps} --data",
            ))
            .chain([data.clone(), "--out".to_owned(), network])
            .collect()
        };
        let datagen = words("datagen --out").chain([played.clone()]);
        let datagen = datagen
            .chain(words(&format!("--brief --games {games} --concurrency {}", at_once(2 * cores))));
        let merge = words("merge").chain([played, "--out".to_owned(), data.clone()]);
        vec![
            Step {
                what: format!("{games} games, each move labelled with the teacher's score"),
                words: datagen.chain(teacher_words(teacher)).collect(),
            },
            Step {
                what: "some games are held out".to_owned(),
                words: merge.chain(words(&format!("--valid {valid:.2}"))).collect(),
            },
            Step {
                what: "an untrained network, to compare with".to_owned(),
                words: train("untrained", 0),
            },
            Step {
                what: format!("a tiny network learns in {steps} steps"),
                words: train("network", *steps),
            },
        ]
    }

    /// The commands after that.
    fn measuring_steps(&self, new: &Path, before: &Path) -> Vec<Step> {
        let Self { out, match_games, .. } = self;
        let folder = |name: &str| out.join(name).display().to_string();
        let (network, valid) = (folder("network"), folder("data/valid.games.zst"));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let side = |name: &str, weights: &Path| {
            [
                "--side".to_owned(),
                format!("name={name}"),
                format!("option.WeightsFile={}", weights.display()),
            ]
        };
        let evaluate = words("evaluate --brief --weights").chain([network, "--data".to_owned()]);
        let games = words("match --tournament gauntlet --nodes 100 --resign")
            .chain(words("movecount=3,score=900,twosided=false --max-moves 120"))
            .chain(words(&format!(
                "--games {match_games} --concurrency {} --out",
                at_once(8 * cores)
            )))
            .chain([folder("match")])
            .chain(side("new", new))
            .chain(side("untrained", before))
            .chain(words("--side name=Minimax option.Search=Minimax depth=2"));
        vec![
            Step {
                what: "what it knows of games that it has not seen".to_owned(),
                words: evaluate
                    .chain([valid, "--json".to_owned(), folder("figures.json")])
                    .collect(),
            },
            Step {
                what: "it plays the untrained network, and Minimax to depth 2, which counts pieces"
                    .to_owned(),
                words: games.collect(),
            },
            Step {
                what: "all of it on one page".to_owned(),
                words: words("report")
                    .chain([folder(""), "--out".to_owned(), folder("report.html")])
                    .collect(),
            },
        ]
    }
}

/// Games at once, as many as the commands take.
fn at_once(wanted: usize) -> usize {
    wanted.min(MOST_AT_ONCE as usize)
}

/// The teacher that is asked for, or the one that is there.
fn teacher<'a>(asked: Option<&'a str>, say: &dyn Fn(&str)) -> &'a str {
    match asked {
        Some(teacher) => teacher,
        None if programs::find(Path::new(STOCKFISH)).is_some() => STOCKFISH,
        None => {
            say(
                "Stockfish was not found, so our AlphaBeta with the classical evaluation teaches; \
                 a stronger engine makes a stronger network: --teacher PATH",
            );
            OWN
        }
    }
}

/// The teacher's words for `datagen`.
fn teacher_words(teacher: &str) -> Vec<String> {
    if teacher == OWN {
        return words("--option Search=AlphaBeta --option Evaluator=Classical --nodes 2000")
            .collect();
    }
    let program = ["--teacher".to_owned(), teacher.to_owned()];
    program.into_iter().chain(words("--nodes 800")).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> + use<> {
    text.split(' ').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A command as a shell takes it.
fn shown(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+".contains(letter);
        if word.chars().all(is_plain) { word.clone() } else { format!("'{word}'") }
    });
    format!("tesla-train {}", quoted.collect::<Vec<_>>().join(" "))
}

fn closing(network: &Path, out: &Path, seconds: u64) -> String {
    let (network, page) = (network.display(), out.join("report.html").display().to_string());
    format!(
        "\nDone in {} min {} s. The page: {page}\n\
         To play with the network, start tesla and type\n    \
         setoption name WeightsFile value {network}\n\
         For a stronger one give it more: --games 5000 --steps 10000 --out {}-2. \
         docs/laboratory.md explains each command.\n",
        seconds / 60,
        seconds % 60,
        out.display()
    )
}
