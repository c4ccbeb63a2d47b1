//! The interval of a share.

/// 97.5 % quantile of the normal distribution, for two-sided 95 % intervals.
pub(crate) const Z_95: f64 = 1.959_963_984_540_054;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Wilson's score interval of `k` successes in `n` trials, 95 %
/// (Wilson 1927, J. Am. Stat. Assoc. 22, 209). The whole of `0..=1` for no trials.
pub fn wilson(k: usize, n: usize) -> ShareInterval {
    if n == 0 {
        return ShareInterval { low: 0.0, high: 1.0 };
    }
    let (k, n) = (k as f64, n as f64);
    let (p, z2) = (k / n, Z_95 * Z_95);
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    ShareInterval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_published_values() {
        // Newcombe 1998, Stat. Med. 17, 857, table I, method 3
        for (k, n, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = wilson(k, n);
            assert!(
                (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5,
                "{k}/{n} {found:?}"
            );
        }
        assert_eq!(wilson(0, 0), ShareInterval { low: 0.0, high: 1.0 });
    }
}
