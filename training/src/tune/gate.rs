//! Fitted numbers against those before them, played as their log was searched: by its network, with
//! its options.

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, from_value};
use tesla_engine::best_first::params::Params;

use crate::game::limit::Limit;
use crate::matches::config::MatchConfig;
use crate::matches::runner;
use crate::matches::tally::Tally;
use crate::players::devices::Devices;
use crate::players::pool::RunContext;
use crate::players::side::Side;

/// The match.
#[derive(Debug)]
pub struct Gate<'a> {
    /// What the log says of its run.
    pub log: &'a Value,
    /// The fitted numbers, then those before them, as they were read: files may say something else
    /// by now.
    pub numbers: [&'a Params; 2],
    /// Games.
    pub games: u64,
    /// Evaluations a move.
    pub nodes: u64,
}

/// What the games say of the fitted numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// A sentence.
    pub text: String,
    /// Whether the numbers before are better.
    pub is_worse: bool,
}

impl Gate<'_> {
    /// Plays the match in the context's folder, or what is left of it; `None` where somebody wanted
    /// to stop.
    ///
    /// # Errors
    /// When the log's network is not to be had, or the match cannot begin or go on.
    pub fn play(&self, context: &RunContext<'_>) -> Result<Option<Proof>> {
        let finished = runner::run(&self.config()?, context).map_err(|error| {
            let folder = context.folder.display();
            anyhow!("gating match: {error}. To let other numbers play, move {folder} away")
        })?;
        Ok(finished.is_complete.then(|| self.proof(&finished.tally)))
    }

    fn config(&self) -> Result<MatchConfig> {
        let base = self.side()?;
        let side = |name: &str, params: &Params| {
            let mut side = Side { name: name.to_owned(), ..base.clone() };
            side.option.0.extend(options(params));
            side
        };
        let [fitted, before] = self.numbers;
        MatchConfig {
            games: self.games,
            limit: Limit { nodes: Some(self.nodes), ..Limit::default() },
            side: vec![side("fitted", fitted), side("before", before)],
            ..MatchConfig::default()
        }
        .complete()
    }

    /// The side that searched the log, without its tunables.
    fn side(&self) -> Result<Side> {
        let again = "search its positions again with tune log";
        let mut side: Side = from_value(self.log["side"].clone())
            .with_context(|| format!("the log does not say what searched it; {again}"))?;
        let is_tunable = |name: &str| {
            name.eq_ignore_ascii_case("TunablesFile") || Params::default().get(name).is_some()
        };
        side.option.0.retain(|(name, _)| !is_tunable(name));
        let now = Devices::start(std::slice::from_ref(&side), 1, &|_| ())?.network(&side);
        let then = self.log["network"].as_str().and_then(without_tunables);
        let told = |network: Option<&str>| network.unwrap_or("no network").to_owned();
        ensure!(
            now.as_deref() == then,
            "the log is of {}, and its options now give {}; put the network back, or {again}",
            told(then),
            told(now.as_deref())
        );
        Ok(side)
    }

    fn proof(&self, tally: &Tally) -> Proof {
        let pairing = tally.pairings.first().copied().unwrap_or_default();
        let (elo, games) = (pairing.pairs.sample().elo(), pairing.games.games());
        let is_worse = elo.high < 0.0;
        let verdict = if elo.low > 0.0 {
            "they are better: use them"
        } else if is_worse {
            "they are WORSE: leave them alone"
        } else {
            "these games do not tell them apart"
        };
        let text = format!(
            "Against the numbers before: {elo} Elo in {games} games of {} evaluations a move; \
             {verdict}.",
            self.nodes
        );
        Proof { text, is_worse }
    }
}

/// The tunables that differ from their defaults, as options of a side.
fn options(params: &Params) -> impl Iterator<Item = (String, String)> + '_ {
    Params::TUNABLES.iter().filter_map(|row| {
        let value = params.get(row.name)?;
        (value.to_bits() != row.default.to_bits()).then(|| (row.name.to_owned(), value.to_string()))
    })
}

/// The network that [`Devices::network`] told of, without the tunables behind it.
fn without_tunables(told: &str) -> Option<&str> {
    told.split(", tunables ").next().filter(|network| !network.starts_with("tunables "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_logs_search_plays_with_the_numbers_as_they_were_read() {
        let (mut fitted, before) = (Params::default(), Params::default());
        fitted.set("error_scale", 0.1).unwrap();
        let config = |log: Value| {
            Gate { log: &log, numbers: [&fitted, &before], games: 2, nodes: 9 }.config()
        };
        let log = json!({
            "side": { "name": "Tesla", "limit": {}, "option": {
                "Evaluator": "Classical", "Hash": "8", "branching": "3", "tunablesfile": "gone"
            } },
            "network": "tunables 01234567",
        });
        let sides = config(log.clone()).unwrap().side;
        let own = [("Evaluator", "Classical"), ("Hash", "8")];
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        assert_eq!(sides[0].option.0, owned(&[own[0], own[1], ("error_scale", "0.1")]));
        assert_eq!(sides[1].option.0, owned(&own));
        assert_eq!(sides[0].settings().unwrap().machine.params, fitted);

        let mut by_puct = log.clone();
        by_puct["side"]["option"]["Search"] = json!("PUCT");
        assert!(config(by_puct).unwrap_err().to_string().contains("no effect on the search PUCT"));

        let mut other = log;
        other["network"] = json!("network small-00000000, tunables 01234567");
        let error = config(other).unwrap_err().to_string();
        assert!(error.contains("of network small-00000000, and") && error.contains("no network"));
        assert!(config(json!({})).unwrap_err().to_string().contains("tune log"));
    }
}
