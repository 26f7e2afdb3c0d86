//! Scaling curves over the number of jobs: their shape, the fitted scaling law, and suspects.
//! Suspects are possible reasons why a curve bends or falls, from evidence recorded during the
//! trials.
//!
//! A suspect is not proven. It is named if the evidence changed between the last good point and the
//! first bad one, or holds at every later point. A suspect whose evidence is missing is listed as
//! not looked at.

use super::conclude::is_another_interface;
use crate::{Bench, BenchTrial, MeasuredPoint};
use q2c_host::topology::Border;
use q2c_model::grouped;
use q2c_model::stats::scaling::{Scaling, ScalingPoint, ScalingShape};
use q2c_model::stats::{median, sorted};
use q2c_result::bench::{BenchCell, BenchPoint, StageGrowth, ThroughputCurve};

const MIN_CURVE_POINTS: usize = 3;

pub(super) fn curves(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
) -> Vec<ThroughputCurve> {
    // A curve holds only points with trials; a stopped run of very many points has few of them.
    let with_trials = (0..cells.len()).filter(|&i| cells[i].iops.trials > 0);
    let curves = grouped(with_trials.map(|i| (without_jobs(&cells[i].point), i))).into_iter();
    let long = curves.filter(|(_, indices)| indices.len() >= MIN_CURVE_POINTS);
    let curves = long.map(|(_, indices)| curve(bench, cells, measured, &indices));
    curves.collect()
}

