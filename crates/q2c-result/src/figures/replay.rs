//! The figures of `q2c replay` and `q2c compare`: a row for each trial. Invalid trials are not
//! compared.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Nanoseconds as Ns, Number, Seconds as S};
use super::{Columns, or_empty};
use crate::compare::CompareResult;
use crate::replay::{InFlight, Lateness, ReplayResult, ReplayTrial, Spread};

struct ReplayFigureRow<'a> {
    /// The trace, the mode and the device; each is empty if there is only one.
    names: [&'a str; 3],
    /// Number of the trial, from 1.
    number: usize,
    trial: &'a ReplayTrial,
}

measures!(ReplayResult, columns(), |r| rows([""; 3], &r.trials));

measures!(CompareResult, columns(), |result| {
    result.comparisons.iter().flat_map(|one| {
        one.devices.iter().flat_map(move |device| {
            let names = [&one.trace.path, one.job.mode.name(), &device.target.path];
            rows(names, &device.trials)
        })
    })
});

fn rows<'a>(
    names: [&'a str; 3],
    trials: &'a [ReplayTrial],
) -> impl Iterator<Item = ReplayFigureRow<'a>> {
    let numbered = trials.iter().zip(1..);
    numbered.map(move |(trial, number)| ReplayFigureRow {
        names,
        number,
        trial,
    })
}

fn columns<'a>() -> Columns<ReplayFigureRow<'a>> {
    let columns = with_stats(sums(keys()), "", &COMPARED, u2c).not_compared();
    let columns = own_costs(with_stats(columns, "", &NOT_COMPARED, u2c));
    let columns = with_stats(columns, "lateness_", &LATENESS, |t| Some(&t.lateness_ns));
    let columns = with_stats(columns, "own_lateness_", &LATENESS, |trial| {
        Some(&trial.own_lateness_ns)
    });
    let columns = with_stats(columns, "u2c_intended_", &COMPARED, intended_u2c);
    let columns = with_stats(columns, "u2c_intended_", &NOT_COMPARED, intended_u2c);
    let columns = with_stats(columns, "q2c_", &COMPARED, q2c);
    with_stats(columns, "q2c_", &NOT_COMPARED, q2c)
}

fn u2c(trial: &ReplayTrial) -> Option<&Spread> {
    Some(&trial.u2c_ns).filter(|of| of.ios > 0)
}

fn intended_u2c(trial: &ReplayTrial) -> Option<&Spread> {
    Some(&trial.u2c_intended_ns).filter(|of| of.ios > 0)
}

fn q2c(trial: &ReplayTrial) -> Option<&Spread> {
    trial.q2c_ns.as_ref().filter(|of| of.ios > 0)
}

fn variant_name(row: &ReplayFigureRow) -> Option<String> {
    let name = match row.names {
        [_, _, ""] => "replay".to_owned(),
        names => names.join(" "),
    };
    row.trial.valid.then_some(name)
}

