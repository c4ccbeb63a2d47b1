//! The page: sections of charts and tables in one HTML file that needs nothing else.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::{Chart, LegendEntry, SIZE};
use crate::console::table::Table;

/// The page's only style sheet.
const STYLE: &str = include_str!("page.css");

/// What the page says it was made by.
const GENERATOR: &str = "tesla-train report";
/// Bytes of a page that hold its generator.
const HEAD: usize = 200;

/// Something in a section.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A sentence or two.
    Text(String),
    Chart(Chart),
    /// With its caption.
    Table(String, Table),
}

/// A section of the page.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) items: Vec<Item>,
}

impl Section {
    pub(super) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), items: Vec::new() }
    }

    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.items.push(Item::Text(text.into()));
    }

    /// Adds a chart if it shows anything.
    pub(super) fn chart(&mut self, chart: Chart) {
        if !chart.is_empty() {
            self.items.push(Item::Chart(chart));
        }
    }

    /// Adds a table if it has rows.
    pub(super) fn table(&mut self, caption: impl Into<String>, table: Table) {
        if !table.rows().is_empty() {
            self.items.push(Item::Table(caption.into(), table));
        }
    }

    fn anchor(&self) -> String {
        self.title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }
}

fn legend(entries: &[LegendEntry<'_>]) -> Markup {
    html! {
        ul.legend {
            @for (name, colour, class) in entries {
                li {
                    span class={ "key " (class) } style={ "border-color:" (colour) } {}
                    (name)
                }
            }
        }
    }
}

fn figure(chart: &Chart) -> Result<Markup> {
    let svg = PreEscaped(chart.svg()?);
    let entries = chart.legend();
    Ok(html! {
        figure {
            figcaption { (chart.caption) }
            // One nameless series needs no key.
            @if entries.len() > 1 { (legend(&entries)) }
            (svg)
        }
    })
}

fn table(caption: &str, table: &Table) -> Markup {
    let class = |column| if table.is_number(column) { "number" } else { "text" };
    // One sort of minus on the page; a dash alone is no number.
    let shown = |column, cell: &str| {
        let is_negative = table.is_number(column) && cell.len() > 1;
        if is_negative { cell.replace('-', "\u{2212}") } else { cell.to_owned() }
    };
    html! {
        div.table {
            table {
                caption { (caption) }
                thead { tr { @for (i, name) in table.headings().iter().enumerate() {
                    th scope="col" class=(class(i)) { (name) }
                } } }
                tbody { @for row in table.rows() { tr {
                    @for (i, cell) in row.iter().enumerate() {
                        td class=(class(i)) { (shown(i, cell)) }
                    }
                } } }
            }
        }
    }
}

fn item(item: &Item) -> Result<Markup> {
    Ok(match item {
        Item::Text(text) => html! { p { (text) } },
        Item::Chart(chart) => figure(chart)?,
        Item::Table(caption, rows) => table(caption, rows),
    })
}

/// Height of a line of the legend of a picture in a file.
const LEGEND_LINE: u32 = 22;

/// The charts of a section as files of their own, each with its legend: name and content.
///
/// # Errors
/// When a chart cannot be drawn.
pub(super) fn pictures(section: &Section) -> Result<Vec<(String, String)>> {
    let charts = section.items.iter().filter_map(|item| match item {
        Item::Chart(chart) => Some(chart),
        _ => None,
    });
    let picture = |(number, chart): (usize, &Chart)| {
        let name = format!("{}-{}.svg", section.anchor(), number + 1);
        Ok((name, picture(chart)?.into_string()))
    };
    charts.enumerate().map(picture).collect()
}

fn picture(chart: &Chart) -> Result<Markup> {
    let (width, height) = SIZE;
    let entries = chart.legend();
    let lines = if entries.len() > 1 { entries.len() as u32 } else { 0 };
    let (top, all) = (30, 30 + height + lines * LEGEND_LINE + 8);
    let place = |line: usize| top + height + line as u32 * LEGEND_LINE + 12;
    Ok(html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (all) }
            width=(width) height=(all) font-family="sans-serif" font-size="15" {
            rect width="100%" height="100%" fill="white" {}
            text x="12" y="20" font-weight="bold" { (chart.caption) }
            svg y=(top) width=(width) height=(height) { (PreEscaped(chart.svg()?)) }
            @for (line, (name, colour, class)) in entries.iter().take(lines as usize).enumerate() {
                line x1="80" x2="110" y1=(place(line)) y2=(place(line)) stroke=(colour)
                    stroke-width="3" stroke-dasharray=[(*class == "dashed").then_some("6 5")] {}
                text x="120" y=(place(line) + 5) { (name) }
            }
        }
    })
}

/// Charts that follow each other stand side by side where there is room.
fn items(all: &[Item]) -> Result<Markup> {
    let is_chart = |item: &Item| matches!(item, Item::Chart(_));
    let groups = all.chunk_by(|a, b| is_chart(a) && is_chart(b));
    let drawn: Vec<(bool, Vec<Markup>)> = groups
        .map(|group| Ok((is_chart(&group[0]), group.iter().map(item).collect::<Result<_>>()?)))
        .collect::<Result<_>>()?;
    Ok(html! {
        @for (are_charts, group) in &drawn {
            @if *are_charts { div.charts { @for one in group { (one) } } }
            @else { @for one in group { (one) } }
        }
    })
}

/// Whether this is a page that was made here.
pub(super) fn is_ours(page: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&page[..page.len().min(HEAD)]);
    head.contains(&format!("name=\"generator\" content=\"{GENERATOR}\""))
}

/// The whole file: what was found in words at the top, then `sections`.
///
/// # Errors
/// When a chart cannot be drawn.
pub(super) fn page(
    title: &str,
    (lead, headlines): (&[String], &[String]),
    sections: &[Section],
) -> Result<String> {
    let drawn: Vec<Markup> =
        sections.iter().map(|section| items(&section.items)).collect::<Result<_, _>>()?;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(GENERATOR);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    @for headline in headlines { p.headline { (headline) } }
                    @for line in lead { p.lead { (line) } }
                }
                @if sections.len() > 1 {
                    nav { @for section in sections {
                        a href={ "#" (section.anchor()) } { (section.title) }
                    } }
                }
                main { @for (section, drawn) in sections.iter().zip(&drawn) {
                    section id=(section.anchor()) { h2 { (section.title) } (drawn) }
                } }
            }
        }
    };
    Ok(markup.into_string())
}
