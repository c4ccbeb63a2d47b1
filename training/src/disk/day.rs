//! The day of a time, for people.

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The day of a time in seconds since 1970: year, month and day with `between` between them.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
pub fn day(seconds: u64, between: &str) -> String {
    let days = seconds / DAY + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{between}{month:02}{between}{day:02}")
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days() {
        assert_eq!(day(0, "."), "1970.01.01");
        assert_eq!(day(951_782_400, "-"), "2000-02-29");
        assert_eq!(day(951_868_800, "."), "2000.03.01");
        assert_eq!(day(1_798_761_599, "."), "2026.12.31");
        assert_eq!(day(1_798_761_600, "."), "2027.01.01");
    }
}