fn keys<'a>() -> Columns<ReplayFigureRow<'a>> {
    let kinds = |row: &ReplayFigureRow| {
        let kinds: Vec<&str> = row.trial.invalid.iter().map(Into::into).collect();
        kinds.join(" ")
    };
    Columns::new(variant_name)
        .key("trace", |row: &ReplayFigureRow<'a>| row.names[0].to_owned())
        .key("mode", |row| row.names[1].to_owned())
        .key("device", |row| row.names[2].to_owned())
        .key("trial", |row| row.number.to_string())
        .key("valid", |row| row.trial.valid.to_string())
        .key("invalid", kinds)
        .key("complete", |row| row.trial.whole.to_string())
        .key("saturated", |row| row.trial.saturated.to_string())
        .key("q2c_source", |row| or_empty(row.trial.q2c_source))
        .key("first_error", |r| or_empty(r.trial.first_error.as_ref()))
}

fn sums(columns: Columns<ReplayFigureRow<'_>>) -> Columns<ReplayFigureRow<'_>> {
    columns
        .figure("completion", S, Less, |row| row.trial.completion_s)
        .figure("sum_u2c", S, Less, |row| row.trial.sum_u2c_s)
        .figure("sum_q2c", S, Less, |row| row.trial.sum_q2c_s)
        .figure("in_flight", Number, Neither, |row| row.trial.in_flight.mean)
}

/// Adds counts of the trial, and the replayer's own costs.
fn own_costs(columns: Columns<ReplayFigureRow<'_>>) -> Columns<ReplayFigureRow<'_>> {
    columns
        .figure("sum_u2c_intended", S, Less, |r| r.trial.sum_u2c_intended_s)
        .figure("in_flight_most", Number, Neither, |r| in_flight(r).most)
        .figure("recorded_in_flight", Number, Neither, |r| {
            in_flight(r).recorded_mean
        })
        .figure("recorded_in_flight_most", Number, Neither, |row| {
            in_flight(row).recorded_most
        })
        .figure("in_flight_error", Number, Less, |row| in_flight(row).error)
        .figure("stalled", Number, Less, |row| row.trial.stalled)
        .figure("stalled_time", S, Less, |row| row.trial.stalled_s)
        .figure("q2c_ios", Number, Neither, |r| seen(r, r.trial.q2c_ios))
        .figure("q2c_parts", Number, Neither, |r| seen(r, r.trial.q2c_parts))
        .figure("q2c_excess", Number, Less, |r| seen(r, r.trial.q2c_excess))
        .figure("q2c_lost", Number, Less, |r| seen(r, r.trial.q2c_lost))
        .figure("end_drift", Ns, Neither, |row| row.trial.end_drift_ns)
        .figure("issued", Number, Neither, |row| row.trial.issued)
        .figure("errors", Number, Less, |row| row.trial.errors)
        .figure("bytes", Number, More, |row| row.trial.bytes)
        .figure("order_inversions", Number, Less, |r| {
            r.trial.order_inversions
        })
        .figure("submitter_cpu", S, Less, |r| r.trial.submitter_cpu_s)
        .figure("reader_cpu", S, Less, |row| row.trial.reader_cpu_s)
}

fn in_flight<'a>(row: &ReplayFigureRow<'a>) -> &'a InFlight {
    &row.trial.in_flight
}

/// The count, or `None` without a capture, which differs from a count of 0.
fn seen<T>(row: &ReplayFigureRow, count: T) -> Option<T> {
    row.trial.sum_q2c_s.is_some().then_some(count)
}

/// A statistic of a distribution: its name, and the function that reads its value in ns.
type NamedStatistic<T> = (&'static str, fn(&T) -> f64);

const LATENESS: [NamedStatistic<Lateness>; 4] = [
    ("p50", |late| late.p50),
    ("p99", |late| late.p99),
    ("p99.9", |late| late.p999),
    ("max", |late| late.max),
];
const COMPARED: [NamedStatistic<Spread>; 3] = [
    ("p50", |spread| spread.p50),
    ("p99", |spread| spread.p99),
    ("p99.9", |spread| spread.p999),
];
const NOT_COMPARED: [NamedStatistic<Spread>; 3] = [
    ("mean", |spread| spread.mean),
    ("p90", |spread| spread.p90),
    ("max", |spread| spread.max),
];

/// Adds some statistics of one distribution of a trial. `prefix` names the distribution.
fn with_stats<'a, T: 'static>(
    columns: Columns<ReplayFigureRow<'a>>,
    prefix: &str,
    statistics: &[NamedStatistic<T>],
    distribution: fn(&ReplayTrial) -> Option<&T>,
) -> Columns<ReplayFigureRow<'a>> {
    statistics.iter().fold(columns, |columns, &(name, value)| {
        let value = move |row: &ReplayFigureRow| distribution(row.trial).map(value);
        columns.figure(format!("{prefix}{name}"), Ns, Less, value)
    })
}
