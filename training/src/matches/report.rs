//! What people read of a match: one line while it runs, tables at its end.

use std::fmt::Write as _;
use std::time::Duration;

use tesla_nn::shared::Usage;

use super::config::MatchConfig;
use super::tally::{PairingTally, Tally, Trial};
use crate::console::table::Table;
use crate::players::devices::device_lines;
use crate::statistics::bootstrap::{BootstrapOptions, bootstrap};
use crate::statistics::elo::{self, Pentanomial, Sample, Trinomial};
use crate::statistics::estimate::Estimate;
use crate::statistics::rating::PairResult;
use crate::statistics::sprt::{Decision, Sprt, SprtModel};

/// Decimals of Elo in tables.
const ELO_DECIMALS: usize = 1;

/// A match that ended or was stopped.
#[derive(Debug)]
pub struct Finished {
    /// The counts.
    pub tally: Tally,
    /// Whether nothing is left to play.
    pub is_complete: bool,
    /// Games played in this run.
    pub played: u64,
    /// How long this run took.
    pub time: Duration,
    /// The devices of this run and what went through them.
    pub devices: Vec<(String, Usage)>,
}

/// What is known of a pairing's strength.
fn sample(tally: &PairingTally) -> Sample {
    elo::sample(tally.pairs, tally.games)
}

