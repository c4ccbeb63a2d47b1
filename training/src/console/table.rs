//! Tables, as plain text and as Markdown.

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

    /// Columns aligned with spaces, two between them.
    pub fn to_text(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(self.rows.clone()).collect();
        let lines = self.pad(&rows).into_iter().map(|row| row.join("  ").trim_end().to_owned());
        lines.map(|line| line + "\n").collect()
    }

    /// A Markdown table, aligned in the source too.
    pub fn to_markdown(&self) -> String {
        let escape = |cell: &String| cell.replace('|', "\\|");
        let header = self.columns.iter().map(|(name, _)| escape(name)).collect();
        let mut rows: Vec<Vec<String>> = vec![header];
        rows.extend(self.rows.iter().map(|row| row.iter().map(escape).collect()));
        let mut padded = self.pad(&rows);
        let rule = self.columns.iter().zip(&padded[0]).map(|((_, align), cell)| {
            let dashes = "-".repeat(cell.chars().count().saturating_sub(1).max(1));
            if *align == Align::Right { dashes + ":" } else { dashes + "-" }
        });
        let rule = rule.collect();
        padded.insert(1, rule);
        let lines = padded.into_iter().map(|row| ["| ", &row.join(" | "), " |\n"].concat());
        lines.collect()
    }

    /// Cells filled up with spaces to their column's width.
    fn pad(&self, rows: &[Vec<String>]) -> Vec<Vec<String>> {
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(2)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let pad = |(cell, ((_, align), width)): (&String, (&(String, Align), &usize))| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        };
        let row =
            |row: &Vec<String>| row.iter().zip(self.columns.iter().zip(&widths)).map(pad).collect();
        rows.iter().map(row).collect()
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
        assert_eq!(table.to_text(), "name         n\na|b\u{e9}       100\nlong name\n");
        assert_eq!(
            table.to_markdown(),
            "| name      |   n |\n| --------- | --: |\n| a\\|b\u{e9}     | 100 |\n| long name |     |\n"
        );
    }
}
