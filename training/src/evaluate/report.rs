//! The figures of a network as tables for people and as JSON for reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figures::Measures;
use super::phase::{self, PhaseRow};
use super::{Figures, GROUPS, Group, STALENESS};
use crate::console::table::{Table, told};

/// The measures of one group at one staleness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// How the positions were reached.
    pub group: Group,
    /// Plies since the anchor.
    pub staleness: usize,
    /// The measures.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Everything that was measured on labelled games.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Of the games that the network has learnt from; 0 = all were held out, `None` = not known.
    #[serde(default)]
    pub learnt_games: Option<usize>,
    /// Whole encodes of every position.
    pub whole: Measures,
    /// The same by pieces on the board and by how close the game is.
    #[serde(default)]
    pub by_phase: Vec<PhaseRow>,
    /// Positions with at least eight plies before them, by group, then by staleness.
    pub by_staleness: Vec<Row>,
}

impl From<&Figures> for Report {
    fn from(figures: &Figures) -> Self {
        let rows = GROUPS.iter().zip(&figures.table).flat_map(|(&group, row)| {
            let of = move |(&staleness, sums): (&usize, &super::Sums)| Row {
                group,
                staleness,
                measures: sums.measures(),
            };
            STALENESS.iter().zip(row).map(of)
        });
        Self {
            learnt_games: None,
            whole: figures.whole.measures(),
            by_phase: figures.phases.rows(),
            by_staleness: rows.collect(),
        }
    }
}

impl Report {
    /// The whole encodes in a paragraph for people who see such figures for the first time.
    pub fn brief(&self) -> String {
        let (whole, kind) = (&self.whole, self.kind());
        format!(
            "On {} {kind} positions it explains {:.0} % of the variance of the teacher's scores \
             (its values are off by {:.1} points of 100, root mean square). The teacher's best \
             move is its first choice in {:.0} % of them, and among its first three in {:.0} %.",
            whole.positions,
            100.0 * whole.variance_explained,
            whole.rmse_points,
            100.0 * whole.policy_top_1,
            100.0 * whole.policy_top_3
        )
    }

    /// Held out or not, in a word; where that is not known, another one.
    pub fn kind(&self) -> &'static str {
        match self.learnt_games {
            Some(0) => "held-out",
            Some(_) => "learnt",
            None => "labelled",
        }
    }

    /// A table of all groups by staleness, each cell as `cell` has it.
    fn by_staleness(&self, cell: impl Fn(&Measures) -> String) -> Table {
        let ages = STALENESS.map(|age| if age == 0 { "0 (whole)".into() } else { age.to_string() });
        let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
        let mut table = Table::new(&["positions"], &[&["count"], &ages[..]].concat());
        for row in self.by_staleness.chunks(STALENESS.len()) {
            let head = [row[0].group.to_string(), row[0].measures.positions.to_string()];
            let cells = row.iter().map(|row| match row.measures.positions {
                0 => "-".to_owned(),
                _ => cell(&row.measures),
            });
            table.push(head.into_iter().chain(cells));
        }
        table
    }

    fn reliability(&self) -> Table {
        let columns = ["value", "positions", "mean value", "mean score", "difference in points"];
        let mut table = Table::new(&[], &columns);
        for bin in self.whole.reliability.iter().filter(|bin| bin.positions > 0) {
            table.push([
                format!("{:.1}\u{2013}{:.1}", bin.from, bin.to),
                bin.positions.to_string(),
                format!("{:.3}", bin.value),
                format!("{:.3}", bin.score),
                format!("{:+.1}", 100.0 * (bin.value - bin.score)),
            ]);
        }
        table
    }

    /// Figures by plies since the anchor, if any position has enough plies before it.
    fn tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by_staleness.iter().all(|row| row.measures.positions == 0) {
            return Ok(());
        }
        writeln!(
            f,
            "Variance explained / RMSE in points / policy top-1, by plies since the anchor:\n"
        )?;
        let cell = |m: &Measures| {
            format!("{:.3} / {:.1} / {:.3}", m.variance_explained, m.rmse_points, m.policy_top_1)
        };
        writeln!(f, "{}", self.by_staleness(cell).for_people())?;
        writeln!(f, "Policy top-3 / top-5 / action accuracy / Kendall's tau of the pairs:\n")?;
        let cell = |m: &Measures| {
            let (top_3, top_5) = (m.policy_top_3, m.policy_top_5);
            let tau = told(m.kendall_tau, 3);
            format!("{top_3:.3} / {top_5:.3} / {:.3} / {tau}", m.action_accuracy)
        };
        writeln!(f, "{}", self.by_staleness(cell).for_people())?;
        writeln!(
            f,
            "Mean error in points / calibration error in points / Kolmogorov-Smirnov distance of \
             the error head:\n"
        )?;
        let cell = |m: &Measures| {
            let (mean, calibration) = (m.mean_error_points, m.calibration_error_points);
            format!("{mean:.2} / {calibration:.2} / {:.3}", m.pit_distance)
        };
        writeln!(f, "{}", self.by_staleness(cell).for_people())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = &self.whole;
        writeln!(
            f,
            "All {} positions, whole encodes: variance explained {:.4}, RMSE {:.2} \
             points, mean error {:.2} points, policy {} nats, top-1 {:.4}, top-3 {:.4}, top-5 \
             {:.4}, action accuracy {:.4}, action value RMSE {:.2} points; {:.1} % of the \
             residuals lie in the error head's 50 % band, {:.1} % in its 90 % band.\n",
            whole.positions,
            whole.variance_explained,
            whole.rmse_points,
            whole.mean_error_points,
            told(whole.policy_nats, 4),
            whole.policy_top_1,
            whole.policy_top_3,
            whole.policy_top_5,
            whole.action_accuracy,
            whole.action_rmse_points,
            whole.within_50 * 100.0,
            whole.within_90 * 100.0,
        )?;
        if whole.pairs == 0 {
            writeln!(f, "The data know the values of no two moves of a position.\n")?;
        } else {
            writeln!(
                f,
                "Of {} pairs of moves the data know different values: of the teacher's best move, \
                 of the one played where that is another, and of all that the teacher scored \
                 (datagen --multipv). The action values order {:.1} % of them as it does \
                 (Kendall's tau {:.3}).\n",
                whole.pairs,
                whole.pair_agreement * 100.0,
                whole.kendall_tau
            )?;
        }
        let by_phase = phase::table(&self.by_phase).for_people();
        writeln!(f, "Whole encodes by pieces on the board and the teacher's score:\n\n{by_phase}")?;
        self.tables(f)?;
        writeln!(
            f,
            "Reliability of whole encodes: calibration error {:.2} points, Kolmogorov-Smirnov \
             distance of the error head {:.3}.\n",
            whole.calibration_error_points, whole.pit_distance
        )?;
        write!(f, "{}", self.reliability().for_people())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_called_held_out() {
        let of = |learnt_games| Report { learnt_games, ..Report::from(&Figures::default()) };
        assert!(of(Some(0)).brief().starts_with("On 0 held-out positions"));
        assert!(of(Some(3)).brief().starts_with("On 0 learnt positions"));
        assert!(of(None).brief().starts_with("On 0 labelled positions"));
        let json = serde_json::to_value(of(None)).unwrap();
        assert!(json["learnt_games"].is_null());
    }
}
