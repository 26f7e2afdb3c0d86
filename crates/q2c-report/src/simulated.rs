//! Simulated figures as a table.

use crate::quantity::{duration, or_nothing};
use crate::said::{ReportField, ReportTable};
use q2c_model::SimulatedFigures;

/// The table of rows made by [`row`].
pub(crate) fn table(rows: impl IntoIterator<Item = Vec<ReportField>>) -> ReportTable {
    let heads = "method | IOPS | CPU % | KIOPS/core | missed % | asked | late % | polled % | p50 | p99 | p99.9";
    let legend =
        "Late: time lost by oversleeping, over device time. Polled: time polled, over device time.";
    ReportTable::headed(heads, rows).legend(legend)
}

/// The row of a method that simulated `ios` I/Os. If none counts there are no figures, because some
/// would be a division by zero.
pub(crate) fn row(name: &str, ios: u64, gives: &SimulatedFigures) -> Vec<ReportField> {
    let known = |value: f64| ios > 0 && value.is_finite();
    let shown = |v: f64, decimals: usize| or_nothing(known(v).then(|| format!("{v:.decimals$}")));
    let time = |ns: f64| or_nothing(known(ns).then(|| duration(ns)));
    let row = [
        name.to_owned(),
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
    row.map(ReportField::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an I/O that counts, all figures are unknown: neither 0 ns nor "NaN".
    #[test]
    fn a_method_without_an_io_has_no_figures() {
        let mut gives = SimulatedFigures {
            kiops_per_core: 1.0,
            ..SimulatedFigures::default()
        };
        let blanks = |ios, gives: &SimulatedFigures| {
            let row = row("poll", ios, gives);
            row.iter().filter(|field| field.text == "-").count()
        };
        assert_eq!(blanks(0, &gives), 10);
        gives.kiops_per_core = f64::NAN;
        assert_eq!(blanks(1, &gives), 1);
    }
}
