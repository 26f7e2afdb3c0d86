//! Possible reasons why a curve bends or falls, from evidence recorded during the trials.
//!
//! A suspect is not proven. It is named if the evidence changed between the last good point and the
//! first bad one, or holds at every later point. A suspect whose evidence is missing is listed as
//! not looked at.

use super::rules::RULES;
use q2c_host::topology::Border;
use q2c_model::stats::scaling::ScalingShape;

/// The evidence of one point of a curve. `None` in a field means that it was not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PointEvidence {
    pub jobs: u32,
    pub scheduler: Option<String>,
    /// Requests in flight, and the number that the device's queues hold.
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
    pub used: u64,
    /// Most requests that the hardware queues in use hold together.
    pub limit: u64,
}

/// The highest throughput that the device is known to give.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ceiling {
    pub x: f64,
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
    /// Its name in the table of rules.
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
    pub site: &'a CurveFacts,
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
pub fn suspects(shape: &ScalingShape, site: &CurveFacts, evidence: &[PointEvidence]) -> Suspects {
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
        site,
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

#[cfg(test)]
mod tests;
