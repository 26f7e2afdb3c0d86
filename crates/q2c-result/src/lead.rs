//! The methods that lead over the number of jobs, and where the lead changes hands.

use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// The method that leads at one number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leader {
    /// Number of jobs.
    pub jobs: u32,
    /// The method: highest median in a benchmark, ties by the plan; recommended in a tune run.
    pub method: Method,
    /// Whether no other method may be the better one. In a benchmark the leader's `[min, max]` then
    /// lies wholly above that of every other method; it is false where a method has fewer than four
    /// trials, or has no figure at this number of jobs and at another one has. In a run of `q2c
    /// tune` the run is complete, something that sleeps was tried, and no other answer is open.
    pub clear: bool,
}

/// The lead goes from one method to another: clear at both numbers, and nowhere between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeadChange {
    /// The last number of jobs at which `from` leads clearly.
    pub last: u32,
    /// The first number of jobs at which `to` leads clearly.
    pub first: u32,
    /// The method that leads until then.
    pub from: Method,
    /// The method that leads from then on.
    pub to: Method,
}

impl LeadChange {
    /// The changes between neighbours with a clear lead; `leaders` are ascending by jobs.
    pub fn among(leaders: &[Leader], same: impl Fn(&Method, &Method) -> bool) -> Vec<LeadChange> {
        let clear: Vec<&Leader> = leaders.iter().filter(|leader| leader.clear).collect();
        let pairs = clear.windows(2);
        let pairs = pairs.filter(|pair| !same(&pair[0].method, &pair[1].method));
        let change = |pair: &[&Leader]| LeadChange {
            last: pair[0].jobs,
            first: pair[1].jobs,
            from: pair[0].method.clone(),
            to: pair[1].method.clone(),
        };
        pairs.map(change).collect()
    }
}
