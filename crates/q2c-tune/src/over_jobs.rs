//! The plan of a run over several numbers of jobs: one run of its own for each number.

use crate::TuneSpec;
use serde::{Deserialize, Serialize};

/// The plan of a run over several numbers of jobs, as `plan.toml` of its run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneJobsSpec {
    /// The numbers of jobs, ascending; at least two. The plan of one number has no such field,
    /// which tells the two apart.
    pub jobs: Vec<u32>,
    /// What the numbers have in common. `cpus` are those of the largest number, background jobs
    /// that name no CPU are given one for each number, and `budget_s` is for all numbers together.
    pub each: TuneSpec,
}

impl TuneJobsSpec {
    /// The plan of one number of jobs. It has the first CPUs, so that more jobs have those of fewer
    /// and others beside them, and an equal share of the budget: the answers then stand on as much
    /// time each.
    #[must_use]
    pub fn of(&self, jobs: u32) -> TuneSpec {
        let cpus = self.each.cpus.iter().copied().cycle();
        let share = |budget: f64| budget / self.jobs.len() as f64;
        TuneSpec {
            cpus: cpus.take(jobs as usize).collect(),
            budget_s: self.each.budget_s.map(share),
            ..self.each.clone()
        }
    }
}
