//! The rules that name suspects of a bend in a curve; each suspect has one rule.

use super::suspects::{Bend, BendFinding, PointEvidence};

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

/// The suspects by their stable names, with their rules.
pub(super) const RULES: &[(&str, SuspectRule)] = &[
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
    let full = |e: &&PointEvidence| e.tags.is_some_and(|t| t.used >= t.limit);
    let first = bend.all.iter().find(full).filter(|e| is_in_bend(bend, e));
    let reason = format!(
        "at {} jobs {} requests are in flight and the queues take {}: the others wait for a free tag",
        bend.bad.jobs, at_bad.used, at_bad.limit
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

/// A condition that held well before the bend did no harm there, so it does not explain the bend.
fn is_in_bend(bend: &Bend, first: &PointEvidence) -> bool {
    (bend.good.jobs..=bend.bad.jobs).contains(&first.jobs)
}

/// Jobs that use a smaller share of the CPUs than this are not limited by them.
const BUSY_SHARE: f64 = 0.9;

/// More runnable threads than CPUs slow each other down if they poll, but not if they sleep.
fn oversubscribed(bend: &Bend) -> BendFinding {
    let cpus = bend.site.cpus?;
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
    let mut borders = bend.site.borders.as_ref()?.iter();
    let border = borders.find(|border| between.contains(&border.jobs));
    Some(border.map(|border| {
        let (from, next) = (border.jobs + 1, &border.next);
        let reason = format!("from {from} jobs on, further jobs run on {next}");
        (from, reason)
    }))
}

/// A device at its limit causes a knee of the curve, but no collapse.
fn ceiling(bend: &Bend) -> BendFinding {
    let ceiling = bend.site.ceiling.as_ref()?;
    let share = bend.shape.peak_x.median / ceiling.x;
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

/// The hypervisor gave the CPUs to other guests.
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

/// The processor lowered its clock because of heat.
fn thermal(bend: &Bend) -> BendFinding {
    let (jobs, n) = (bend.bad.jobs, bend.bad.throttles?);
    let reason = format!("the processor was throttled {n} times by heat at {jobs} jobs");
    Some((n > 0).then_some((jobs, reason)))
}
