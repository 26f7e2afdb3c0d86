//! The methods that lead over the number of jobs, and the numbers at which the lead changes.

use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// The method that leads at one number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leader {
    /// Number of jobs.
    pub jobs: u32,
    /// The method: in a benchmark that of the highest median (on a tie the first of the plan), in a
    /// run of `q2c tune` the recommended one.
    pub method: Method,
    /// True if no other method may be better. In a benchmark, the leader's `[min, max]` is above
    /// that of every other method; it is false if a method has fewer than four trials, or has a
    /// figure only at other numbers of jobs. In a run of `q2c tune`, the run is complete, something
    /// that sleeps was tried, and no other answer is open.
    pub clear: bool,
}

/// A change of the lead: clear at `last` and at `first`, and at no number of jobs between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeadChange {
    /// The last number of jobs at which `from` leads clearly.
    pub last: u32,
    /// The first number of jobs at which `to` leads clearly.
    pub first: u32,
    /// The method that leads up to `last`.
    pub from: Method,
    /// The method that leads from `first` on.
    pub to: Method,
}

impl LeadChange {
    /// The changes between neighbours with a clear lead. `leaders` must be ascending by jobs. A
    /// change between two methods for which `same` is true does not count.
    pub fn find(leaders: &[Leader], same: impl Fn(&Method, &Method) -> bool) -> Vec<LeadChange> {
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
