//! Charts as SVG text, for pages that are read without a network.

mod axis;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use axis::{label, log_marks};

pub(super) use axis::{Axis, Scale};

/// Width and height in CSS pixels; the page scales them down where it is narrow.
pub(super) const SIZE: (u32, u32) = (640, 360);
/// Colours that people with any colour vision tell apart (Okabe and Ito).
pub(super) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
/// Of a line that is there to compare with.
const GREY: RGBColor = RGBColor(130, 130, 130);
/// Most points of a drawn line: more are means of neighbours, as a screen shows no more.
const MOST_POINTS: usize = 500;

/// One mark, perhaps with an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// 95 % interval of `y`.
    pub(super) interval: Option<(f64, f64)>,
}

impl Point {
    pub(super) fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }

    pub(super) fn within(x: f64, y: f64, interval: (f64, f64)) -> Self {
        Self { x, y, interval: Some(interval) }
    }
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// A line through them.
    Line,
    /// A dashed one, for what is expected rather than seen.
    Dashed,
    /// A dashed grey one, for what would be right.
    Reference,
    /// Dots with their intervals.
    Dots,
    /// Both.
    DotsAndLine,
    /// A step from each to the next: a histogram's outline.
    Steps,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// For the legend; series of one name have one colour.
    pub(super) name: String,
    pub(super) marks: Marks,
    pub(super) points: Vec<Point>,
}

impl Series {
    pub(super) fn new(name: &str, marks: Marks, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), marks, points }
    }

    /// The outline of a histogram over `0..=1` from the shares of its bins: 1 everywhere if they
    /// are even.
    pub(super) fn density(name: &str, shares: &[f64]) -> Self {
        let bins = shares.len() as f64;
        let heights = shares.iter().chain(shares.last()).enumerate();
        let point = |(bin, share): (usize, &f64)| Point::new(bin as f64 / bins, share * bins);
        Self::new(name, Marks::Steps, heights.map(point).collect())
    }
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// What it says, for the caption.
    pub(super) caption: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

/// An entry of the legend: name, CSS colour, class of the style sheet.
pub(super) type LegendEntry<'a> = (&'a str, String, &'static str);

/// Means of neighbours where there are more points than a screen shows.
fn thinned(points: &[Point]) -> Vec<Point> {
    let group = points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |points: &[Point], of: fn(&Point) -> f64| {
        points.iter().map(of).sum::<f64>() / points.len() as f64
    };
    if group == 1 {
        return points.to_vec();
    }
    points.chunks(group).map(|few| Point::new(mean(few, |p| p.x), mean(few, |p| p.y))).collect()
}

impl Chart {
    /// Whether there is anything to see.
    pub(super) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    fn colour(&self, series: &Series) -> RGBColor {
        if series.marks == Marks::Reference {
            return GREY;
        }
        let mut names: Vec<&str> = Vec::new();
        for series in self.series.iter().filter(|series| series.marks != Marks::Reference) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        let place = names.iter().position(|name| *name == series.name).unwrap_or(0);
        COLOURS[place % COLOURS.len()]
    }

