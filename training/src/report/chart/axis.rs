//! The axes of a chart: their ends, marks and labels.

/// Fewest marks of a logarithmic axis, where its ends allow.
const FEWEST_MARKS: usize = 3;
/// Room left free around the marks, as a share of an axis.
const MARGIN: f64 = 0.06;
/// How an axis is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::report) enum Scale {
    #[default]
    Linear,
    /// Each decade is as long as the next; numbers must be above 0.
    Log,
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Axis {
    /// What it shows, with its unit.
    pub(in crate::report) label: String,
    pub(in crate::report) scale: Scale,
    /// Ends that must be on it, whatever the marks say.
    pub(in crate::report) include: Vec<f64>,
}

impl Axis {
    pub(in crate::report) fn new(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }

    pub(in crate::report) fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::new(label) }
    }

    pub(in crate::report) fn including(self, ends: &[f64]) -> Self {
        Self { include: ends.to_vec(), ..self }
    }

    pub(super) fn may_show(&self, number: f64) -> bool {
        number.is_finite() && (self.scale == Scale::Linear || number > 0.0)
    }

    /// Ends of the axis for these numbers.
    pub(super) fn ends(&self, numbers: impl Iterator<Item = f64>) -> (f64, f64) {
        let numbers = numbers.chain(self.include.iter().copied()).filter(|&x| self.may_show(x));
        let all: Vec<f64> = numbers.collect();
        let (low, high) = (least(&all), most(&all));
        match self.scale {
            _ if all.is_empty() => (1.0, 10.0),
            Scale::Log => {
                let room = (high / low).powf(MARGIN).max(1.05);
                (low / room, high * room)
            }
            Scale::Linear => {
                let room = if high > low { (high - low) * MARGIN } else { high.abs().max(1.0) };
                let stop =
                    |end: f64, moved: f64| if self.include.contains(&end) { end } else { moved };
                (stop(low, low - room), stop(high, high + room))
            }
        }
    }
}

/// Where a logarithmic axis is marked: at powers of ten, at 1, 2 and 5 of each decade, or at every
/// digit, by what gives three marks at least.
pub(super) fn log_marks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let marks = |digits: &[f64]| -> Vec<f64> {
        let all =
            (first..=last).flat_map(|power| digits.iter().map(move |x| x * 10_f64.powi(power)));
        all.filter(|mark| (low..=high).contains(mark)).collect()
    };
    let [tens, halves] = [&[1.0][..], &[1.0, 2.0, 5.0]].map(marks);
    match (tens.len(), halves.len()) {
        (FEWEST_MARKS.., _) => tens,
        (_, FEWEST_MARKS..) => halves,
        _ => marks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
    }
}

fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// A number as short as it can be told from its neighbours on an axis.
pub(super) fn label(number: f64) -> String {
    let size = number.abs();
    let text = match size {
        0.0 => return "0".to_owned(),
        _ if size >= 1e6 => format!("{:.4}", number / 1e6),
        _ if size >= 1e4 => format!("{:.3}", number / 1e3),
        _ if size < 1e-3 => return format!("{number:.0e}"),
        _ => format!("{number:.4}"),
    };
    let unit = if size >= 1e6 {
        " M"
    } else if size >= 1e4 {
        " k"
    } else {
        ""
    };
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{unit}", text.replace('-', "\u{2212}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (1500.0, "1500"),
            (25_000.0, "25 k"),
            (2_500_000.0, "2.5 M"),
            (-0.25, "\u{2212}0.25"),
            (0.000_2, "2e-4"),
            (100.0, "100"),
        ] {
            assert_eq!(label(number), text);
        }
    }

    #[test]
    fn logarithmic_axes_have_marks_whatever_they_span() {
        assert_eq!(log_marks(1.5, 3.5), [2.0, 3.0]);
        assert_eq!(log_marks(90.0, 1100.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(log_marks(1e-4, 1.0).len(), 5);
    }
}
