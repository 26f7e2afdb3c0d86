//! The figures of `q2c bench`: a row for each point.

use super::Better::{Less, More, Neither};
use super::FigureUnit::ThousandPerSecond as Kilo;
use super::FigureUnit::{Cpus, Nanoseconds as Ns, Number, PerSecond, Share};
use super::{Columns, add_kinds, or_empty};
use crate::analyze::{Bottleneck, StageStats};
use crate::bench::{BenchCell, BenchPoint, BenchResult, PointDevice};

/// The stages that have figures, in the order of an I/O's life.
const STAGES: [&str; 8] = ["Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C"];

type StageStatistic = (&'static str, fn(&StageStats) -> f64);
const STATS: [StageStatistic; 3] = [
    ("mean", |stats| stats.mean_ns),
    ("p50", |stats| stats.p50_ns),
    ("p99", |stats| stats.p99_ns),
];

measures!(BenchResult, columns(), |result| &result.cells);

fn columns<'a>() -> Columns<&'a BenchCell> {
    let columns = with_stages(with_job_figures(with_device_facts(point_columns())));
    add_kinds(columns, |cell| &cell.kinds)
}

fn point_columns<'a>() -> Columns<&'a BenchCell> {
    Columns::new(|cell: &&BenchCell| Some(point_name(&cell.point)))
        .key("engine", |cell| cell.point.engine.clone())
        .key("method", |cell| cell.point.method.to_string())
        .key("effective_mode", |cell| cell.effective_mode.mode.text())
        .key("jobs", |cell| cell.point.jobs.to_string())
        .key("depth", |cell| cell.point.depth.to_string())
        .key("bs_bytes", |cell| cell.point.bs.0.to_string())
        .key("rw", |cell| cell.point.rw.clone())
        .key("background", |cell| cell.point.background.clone())
        .key("hw_queues_asked", |cell| or_empty(cell.point.hw_queues))
        .key("nr_requests_asked", |cell| or_empty(cell.point.nr_requests))
}

fn with_device_facts(columns: Columns<&BenchCell>) -> Columns<&BenchCell> {
    columns
        .key("device_kind", |c| {
            fact(c, |d| Some(d.kind.as_ref().to_owned()))
        })
        .key("hw_queues", |c| fact(c, |d| d.hw_queues))
        .key("nr_requests", |c| fact(c, |d| d.nr_requests))
        .key("scheduler", |c| fact(c, |d| d.scheduler.clone()))
        .key("io_poll", |c| fact(c, |d| d.io_poll.map(u8::from)))
        .key("bottleneck", |c| or_empty(bottleneck(c).map(|b| &b.stage)))
}

fn with_job_figures(columns: Columns<&BenchCell>) -> Columns<&BenchCell> {
    columns
        .figure("iops", PerSecond, More, |cell| cell.iops)
        .figure("kiops_per_core", Kilo, More, |c| c.kiops_per_core)
        .shown("KIOPS/core")
        .figure("busy", Cpus, Less, |cell| cell.cpu.busy_s)
        .figure("mean", Ns, Less, |cell| cell.lat_ns.mean)
        .figure("p50", Ns, Less, |cell| cell.lat_ns.p50)
        .figure("p99", Ns, Less, |cell| cell.lat_ns.p99)
        .figure("p99.9", Ns, Less, |cell| cell.lat_ns.p999)
        .figure("miss_rate", Share, Less, |cell| cell.miss_rate)
        .not_compared()
        .figure("slept_share", Share, Neither, |cell| cell.slept_share)
        .figure("effective_sleep", Ns, Neither, |c| c.effective_sleep_ns)
        .figure("slept", Ns, Neither, |cell| cell.slept_ns)
        .figure("job", Cpus, Less, |cell| cell.cpu.job_s)
        .figure("helper", Cpus, Less, |cell| cell.cpu.helper_s)
        .figure("softirq", Cpus, Less, |cell| cell.cpu.softirq_s)
        .figure("cpu_per_io", Ns, Less, |cell| cell.cpu.ns_per_io)
        .figure("background_iops", PerSecond, More, |cell| {
            Some(cell.background_jobs.as_ref()?.iops)
        })
        .figure("background_alone_iops", PerSecond, More, |cell| {
            Some(cell.background_jobs.as_ref()?.alone_iops)
        })
        .figure("rest_busy", Cpus, Less, |cell| {
            Some(cell.background_jobs.as_ref()?.rest_busy_cpus)
        })
}

/// Adds the bottleneck's share of Q2C, the sleeps for a request, and the stages' latencies.
fn with_stages(columns: Columns<&BenchCell>) -> Columns<&BenchCell> {
    let columns = columns
        .figure("bottleneck_share", Share, Less, |cell| {
            bottleneck(cell).map(|stage| stage.share)
        })
        .figure("tag_sleeps", Number, Less, |c| Some(tag_waits(c)?.0))
        .figure("tag_sleep", Ns, Less, |c| Some(tag_waits(c)?.1));
    STAGES.into_iter().fold(columns, |columns, stage| {
        STATS.into_iter().fold(columns, |columns, (stat, value)| {
            let of_cell = move |cell: &&BenchCell| cell.stage_run()?.stages.get(stage).map(value);
            let name = format!("{}_{stat}", stage.to_lowercase());
            columns.figure(name, Ns, Less, of_cell)
        })
    })
}

fn bottleneck(cell: &BenchCell) -> Option<&Bottleneck> {
    cell.stage_run()?.bottleneck.as_ref()
}

/// Number of the sleeps for a request, and their total time in ns.
fn tag_waits(cell: &BenchCell) -> Option<(u64, u64)> {
    cell.stage_run()?.tag_waits.as_ref()?.sum()
}

fn fact<T: ToString>(cell: &BenchCell, value: fn(&PointDevice) -> Option<T>) -> String {
    or_empty(cell.device.as_ref().and_then(value))
}

fn point_name(point: &BenchPoint) -> String {
    // A simulated engine's name contains its device, which may differ in the other result.
    let engine = point.engine.split(':').next().unwrap_or_default();
    let mut name = format!(
        "{engine} {} {} {} depth {} jobs {}",
        point.method, point.bs, point.rw, point.depth, point.jobs
    );
    name += &or_empty(point.hw_queues.map(|n| format!(" hardware queues {n}")));
    name += &or_empty(point.nr_requests.map(|n| format!(" nr_requests {n}")));
    if !point.background.is_empty() {
        name += &format!(" beside {}", point.background);
    }
    name
}