    /// The names with their colours.
    pub(super) fn legend(&self) -> Vec<LegendEntry<'_>> {
        let mut entries: Vec<LegendEntry<'_>> = Vec::new();
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            let RGBColor(r, g, b) = self.colour(series);
            if !entries.iter().any(|(name, ..)| *name == series.name) {
                let class = match series.marks {
                    Marks::Dashed | Marks::Reference => "dashed",
                    Marks::Dots => "dot",
                    _ => "line",
                };
                entries.push((&series.name, format!("rgb({r},{g},{b})"), class));
            }
        }
        entries
    }

    /// The chart as an `svg` element.
    ///
    /// # Errors
    /// When the drawing library refuses.
    pub(super) fn svg(&self) -> Result<String> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            self.draw(&root).and_then(|()| Ok(root.present()?)).map_err(|what| {
                anyhow!("the chart \"{}\" cannot be drawn: {what}", self.caption)
            })?;
        }
        // It goes into a page: no head of its own, as wide as the page allows.
        let size = format!("<svg width=\"{}\" height=\"{}\" ", SIZE.0, SIZE.1);
        Ok(text.replacen(&size, "<svg ", 1))
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x0, x1) = self.x.ends(points().map(|point| point.x));
        let (y0, y1) = self.y.ends(points().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        }));
        let log =
            |low: f64, high: f64| (low..high).log_scale().with_key_points(log_marks(low, high));
        match (self.x.scale, self.y.scale) {
            (Scale::Linear, Scale::Linear) => self.plot(area, x0..x1, y0..y1),
            (Scale::Log, Scale::Linear) => self.plot(area, log(x0, x1), y0..y1),
            (Scale::Linear, Scale::Log) => self.plot(area, x0..x1, log(y0, y1)),
            (Scale::Log, Scale::Log) => self.plot(area, log(x0, x1), log(y0, y1)),
        }
    }

    fn plot<X, Y>(&self, area: &DrawingArea<SVGBackend<'_>, Shift>, x: X, y: Y) -> Result<()>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let font = ("sans-serif", 15);
        let mut context = ChartBuilder::on(area)
            .margin(8)
            .margin_right(18)
            .x_label_area_size(50)
            .y_label_area_size(74)
            .build_cartesian_2d(x, y)?;
        context
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_labels(8)
            .y_labels(7)
            .x_label_formatter(&|x| label(*x))
            .y_label_formatter(&|y| label(*y))
            .label_style(font)
            .axis_desc_style(font)
            .axis_style(RGBColor(120, 120, 120))
            .bold_line_style(RGBColor(222, 222, 222))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for series in &self.series {
            self.mark(&mut context, series)?;
        }
        Ok(())
    }

    fn mark<'a, X: Ranged<ValueType = f64>, Y: Ranged<ValueType = f64>>(
        &self,
        context: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
        series: &Series,
    ) -> Result<()> {
        let colour = self.colour(series);
        let stroke = colour.stroke_width(2);
        let may_show = |p: &&Point| self.x.may_show(p.x) && self.y.may_show(p.y);
        let shown: Vec<Point> = series.points.iter().filter(may_show).copied().collect();
        let line = || thinned(&shown).into_iter().map(|point| (point.x, point.y)).collect();
        match series.marks {
            Marks::Line | Marks::DotsAndLine => {
                let line: Vec<(f64, f64)> = line();
                context.draw_series(LineSeries::new(line, stroke))?;
            }
            Marks::Dashed | Marks::Reference => {
                let line: Vec<(f64, f64)> = line();
                context.draw_series(DashedLineSeries::new(line, 6, 5, stroke))?;
            }
            Marks::Steps => {
                let ends = shown.windows(2).flat_map(|w| [(w[0].x, w[0].y), (w[1].x, w[0].y)]);
                let last = shown.last().map(|point| (point.x, point.y));
                context.draw_series(LineSeries::new(ends.chain(last), stroke))?;
            }
            Marks::Dots => {}
        }
        if matches!(series.marks, Marks::Dots | Marks::DotsAndLine) {
            let dot = |point: &Point| Circle::new((point.x, point.y), 4, colour.filled());
            context.draw_series(shown.iter().map(dot))?;
            let bars = shown.iter().filter_map(|point| {
                let (low, high) = point
                    .interval
                    .filter(|(low, high)| self.y.may_show(*low) && self.y.may_show(*high))?;
                Some(ErrorBar::new_vertical(point.x, low, point.y, high, colour.filled(), 8))
            });
            context.draw_series(bars)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scale_cannot_show_is_left_out() {
        let points = [0.0, 1.0, f64::NAN, 100.0].map(|x| Point::within(x, x, (-1.0, x)));
        let chart = Chart {
            caption: "a <chart>".to_owned(),
            x: Axis::log("x & y"),
            y: Axis::log("y"),
            series: vec![Series::new("one", Marks::DotsAndLine, points.to_vec())],
        };
        let svg = chart.svg().unwrap();
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(svg.starts_with("<svg viewBox") && svg.contains("x &amp; y"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(chart.legend(), [("one", "rgb(0,114,178)".to_owned(), "line")]);
    }

    #[test]
    fn a_chart_without_points_or_with_one_is_drawn() {
        for points in [vec![], vec![Point::new(3.0, 3.0)]] {
            let chart = Chart {
                caption: String::new(),
                x: Axis::new("x"),
                y: Axis::new("y").including(&[0.0]),
                series: vec![Series::new("", Marks::Dots, points)],
            };
            assert!(!chart.svg().unwrap().contains("NaN"));
        }
    }

    #[test]
    fn long_lines_are_thinned_by_means() {
        let points: Vec<Point> = (0..1200).map(|x| Point::new(f64::from(x), 1.0)).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= MOST_POINTS && (thin[0].x - 1.0).abs() < 1e-9, "{:?}", thin[0]);
    }
}
