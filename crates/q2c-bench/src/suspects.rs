//! Names suspects: possible reasons why a curve bends or falls, by evidence that was gathered
//! beside the throughput.
//!
//! A suspect is no proof. It is named when the evidence changed between the last good point and the
//! first bad one, or holds at every later point; its sentence says what was seen. Suspects for
//! which evidence is missing are listed as not looked at, so that an empty list of suspects does
//! not mean that all of them were excluded.

use super::rules::RULES;
use q2c_host::topology::Border;
use q2c_stats::scaling::Shape;
use serde::{Deserialize, Serialize};

/// The evidence of one point of a curve. `None` in a field means that it was not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Number of jobs at the point.
    pub jobs: u32,
    /// I/O scheduler of the device.
    pub scheduler: Option<String>,
    /// Requests in flight, and the number that the device's queues take.
    pub tags: Option<Tags>,
    /// Kernel threads that polled submission queues (SQPOLL).
    pub submission_threads: Option<u32>,
    /// Kernel workers that did requests which would have blocked (io-wq).
    pub workers: Option<u32>,
    /// Softirq time over busy time of the whole machine, 0..=1.
    pub softirq_share: Option<f64>,
    /// Time stolen by the hypervisor over all CPU time, 0..=1.
    pub steal_share: Option<f64>,
    /// CPUs that the jobs and the threads that work for them used.
    pub own_cpus: Option<f64>,
    /// Thermal throttle events during the point's trials.
    pub throttles: Option<u64>,
}

/// Requests in flight, and the number that the device's queues take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Most requests in flight at once, or jobs times depth where that was not counted.
    pub used: u64,
    /// Requests that the hardware queues in use take together.
    pub limit: u64,
}

/// The highest throughput that the device is known to give.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The throughput, in the curve's unit.
    pub x: f64,
    /// Where the number comes from, such as `the device's rating`.
    pub source: String,
}

/// Facts that hold for the whole curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Number of CPUs that jobs and helper threads may use; `None` when it is not known.
    pub cpus: Option<u32>,
    /// Numbers of jobs after which further jobs run on CPUs of another kind; `None` when the
    /// topology is not known, empty when all CPUs are of one kind.
    pub borders: Option<Vec<Border>>,
    /// The device's ceiling; `None` when it is not known.
    pub ceiling: Option<Ceiling>,
}

/// A possible reason of a bend, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// `scheduler`, `tags`, `workers`, `oversubscribed`, `topology`, `ceiling`, `softirq`, `steal`
    /// or `thermal`.
    pub id: String,
    /// Number of jobs from which the evidence holds.
    pub jobs: u32,
    /// A sentence: the evidence, and its effect.
    pub why: String,
}

/// All suspects of a curve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspects {
    /// Suspects with evidence, in a fixed order that is no ranking.
    pub named: Vec<Suspect>,
    /// Ids of the suspects for which evidence is missing.
    pub not_looked_at: Vec<String>,
}

/// The part of a curve that is to be explained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend<'a> {
    pub shape: &'a Shape,
    pub site: &'a Site,
    /// The last point before the bend.
    pub good: &'a Evidence,
    /// The first point from the bend on.
    pub bad: &'a Evidence,
    /// Every point, ascending.
    pub all: &'a [Evidence],
}

/// The finding of a rule.
pub(super) enum Says {
    /// Evidence is missing.
    NotLooked,
    /// There is no evidence for this suspect.
    Clear,
    /// There is evidence from this number of jobs on; the text describes it.
    Suspect(u32, String),
}

/// Names suspects for the bend of a curve: its collapse (confirmed or not), else its knee. A curve
/// without either has no suspects, and none is listed as not looked at. Evidence may be in any
/// order; points without it are skipped.
#[must_use]
pub fn suspects(shape: &Shape, site: &Site, evidence: &[Evidence]) -> Suspects {
    let mut all = evidence.to_vec();
    all.sort_by_key(|e| e.jobs);
    let Some(bent) = shape.collapse.or(shape.unconfirmed).or(shape.knee) else {
        return Suspects::default();
    };
    let bad = all.iter().find(|e| e.jobs >= bent);
    let good = all.iter().rev().find(|e| e.jobs < bent);
    let (Some(bad), Some(good)) = (bad, good) else {
        return Suspects {
            named: Vec::new(),
            not_looked_at: RULES.iter().map(|(id, _)| (*id).to_owned()).collect(),
        };
    };
    judge(&Bend {
        shape,
        site,
        good,
        bad,
        all: &all,
    })
}

fn judge(bend: &Bend) -> Suspects {
    let mut found = Suspects::default();
    for (id, rule) in RULES {
        match rule(bend) {
            Says::NotLooked => found.not_looked_at.push((*id).to_owned()),
            Says::Clear => {}
            Says::Suspect(jobs, why) => found.named.push(Suspect {
                id: (*id).to_owned(),
                jobs,
                why,
            }),
        }
    }
    found
}
