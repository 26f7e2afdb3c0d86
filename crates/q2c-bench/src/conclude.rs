//! Makes the cells of the result from the trials.

use super::mode::effective;
use super::spec::{BenchSpec, Spot};
use super::trial::BenchTrial;
use q2c_model::CpuId;
use q2c_result::bench::{BenchCell, BenchPoint, Cpu, Latency};
use q2c_run::runner::{CellRuns, Summary};
use q2c_stats::{Interval, median, sorted};

type Runs = CellRuns<BenchPoint, BenchTrial>;

/// The cells of all points, in the order of the plan.
pub(super) fn cells(
    spec: &BenchSpec,
    spots: &[Spot],
    summary: &Summary<BenchPoint, BenchTrial>,
    idle_cpus: f64,
) -> Vec<BenchCell> {
    let each = spots.iter().zip(&summary.cells);
    let mut cells: Vec<BenchCell> = each
        .map(|(spot, runs)| cell(spec, spot, runs, idle_cpus))
        .collect();
    flag_too_good(spec, &mut cells);
    cells
}

fn cell(spec: &BenchSpec, spot: &Spot, runs: &Runs, idle_cpus: f64) -> BenchCell {
    let trials: Vec<&BenchTrial> = runs.outcomes().collect();
    let jobs = spot.point.jobs as usize;
    let slept = trials.iter().any(|t| t.slept[0] > 0);
    let misses = |t: &BenchTrial| t.slept[2] as f64 / (t.slept[0] as f64).max(1.0);
    let helpers = if spot.way.interface.has_helper() {
        jobs
    } else {
        0
    };
    let cpus: Vec<CpuId> = (0..jobs)
        .map(|job| CpuId(spec.cpus[job % spec.cpus.len()]))
        .collect();
    BenchCell {
        point: spot.point.clone(),
        iops: runs.interval(|t| t.ios as f64 / t.wall_s),
        lat_ns: latency(&trials),
        cpu: cpu(runs),
        kiops_per_core: runs.interval(|t| kiops_per_core(t, idle_cpus)),
        miss_rate: slept.then(|| runs.interval(misses)),
        effective_mode: effective(spot, &trials),
        cpus,
        oversubscribed: jobs + helpers > spec.cpus.len(),
        too_good: None,
        unsteady: trials.iter().filter(|t| !t.steady).count() as u32,
        failures: runs.failures().map(str::to_owned).collect(),
    }
}

/// Thousand I/Os per second and busy CPU. It is NaN where busy CPUs are not known; intervals leave
/// out NaN.
fn kiops_per_core(trial: &BenchTrial, idle_cpus: f64) -> f64 {
    let Some(busy_s) = trial.busy_s else {
        return f64::NAN;
    };
    let busy = (busy_s / trial.wall_s - idle_cpus).max(0.0);
    // The machine's counters are coarse. The CPU time of the jobs and helpers was busy for sure.
    let own = (trial.job_cpu_s + trial.helper_cpu_s) / trial.wall_s;
    trial.ios as f64 / trial.wall_s / 1e3 / busy.max(own)
}

fn latency(trials: &[&BenchTrial]) -> Latency {
    let of = |n: usize| {
        median(&sorted(
            &trials.iter().map(|t| t.lat_ns[n]).collect::<Vec<_>>(),
        ))
    };
    Latency {
        mean: of(0),
        p50: of(1),
        p99: of(2),
        p999: of(3),
    }
}

fn cpu(runs: &Runs) -> Cpu {
    let per_second = |of: fn(&BenchTrial) -> f64| runs.interval(|t| of(t) / t.wall_s);
    Cpu {
        job_s: per_second(|t| t.job_cpu_s),
        helper_s: per_second(|t| t.helper_cpu_s),
        softirq_s: per_second(|t| t.softirq_s.unwrap_or(f64::NAN)),
        busy_s: per_second(|t| t.busy_s.unwrap_or(f64::NAN)),
        ns_per_io: runs.interval(|t| (t.job_cpu_s + t.helper_cpu_s) * 1e9 / t.ios as f64),
    }
}

/// IOPS above this factor times those of every other interface on the same device are not credible:
/// a cache, a hole, or a window in which not all jobs ran may be the reason.
const ABOVE_OTHERS: f64 = 1.5;

fn flag_too_good(spec: &BenchSpec, cells: &mut [BenchCell]) {
    let kind = |p: &BenchPoint| (p.bs, p.rw.clone());
    let peaks: Vec<(String, BenchPoint, f64)> = cells
        .iter()
        .map(|c| (c.point.engine.clone(), c.point.clone(), c.iops.median))
        .collect();
    for cell in cells {
        let others = peaks.iter().filter(|(engine, point, _)| {
            *engine != cell.point.engine && kind(point) == kind(&cell.point)
        });
        let best = others.map(|(.., iops)| *iops).fold(0.0, f64::max);
        let Interval { median, min, .. } = cell.iops;
        cell.too_good = match spec.rating {
            Some(rating) if min > rating => Some(format!(
                "{median:.0} IOPS is above the device's rating of {rating:.0}"
            )),
            _ if best > 0.0 && min > ABOVE_OTHERS * best => Some(format!(
                "{median:.0} IOPS is {:.1} times what any other interface reached ({best:.0})",
                median / best
            )),
            _ => None,
        };
    }
}
