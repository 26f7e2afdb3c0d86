//! Simulated figures as the row of a table.

use crate::quantity::duration;
use crate::said::Field;
use q2c_model::Simulated;

/// The heads of the columns of [`row`].
pub(crate) const HEAD: [&str; 11] = [
    "method",
    "IOPS",
    "CPU %",
    "KIOPS/core",
    "missed %",
    "asked",
    "late %",
    "polled %",
    "p50",
    "p99",
    "p99.9",
];

/// What late and polled mean.
pub(crate) const LEGEND: &str =
    "Late: time lost by oversleeping, over device time. Polled: time polled, over device time.";

/// The row of a method over so many I/Os. Without one that counts there are no figures, and some
/// would divide by nothing.
pub(crate) fn row(name: &str, ios: u64, gives: &Simulated) -> Vec<Field> {
    let known = |value: f64| ios > 0 && value.is_finite();
    let shown = |value: f64, decimals: usize| match known(value) {
        true => format!("{value:.decimals$}"),
        false => "-".to_owned(),
    };
    let time = |ns: f64| match known(ns) {
        true => duration(ns),
        false => "-".to_owned(),
    };
    let numbers = [
        shown(gives.rates.iops, 0),
        shown(gives.rates.cpu_pct, 1),
        shown(gives.kiops_per_core, 2),
        shown(gives.rates.miss_rate * 100.0, 2),
        time(gives.rates.effective_sleep_ns),
        shown(gives.t_over * 100.0, 2),
        shown(gives.t_under * 100.0, 1),
        time(gives.latencies.p50_ns),
        time(gives.latencies.p99_ns),
        time(gives.latencies.p999_ns),
    ];
    std::iter::once(Field::from(name))
        .chain(numbers.into_iter().map(Field::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an I/O that counts no figure is known: neither 0 ns nor "NaN".
    #[test]
    fn a_method_without_an_io_has_no_figures() {
        let mut gives = Simulated {
            kiops_per_core: 1.0,
            ..Simulated::default()
        };
        let blanks = |ios, gives: &Simulated| {
            let row = row("poll", ios, gives);
            let blank = row.iter().filter(|field| **field == Field::from("-"));
            blank.count()
        };
        assert_eq!(blanks(0, &gives), 10);
        gives.kiops_per_core = f64::NAN;
        assert_eq!(blanks(1, &gives), 1);
    }
}
