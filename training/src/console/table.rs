//! Tables: for people in a terminal, and as Markdown for files.

use std::ops::Range;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};
use console::Term;

/// A number with so many digits; `-` where there is none.
pub fn told(number: f64, digits: usize) -> String {
    if number.is_nan() { "-".to_owned() } else { format!("{number:.digits$}") }
}

/// Rows of text under headings. The first columns hold text, on the left; the others hold numbers,
/// on the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    headings: Vec<String>,
    /// Columns of text.
    texts: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with columns of text and columns of numbers.
    pub fn new(texts: &[&str], numbers: &[&str]) -> Table {
        let headings = texts.iter().chain(numbers).map(|&name| name.to_owned()).collect();
        Table { headings, texts: texts.len(), rows: Vec::new() }
    }

    /// Adds a row; cells beyond the columns are dropped, missing ones are empty.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = row.into_iter().collect();
        row.resize(self.headings.len(), String::new());
        self.rows.push(row);
    }

    /// The columns' headings.
    pub fn headings(&self) -> &[String] {
        &self.headings
    }

    /// Whether a column holds numbers.
    pub fn is_number(&self, column: usize) -> bool {
        column >= self.texts
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

    /// The table in lines of at most `width` columns: cells wrapped between words; where words are
    /// too long for that, with columns and rows exchanged; where that is too wide too, each row as
    /// a table of its own.
    pub fn to_text(&self, width: u16) -> String {
        if self.least_width() <= usize::from(width) {
            return self.boxed(width);
        }
        let turned = self.turned(0..self.rows.len());
        if turned.least_width() <= usize::from(width) {
            return turned.boxed(width);
        }
        (0..self.rows.len()).map(|row| self.turned(row..row + 1).boxed(width)).collect()
    }

    /// Columns that the table needs so that no word is broken: a border on the left, then each cell
    /// with a blank on both sides and what parts it from the next.
    fn least_width(&self) -> usize {
        1 + (0..self.headings.len()).map(|column| self.longest_word(column) + 3).sum::<usize>()
    }

    fn longest_word(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]).chain([&self.headings[column]]);
        let words = cells.flat_map(|cell| cell.split_whitespace());
        words.map(|word| word.chars().count()).max().unwrap_or(0)
    }

    /// Some rows as columns, and the headings as the first column.
    fn turned(&self, rows: Range<usize>) -> Table {
        let rows = &self.rows[rows];
        let column = |column: usize| rows.iter().map(move |row| row[column].clone());
        let headings = [self.headings.first().cloned().unwrap_or_default()].into_iter();
        let headings = headings.chain(rows.iter().map(|row| row[0].clone())).collect();
        let mut turned = Table { headings, texts: 1, rows: Vec::new() };
        for (index, heading) in self.headings.iter().enumerate().skip(1) {
            turned.push([heading.clone()].into_iter().chain(column(index)));
        }
        turned
    }

    fn boxed(&self, width: u16) -> String {
        let mut table = self.drawn(str::to_owned);
        table.load_style(presets::UTF8_BORDERS_ONLY);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        for (index, column) in table.column_iter_mut().enumerate() {
            let words = u16::try_from(self.longest_word(index) + 2).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(words)));
        }
        format!("{table}\n")
    }

    /// A Markdown table, aligned in the source too.
    pub fn to_markdown(&self) -> String {
        let mut table = self.drawn(|cell| cell.replace('|', "\\|"));
        table.load_style(presets::ASCII_MARKDOWN);
        let mut lines: Vec<String> = table.lines().collect();
        // A colon at the end of a column's rule puts its cells on the right.
        if let Some(rule) = lines.get_mut(1) {
            let rules = rule.trim_matches('|').split('|').enumerate();
            let rules = rules.map(|(column, rule)| {
                if self.is_number(column) { rule[1..].to_owned() + ":" } else { rule.to_owned() }
            });
            *rule = format!("|{}|", rules.collect::<Vec<_>>().join("|"));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn drawn(&self, cell: impl Fn(&str) -> String) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.set_header(self.headings.iter().map(|name| cell(name)));
        table.add_rows(self.rows.iter().map(|row| row.iter().map(|text| cell(text))));
        for column in table.column_iter_mut().skip(self.texts) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_text_and_markdown_alike() {
        let mut table = Table::new(&["name"], &["n"]);
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
    fn a_narrow_terminal_breaks_no_word() {
        let numbers = ["games", "Elo (pairs)", "normalized Elo"];
        let mut table = Table::new(&["pairing"], &numbers);
        let row = ["A - B", "8", "+137.0 [-10.9, +364.3]", "+222.2 ± 240.8"];
        table.push(row.map(str::to_owned));
        let words = row[1..].iter().chain(&numbers).flat_map(|cell| cell.split_whitespace());
        let words: Vec<&str> = words.collect();
        for (width, is_turned) in [(60, false), (42, false), (41, true), (32, true)] {
            let text = table.to_text(width);
            let fits = |line: &str| line.chars().count() <= usize::from(width);
            assert!(text.lines().all(fits), "{text}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            let is_beside = text.lines().any(|line| line.contains("pairing   games"));
            assert_eq!(!is_beside, is_turned, "{text}");
        }
        table.push(["another - B", "8", "+1,137.0", "+1,222.2"].map(str::to_owned));
        let text = table.to_text(32);
        assert_eq!(text.lines().filter(|line| line.contains("pairing")).count(), 2, "{text}");
    }

    #[test]
    fn a_narrow_terminal_wraps_cells() {
        let mut table = Table::new(&["sentence"], &["n"]);
        table.push(["one two three four five six".to_owned(), "7".to_owned()]);
        let text = table.to_text(20);
        assert!(text.lines().all(|line| line.chars().count() <= 20), "{text}");
        assert!(text.contains("six"), "{text}");
    }
}
