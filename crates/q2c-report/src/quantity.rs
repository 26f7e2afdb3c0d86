//! Writes numbers as text, mostly with three significant digits.

use crate::phrase::{counted, listed_if_any, when};
use q2c_model::stats::Interval;

/// The text that stands for a number that was not measured.
pub(crate) const DASH: &str = "-";

/// The number of decimals that gives three significant digits, at most two.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// A number as `1234`, `123`, `12.3`, `1.23`, `0.12`, `<0.01` or `0`; `-` for NaN and infinity.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if !v.is_finite() => DASH.to_owned(),
        0.0 => "0".to_owned(),
        v if v.abs() < 0.005 => if v < 0.0 { ">-0.01" } else { "<0.01" }.to_owned(),
        v => format!("{v:.*}", decimals(v)),
    }
}

/// The median of the trials times `scale`; `-` without a trial.
pub(crate) fn median(interval: &Interval, scale: f64) -> String {
    or_dash((interval.trials > 0).then(|| number(interval.median * scale)))
}

pub(crate) fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// The median times `scale`, with its range if it has one: `98.4 [96.1, 101.3]`.
pub(crate) fn median_and_range(interval: &Interval, scale: f64) -> String {
    let text = format!("{} {}", median(interval, scale), range(interval, scale));
    text.trim_end().to_owned()
}

/// Two durations; a unit that both share is written once.
pub(crate) fn two_durations(a: f64, b: f64) -> String {
    let (a, b) = (duration(a), duration(b));
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} / {b}"),
        _ => format!("{a} / {b}"),
    }
}

/// The text, or `-` for `None`.
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| DASH.to_owned())
}

/// `[min, max]` times `scale`, with the median's decimals; empty with fewer than two trials.
pub(crate) fn range(interval: &Interval, scale: f64) -> String {
    if interval.trials < 2 {
        return String::new();
    }
    let decimals = decimals(interval.median * scale);
    let (min, max) = (interval.min * scale, interval.max * scale);
    format!("[{min:.decimals$}, {max:.decimals$}]")
}

/// The number of trials that ran, out of those asked for: `5 trials`, `1 trial`, `2 of 3 trials`.
/// `counts` has the number of trials of each point; points without a trial do not count.
pub(crate) fn trials(asked: u32, counts: impl IntoIterator<Item = u32>) -> String {
    let counts: Vec<u32> = counts.into_iter().filter(|n| *n > 0).collect();
    let least = counts.iter().copied().min().unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0);
    let span = format!("{least} to ");
    let span = when(least != most, &span);
    if most > asked && least < asked {
        format!("{span}{most} trials ({asked} asked for)")
    } else if least < asked {
        format!("{span}{most} of {}", counted(asked, "trial"))
    } else {
        format!("{span}{}", counted(most, "trial"))
    }
}

/// A duration in ns as a number with a fitting unit: `850 ns`, `62.4 us`, `1.50 ms`, `8.20 s`.
pub(crate) fn duration(ns: f64) -> String {
    match ns.abs() {
        v if !v.is_finite() => DASH.to_owned(),
        v if v < 1e3 => format!("{} ns", number(ns)),
        v if v < 1e6 => format!("{} us", number(ns / 1e3)),
        v if v < 1e9 => format!("{} ms", number(ns / 1e6)),
        _ => seconds(ns / 1e9),
    }
}

/// Removes trailing zeros after the decimal point. A quantity that was set, not measured, must not
/// look precise: `10.0 s` becomes `10 s`.
pub(crate) fn trim_zeros(quantity: &str) -> String {
    match quantity.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => quantity.to_owned(),
    }
}

/// A duration in seconds as `8.20 s`, `12 min 4 s` or `2 h 3 min`.
pub(crate) fn seconds(s: f64) -> String {
    if !s.is_finite() || s < 100.0 {
        return format!("{} s", number(s));
    }
    let whole = s.round() as u64;
    match whole {
        0..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// I/Os per second as `850`, `52.3 K` or `1.50 M`.
pub(crate) fn iops(value: f64) -> String {
    match value.abs() {
        v if v < 1e3 => number(value),
        v if v < 1e6 => format!("{} K", number(value / 1e3)),
        _ => format!("{} M", number(value / 1e6)),
    }
}

/// A count with narrow no-break spaces between the thousands: `1 234 567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        text.extend((i > 0 && (digits.len() - i).is_multiple_of(3)).then_some('\u{202f}'));
        text.push(digit);
    }
    text
}

/// The counts above 0, each with its description: `3 failed, 2 without data`.
pub(crate) fn counted_if_any(counts: &[(u64, &str)]) -> Option<String> {
    let present = counts.iter().filter(|(n, _)| *n > 0);
    listed_if_any(present.map(|(n, what)| format!("{} {what}", count(*n))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;

    #[test]
    fn three_significant_digits() {
        let values = [12_345.6, 99.96, 99.94, 12.34, 9.996, 1.234, 0.004, 0.0];
        let shown = values.map(number).join(" ");
        assert_eq!(shown, "12346 100 99.9 12.3 10.0 1.23 <0.01 0");
        assert_eq!(number(f64::NAN), "-");
    }

    #[test]
    fn an_interval_has_its_medians_decimals() {
        let trials = Interval::from_samples(&[9_900.0, 12_340.0, 104_000.0]);
        assert_eq!(median(&trials, 1e-3), "12.3");
        assert_eq!(range(&trials, 1e-3), "[9.9, 104.0]");
    }

    #[test]
    fn nothing_measured_is_no_number() {
        assert_eq!(median(&Interval::default(), 1.0), "-");
        assert_eq!(range(&Interval::default(), 1.0), "");
        assert_eq!(range(&Interval::from_samples(&[3.0]), 1.0), "", "one trial");
    }

    #[test]
    fn trials_are_those_that_were_run() {
        let trials_text = |asked: u32, run: &[u32]| trials(asked, run.iter().copied());
        assert_eq!(trials_text(5, &[5, 5]), "5 trials");
        assert_eq!(trials_text(1, &[1]), "1 trial");
        assert_eq!(trials_text(3, &[2, 2, 0]), "2 of 3 trials");
        assert_eq!(trials_text(3, &[2, 3]), "2 to 3 of 3 trials");
        assert_eq!(trials_text(3, &[3, 6]), "3 to 6 trials", "more were needed");
        assert_eq!(trials_text(5, &[1, 10]), "1 to 10 trials (5 asked for)");
        assert_eq!(trials_text(3, &[0]), "0 of 3 trials");
    }

    #[test]
    fn durations_and_rates_carry_their_unit() {
        let times = [310.0, 43_120.0, 2.5e6, 8.2e9, 724e9, 7_384e9].map(duration);
        let wanted = "310 ns, 43.1 us, 2.50 ms, 8.20 s, 12 min 4 s, 2 h 3 min";
        assert_eq!(times.join(", "), wanted);
        let rates = [850.0, 12_340.0, 1.5e6].map(iops);
        assert_eq!(rates, ["850", "12.3 K", "1.50 M"]);
    }

    #[test]
    fn what_was_set_is_shown_bare() {
        let shown = ["10.0 s", "2.50 ms", "100 us", "-"].map(trim_zeros);
        assert_eq!(shown, ["10 s", "2.5 ms", "100 us", "-"]);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn sizes_stay_readable() {
        let shown = [512, 256 << 30, 1_920_383_410_176].map(|n| Bytes(n).in_short());
        assert_eq!(shown, ["512 B", "256 GiB", "1.75 TiB"]);
    }
}
