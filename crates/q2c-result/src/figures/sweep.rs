//! The figures of `q2c poll sweep`: each configuration on each trace.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{
    Bytes, Nanoseconds as Ns, Number, PerSecond, Percent, Share, ThousandPerSecond as Thousands,
};
use super::{Columns, Figure, FigureTable, Measures};
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
            columns.number(format!("param_{param}"), Number, Neither, value)
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
        .number("bs", Bytes, Neither, |(_, cell)| cell.bs.0 as f64)
}

fn with_rates<'a>(columns: Columns<SweepFigureRow<'a>>) -> Columns<SweepFigureRow<'a>> {
    columns
        .number("iops", PerSecond, More, |(_, of)| of.gives.rates.iops)
        .number("cpu", Percent, Less, |(_, of)| of.gives.rates.cpu_pct)
        .number("cpu_ns_per_io", Number, Less, |r| r.1.gives.cpu_ns_per_io)
        .number("kiops_per_core", Thousands, More, |r| {
            r.1.gives.kiops_per_core
        })
        .number("miss_rate", Share, Less, |(_, of)| of.gives.rates.miss_rate)
        .number("effective_sleep", Ns, Neither, |(_, of)| {
            of.gives.rates.effective_sleep_ns
        })
        .number("t_over", Share, Less, |(_, of)| of.gives.t_over)
        .number("t_under", Share, Less, |(_, of)| of.gives.t_under)
        .number("mean", Ns, Less, |(_, of)| of.gives.latencies.mean_ns)
        .number("p50", Ns, Less, |(_, of)| of.gives.latencies.p50_ns)
        .number("p99", Ns, Less, |(_, of)| of.gives.latencies.p99_ns)
        .number("p99.9", Ns, Less, |(_, of)| of.gives.latencies.p999_ns)
}
