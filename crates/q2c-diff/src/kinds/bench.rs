//! Results of `q2c bench`: each point.

use super::figure::{BUSY, FigureKind, IOPS, KIOPS_PER_CORE, MEAN, MISS_RATE, P50, P99, P999};
use super::{Content, Kind, Of, single, typed};
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, SCHEMA};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c bench",
    schema: SCHEMA,
    figures: FIGURES,
    content,
};

const FIGURES: &[FigureKind] = &[IOPS, KIOPS_PER_CORE, BUSY, MEAN, P50, P99, P999, MISS_RATE];

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: BenchResult = typed(value)?;
    Ok(Content {
        figures: result.cells.iter().flat_map(figures).collect(),
        version: result.version,
        started_unix_s: Some(result.provenance.started_unix_s),
        complete: result.complete,
        simulated: result.machine.simulated.is_some(),
        facts: &["job", "machine", "target"],
    })
}

fn figures(cell: &BenchCell) -> Vec<super::DiffFigure> {
    let mut of = Of::new(name(&cell.point));
    of.add(IOPS, cell.iops);
    of.add(KIOPS_PER_CORE, cell.kiops_per_core);
    of.add(BUSY, cell.cpu.busy_s);
    if cell.iops.trials > 0 {
        // Latencies are kept as one value over all trials.
        of.add(MEAN, single(cell.lat_ns.mean));
        of.add(P50, single(cell.lat_ns.p50));
        of.add(P99, single(cell.lat_ns.p99));
        of.add(P999, single(cell.lat_ns.p999));
    }
    if let Some(misses) = cell.miss_rate {
        of.add(MISS_RATE, misses);
    }
    of.figures
}

fn name(point: &BenchPoint) -> String {
    // The engine of a simulated device names the device, which is another one on the other side.
    let engine = point.engine.split(':').next().unwrap_or_default();
    let mut name = format!(
        "{engine} {} {} {} depth {} jobs {}",
        point.method, point.bs, point.rw, point.depth, point.jobs
    );
    let settings = [
        ("hardware queues", point.hw_queues),
        ("nr_requests", point.nr_requests),
    ];
    for (setting, value) in settings {
        if let Some(value) = value {
            name += &format!(" {setting} {value}");
        }
    }
    if !point.background.is_empty() {
        name += &format!(" beside {}", point.background);
    }
    name
}
