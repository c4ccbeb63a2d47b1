//! The tables of a run and of a comparison.

use super::compare::Comparison;
use super::summary::Summary;
use crate::console::table::Table;
use crate::statistics::wilson::ShareInterval;

impl Table {
    /// The groups of a run. Columns that no group has anything in are left out.
    pub fn of_summaries(groups: &[Summary]) -> Table {
        let mut columns = vec!["solved", "of", "%", "95 %"];
        let points = groups.iter().any(|g| g.points.is_some());
        let mates = groups.iter().any(|g| g.mates.is_some());
        let puzzles = groups.iter().any(|g| g.first_right.is_some());
        let no_moves = groups.iter().any(|g| g.no_move > 0);
        for (shown, names) in [
            (points, &["points", "of points", "points %", "points 95 %"][..]),
            (mates, &["move right", "of checked", "announced"]),
            (puzzles, &["first right"]),
            (no_moves, &["no move"]),
        ] {
            columns.extend(names.iter().filter(|_| shown));
        }
        let mut table = Table::new(&["group"], &columns);
        for group in groups {
            let share = (group.items > 0).then(|| group.solved as f64 / group.items as f64);
            let mut row = vec![group.label.clone(), group.solved.to_string()];
            row.extend([group.items.to_string(), optional(share, percent)]);
            row.push(range(group.interval()));
            if points {
                row.push(optional(group.points, |p| p.sum.to_string()));
                row.push(optional(group.points, |p| p.max.to_string()));
                row.push(optional(group.points, |p| percent(p.mean)));
                row.push(optional(group.points.and_then(|p| p.interval), range));
            }
            if mates {
                row.push(optional(group.mates, |m| m.moves_right.to_string()));
                row.push(optional(group.mates, |m| m.moves_checked.to_string()));
                row.push(optional(group.mates, |m| m.announced.to_string()));
            }
            if puzzles {
                row.push(optional(group.first_right, |n| n.to_string()));
            }
            if no_moves {
                row.push(group.no_move.to_string());
            }
            table.push(row);
        }
        table
    }

    /// Two runs side by side.
    pub fn of_comparison(comparison: &Comparison, a: &str, b: &str) -> Table {
        let mut table = Table::new(&["items"], &["count"]);
        for (label, count) in [
            ("solved by both".to_owned(), comparison.both),
            (format!("only by {a}"), comparison.only_a),
            (format!("only by {b}"), comparison.only_b),
            ("by neither".to_owned(), comparison.neither),
            (format!("missing in {a}"), comparison.missing_in_a),
            (format!("missing in {b}"), comparison.missing_in_b),
        ] {
            table.push([label, count.to_string()]);
        }
        table.push(["p-value (McNemar, exact)".to_owned(), format!("{:.4}", comparison.p_value)]);
        table
    }
}

fn optional<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn range(interval: ShareInterval) -> String {
    format!("{}\u{2013}{}", percent(interval.low), percent(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_the_columns_in_use() {
        let summary = Summary {
            label: "all".into(),
            items: 4,
            solved: 2,
            no_move: 0,
            nodes: 0,
            time_ms: 0,
            points: None,
            mates: None,
            first_right: Some(3),
        };
        assert_eq!(
            Table::of_summaries(&[summary]).to_markdown(),
            "| group | solved | of |    % |      95 % | first right |\n\
             |-------|-------:|---:|-----:|----------:|------------:|\n\
             | all   |      2 |  4 | 50.0 | 15.0\u{2013}85.0 |           3 |\n"
        );
    }

    #[test]
    fn shows_a_comparison() {
        let comparison = Comparison {
            both: 1,
            only_a: 5,
            only_b: 0,
            neither: 2,
            missing_in_b: 0,
            missing_in_a: 0,
            p_value: 0.0625,
        };
        let text = Table::of_comparison(&comparison, "old", "new").to_text(80);
        assert!(text.contains("only by old") && text.contains("0.0625"), "{text}");
    }
}
