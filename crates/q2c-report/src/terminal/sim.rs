//! `q2c poll sim` in a terminal: one line for each method.

use super::screen::printable;
use crate::taken_as;
use q2c_model::Nanos;
use q2c_result::sim::{FormulaWindows, SimMethod, SimResult};

/// The outcomes of a simulation, with what the trace was taken as.
#[must_use]
pub fn sim(simulation: &SimResult) -> String {
    let lanes = match simulation.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let mut lines = vec![
        format!(
            "{}: {} I/Os, {lanes}",
            simulation.trace.escape_debug(),
            simulation.ios
        ),
        format!(
            "simulated: {} after {} of warm-up",
            simulation.measure_ns, simulation.warm_up_ns
        ),
        header(),
    ];
    let taken = taken_as::words(&simulation.taken_as, simulation.lanes);
    let taken = taken
        .iter()
        .map(|part| format!("taken as: {}", printable(part)));
    lines.splice(
        1..1,
        taken.chain([format!("cost: {}", simulation.cost.escape_debug())]),
    );
    lines.extend(simulation.methods.iter().map(row));
    lines.extend(simulation.methods.iter().filter_map(no_time));
    lines.push(
        "late: time lost by oversleeping / device time; polled: time polled / device time"
            .to_owned(),
    );
    lines.join("\n")
}

/// The heads of the columns of [`row`].
pub(super) fn header() -> String {
    format!(
        "{:>10} {:>7} {:>11} {:>8} {:>10} {:>7} {:>7} {:>10} {:>10} {:>10}  method",
        "IOPS",
        "CPU %",
        "KIOPS/core",
        "missed %",
        "asked",
        "late %",
        "polled",
        "p50",
        "p99",
        "p99.9"
    )
}

/// Says in how many windows a formula gave no time, so that the rule polled. `None` when it always
/// gave one.
fn no_time(row: &SimMethod) -> Option<String> {
    let FormulaWindows {
        all,
        negative,
        undefined,
    } = row.windows.as_ref()?;
    (negative + undefined > 0).then(|| {
        format!(
            "no sleep after {} of {all} windows: {negative} gave a negative time, {undefined} no number (division by zero): {}",
            negative + undefined,
            row.method
        )
    })
}

pub(super) fn row(
    SimMethod {
        method, ios, gives, ..
    }: &SimMethod,
) -> String {
    // Without an I/O that counts there are no figures, and some would divide by nothing.
    let known = |value: f64| *ios > 0 && value.is_finite();
    let number = |value: f64, decimals: usize| match known(value) {
        true => format!("{value:.decimals$}"),
        false => "-".to_owned(),
    };
    let time = |ns: f64| match known(ns) {
        true => Nanos(ns.round() as u64).to_string(),
        false => "-".to_owned(),
    };
    format!(
        "{:>10} {:>7} {:>11} {:>8} {:>10} {:>7} {:>7} {:>10} {:>10} {:>10}  {method}",
        number(gives.rates.iops, 0),
        number(gives.rates.cpu_pct, 1),
        number(gives.kiops_per_core, 2),
        number(gives.rates.miss_rate * 100.0, 2),
        time(gives.rates.effective_sleep_ns),
        number(gives.t_over * 100.0, 2),
        number(gives.t_under * 100.0, 1) + "%",
        time(gives.latencies.p50_ns),
        time(gives.latencies.p99_ns),
        time(gives.latencies.p999_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without an I/O that counts no figure is known: neither 0 ns nor "NaN".
    #[test]
    fn a_method_without_an_io_has_no_figures() {
        let mut none = SimMethod {
            method: "poll".to_owned(),
            ios: 0,
            gives: q2c_model::Simulated::default(),
            windows: None,
        };
        let words =
            |row: String| -> Vec<String> { row.split_whitespace().map(str::to_owned).collect() };
        let shown = words(row(&none));
        assert_eq!(shown.iter().filter(|word| *word == "-").count(), 9);
        assert_eq!(shown.last().unwrap(), "poll");
        none.ios = 1;
        none.gives.kiops_per_core = f64::NAN;
        let shown = words(row(&none));
        assert_eq!(shown.iter().filter(|word| *word == "-").count(), 1);
    }
}
