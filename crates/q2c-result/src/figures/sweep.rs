//! The figures of `q2c poll sweep`: each configuration on each trace.
//!
//! Also the losses of `q2c poll study` and `q2c poll search`, of each configuration on each
//! counting pattern. Also the figures of `q2c scale predict`, of each point of the curve.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{
    Bytes, Nanoseconds as Ns, Number, PerSecond, Percent, Share, ThousandPerSecond as Kilo,
};
use super::{Columns, Figure, FigureTable, Measures, word};
use crate::poll_search::PollSearchResult;
use crate::poll_study::{PollStudyResult, ScoredPolicy, StudiedPattern};
use crate::scale::{CurvePoint, ScaleResult};
use crate::sweep::{SimCell, SweepResult};
use std::collections::BTreeSet;

/// A configuration with the trace that it was simulated on.
type SweepFigureRow<'a> = (&'a str, &'a SimCell);

impl Measures for SweepResult {
    fn declared() -> Vec<Figure> {
        with_rates(configurations()).declared()
    }

    fn figures(&self) -> FigureTable {
        let params: BTreeSet<&String> = self.cells.iter().flat_map(|c| c.params.keys()).collect();
        let with_params = params.into_iter().fold(configurations(), |columns, param| {
            let name = param.clone();
            let value = move |(_, cell): &SweepFigureRow| cell.params.get(&name).copied();
            columns.figure(format!("param_{param}"), Number, Neither, value)
        });
        let path = |cell: &SimCell| self.inputs[cell.input].path.as_str();
        with_rates(with_params).table(self.cells.iter().map(|cell| (path(cell), cell)))
    }
}

fn configurations<'a>() -> Columns<SweepFigureRow<'a>> {
    Columns::new(|(input, cell): &SweepFigureRow| Some(format!("{input} {}", cell.policy)))
        .key("input", |(input, _)| (*input).to_owned())
        .key("rule", |(_, cell)| cell.rule.clone())
        .key("policy", |(_, cell)| cell.policy.clone())
        .figure("bs", Bytes, Neither, |(_, cell)| cell.bs.0)
}

fn with_rates<'a>(columns: Columns<SweepFigureRow<'a>>) -> Columns<SweepFigureRow<'a>> {
    columns
        .figure("iops", PerSecond, More, |(_, of)| of.gives.rates.iops)
        .figure("cpu", Percent, Less, |(_, of)| of.gives.rates.cpu_pct)
        .figure("cpu_ns_per_io", Number, Less, |r| r.1.gives.cpu_ns_per_io)
        .figure("kiops_per_core", Kilo, More, |r| r.1.gives.kiops_per_core)
        .figure("miss_rate", Share, Less, |(_, of)| of.gives.rates.miss_rate)
        .figure("effective_sleep", Ns, Neither, |(_, of)| {
            of.gives.rates.effective_sleep_ns
        })
        .figure("t_over", Share, Less, |(_, of)| of.gives.t_over)
        .figure("t_under", Share, Less, |(_, of)| of.gives.t_under)
        .figure("mean", Ns, Less, |(_, of)| of.gives.latencies.mean_ns)
        .figure("p50", Ns, Less, |(_, of)| of.gives.latencies.p50_ns)
        .figure("p99", Ns, Less, |(_, of)| of.gives.latencies.p99_ns)
        .figure("p99.9", Ns, Less, |(_, of)| of.gives.latencies.p999_ns)
}

struct StudyFigureRow<'a> {
    policy: &'a str,
    /// Why the policy was tried on the patterns held out; empty in a study.
    role: String,
    pattern: &'a StudiedPattern,
    /// Share of the objective that is lost, 0..1; `None` if a limit is broken.
    loss: Option<f64>,
}

measures!(PollStudyResult, columns(), |result| {
    let scored = result.configurations.iter();
    scored.flat_map(|scored| rows(scored, String::new(), &result.patterns))
});

measures!(PollSearchResult, columns(), |result| {
    let contenders = result.contenders.iter();
    contenders.flat_map(|c| rows(&c.held_out, word(c.role), &result.held_out))
});

fn rows<'a>(
    scored: &'a ScoredPolicy,
    role: String,
    patterns: &'a [StudiedPattern],
) -> impl Iterator<Item = StudyFigureRow<'a>> {
    let losses = patterns.iter().zip(&scored.losses);
    let counting = losses.filter(|(pattern, _)| pattern.own_best.is_some());
    counting.map(move |(pattern, loss)| StudyFigureRow {
        policy: &scored.policy,
        role: role.clone(),
        pattern,
        loss: *loss,
    })
}

fn columns<'a>() -> Columns<StudyFigureRow<'a>> {
    Columns::new(|row: &StudyFigureRow| Some(format!("{} {}", row.policy, row.pattern.name)))
        .key("policy", |row| row.policy.to_owned())
        .key("role", |row| row.role.clone())
        .key("pattern", |row| row.pattern.name.clone())
        .key("source", |row| row.pattern.source.clone())
        .figure("loss", Share, Less, |row| row.loss)
}

measures!(ScaleResult, curve(), |result| &result.curve);

fn curve<'a>() -> Columns<&'a CurvePoint> {
    Columns::new(|point: &&CurvePoint| Some(format!("jobs {}", point.jobs)))
        .key("jobs", |point| point.jobs.to_string())
        .key("measured", |point| point.measured.to_string())
        .figure("iops", PerSecond, More, |point| point.iops)
        .not_compared()
        .figure("iops_low", PerSecond, More, |point| point.low)
        .figure("iops_high", PerSecond, More, |point| point.high)
}
