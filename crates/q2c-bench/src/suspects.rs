//! Why a curve bends or falls: suspects, named from evidence that was gathered beside the throughput.
//!
//! A suspect is no proof. It is named where the evidence changed between the last good point and the first bad one, or
//! stands against every point behind it; the sentence says what was seen. What was not gathered is listed as not
//! looked at, so that an empty list of suspects does not read as an acquittal.

use super::rules::RULES;
use q2c_host::topology::Border;
use q2c_stats::scaling::Shape;
use serde::{Deserialize, Serialize};

/// What was seen at one point. `None`: not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Jobs.
    pub jobs: u32,
    /// Scheduler in force on the device.
    pub scheduler: Option<String>,
    /// Requests wanted in flight at once, jobs times depth, and those that the device's queues take.
    pub tags: Option<Tags>,
    /// Kernel threads that polled submission queues (SQPOLL).
    pub submission_threads: Option<u32>,
    /// Kernel workers that did requests which would have blocked (io-wq).
    pub workers: Option<u32>,
    /// Softirq time over busy time of the whole machine, 0..=1.
    pub softirq_share: Option<f64>,
    /// Time stolen by the hypervisor over all CPU time, 0..=1.
    pub steal_share: Option<f64>,
    /// Thermal throttle events while it ran.
    pub throttles: Option<u64>,
}

/// Requests in flight against what the queues take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Most requests in flight at once, or jobs times depth where that was not counted.
    pub used: u64,
    /// Requests that the hardware queues in use take together.
    pub limit: u64,
}

/// What the device can do, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// In the curve's unit.
    pub x: f64,
    /// `the vendor's rating`, `the peak of io_uring`.
    pub source: String,
}

/// What holds for the whole curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// CPUs that jobs and helpers may use.
    pub cpus: Option<u32>,
    /// Steps in the order of CPUs; `None` when the topology is not known, empty when there is no step.
    pub borders: Option<Vec<Border>>,
    /// The device's ceiling.
    pub ceiling: Option<Ceiling>,
}

/// One suspect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// `scheduler`, `tags`, `workers`, `oversubscribed`, `topology`, `ceiling`, `softirq`, `steal`, `thermal`.
    pub id: String,
    /// Number of jobs from which it holds.
    pub jobs: u32,
    /// What was seen, and what it does.
    pub why: String,
}

/// All suspects of a curve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspects {
    /// Those with evidence against them; the order is fixed and no ranking.
    pub named: Vec<Suspect>,
    /// Names of those for which evidence is missing.
    pub not_looked_at: Vec<String>,
}

/// The part of a curve that is to be explained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend<'a> {
    pub shape: &'a Shape,
    pub site: &'a Site,
    /// The last point where all was well.
    pub good: &'a Evidence,
    /// The first where it was not.
    pub bad: &'a Evidence,
    /// Every point, ascending.
    pub all: &'a [Evidence],
}

/// What a rule says.
pub(super) enum Says {
    /// Evidence is missing.
    NotLooked,
    /// Nothing against it.
    Clear,
    /// Evidence from this number of jobs on, in words.
    Suspect(u32, String),
}

/// Names suspects for the bend of a curve: its collapse (confirmed or not), else its knee. A curve without either has
/// none, and nothing is said of what was not looked at. Evidence may be in any order; points without it are skipped.
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
