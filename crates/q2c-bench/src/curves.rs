//! Scaling curves over the number of jobs: their shape, the fitted scaling law, and suspects.

use super::Bench;
use super::measured::MeasuredPoint;
use super::suspects::{Ceiling, CurveFacts, PointEvidence, TagUse, suspects};
use super::trial::BenchTrial;
use q2c_model::stats::scaling::{Scaling, ScalingPoint};
use q2c_model::stats::{median, sorted};
use q2c_result::bench::{
    BenchCell, BenchPoint, PointStages, StageGrowth, StageRun, ThroughputCurve,
};

/// Least number of points of a curve.
const LEAST: usize = 3;

pub(super) fn curves(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
) -> Vec<ThroughputCurve> {
    let mut seen: Vec<BenchPoint> = Vec::new();
    let mut curves = Vec::new();
    // A curve has points with trials; a run of very many points that was stopped has few of them.
    for cell in cells.iter().filter(|cell| cell.iops.trials > 0) {
        let first = &cell.point;
        if seen.iter().any(|other| same(other, first)) {
            continue;
        }
        seen.push(first.clone());
        let along: Vec<usize> = (0..cells.len())
            .filter(|&i| same(&cells[i].point, first) && cells[i].iops.trials > 0)
            .collect();
        if along.len() >= LEAST {
            curves.push(curve(bench, cells, measured, &along));
        }
    }
    curves
}

fn same(a: &BenchPoint, b: &BenchPoint) -> bool {
    *b == BenchPoint {
        jobs: b.jobs,
        ..a.clone()
    }
}

fn curve(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
    along: &[usize],
) -> ThroughputCurve {
    let iops = |i: usize| -> Vec<f64> {
        let trials = measured[i].trials.iter();
        trials.map(|t| t.ios as f64 / t.wall_s).collect()
    };
    let point = |&i: &usize| ScalingPoint::new(cells[i].point.jobs, &iops(i));
    let points: Vec<ScalingPoint> = along.iter().map(point).collect();
    let border = bench.borders.first().map(|border| border.jobs);
    let mut curve = ThroughputCurve {
        first: cells[along[0]].point.clone(),
        over: along.iter().map(|&i| cells[i].point.jobs).collect(),
        knee: None,
        peak: None,
        collapse: None,
        shape: None,
        usl: None,
        refused: None,
        growth: growth(along.iter().map(|&i| &cells[i])),
        suspects: Vec::new(),
        not_looked_at: Vec::new(),
    };
    let Scaling {
        shape,
        usl,
        usl_refused,
    } = match Scaling::from_points(&points, border, bench.spec.run.seed) {
        Ok(scaling) => scaling,
        Err(bad) => {
            curve.refused = Some(bad.to_string());
            return curve;
        }
    };
    let evidence: Vec<PointEvidence> = along
        .iter()
        .map(|&i| evidence(bench, &cells[i].point, &measured[i].trials))
        .collect();
    let named = suspects(&shape, &site(bench, cells, &curve.first), &evidence);
    let suspects = named.named.into_iter();
    curve.suspects = suspects.map(|s| format!("{}: {}", s.id, s.why)).collect();
    curve.not_looked_at = named.not_looked_at;
    (curve.knee, curve.peak, curve.collapse) = (shape.knee, Some(shape.peak), shape.collapse);
    (curve.shape, curve.usl, curve.refused) = (Some(shape), usl, usl_refused);
    curve
}

fn growth<'a>(cells: impl Iterator<Item = &'a BenchCell>) -> Option<StageGrowth> {
    let run = |cell: &'a BenchCell| -> Option<(u32, &'a StageRun)> {
        match cell.stages.as_ref()? {
            PointStages::Seen(run) => Some((cell.point.jobs, &**run)),
            PointStages::Unseen(_) => None,
        }
    };
    StageGrowth::over(&cells.filter_map(run).collect::<Vec<_>>())
}

fn site(bench: &Bench<'_>, cells: &[BenchCell], first: &BenchPoint) -> CurveFacts {
    let others = cells.iter().filter(|c| {
        c.point.engine != first.engine
            && c.point.bs == first.bs
            && c.point.rw == first.rw
            && c.point.background == first.background
            && (c.point.hw_queues, c.point.nr_requests) == (first.hw_queues, first.nr_requests)
    });
    let best = others.max_by(|a, b| a.iops.median.total_cmp(&b.iops.median));
    let rated = bench.spec.rating.map(|x| Ceiling {
        x,
        source: "the device's rating".to_owned(),
    });
    CurveFacts {
        cpus: Some(bench.spec.cpus.len() as u32),
        borders: Some(bench.borders.to_vec()),
        ceiling: rated.or_else(|| {
            best.filter(|c| c.iops.median > 0.0).map(|c| Ceiling {
                x: c.iops.median,
                source: format!("the peak of {} {}", c.point.engine, c.point.method),
            })
        }),
    }
}

fn evidence(bench: &Bench<'_>, point: &BenchPoint, trials: &[&BenchTrial]) -> PointEvidence {
    let device = bench.target.device.as_ref();
    let mid = |figure: &dyn Fn(&BenchTrial) -> Option<f64>| {
        let values: Option<Vec<f64>> = trials.iter().map(|t| figure(t)).collect();
        values
            .filter(|v| !v.is_empty())
            .map(|v| median(&sorted(&v)))
    };
    let helpers = trials.first().filter(|t| !t.helpers_unread);
    let device_in_trial = trials.iter().find_map(|trial| trial.device.as_ref());
    let now = device_in_trial.map(|d| (d.nr_requests, d.default_queues(), d.scheduler.clone()));
    let once = || device.map(|d| (d.nr_requests, d.hw_queues, d.scheduler.clone()));
    let (requests, queues, scheduler) = now.or_else(once).unwrap_or_default();
    let limit = requests
        .zip(queues)
        .map(|(requests, queues)| requests * u64::from(queues));
    PointEvidence {
        jobs: point.jobs,
        scheduler,
        tags: limit.map(|limit| TagUse {
            used: u64::from(point.jobs) * u64::from(point.depth),
            limit,
        }),
        submission_threads: helpers.map(|t| t.helpers.0),
        workers: helpers.map(|t| t.helpers.1),
        softirq_share: mid(&|t| t.softirq_share),
        steal_share: mid(&|t| t.steal_share),
        own_cpus: mid(&|t| {
            let read = !t.helpers_unread && t.wall_s > 0.0;
            read.then(|| (t.job_cpu_s + t.helper_cpu_s) / t.wall_s)
        }),
        throttles: None,
    }
}
