//! A run over several numbers of jobs: a part of the run for each number, and one answer over all.

use super::{TuneFolder, tune_job_count};
use crate::commands::diff::RunLimits;
use crate::commands::run_folder;
use crate::output::{say, show};
use crate::workbench::open_without_baseline;
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
    // The largest number of jobs is checked first, so that a mistake in it ends the run before
    // anything is measured. The smaller numbers of jobs use CPUs of the largest one.
    let bench = open_without_baseline(&spec.request(), scratch.clone(), stop);
    let is_resumed = resumed.is_some();
    let bench = bench.map_err(|fault| if is_resumed { fault.for_plan() } else { fault })?;
    let cpus = bench.workload.cpus.clone();
    let identity = bench.identity(&cpus, &run_folder::program_version());
    drop(bench);
    let folder = match resumed {
        Some(folder) => run_folder::resume(folder, &identity)?,
        None => {
            spec.workload.cpus = cpus.iter().map(|cpu| cpu.0).collect();
            RunDir::create(&spec.workload.run.out, "tune", &spec, &identity)?
        }
    };
    let run = TuneOverJobs {
        folder,
        spec,
        scratch,
        limits,
        stop,
    };
    run.run_all()
}

struct TuneOverJobs<'a> {
    folder: RunDir,
    /// The plan of all numbers of jobs. Its CPUs are those of the largest number. Its background
    /// jobs have the CPUs that the user named.
    spec: TuneSettings,
    scratch: Option<Scratch>,
    limits: &'a RunLimits<'a>,
    stop: &'a AtomicBool,
}

impl TuneOverJobs<'_> {
    fn run_all(self) -> Result<Exit, Fault> {
        let _orderly = Orderly::begin();
        let path = self.folder.path().to_owned();
        say(&format!("run folder of all numbers {}", path.display()));
        let mut runs = Vec::new();
        let failed = self.run_job_counts(&mut runs);
        let (scratch, limits) = (self.scratch.clone(), self.limits);
        let is_earlier_scratch = self.spec.workload.scratch.is_some() && scratch.is_none();
        let earlier_scratch = is_earlier_scratch.then(|| PathBuf::from(self.spec.target()));
        let outcome = self.publish_and_show(runs, failed);
        let exit = match (&outcome, earlier_scratch) {
            (Ok(result), earlier) if result.complete => {
                earlier
                    .iter()
                    .for_each(|path| run_folder::tell_no_longer_needed(path));
                Exit::Done
            }
            _ => {
                run_folder::tell_kept(scratch.map(Scratch::keep), &path);
                Exit::Interrupted
            }
        };
        limits.judge(exit, &path, &outcome?)
    }

    /// Runs the numbers of jobs that are not complete, and adds the results of all numbers to
    /// `runs`. Ends at the first stopped or failed number. Returns the number that failed, and its
    /// fault.
    fn run_job_counts(&self, runs: &mut Vec<TuneResult>) -> Option<(u32, Fault)> {
        for &jobs in &self.spec.jobs {
            if self.stop.load(Ordering::Relaxed) || runs.last().is_some_and(|run| !run.complete) {
                return None;
            }
            match self.run_job_count(jobs) {
                Ok(result) => runs.push(result),
                Err(failure) => return Some((jobs, failure)),
            }
        }
        None
    }

    /// The result for one number of jobs, from an earlier session if it is complete, else from a
    /// run made now.
    fn run_job_count(&self, jobs: u32) -> Result<TuneResult, Fault> {
        let path = self.folder.part_path(&tune_jobs::folder(jobs));
        let (spec, place) = match RunDir::inspect(&path) {
            Ok((_, Status::Complete)) => {
                let result = run_folder::read_result(&path, "q2c tune", SCHEMA)?;
                say(&format!("{} is complete", path.display()));
                return Ok(result);
            }
            Ok(_) => {
                let plan: TuneSettings =
                    read_checked_plan(&path).map_err(RunDirError::on_resume)?;
                (plan.with_session(&self.spec), TuneFolder::Existing(&path))
            }
            Err(RunDirError::NotARun { .. }) => {
                let part = TuneFolder::Part(&self.folder, tune_jobs::folder(jobs));
                (self.spec.for_jobs(jobs), part)
            }
            Err(error) => return Err(error.on_resume()),
        };
        let job_counts = &self.spec.jobs;
        let nth = job_counts.iter().take_while(|n| **n <= jobs).count();
        let count = job_counts.len();
        say(&format!("number {nth} of {count}: --jobs {jobs}"));
        let tuned = tune_job_count(spec, self.scratch.clone(), &place, None, self.stop)?;
        tuned.outcome.map(|(result, _)| result)
    }

    /// Writes and prints the result over all numbers of jobs. The error comes from the number that
    /// failed, or from the writing.
    fn publish_and_show(
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
        let state = run_folder::state(result.complete);
        run_folder::publish(self.folder, state, &result)?;
        if let Some((jobs, failure)) = failed {
            // Earlier measurements are in the report.
            run_folder::tell_report(&path);
            let resume = run_folder::resume_command(&path);
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
