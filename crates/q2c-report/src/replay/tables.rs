//! The tables of a replay: sums, latencies and trials.

use super::timed;
use crate::analysis::time;
use crate::phrase::{when, yes_or_no};
use crate::quantity::{NOTHING, count, number, range};
use crate::said::{ReportField, ReportTable, row};
use q2c_model::stats::Interval;
use q2c_result::replay::{Lateness, ReplayJob, ReplayResult, ReplayTrial, Spread};

const NOT_CAPTURED: &str = "- (run with --capture)";

/// A length of time in seconds with a fitting unit, never in minutes, because compared times need
/// one form.
fn length(s: f64) -> String {
    spread(&Interval::from_samples(&[s])).text
}

/// The median with its unit, with `[min, max]` in a second line.
pub(crate) fn spread(interval: &Interval) -> ReportField {
    if interval.trials == 0 {
        return NOTHING.into();
    }
    let (scale, unit) = match interval.median.abs() {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let text = format!("{} {unit}", number(interval.median * scale));
    ReportField::over(text, range(interval, scale))
}

/// Completion time and sums of latencies: those of the shown trial, and medians over the valid
/// trials.
pub(super) fn sums(result: &ReplayResult) -> ReportTable {
    let valid: Vec<&ReplayTrial> = result.trials.iter().filter(|t| t.valid).collect();
    let several = result.trials.len() > 1;
    let row = |name: &str, get: fn(&ReplayTrial) -> Option<f64>| {
        let values: Vec<f64> = valid.iter().filter_map(|t| get(t)).collect();
        let over =
            (several && !values.is_empty()).then(|| spread(&Interval::from_samples(&values)));
        let shown = get(&result.trial).map_or_else(|| NOT_CAPTURED.to_owned(), length);
        row![name, shown, over.unwrap_or_default()]
    };
    let mut rows = vec![
        row("completion time", |t| Some(t.completion_s)),
        row("sum of U2C", |t| Some(t.sum_u2c_s)),
    ];
    if intended(&result.job, &result.trial) {
        let name = "sum of U2C from the intended time";
        rows.push(row(name, |t| Some(t.sum_u2c_intended_s)));
    }
    rows.push(row("sum of Q2C", |t| t.sum_q2c_s));
    let trials = format!("median of\n{} valid", valid.len());
    let shown = if several { "shown trial" } else { "time" };
    const SHOWN: &str = "Shown: the trial with the median sum of U2C. Medians with [min, max] over the valid trials.";
    ReportTable::from_rows(["", shown, &trials], rows)
        .legend(when(several, SHOWN))
        .without_empty_columns()
}

/// True if columns for lateness and for U2C from the intended time are useful: they differ from
/// zero and from plain U2C.
fn intended(job: &ReplayJob, trial: &ReplayTrial) -> bool {
    timed(job) || trial.sum_u2c_intended_s != trial.sum_u2c_s || trial.lateness_ns.max > 0.0
}

pub(super) fn latencies(job: &ReplayJob, trial: &ReplayTrial) -> ReportTable {
    const NAMES: [&str; 7] = ["I/Os", "mean", "p50", "p90", "p99", "p99.9", "max"];
    let is_intended = intended(job, trial);
    let u2c = of_spread(Some(&trial.u2c_ns));
    let mut columns = vec![("", NAMES.map(str::to_owned)), ("U2C", u2c)];
    if is_intended {
        columns.push(("from\nintended", of_spread(Some(&trial.u2c_intended_ns))));
    }
    columns.push(("Q2C", of_spread(trial.q2c_ns.as_ref())));
    if is_intended {
        columns.push(("lateness", of_lateness(&trial.lateness_ns)));
        columns.push(("own\nlateness", of_lateness(&trial.own_lateness_ns)));
    }
    let row = |at: usize| columns.iter().map(move |(_, column)| &*column[at]);
    let rows = (0..NAMES.len()).map(row);
    ReportTable::from_rows(columns.iter().map(|(name, _)| *name), rows)
        .legend(if is_intended { INTENDED } else { PLAIN })
        .without_empty_columns()
}

const PLAIN: &str =
    "U2C: from just before the submission to the reaping. Q2C: the same in the block layer.";
const INTENDED: &str = "U2C: from just before the submission to the reaping; from intended: from the time that the trace asks for. Q2C: in the \
     block layer. Lateness: submission behind the intended time; own: of requests that nothing but the replayer held up.";

fn of_spread(spread: Option<&Spread>) -> [String; 7] {
    let Some(spread) = spread.filter(|spread| spread.ios > 0) else {
        return Default::default();
    };
    let [mean, p50, p90] = [spread.mean, spread.p50, spread.p90].map(time);
    let [p99, p999, max] = [spread.p99, spread.p999, spread.max].map(time);
    [count(spread.ios), mean, p50, p90, p99, p999, max]
}

fn of_lateness(lateness: &Lateness) -> [String; 7] {
    let [p50, p99, p999, max] = [lateness.p50, lateness.p99, lateness.p999, lateness.max].map(time);
    let none = String::new;
    [none(), none(), p50, none(), p99, p999, max]
}

pub(super) fn trials(result: &ReplayResult) -> Option<ReportTable> {
    const HEADS: &str =
        "trial | completion | sum of\nU2C | sum of\nQ2C | own\nlateness\np99 | saturated | valid";
    let late = intended(&result.job, &result.trial);
    let shown = (result.trial.sum_u2c_s, result.trial.completion_s);
    let row = |(at, trial): (usize, &ReplayTrial)| {
        let is_shown = shown == (trial.sum_u2c_s, trial.completion_s);
        let own_lateness = late.then(|| time(trial.own_lateness_ns.p99));
        row![
            format!("{}{}", at + 1, when(is_shown, " (shown)")),
            length(trial.completion_s),
            length(trial.sum_u2c_s),
            trial.sum_q2c_s.map(length).unwrap_or_default(),
            own_lateness.unwrap_or_default(),
            yes_or_no(trial.saturated),
            yes_or_no(trial.valid),
        ]
    };
    let table = ReportTable::headed(HEADS, result.trials.iter().enumerate().map(row));
    (result.trials.len() > 1).then(|| table.without_empty_columns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_keeps_its_unit() {
        let spread_of = |values: &[f64]| spread(&Interval::from_samples(values));
        let longer = ReportField::over("725 s", "[724, 7384]");
        assert_eq!(spread_of(&[724.0, 725.4, 7384.0]), longer);
        assert_eq!(
            spread_of(&[0.302, 0.299, 1.5]),
            ReportField::over("302 ms", "[299, 1500]")
        );
        assert_eq!(spread_of(&[]), ReportField::from("-"));
        assert_eq!(length(12.34e-6), "12.3 us");
    }
}
