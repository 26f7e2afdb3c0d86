//! A run over several numbers of jobs: a part for each number, and one answer over all.

use super::{TuneFolder, tune_job};
use crate::commands::diff::RunLimits;
use crate::commands::run_folder;
use crate::output::{say, show};
use crate::workbench::open_without_rest;
use q2c_host::signals::Orderly;
use q2c_host::target::Scratch;
use q2c_model::Fault;
use q2c_result::Exit;
use q2c_result::tune::{SCHEMA, TuneResult};
use q2c_result::tune_jobs::{self, FailedJobs, TuneJobsResult};
use q2c_run::run_dir::{RunDirError, Status, read_checked_plan};
use q2c_run::{RunDir, RunState};
use q2c_tune::TuneSettings;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts a new run, or resumes the one in the folder `resumed`.
pub(super) fn run(
    mut spec: TuneSettings,
    scratch: Option<Scratch>,
    resumed: Option<&Path>,
    limits: &RunLimits<'_>,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    // The largest number is checked first. A mistake in it then ends the run before anything is
    // measured, and the other numbers use its CPUs.
    let bench = open_without_rest(&spec.request(), scratch.clone(), stop);
    let bench = bench.map_err(|fault| {
        if resumed.is_some() {
            fault.of_plan()
        } else {
            fault
        }
    })?;
    let cpus = bench.workload.cpus.clone();
    let identity = bench.identity(&cpus, &run_folder::program());
    drop(bench);
    let folder = match resumed {
        Some(folder) => run_folder::resumed(folder, &identity)?,
        None => {
            spec.workload.cpus = cpus.iter().map(|cpu| cpu.0).collect();
            RunDir::create(&spec.workload.run.out, "tune", &spec, &identity)?
        }
    };
    let whole = TuneOverJobs {
        folder,
        spec,
        scratch,
        limits,
        stop,
    };
    whole.run()
}

struct TuneOverJobs<'a> {
    folder: RunDir,
    /// The plan of all numbers. Its CPUs are those of the largest number. Its background jobs have
    /// the CPUs that the user named.
    spec: TuneSettings,
    scratch: Option<Scratch>,
    limits: &'a RunLimits<'a>,
    stop: &'a AtomicBool,
}

impl TuneOverJobs<'_> {
    fn run(self) -> Result<Exit, Fault> {
        let _orderly = Orderly::begin();
        let path = self.folder.path().to_owned();
        say(&format!("run folder of all numbers {}", path.display()));
        let mut runs = Vec::new();
        let failed = self.fill(&mut runs);
        let (scratch, limits) = (self.scratch.clone(), self.limits);
        let of_earlier = self.spec.workload.scratch.is_some() && scratch.is_none();
        let left = of_earlier.then(|| PathBuf::from(self.spec.target()));
        let outcome = self.tell(runs, failed);
        let complete = outcome.as_ref().is_ok_and(|result| result.complete);
        match (complete, left) {
            (true, Some(left)) => run_folder::tell_no_longer_needed(&left),
            (true, None) => {}
            _ => run_folder::tell_kept(scratch.map(Scratch::keep), &path),
        }
        let exit = if complete {
            Exit::Done
        } else {
            Exit::Interrupted
        };
        limits.end(exit, &path, &outcome?)
    }

    /// Runs the incomplete numbers of jobs, and adds the results of all to `runs`. Ends at the
    /// first number that is stopped or fails. Returns that number and why it has no result.
    fn fill(&self, runs: &mut Vec<TuneResult>) -> Option<(u32, Fault)> {
        for &jobs in &self.spec.jobs {
            if self.stop.load(Ordering::Relaxed) || runs.last().is_some_and(|run| !run.complete) {
                return None;
            }
            match self.number(jobs) {
                Ok(result) => runs.push(result),
                Err(failure) => return Some((jobs, failure)),
            }
        }
        None
    }

    /// The result for one number of jobs, from an earlier session if it is complete, else from a
    /// run made now.
    fn number(&self, jobs: u32) -> Result<TuneResult, Fault> {
        let path = self.folder.part(&tune_jobs::folder(jobs));
        let (spec, place) = match RunDir::inspect(&path) {
            Ok((_, Status::Complete)) => return kept(&path),
            Ok(_) => {
                let plan: TuneSettings =
                    read_checked_plan(&path).map_err(RunDirError::on_resume)?;
                (plan.resumed_by(&self.spec), TuneFolder::Kept(&path))
            }
            Err(RunDirError::NotARun { .. }) => {
                let part = TuneFolder::Part(&self.folder, tune_jobs::folder(jobs));
                (self.spec.of_jobs(jobs), part)
            }
            Err(error) => return Err(error.on_resume()),
        };
        let job_counts = &self.spec.jobs;
        let nth = job_counts.iter().take_while(|n| **n <= jobs).count();
        say(&format!(
            "number {nth} of {}: --jobs {jobs}",
            job_counts.len()
        ));
        let tuned = tune_job(spec, self.scratch.clone(), &place, None, self.stop)?;
        tuned.outcome.map(|(result, _)| result)
    }

    /// Writes and prints the result over all numbers of jobs. The error comes from the number that
    /// failed, or from the writing.
    fn tell(
        self,
        runs: Vec<TuneResult>,
        failed: Option<(u32, Fault)>,
    ) -> Result<TuneJobsResult, Fault> {
        let path = self.folder.path().to_owned();
        // Without a single run there is no result, just as for one number of jobs.
        let failed = match failed {
            Some((_, failure)) if runs.is_empty() => return Err(failure),
            // A run that was stopped before its first trial has no result, but did not fail.
            Some((_, failure)) if failure.exit() == Exit::Interrupted => None,
            other => other,
        };
        let reason = failed.as_ref().map(|(jobs, failure)| FailedJobs {
            jobs: *jobs,
            reason: failure.message().to_owned(),
        });
        let result = TuneJobsResult::new(&self.spec.jobs, runs, reason);
        let state = if result.complete {
            RunState::Complete
        } else {
            RunState::Interrupted
        };
        run_folder::publish(self.folder, state, &result)?;
        if let Some((jobs, failure)) = failed {
            // Earlier measurements are in the report.
            run_folder::tell_report(&path);
            let resume = run_folder::resume(&path);
            let message =
                format!("tune with --jobs {jobs}, to {failure}; mend that and go on with {resume}");
            return Err(Fault::new(failure.exit(), message));
        }
        show(&result, self.spec.workload.run.json)?;
        run_folder::tell_report(&path);
        if state != RunState::Complete {
            run_folder::tell_stopped(&path);
        }
        Ok(result)
    }
}

fn kept(folder: &Path) -> Result<TuneResult, Fault> {
    let result = run_folder::result(folder, "q2c tune", SCHEMA)?;
    say(&format!("{} is complete", folder.display()));
    Ok(result)
}
