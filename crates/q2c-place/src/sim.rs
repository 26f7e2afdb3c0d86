//! The simulator: tasks that compute, poll and sleep on a machine with SMT cores, under a policy.
//!
//! Time goes on in steps. In a step every task runs at the [speed](crate::speed) that its CPU and
//! its neighbours leave it. Between steps tasks change what they do, the predictor looks at them,
//! and the policy moves tasks. When nothing can change but by the end of a task's work, the next
//! step reaches to that end.

mod account;
mod balancer;
mod linux;
mod machine;
mod task;

pub(crate) use account::{Account, PollSharing};
pub(crate) use machine::PlaceSimOutcome;
pub(crate) use task::Task;

use crate::map::{CpuIndex, SmtMap};
use crate::rules::Rules;
use q2c_result::place::Speeds;

/// The policy that moves tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// No task moves: the CPU of each task, in the order of the tasks.
    Fixed(Vec<CpuIndex>),
    /// A Linux-like balancer that is blind to polling.
    Free,
    /// The same occasions to balance, but tasks are chosen by the placement rules.
    Rules(Rules),
}

/// The term of the last-level cache: C tasks share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheTerm {
    /// Each other C task that runs and shares the cache lengthens a C task by this share.
    pub per_neighbour: f64,
    /// Seconds of work that a C task loses when it moves to another cache.
    pub refill_s: f64,
}

pub(crate) struct PlaceSim<'a> {
    pub map: &'a SmtMap,
    pub tasks: &'a [Task],
    pub policy: Policy,
    /// The number of tasks by which loads must differ for a move, without the swap step.
    pub threshold: u32,
    /// Speeds beside neighbours.
    pub speeds: Speeds,
    /// The last-level cache; `None` without this term.
    pub cache: Option<CacheTerm>,
    /// The longest simulated time, seconds.
    pub max_s: f64,
}

#[cfg(test)]
mod tests;
