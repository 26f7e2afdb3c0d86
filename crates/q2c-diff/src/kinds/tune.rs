//! Results of `q2c tune`: each method at each block size.

use super::{Content, Kind, Of, typed};
use q2c_result::diff::Better::{Less, More, Neither};
use q2c_result::diff::FigureUnit::{Nanoseconds, PerSecond, Percent, Share, ThousandPerSecond};
use q2c_result::tune::{Cell, EARLIER, SCHEMA, TuneResult};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c tune",
    schema: SCHEMA,
    earlier: &EARLIER,
    content,
};

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: TuneResult = typed(value)?;
    Ok(Content {
        figures: result.cells.iter().flat_map(figures).collect(),
        version: result.version,
        started_unix_s: Some(result.started_unix_s),
        complete: result.complete,
        facts: &["job", "machine", "target"],
    })
}

fn figures(cell: &Cell) -> Vec<super::DiffFigure> {
    let measured = &cell.measured;
    let mut of = Of::new(format!("{} {}", cell.bs, cell.method));
    of.add("iops", PerSecond, More, measured.rates.iops);
    of.add(
        "kiops_per_core",
        ThousandPerSecond,
        More,
        measured.kiops_per_core,
    );
    of.add("cpu", Percent, Less, measured.rates.cpu_pct);
    of.add("mean", Nanoseconds, Less, measured.latencies.mean_ns);
    of.add("p50", Nanoseconds, Less, measured.latencies.p50_ns);
    of.add("p99", Nanoseconds, Less, measured.latencies.p99_ns);
    of.add("p99.9", Nanoseconds, Less, measured.latencies.p999_ns);
    if cell.sleeping {
        of.add("miss_rate", Share, Less, measured.rates.miss_rate);
        of.add(
            "effective_sleep",
            Nanoseconds,
            Neither,
            measured.rates.effective_sleep_ns,
        );
    }
    of.figures
}
