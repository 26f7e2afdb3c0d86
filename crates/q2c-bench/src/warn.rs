//! Warnings of a run: conditions under which its figures mislead.

use super::Bench;
use super::trial::BenchTrial;
use q2c_result::Warning;
use q2c_result::bench::{BenchCell, BenchPoint};
use q2c_result::mode::{ModeKind, ModeNote};
use q2c_run::runner::Summary;

/// Busy CPUs at rest above which the trials count as disturbed.
const QUIET_CPUS: f64 = 0.2;
/// Share by which the device's requests may differ from the I/Os.
const MISMATCH: f64 = 0.05;

pub(super) fn warnings(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    summary: &Summary<BenchPoint, BenchTrial>,
) -> Vec<Warning> {
    busy_at_rest(bench)
        .into_iter()
        .chain(ignored(cells))
        .chain(unsteady(cells))
        .chain(oversubscribed(cells))
        .chain(too_good(cells))
        .chain(mismatch(summary))
        .chain(summary.warnings.iter().cloned())
        .collect()
}

fn busy_at_rest(bench: &Bench<'_>) -> Option<Warning> {
    let busy = bench.site.idle_busy_cpus;
    (busy > QUIET_CPUS).then(|| Warning {
        id: "busy-at-rest".to_owned(),
        found: format!("{busy:.2} CPUs were busy before anything was measured"),
        means: "KIOPS/core takes that load off as if it stayed the same; latencies are disturbed"
            .to_owned(),
        todo: "stop the other load (top shows it) and run again".to_owned(),
    })
}

/// The names of the cells for which `holds` is true; `None` when there is no such cell.
fn those(cells: &[BenchCell], holds: impl Fn(&BenchCell) -> bool) -> Option<String> {
    let mut names: Vec<String> = cells
        .iter()
        .filter(|cell| cell.iops.trials > 0 && holds(cell))
        .map(|cell| format!("{} {}", cell.point.engine, cell.point.method))
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

fn ignored(cells: &[BenchCell]) -> Option<Warning> {
    let not_it = |cell: &BenchCell| {
        let was = &cell.effective_mode.was;
        let ignored = matches!(
            was.note,
            Some(ModeNote::PollIgnored | ModeNote::Interrupted(_))
        );
        ignored || was.kind == ModeKind::NotProved
    };
    those(cells, not_it).map(|names| Warning {
        id: "mode-ignored".to_owned(),
        found: format!("{names}: the kernel did not do what was asked"),
        means: "these numbers are of another method; the mode column says which".to_owned(),
        todo: "compare them as what they were, or use a kernel and a device that poll".to_owned(),
    })
}

fn unsteady(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.unsteady > 0).map(|names| Warning {
        id: "unsteady".to_owned(),
        found: format!("{names}: throughput still had a trend when the warm-up ended"),
        means: "the median may be of a device on its way to somewhere else".to_owned(),
        todo: "give a longer --warm-up, or precondition the device".to_owned(),
    })
}

fn oversubscribed(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.oversubscribed).map(|names| Warning {
        id: "oversubscribed".to_owned(),
        found: format!("{names}: some points have more jobs and helper threads than CPUs"),
        means: "there the jobs share CPUs: the curve shows the scheduler, not the interface"
            .to_owned(),
        todo: "leave those numbers of jobs out".to_owned(),
    })
}

fn too_good(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.too_good.is_some()).map(|names| Warning {
        id: "too-good".to_owned(),
        found: format!("{names}: more than the device or any other interface gives"),
        means: "reads from a cache, from holes, or a fault of measurement".to_owned(),
        todo: "see the point's own remark; fill the target with data and run again".to_owned(),
    })
}

fn mismatch(summary: &Summary<BenchPoint, BenchTrial>) -> Option<Warning> {
    let off = |trial: &BenchTrial| {
        let requests = trial.requests? as f64;
        Some((requests / trial.ios as f64 - 1.0).abs() > MISMATCH)
    };
    let mut labels: Vec<&str> = summary
        .cells
        .iter()
        .filter(|runs| runs.outcomes().any(|t| off(t) == Some(true)))
        .map(|runs| runs.plan.label.as_str())
        .collect();
    labels.truncate(3);
    (!labels.is_empty()).then(|| Warning {
        id: "requests-differ".to_owned(),
        found: format!(
            "{}: the device counted more or fewer requests than there were I/Os, by over 5 %",
            labels.join("; ")
        ),
        means:
            "requests were split or merged, other programs use the device, or I/O never reached it"
                .to_owned(),
        todo: "look at the device with iostat while nothing is measured".to_owned(),
    })
}
