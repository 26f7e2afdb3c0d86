//! Scaling curves over the number of jobs: their shape, the fitted scaling law, and suspects.

use super::conclude::is_another_interface;
use super::suspects::{Ceiling, CurveFacts, PointEvidence, TagUse, suspects};
use crate::{Bench, BenchTrial, MeasuredPoint};
use q2c_model::stats::scaling::{Scaling, ScalingPoint};
use q2c_model::stats::{median, sorted};
use q2c_result::bench::{BenchCell, BenchPoint, PointStages, StageGrowth, ThroughputCurve};

const MIN_CURVE_POINTS: usize = 3;

pub(super) fn curves(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
) -> Vec<ThroughputCurve> {
    // A curve holds only points with trials; a stopped run of very many points has few of them.
    let mut curves: Vec<Vec<usize>> = Vec::new();
    for i in (0..cells.len()).filter(|&i| cells[i].iops.trials > 0) {
        let belongs = |curve: &&mut Vec<usize>| is_same(&cells[curve[0]].point, &cells[i].point);
        match curves.iter_mut().find(belongs) {
            Some(curve) => curve.push(i),
            None => curves.push(vec![i]),
        }
    }
    let long = curves.iter().filter(|i| i.len() >= MIN_CURVE_POINTS);
    let curves = long.map(|indices| curve(bench, cells, measured, indices));
    curves.collect()
}

fn is_same(a: &BenchPoint, b: &BenchPoint) -> bool {
    *b == BenchPoint {
        jobs: b.jobs,
        ..a.clone()
    }
}

fn curve(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
    indices: &[usize],
) -> ThroughputCurve {
    let iops = |i: usize| -> Vec<f64> {
        let trials = measured[i].trials.iter();
        trials.map(|t| t.ios as f64 / t.wall_s).collect()
    };
    let point = |&i: &usize| ScalingPoint::new(cells[i].point.jobs, &iops(i));
    let points: Vec<ScalingPoint> = indices.iter().map(point).collect();
    let border = bench.borders.first().map(|border| border.jobs);
    let mut curve = ThroughputCurve {
        first: cells[indices[0]].point.clone(),
        over: indices.iter().map(|&i| cells[i].point.jobs).collect(),
        knee: None,
        peak: None,
        collapse: None,
        shape: None,
        usl: None,
        refused: None,
        growth: growth(indices.iter().map(|&i| &cells[i])),
        suspects: Vec::new(),
        not_looked_at: Vec::new(),
    };
    let scaling = match Scaling::from_points(&points, border, bench.spec.run.seed) {
        Ok(scaling) => scaling,
        Err(bad) => {
            curve.refused = Some(bad.to_string());
            return curve;
        }
    };
    let evidence = |&i: &usize| evidence(bench, &cells[i].point, &measured[i].trials);
    let evidence: Vec<PointEvidence> = indices.iter().map(evidence).collect();
    let site = site(bench, cells, &curve.first);
    let suspects = suspects(&scaling.shape, &site, &evidence);
    let named = suspects.named.into_iter();
    curve.suspects = named.map(|s| format!("{}: {}", s.id, s.why)).collect();
    curve.not_looked_at = suspects.not_looked_at;
    let shape = scaling.shape;
    (curve.knee, curve.peak, curve.collapse) = (shape.knee, Some(shape.peak), shape.collapse);
    (curve.shape, curve.usl, curve.refused) = (Some(shape), scaling.usl, scaling.usl_refused);
    curve
}

fn growth<'a>(cells: impl Iterator<Item = &'a BenchCell>) -> Option<StageGrowth> {
    let runs = cells.filter_map(|cell| match cell.stages.as_ref()? {
        PointStages::Seen(run) => Some((cell.point.jobs, &**run)),
        PointStages::Unseen(_) => None,
    });
    StageGrowth::from_points(&runs.collect::<Vec<_>>())
}

fn site(bench: &Bench<'_>, cells: &[BenchCell], first: &BenchPoint) -> CurveFacts {
    let is_other = |cell: &&BenchCell| is_another_interface(&cell.point, first);
    let others = cells.iter().filter(is_other);
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
    let median_of = |figure: fn(&BenchTrial) -> Option<f64>| {
        let values: Option<Vec<f64>> = trials.iter().map(|t| figure(t)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(median(&sorted(&values)))
    };
    let helpers = trials.first().filter(|t| !t.helpers_unread);
    let device_in_trial = trials.iter().find_map(|trial| trial.device.as_ref());
    let used = device_in_trial.map(|d| (d.nr_requests, d.default_queues(), d.scheduler.clone()));
    let before_run = || device.map(|d| (d.nr_requests, d.hw_queues, d.scheduler.clone()));
    let (requests, queues, scheduler) = used.or_else(before_run).unwrap_or_default();
    PointEvidence {
        jobs: point.jobs,
        scheduler,
        tags: requests.zip(queues).map(|(requests, queues)| TagUse {
            used: u64::from(point.jobs) * u64::from(point.depth),
            limit: requests * u64::from(queues),
        }),
        submission_threads: helpers.map(|t| t.helpers.0),
        workers: helpers.map(|t| t.helpers.1),
        softirq_share: median_of(|t| t.softirq_share),
        steal_share: median_of(|t| t.steal_share),
        own_cpus: median_of(|t| {
            let read = !t.helpers_unread && t.wall_s > 0.0;
            read.then(|| (t.job_cpu_s + t.helper_cpu_s) / t.wall_s)
        }),
        throttles: None,
    }
}
