//! The result of `q2c tune` over several numbers of jobs: `result.json`, schema `q2c.tune-jobs/2`.

use crate::Provenance;
use crate::lead::{LeadChange, Leader};
use crate::tune::TuneResult;
use q2c_model::{Bytes, distinct};
use q2c_policy::Method;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.tune-jobs/2";

/// One run of `q2c tune` over several numbers of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneJobsResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// First start, sum of the wall times, host; the folder of the whole run.
    pub provenance: Provenance,
    /// False when a number of jobs is missing or was stopped early; the figures are still valid.
    pub complete: bool,
    /// The numbers of jobs that were asked for, ascending.
    pub jobs: Vec<u32>,
    /// The recommended methods over the number of jobs, one entry per block size.
    pub recommended: Vec<RecommendedOverJobs>,
    /// The number of jobs that could not be tuned, which ended the run; `None` if all could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedJobs>,
    /// The run of each number of jobs that was started, ascending, stored in [`folder`].
    pub runs: Vec<TuneResult>,
}

/// The recommended methods of one block size over the number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecommendedOverJobs {
    /// Block size of the requests.
    pub bs: Bytes,
    /// The recommended method at each number of jobs; ascending.
    pub leaders: Vec<Leader>,
    /// The changes of the clear recommendation, ascending by jobs. A change to a method of the
    /// [same rule](Method::same_rule) does not count.
    pub changes: Vec<LeadChange>,
}

/// A number of jobs that could not be tuned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedJobs {
    /// The number of jobs.
    pub jobs: u32,
    /// The reason in words.
    pub reason: String,
}

/// Name of the folder for the run of one number of jobs, within the folder of the whole run.
pub fn folder(jobs: u32) -> String {
    format!("jobs-{jobs}")
}

impl TuneJobsResult {
    /// Joins the runs that were made for some of the numbers `jobs`.
    pub fn new(jobs: &[u32], mut runs: Vec<TuneResult>, failed: Option<FailedJobs>) -> Self {
        let mut jobs = jobs.to_vec();
        jobs.sort_unstable();
        runs.sort_by_key(|run| run.job.jobs);
        let complete = |jobs: &u32| runs.iter().any(|run| run.job.jobs == *jobs && run.complete);
        TuneJobsResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provenance: provenance(&runs),
            complete: failed.is_none() && jobs.iter().all(complete),
            recommended: recommended_over_jobs(&runs),
            jobs,
            failed,
            runs,
        }
    }

    /// The run with this number of jobs; `None` if it was not started.
    pub fn run(&self, jobs: u32) -> Option<&TuneResult> {
        self.runs.iter().find(|run| run.job.jobs == jobs)
    }
}

/// The provenance of the whole run, whose folder contains those of `runs`.
fn provenance(runs: &[TuneResult]) -> Provenance {
    let of_runs = || runs.iter().map(|run| &run.provenance);
    let folder = of_runs().find_map(|run| Path::new(run.folder.as_deref()?).parent());
    Provenance {
        started_unix_s: of_runs().map(|run| run.started_unix_s).min().unwrap_or(0),
        seconds: of_runs().map(|run| run.seconds).sum(),
        folder: folder.map(|path| path.display().to_string()),
        host: of_runs().find_map(|run| run.host.clone()),
    }
}

/// The recommended methods over `runs`, which must be ascending by the number of jobs.
fn recommended_over_jobs(runs: &[TuneResult]) -> Vec<RecommendedOverJobs> {
    let answers = runs.iter().flat_map(|run| &run.recommendation);
    let sizes = distinct(answers.map(|answer| answer.bs));
    let size_answers = |bs: Bytes| {
        let leader = |run: &TuneResult| {
            let mut answers = run.recommendation.iter();
            let answer = answers.find(|answer| answer.bs == bs)?;
            Some(Leader {
                jobs: run.job.jobs,
                method: answer.method.clone(),
                clear: run.complete && answer.is_settled(),
            })
        };
        let leaders: Vec<Leader> = runs.iter().filter_map(leader).collect();
        RecommendedOverJobs {
            bs,
            changes: LeadChange::find(&leaders, Method::same_rule),
            leaders,
        }
    };
    sizes.into_iter().map(size_answers).collect()
}

#[cfg(test)]
mod tests;
