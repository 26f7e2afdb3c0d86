//! The trials of replays and comparisons as CSV.

use super::{field, text};
use crate::replay::reasons;
use q2c_result::compare::CompareResult;
use q2c_result::replay::{CapturedBy, Lateness, ReplayResult, ReplayTrial, Spread};

/// Names of a trial's columns behind its number, in the order of [`row`].
const HEAD: [&str; 28] = [
    "valid",
    "invalid",
    "complete",
    "saturated",
    "stalled",
    "stalled_s",
    "completion_s",
    "sum_u2c_s",
    "sum_u2c_intended_s",
    "sum_q2c_s",
    "q2c_source",
    "q2c_ios",
    "q2c_parts",
    "q2c_excess",
    "q2c_lost",
    "end_drift_ns",
    "issued",
    "errors",
    "first_error",
    "bytes",
    "in_flight_mean",
    "in_flight_most",
    "recorded_in_flight_mean",
    "recorded_in_flight_most",
    "in_flight_error",
    "order_inversions",
    "submitter_cpu_s",
    "reader_cpu_s",
];

/// The trials of `q2c replay`, one row each. A quantity that was not measured is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn replay(result: &ReplayResult) -> Result<String, ::csv::Error> {
    let rows = result.trials.iter().enumerate();
    write(
        &["trial"],
        rows.map(|(at, trial)| (vec![(at + 1).to_string()], trial)),
    )
}

/// The trials of `q2c compare`, one row for each trace, mode, device and trial. A quantity that was
/// not measured is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn compare(result: &CompareResult) -> Result<String, ::csv::Error> {
    let devices = result.comparisons.iter().flat_map(|one| {
        let devices = one.devices.iter();
        devices.map(move |device| (one, device))
    });
    let rows = devices.flat_map(|(one, device)| {
        let names = [
            one.trace.path.clone(),
            one.job.mode.name().to_owned(),
            device.target.path.clone(),
        ];
        let trials = device.trials.iter().enumerate();
        trials.map(move |(at, trial)| {
            let names = names.iter().cloned();
            (names.chain([(at + 1).to_string()]).collect(), trial)
        })
    });
    write(&["trace", "mode", "device", "trial"], rows)
}

fn write<'a>(
    names: &[&str],
    rows: impl Iterator<Item = (Vec<String>, &'a ReplayTrial)>,
) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let late = ["lateness", "own_lateness"]
        .map(|of| ["p50", "p99", "p999", "max"].map(|at| format!("{of}_{at}_ns")));
    let spread =
        |of: &str| ["mean", "p50", "p90", "p99", "p999", "max"].map(|at| format!("{of}_{at}_ns"));
    let spreads = ["u2c", "u2c_intended", "q2c"].map(spread);
    let own = names.iter().chain(&HEAD).map(|&name| name.to_owned());
    writer.write_record(
        own.chain(late.into_iter().flatten())
            .chain(spreads.into_iter().flatten()),
    )?;
    for (names, trial) in rows {
        writer.write_record(names.into_iter().chain(row(trial)))?;
    }
    text(writer)
}

fn row(trial: &ReplayTrial) -> impl Iterator<Item = String> {
    let flight = &trial.in_flight;
    // Without capture there are no Q2C counts, which differs from a count of zero.
    let captured = |n: u64| trial.sum_q2c_s.map_or_else(String::new, |_| n.to_string());
    let maybe = |value: Option<f64>| value.map_or_else(String::new, field);
    let own = [
        trial.valid.to_string(),
        reasons(&trial.invalid),
        trial.whole.to_string(),
        trial.saturated.to_string(),
        trial.stalled.to_string(),
        field(trial.stalled_s),
        field(trial.completion_s),
        field(trial.sum_u2c_s),
        field(trial.sum_u2c_intended_s),
        maybe(trial.sum_q2c_s),
        trial.q2c_source.map_or("", CapturedBy::name).to_owned(),
        captured(trial.q2c_ios),
        captured(trial.q2c_parts),
        trial
            .sum_q2c_s
            .map_or_else(String::new, |_| trial.q2c_excess.to_string()),
        captured(trial.q2c_lost),
        trial.end_drift_ns.to_string(),
        trial.issued.to_string(),
        trial.errors.to_string(),
        trial.first_error.clone().unwrap_or_default(),
        trial.bytes.to_string(),
        field(flight.mean),
        flight.most.to_string(),
        maybe(flight.recorded_mean),
        flight
            .recorded_most
            .map_or_else(String::new, |n| n.to_string()),
        maybe(flight.error),
        trial.order_inversions.to_string(),
        field(trial.submitter_cpu_s),
        field(trial.reader_cpu_s),
    ];
    let late = [&trial.lateness_ns, &trial.own_lateness_ns].map(lateness);
    let spreads = [
        Some(&trial.u2c_ns),
        Some(&trial.u2c_intended_ns),
        trial.q2c_ns.as_ref(),
    ];
    let late = late.into_iter().flatten();
    own.into_iter()
        .chain(late)
        .chain(spreads.map(spread).into_iter().flatten())
}

fn lateness(of: &Lateness) -> [String; 4] {
    [of.p50, of.p99, of.p999, of.max].map(field)
}

fn spread(of: Option<&Spread>) -> [String; 6] {
    match of.filter(|of| of.ios > 0) {
        Some(of) => [of.mean, of.p50, of.p90, of.p99, of.p999, of.max].map(field),
        None => Default::default(),
    }
}
