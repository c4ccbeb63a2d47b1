//! Tables: for people in a terminal, and as Markdown for files.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use console::Term;

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// On the left.
    Left,
    /// On the right, for numbers.
    Right,
}

/// A number with so many digits; `-` where there is none.
pub fn told(number: f64, digits: usize) -> String {
    if number.is_nan() { "-".to_owned() } else { format!("{number:.digits$}") }
}

/// Rows of text under a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// A table whose first column is text and whose others are numbers.
    pub fn of_numbers(headings: &[&str]) -> Table {
        let align = |at| if at == 0 { Align::Left } else { Align::Right };
        let columns = headings.iter().enumerate().map(|(at, &name)| (name, align(at)));
        Table::new(&columns.collect::<Vec<_>>())
    }

    /// Adds a row; cells beyond the columns are dropped, missing ones are empty.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = row.into_iter().collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Headings with their alignment.
    pub fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    /// Cells by row.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table for standard output: fitted to a terminal, Markdown where there is none.
    pub fn for_people(&self) -> String {
        match Term::stdout().size_checked() {
            Some((_, width)) if console::user_attended() => self.to_text(width),
            _ => self.to_markdown(),
        }
    }

    /// The table in lines of at most `width` columns; cells that are too long are wrapped.
    pub fn to_text(&self, width: u16) -> String {
        let mut table = self.drawn(str::to_owned);
        table.load_style(presets::UTF8_BORDERS_ONLY);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        format!("{table}\n")
    }

    /// A Markdown table, aligned in the source too.
    pub fn to_markdown(&self) -> String {
        let mut table = self.drawn(|cell| cell.replace('|', "\\|"));
        table.load_style(presets::ASCII_MARKDOWN);
        let mut lines: Vec<String> = table.lines().collect();
        // A colon at the end of a column's rule puts its cells on the right.
        if let Some(rule) = lines.get_mut(1) {
            let rules = rule.trim_matches('|').split('|').zip(&self.columns);
            let rules = rules.map(|(rule, (_, align))| match align {
                Align::Left => rule.to_owned(),
                Align::Right => rule[1..].to_owned() + ":",
            });
            *rule = format!("|{}|", rules.collect::<Vec<_>>().join("|"));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn drawn(&self, cell: impl Fn(&str) -> String) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.set_header(self.columns.iter().map(|(name, _)| cell(name)));
        table.add_rows(self.rows.iter().map(|row| row.iter().map(|text| cell(text))));
        for (column, (_, align)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_text_and_markdown_alike() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.push(["a|b\u{e9}".to_owned(), "100".to_owned()]);
        table.push(["long name".to_owned()]);
        let lines = [
            "\u{250c}─────────────────┐",
            "│ name          n │",
            "╞═════════════════╡",
            "│ a|b\u{e9}        100 │",
            "│ long name       │",
            "└─────────────────┘\n",
        ];
        assert_eq!(table.to_text(80), lines.join("\n"));
        assert_eq!(
            table.to_markdown(),
            "| name      |   n |\n\
             |-----------|----:|\n\
             | a\\|b\u{e9}     | 100 |\n\
             | long name |     |\n"
        );
    }

    #[test]
    fn a_narrow_terminal_wraps_cells() {
        let mut table = Table::of_numbers(&["sentence", "n"]);
        table.push(["one two three four five six".to_owned(), "7".to_owned()]);
        let text = table.to_text(20);
        assert!(text.lines().all(|line| line.chars().count() <= 20), "{text}");
        assert!(text.contains("six"), "{text}");
    }
}