fn without_jobs(point: &BenchPoint) -> BenchPoint {
    BenchPoint {
        jobs: 0,
        ..point.clone()
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
    let stage_runs = indices.iter().map(|&i| &cells[i]);
    let stage_runs = stage_runs.filter_map(|cell| Some((cell.point.jobs, cell.stage_run()?)));
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
        growth: StageGrowth::from_points(&stage_runs.collect::<Vec<_>>()),
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
    let facts = curve_facts(bench, cells, &curve.first);
    let suspects = suspects(&scaling.shape, &facts, &evidence);
    let named = suspects.named.into_iter();
    curve.suspects = named.map(|s| format!("{}: {}", s.id, s.why)).collect();
    curve.not_looked_at = suspects.not_looked_at;
    let shape = scaling.shape;
    (curve.knee, curve.peak, curve.collapse) = (shape.knee, Some(shape.peak), shape.collapse);
    (curve.shape, curve.usl, curve.refused) = (Some(shape), scaling.usl, scaling.usl_refused);
    curve
}

fn curve_facts(bench: &Bench<'_>, cells: &[BenchCell], first: &BenchPoint) -> CurveFacts {
    let is_other = |cell: &&BenchCell| is_another_interface(&cell.point, first);
    let others = cells.iter().filter(is_other);
    let best = others.max_by(|a, b| a.iops.median.total_cmp(&b.iops.median));
    let rated = bench.spec.rating.map(|iops| Ceiling {
        iops,
        source: "the device's rating".to_owned(),
    });
    CurveFacts {
        cpus: Some(bench.spec.cpus.len() as u32),
        borders: Some(bench.borders.to_vec()),
        ceiling: rated.or_else(|| {
            best.filter(|c| c.iops.median > 0.0).map(|c| Ceiling {
                iops: c.iops.median,
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
    let (submission_threads, workers) = helpers.map(|t| t.helpers).unzip();
    let trial_device = trials.iter().find_map(|trial| trial.device.as_ref());
    let in_trial = trial_device.map(|d| (d.nr_requests, d.default_queues(), d.scheduler.clone()));
    let before_run = || device.map(|d| (d.nr_requests, d.hw_queues, d.scheduler.clone()));
    let (requests, queues, scheduler) = in_trial.or_else(before_run).unwrap_or_default();
    PointEvidence {
        jobs: point.jobs,
        scheduler,
        tags: requests.zip(queues).map(|(requests, queues)| TagUse {
            in_flight: u64::from(point.jobs) * u64::from(point.depth),
            limit: requests * u64::from(queues),
        }),
        submission_threads,
        workers,
        softirq_share: median_of(|t| t.softirq_share),
        steal_share: median_of(|t| t.steal_share),
        own_cpus: median_of(|t| {
            let read = !t.helpers_unread && t.wall_s > 0.0;
            read.then(|| (t.job_cpu_s + t.helper_cpu_s) / t.wall_s)
        }),
        throttles: None,
    }
}

/// The evidence of one point of a curve. `None` in a field means that it was not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PointEvidence {
    pub jobs: u32,
    pub scheduler: Option<String>,
    pub tags: Option<TagUse>,
    /// Kernel threads that polled submission queues (SQPOLL).
    pub submission_threads: Option<u32>,
    pub workers: Option<u32>,
    /// Softirq time over busy time of the whole machine, 0..=1.
    pub softirq_share: Option<f64>,
    /// Time stolen by the hypervisor over all CPU time, 0..=1.
    pub steal_share: Option<f64>,
    /// CPU time of the jobs and of the threads that work for them, as a number of CPUs.
    pub own_cpus: Option<f64>,
    /// Thermal throttle events during the point's trials.
    pub throttles: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagUse {
    pub in_flight: u64,
    /// Most requests that the hardware queues in use hold together.
    pub limit: u64,
}

/// The highest throughput that the device is known to give.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ceiling {
    pub iops: f64,
    /// Where the number comes from, such as `the device's rating`.
    pub source: String,
}

/// Facts that hold for the whole curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurveFacts {
    /// Number of CPUs that jobs and helper threads may use; `None` if it is unknown.
    pub cpus: Option<u32>,
    /// Job counts after which the kind of CPU changes. `None` if unknown; empty if all are alike.
    pub borders: Option<Vec<Border>>,
    pub ceiling: Option<Ceiling>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// Name of the suspect in [`RULES`].
    pub id: &'static str,
    pub jobs: u32,
    /// A sentence: the evidence, and its effect.
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspects {
    /// Suspects with evidence, in a fixed order that is no ranking.
    pub named: Vec<Suspect>,
    /// Ids of the suspects for which evidence is missing.
    pub not_looked_at: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bend<'a> {
    pub shape: &'a ScalingShape,
    pub facts: &'a CurveFacts,
    /// The last point before the bend.
    pub good: &'a PointEvidence,
    /// The first point from the bend on.
    pub bad: &'a PointEvidence,
    /// Every point, ascending.
    pub all: &'a [PointEvidence],
}

/// `None` if the rule's evidence is missing, `Some(None)` if it clears the suspect. Else the number
/// of jobs from which on the suspect is named, with the reason.
pub(super) type BendFinding = Option<Option<(u32, String)>>;

/// Suspects for the collapse of a curve, confirmed or not, else for its knee. A curve without
/// either gets an empty result. Points may lack evidence.
pub fn suspects(shape: &ScalingShape, facts: &CurveFacts, evidence: &[PointEvidence]) -> Suspects {
    let mut by_jobs = evidence.to_vec();
    by_jobs.sort_by_key(|e| e.jobs);
    let Some(bent) = shape.collapse.or(shape.unconfirmed).or(shape.knee) else {
        return Suspects::default();
    };
    let bad = by_jobs.iter().find(|e| e.jobs >= bent);
    let good = by_jobs.iter().rev().find(|e| e.jobs < bent);
    let (Some(bad), Some(good)) = (bad, good) else {
        return Suspects {
            named: Vec::new(),
            not_looked_at: RULES.iter().map(|(id, _)| (*id).to_owned()).collect(),
        };
    };
    let bend = Bend {
        shape,
        facts,
        good,
        bad,
        all: &by_jobs,
    };
    let mut suspects = Suspects::default();
    for (id, rule) in RULES {
        let Some(finding) = rule(&bend) else {
            suspects.not_looked_at.push((*id).to_owned());
            continue;
        };
        let suspect = finding.map(|(jobs, why)| Suspect { id, jobs, why });
        suspects.named.extend(suspect);
    }
    suspects
}

/// Throughput within this share of the ceiling counts as at the ceiling. Devices drift within
/// minutes by more than half of this share.
const AT_CEILING: f64 = 0.05;
/// Softirqs below this share of the busy time cannot explain a bend of 5 % or more.
const SOFTIRQ_SHARE: f64 = 0.10;
/// Least growth of the softirq share from the good point to the bad one, as a factor.
const SOFTIRQ_GROWTH: f64 = 1.5;
/// Least share of all CPU time stolen by the hypervisor that makes a suspect.
const STEAL_SHARE: f64 = 0.01;

type SuspectRule = fn(&Bend) -> BendFinding;

/// The suspects by their stable names, each with its rule.
const RULES: &[(&str, SuspectRule)] = &[
    ("scheduler", scheduler),
    ("tags", tags),
    ("workers", workers),
    ("oversubscribed", oversubscribed),
    ("topology", topology),
    ("ceiling", ceiling),
    ("softirq", softirq),
    ("steal", steal),
    ("thermal", thermal),
];

/// All jobs share the locks of a scheduler. A change of scheduler makes two curves.
fn scheduler(bend: &Bend) -> BendFinding {
    let (bad, jobs) = (bend.bad.scheduler.as_deref()?, bend.bad.jobs);
    let other = bend.good.scheduler.as_deref().filter(|&good| good != bad);
    let reason = match (other, bad) {
        (Some(good), _) => format!(
            "the scheduler changed from {good} to {bad} between {} and {jobs} jobs: these are two curves (the \
             kernel picks mq-deadline for a device with one hardware queue, none for one with more)",
            bend.good.jobs
        ),
        (None, "none") => return Some(None),
        (None, name) => {
            format!("every request passes the scheduler {name}, whose locks all jobs share")
        }
    };
    Some(Some((jobs, reason)))
}

/// A device out of tags makes jobs wait for each other's completions.
fn tags(bend: &Bend) -> BendFinding {
    let at_bad = bend.bad.tags?;
    let full = |e: &&PointEvidence| e.tags.is_some_and(|t| t.in_flight >= t.limit);
    let first = bend.all.iter().find(full).filter(|e| is_in_bend(bend, e));
    let reason = format!(
        "at {} jobs {} requests are in flight and the queues take {}: the others wait for a free tag (Q2G)",
        bend.bad.jobs, at_bad.in_flight, at_bad.limit
    );
    Some(first.map(|e| (e.jobs, reason)))
}

/// Polled requests without a free tag go to kernel workers, which spin.
fn workers(bend: &Bend) -> BendFinding {
    let (good, bad) = (bend.good.workers?, bend.bad.workers?);
    let reason = format!(
        "kernel workers (iou-wrk) rose from {good} to {bad}: requests that found no tag or would block are \
         retried by them, and polled ones spin there"
    );
    Some((bad > good).then_some((bend.bad.jobs, reason)))
}

/// True if `first`, the first point at which a condition holds, is at the bend. A condition that
/// held well before did no harm there, so it does not explain the bend.
fn is_in_bend(bend: &Bend, first: &PointEvidence) -> bool {
    (bend.good.jobs..=bend.bad.jobs).contains(&first.jobs)
}

/// Jobs that use a smaller share of the CPUs than this are not limited by them.
const BUSY_SHARE: f64 = 0.9;

/// More runnable threads than CPUs slow each other down if they poll, but not if they sleep.
fn oversubscribed(bend: &Bend) -> BendFinding {
    let cpus = bend.facts.cpus?;
    let is_below_limit = |own: f64| own < BUSY_SHARE * f64::from(cpus);
    if bend.bad.own_cpus.is_some_and(is_below_limit) {
        return Some(None);
    }
    let (jobs, polling) = (bend.bad.jobs, bend.bad.submission_threads);
    let threads = |e: &PointEvidence| e.jobs + e.submission_threads.unwrap_or(0);
    let first = bend.all.iter().find(|e| threads(e) > cpus);
    if polling.is_none() && first.is_none() {
        return None;
    }
    let reason = match polling.unwrap_or(0) {
        0 => format!("{jobs} jobs share {cpus} CPUs"),
        polling => format!(
            "{jobs} jobs and {polling} threads that poll their submission queues (SQPOLL) share {cpus} CPUs: each \
             job wants two"
        ),
    };
    let first = first.filter(|e| is_in_bend(bend, e));
    Some(first.map(|e| (e.jobs, reason)))
}

/// Further jobs may run on CPUs of another kind, such as SMT siblings.
fn topology(bend: &Bend) -> BendFinding {
    let between = bend.good.jobs..bend.bad.jobs;
    let mut borders = bend.facts.borders.as_ref()?.iter();
    let border = borders.find(|border| between.contains(&border.jobs));
    Some(border.map(|border| {
        let (from, next) = (border.jobs + 1, &border.next);
        let reason = format!("from {from} jobs on, further jobs run on {next}");
        (from, reason)
    }))
}

/// A device at its limit causes a knee of the curve, but no collapse.
fn ceiling(bend: &Bend) -> BendFinding {
    let ceiling = bend.facts.ceiling.as_ref()?;
    let share = bend.shape.peak_x.median / ceiling.iops;
    let reason = format!(
        "the peak is {:.0} % of {}: the device gives no more (this explains a knee, not a fall)",
        100.0 * share,
        ceiling.source
    );
    Some((share >= 1.0 - AT_CEILING).then_some((bend.shape.peak, reason)))
}

/// Completions that run in softirqs take CPU time from the jobs.
fn softirq(bend: &Bend) -> BendFinding {
    let (good, bad) = (bend.good.softirq_share?, bend.bad.softirq_share?);
    let reason = format!(
        "softirqs took {:.0} % of the busy time, up from {:.0} %: completions run on CPUs that jobs want",
        100.0 * bad,
        100.0 * good
    );
    let rose = bad >= SOFTIRQ_SHARE && bad >= SOFTIRQ_GROWTH * good;
    Some(rose.then_some((bend.bad.jobs, reason)))
}

fn steal(bend: &Bend) -> BendFinding {
    let (good, bad) = (bend.good.steal_share?, bend.bad.steal_share?);
    let reason = format!(
        "{:.1} % of all CPU time was stolen by the hypervisor, {:.1} % at {} jobs",
        100.0 * bad,
        100.0 * good,
        bend.good.jobs
    );
    let rose = bad >= STEAL_SHARE && bad > good;
    Some(rose.then_some((bend.bad.jobs, reason)))
}

fn thermal(bend: &Bend) -> BendFinding {
    let (jobs, n) = (bend.bad.jobs, bend.bad.throttles?);
    let reason = format!("the processor was throttled {n} times by heat at {jobs} jobs");
    Some((n > 0).then_some((jobs, reason)))
}

#[cfg(test)]
mod tests;