fn elo(sample: &Sample) -> String {
    format!("{:.ELO_DECIMALS$}", sample.elo())
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn slashes(pairs: Pentanomial) -> String {
    pairs.pairs.map(|count| count.to_string()).join("/")
}

/// The match so far in one line.
pub fn line(config: &MatchConfig, tally: &Tally) -> String {
    let mut text = if let [pairing] = &tally.pairings[..] {
        let Trinomial { wins, draws, losses } = pairing.games;
        let elo = elo(&sample(pairing));
        format!("{} +{wins} ={draws} -{losses}, {elo} Elo", config.side[0].name)
    } else {
        let scores = config.side.iter().zip(&tally.sides).filter(|(_, side)| side.games > 0);
        let scores = scores.map(|(config, side)| {
            format!("{} {}/{}", config.name, side.half_points as f64 / 2.0, side.games)
        });
        scores.collect::<Vec<_>>().join("  ")
    };
    if let Some(trial) = &tally.trial {
        let (lower, upper) = trial.sprt.bounds();
        let _ = write!(text, ", LLR {:+.2} ({lower:+.2}, {upper:+.2})", trial.llr);
    }
    let failures: u64 = tally.sides.iter().flat_map(|side| side.failures.values()).sum();
    if failures > 0 {
        let _ = write!(text, ", {failures} lost by failure");
    }
    text
}

/// The whole match, with its tables drawn by `show`.
pub fn tables(config: &MatchConfig, finished: &Finished, show: fn(&Table) -> String) -> String {
    let mut text = String::new();
    let tally = &finished.tally;
    let all = config.plan().games();
    let _ =
        writeln!(text, "{} of {all} games\n\n{}", tally.games(), show(&pairings(config, tally)));
    if let Some(trial) = &tally.trial {
        let _ = writeln!(text, "{}\n", test_line(trial));
    }
    if config.side.len() > 2 {
        let _ = writeln!(text, "{}", ratings(config, tally, show));
    }
    let _ = writeln!(text, "{}", show(&sides(config, tally)));
    if tally.games() == 0 {
        return text;
    }
    let endings = tally.endings.iter().map(|(ending, count)| format!("{count} {}", ending.word()));
    let _ = writeln!(text, "Endings: {}.", endings.collect::<Vec<_>>().join(", "));
    let plies = tally.plies() as f64 / tally.games().max(1) as f64;
    let _ = writeln!(text, "Plies per game, without the opening's: {plies:.1}.");
    text
}

/// What this run was like; unlike the tables it depends on the machine.
pub fn run_lines(finished: &Finished) -> String {
    let mut text = String::new();
    let hours = finished.time.as_secs_f64() / 3600.0;
    if finished.played > 0 && hours > 0.0 {
        let _ = writeln!(
            text,
            "{} games in {:.1} s: {:.0} games an hour.",
            finished.played,
            finished.time.as_secs_f64(),
            finished.played as f64 / hours
        );
    }
    text + &device_lines(&finished.devices, finished.time)
}

fn pairings(config: &MatchConfig, tally: &Tally) -> Table {
    let mut rows = Table::new(
        &["pairing"],
        &[
            "games",
            "+",
            "=",
            "-",
            "score",
            "pairs 0/½/1/1½/2",
            "Elo (pairs)",
            "Elo (games)",
            "normalized Elo",
            "LOS",
            "drawn games",
        ],
    );
    let plan = config.plan();
    for (pairing, &(first, second)) in tally.pairings.iter().zip(plan.pairings()) {
        let by_pairs = pairing.pairs.sample();
        let Trinomial { wins, draws, losses } = pairing.games;
        rows.push([
            format!("{} - {}", config.side[first].name, config.side[second].name),
            pairing.games.games().to_string(),
            wins.to_string(),
            draws.to_string(),
            losses.to_string(),
            percent(pairing.games.sample().score()),
            slashes(pairing.pairs),
            elo(&by_pairs),
            elo(&pairing.games.sample()),
            format!("{:.ELO_DECIMALS$}", by_pairs.normalized_elo()),
            percent(Some(sample(pairing).los())),
            percent(pairing.games.draw_ratio()),
        ]);
    }
    rows
}

fn test_line(Trial { sprt, llr, decision, .. }: &Trial) -> String {
    let (lower, upper) = sprt.bounds();
    let Sprt { elo0, elo1, .. } = sprt;
    let unit = match sprt.model {
        SprtModel::Logistic => "logistic",
        SprtModel::Normalized => "normalized",
    };
    let verdict = match decision {
        Decision::Continue => "not decided".to_owned(),
        Decision::AcceptH0 => format!("H0 accepted: {elo0} rather than {elo1}"),
        Decision::AcceptH1 => format!("H1 accepted: {elo1} rather than {elo0}"),
    };
    format!(
        "SPRT, H0 {elo0} against H1 {elo1} {unit} Elo: LLR {llr:+.3}, bounds ({lower:+.3}, \
         {upper:+.3}): {verdict}."
    )
}

/// All sides on one scale.
fn ratings(config: &MatchConfig, tally: &Tally, show: fn(&Table) -> String) -> String {
    let plan = config.plan();
    let results: Vec<PairResult> = tally
        .pairings
        .iter()
        .zip(plan.pairings())
        .enumerate()
        .map(|(index, (pairing, &(first, second)))| PairResult {
            first,
            second,
            pairs: pairing.pairs,
            games: tally.unpaired(index),
        })
        .collect();
    let played = |side: usize| tally.sides[side].games > 0;
    if !(0..config.side.len()).all(played) {
        return "Ratings: not yet, some sides have not played.\n".to_owned();
    }
    let fit = bootstrap(config.side.len(), &results, BootstrapOptions::default());
    let fit = match fit {
        Ok(fit) => fit,
        Err(error) => return format!("Ratings: {error}.\n"),
    };
    let mut rated: Vec<(usize, Estimate)> = fit.ratings().into_iter().enumerate().collect();
    let key = |estimate: &Estimate| estimate.value.unwrap_or(f64::NEG_INFINITY);
    rated.sort_by(|a, b| key(&b.1).total_cmp(&key(&a.1)));
    let mut rows = Table::new(&["side"], &["rating", "games", "score", "to the next", "LOS"]);
    for (place, (side, rating)) in rated.iter().enumerate() {
        let counts = &tally.sides[*side];
        let next = rated.get(place + 1).map(|(next, _)| *next);
        let difference = next.and_then(|next| fit.difference(*side, next));
        let los = next.and_then(|next| fit.los(*side, next));
        rows.push([
            config.side[*side].name.clone(),
            format!("{rating:.ELO_DECIMALS$}"),
            counts.games.to_string(),
            percent(Some(counts.half_points as f64 / (2 * counts.games) as f64)),
            difference.map_or_else(|| "-".to_owned(), |d| format!("{d:.ELO_DECIMALS$}")),
            percent(los),
        ]);
    }
    format!(
        "Ratings: one Bradley-Terry fit to all results, mean 0; 95 % intervals by bootstrap over \
         the pairs.\n\n{}",
        show(&rows)
    )
}

fn sides(config: &MatchConfig, tally: &Tally) -> Table {
    let mut rows = Table::new(
        &["side"],
        &[
            "limit",
            "games",
            "moves",
            "nodes per move",
            "depth",
            "s per move",
            "nodes per s",
            "time, s",
            "lost by failure",
            "breaches of UCI",
        ],
    );
    for (side, counts) in config.side.iter().zip(&tally.sides) {
        let failures = counts.failures.iter().map(|(how, count)| format!("{count} {}", how.word()));
        let failures: Vec<String> = failures.collect();
        let seconds = counts.time.as_secs_f64();
        rows.push([
            side.name.clone(),
            side.limit.to_string(),
            counts.games.to_string(),
            counts.moves.to_string(),
            format!("{:.1}", counts.nodes_per_move()),
            format!("{:.1}", counts.mean_depth()),
            format!("{:.4}", seconds / counts.moves.max(1) as f64),
            counts.speed().map_or_else(|| "-".to_owned(), |speed| format!("{speed:.0}")),
            format!("{seconds:.1}"),
            if failures.is_empty() { "0".to_owned() } else { failures.join(", ") },
            counts.breaches.to_string(),
        ]);
    }
    rows
}
