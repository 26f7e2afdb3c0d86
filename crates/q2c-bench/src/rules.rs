//! The rules that name suspects of a bend in a curve, one for each suspect.

use super::suspects::{Bend, PointEvidence, Says};

/// Throughput within this share of the ceiling counts as at the ceiling: devices drift by more than
/// half of this share within minutes.
const AT_CEILING: f64 = 0.05;
/// Softirqs below this share of the busy time cannot explain a bend of 5 % and more.
const SOFTIRQ_SHARE: f64 = 0.10;
/// Least growth of the softirq share from the good point to the bad one, as a factor.
const SOFTIRQ_GROWTH: f64 = 1.5;
/// Least stolen share of all CPU time.
const STEAL_SHARE: f64 = 0.01;

type SuspectRule = fn(&Bend) -> Says;

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

/// A scheduler has locks that all jobs share. One that changes makes two curves.
fn scheduler(bend: &Bend) -> Says {
    let Some(bad) = bend.bad.scheduler.as_deref() else {
        return Says::NotLooked;
    };
    let other = bend.good.scheduler.as_deref().filter(|&good| good != bad);
    let jobs = bend.bad.jobs;
    match (other, bad) {
        (Some(good), _) => Says::Suspect(
            jobs,
            format!(
                "the scheduler changed from {good} to {bad} between {} and {jobs} jobs: these are two curves (the \
                 kernel picks mq-deadline for a device with one hardware queue, none for one with more)",
                bend.good.jobs
            ),
        ),
        (None, "none") => Says::Clear,
        (None, name) => Says::Suspect(
            jobs,
            format!("every request passes the scheduler {name}, whose locks all jobs share"),
        ),
    }
}

/// A device out of tags makes jobs wait for each other's completions.
fn tags(bend: &Bend) -> Says {
    let full = |e: &&PointEvidence| e.tags.is_some_and(|t| t.used >= t.limit);
    let Some(at_bad) = bend.bad.tags else {
        return Says::NotLooked;
    };
    let first = bend.all.iter().find(full);
    match first.filter(|e| within(bend, e)) {
        None => Says::Clear,
        Some(e) => Says::Suspect(
            e.jobs,
            format!(
                "at {} jobs {} requests are in flight and the queues take {}: the others wait for a free tag",
                bend.bad.jobs, at_bad.used, at_bad.limit
            ),
        ),
    }
}

/// Polled requests that find no free tag go to kernel workers, which spin.
fn workers(bend: &Bend) -> Says {
    match (bend.good.workers, bend.bad.workers) {
        (Some(good), Some(bad)) if bad > good => Says::Suspect(
            bend.bad.jobs,
            format!(
                "kernel workers (iou-wrk) rose from {good} to {bad}: requests that found no tag or would block are \
                 retried by them, and polled ones spin there"
            ),
        ),
        (Some(_), Some(_)) => Says::Clear,
        _ => Says::NotLooked,
    }
}

/// A condition that held well before the bend did no harm there.
fn within(bend: &Bend, first: &PointEvidence) -> bool {
    (bend.good.jobs..=bend.bad.jobs).contains(&first.jobs)
}

/// Jobs that use a smaller share of their CPUs than this are not limited by them.
const BUSY_SHARE: f64 = 0.9;

/// More runnable threads than CPUs take time from each other if they poll, not if they sleep.
fn oversubscribed(bend: &Bend) -> Says {
    let Some(cpus) = bend.site.cpus else {
        return Says::NotLooked;
    };
    let room = |own: f64| own < BUSY_SHARE * f64::from(cpus);
    if bend.bad.own_cpus.is_some_and(room) {
        return Says::Clear;
    }
    let polling = bend.bad.submission_threads;
    let threads = |e: &PointEvidence| e.jobs + e.submission_threads.unwrap_or(0);
    let first = bend.all.iter().find(|e| threads(e) > cpus);
    match first.filter(|e| within(bend, e)) {
        None if polling.is_none() && first.is_none() => Says::NotLooked,
        None => Says::Clear,
        Some(e) => Says::Suspect(
            e.jobs,
            match polling.unwrap_or(0) {
                0 => format!("{} jobs share {cpus} CPUs", bend.bad.jobs),
                polling => format!(
                    "{} jobs and {polling} threads that poll their submission queues (SQPOLL) share {cpus} CPUs: each \
                     job wants two",
                    bend.bad.jobs
                ),
            },
        ),
    }
}

/// Further jobs run on CPUs of another kind.
fn topology(bend: &Bend) -> Says {
    let Some(borders) = &bend.site.borders else {
        return Says::NotLooked;
    };
    let crossed = |jobs: u32| bend.good.jobs <= jobs && jobs < bend.bad.jobs;
    match borders.iter().find(|b| crossed(b.jobs)) {
        None => Says::Clear,
        Some(border) => Says::Suspect(
            border.jobs + 1,
            format!(
                "from {} jobs on, further jobs run on {}",
                border.jobs + 1,
                border.next
            ),
        ),
    }
}

/// A device at its limit causes a knee of the curve, but no collapse.
fn ceiling(bend: &Bend) -> Says {
    let Some(ceiling) = &bend.site.ceiling else {
        return Says::NotLooked;
    };
    let peak = bend.shape.peak_x.median;
    if peak >= (1.0 - AT_CEILING) * ceiling.x {
        Says::Suspect(
            bend.shape.peak,
            format!(
                "the peak is {:.0} % of {}: the device gives no more (this explains a knee, not a fall)",
                100.0 * peak / ceiling.x,
                ceiling.source
            ),
        )
    } else {
        Says::Clear
    }
}

/// Completions that run in softirqs take CPU time from the jobs.
fn softirq(bend: &Bend) -> Says {
    match (bend.good.softirq_share, bend.bad.softirq_share) {
        (Some(good), Some(bad)) if bad >= SOFTIRQ_SHARE && bad >= SOFTIRQ_GROWTH * good => {
            Says::Suspect(
                bend.bad.jobs,
                format!(
                    "softirqs took {:.0} % of the busy time, up from {:.0} %: completions run on CPUs that jobs want",
                    100.0 * bad,
                    100.0 * good
                ),
            )
        }
        (Some(_), Some(_)) => Says::Clear,
        _ => Says::NotLooked,
    }
}

/// The hypervisor gave the CPUs to other guests.
fn steal(bend: &Bend) -> Says {
    match (bend.good.steal_share, bend.bad.steal_share) {
        (Some(good), Some(bad)) if bad >= STEAL_SHARE && bad > good => Says::Suspect(
            bend.bad.jobs,
            format!(
                "{:.1} % of all CPU time was stolen by the hypervisor, {:.1} % at {} jobs",
                100.0 * bad,
                100.0 * good,
                bend.good.jobs
            ),
        ),
        (Some(_), Some(_)) => Says::Clear,
        _ => Says::NotLooked,
    }
}

/// The processor lowered its clock because of heat.
fn thermal(bend: &Bend) -> Says {
    match bend.bad.throttles {
        None => Says::NotLooked,
        Some(0) => Says::Clear,
        Some(n) => Says::Suspect(
            bend.bad.jobs,
            format!(
                "the processor was throttled {n} times by heat at {} jobs",
                bend.bad.jobs
            ),
        ),
    }
}
