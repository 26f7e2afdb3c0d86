//! Results of `q2c tune`: each method at each block size.

use super::figure::{
    CPU, EFFECTIVE_SLEEP, FigureKind, IOPS, KIOPS_PER_CORE, MEAN, MISS_RATE, P50, P99, P999,
};
use super::{Content, Kind, Of, typed};
use q2c_result::tune::{Cell, SCHEMA, TuneResult};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c tune",
    schema: SCHEMA,
    figures: FIGURES,
    content,
};

/// The figures of a method.
pub(super) const FIGURES: &[FigureKind] = &[
    IOPS,
    KIOPS_PER_CORE,
    CPU,
    MEAN,
    P50,
    P99,
    P999,
    MISS_RATE,
    EFFECTIVE_SLEEP,
];

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: TuneResult = typed(value)?;
    Ok(Content {
        figures: figures(&result, ""),
        version: result.version,
        started_unix_s: Some(result.provenance.started_unix_s),
        complete: result.complete,
        simulated: result.machine.simulated.is_some(),
        facts: &["job", "machine", "target"],
    })
}

/// The figures of all methods, each named with `before`.
pub(super) fn figures(result: &TuneResult, before: &str) -> Vec<super::DiffFigure> {
    let cells = result.cells.iter();
    cells.flat_map(|cell| of_cell(cell, before)).collect()
}

fn of_cell(cell: &Cell, before: &str) -> Vec<super::DiffFigure> {
    let measured = &cell.measured;
    let mut of = Of::new(format!("{before}{} {}", cell.bs, cell.method));
    of.add(IOPS, measured.rates.iops);
    of.add(KIOPS_PER_CORE, measured.kiops_per_core);
    of.add(CPU, measured.rates.cpu_pct);
    of.add(MEAN, measured.latencies.mean_ns);
    of.add(P50, measured.latencies.p50_ns);
    of.add(P99, measured.latencies.p99_ns);
    of.add(P999, measured.latencies.p999_ns);
    if cell.sleeping {
        of.add(MISS_RATE, measured.rates.miss_rate);
        of.add(EFFECTIVE_SLEEP, measured.rates.effective_sleep_ns);
    }
    of.figures
}
