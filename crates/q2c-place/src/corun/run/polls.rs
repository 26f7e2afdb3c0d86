//! The polling tasks of a trial: lanes of q2c's engine, or programs.

use super::compute::{join, run_silently, trial_error};
use super::window::CorunWindow;
use q2c_engine::measure::{PhaseStats, combine_lanes, combine_phases};
use q2c_engine::{Activity, Live, LiveAnswer, LivePlan, Wait, live};
use q2c_model::{Bytes, CpuId, Latencies, Nanos};
use q2c_run::runner::CellError;
use q2c_sys::thread::allow_other;
use q2c_workbench::workload::{Stages, Step, Workload};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

/// The name of the lanes' threads, by which the daemon knows them.
pub(crate) const THREAD_NAME: &str = "q2c-polls";

const SLICE: Nanos = Nanos::from_millis(100);
/// Samples of a lane that a slice has room for; I/Os beyond them are only counted.
const SLICE_SAMPLES: usize = 60_000;
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The figures of the P tasks of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollTrial {
    /// I/Os per second of a task, mean over the tasks.
    pub iops: f64,
    /// Latencies of the I/Os of all tasks.
    pub latency: Latencies<f64>,
}

pub(crate) struct PollingLanes<'a> {
    pub workload: &'a Workload,
    pub bs: Bytes,
    pub cpus: &'a [Vec<CpuId>],
    pub seed: u64,
    pub stop: &'a AtomicBool,
}

impl PollingLanes<'_> {
    /// Runs the lanes until `compute`, in a thread of its own, has ended, and calls `balance` about
    /// every 100 ms. Returns the lanes' figures within the counted time, and the result of
    /// `compute`.
    ///
    /// # Errors
    /// A lane cannot be run, `compute` fails, or no slice lies within the counted time.
    pub(crate) fn run<T: Send>(
        &self,
        window: &CorunWindow,
        compute: impl FnOnce() -> Result<T, CellError> + Send,
        mut balance: impl FnMut() -> Result<(), CellError> + Send,
    ) -> Result<(PollTrial, T), CellError> {
        let plan = self.plan();
        let mut slices: Vec<Vec<PollSlice>> = vec![Vec::new(); plan.jobs.len()];
        let live_result = live(plan, self.stop, |live| -> Result<_, CellError> {
            let placed = self.place(live);
            placed.map_err(|error| trial_error("give a polling task its CPUs", &error))?;
            let result = thread::scope(|scope| {
                let compute = scope.spawn(compute);
                while !compute.is_finished() {
                    collect_slices(live, &mut slices);
                    balance()?;
                }
                compute.join().unwrap_or_else(|_| Err(panicked()))
            })?;
            collect_slices(live, &mut slices);
            Ok((figures(slices, window)?, result))
        });
        let (figures, _) = live_result.map_err(|error| CellError::Trial(error.to_string()))?;
        figures
    }

    fn plan(&self) -> LivePlan {
        let mut stages = Stages::default();
        stages.push(Step::Rest, SLICE);
        let first = |cpus: &Vec<CpuId>| cpus.first().copied();
        let workload = Workload {
            // A lane begins on its first CPU; it gets the others once it runs.
            cpus: self.cpus.iter().filter_map(first).collect(),
            ..self.workload.clone()
        };
        let mut jobs = workload.foreground(self.bs, &stages, self.seed, SLICE_SAMPLES);
        for (nth, job) in jobs.iter_mut().enumerate() {
            job.name = format!("polling task {nth}");
            job.activities = vec![Activity::Start(Wait::Poll)];
        }
        LivePlan {
            jobs,
            slice: SLICE,
            listener_cpu: None,
            time: self.workload.site.time.clone(),
            samples: false,
        }
    }

    fn place(&self, live: &Live<'_>) -> io::Result<()> {
        let roots = &self.workload.site.roots;
        for (tid, cpus) in live.tids().iter().zip(self.cpus) {
            fs::write(roots.proc(&format!("self/task/{tid}/comm")), THREAD_NAME)?;
            allow_other(*tid, cpus)?;
        }
        Ok(())
    }
}

fn panicked() -> CellError {
    CellError::Trial("run a task: its thread panicked".to_owned())
}

type PollSlice = ((u64, u64), PhaseStats);

fn collect_slices(live: &mut Live<'_>, slices: &mut [Vec<PollSlice>]) {
    let began = std::time::Instant::now();
    while let Some(remaining) = LOOK_INTERVAL.checked_sub(began.elapsed()) {
        match live.hear(remaining) {
            LiveAnswer::Slice(slice) => slices[slice.lane].push((slice.span, slice.stats)),
            LiveAnswer::Nothing => {}
            LiveAnswer::End => return thread::sleep(remaining),
        }
    }
}

fn figures(slices: Vec<Vec<PollSlice>>, window: &CorunWindow) -> Result<PollTrial, CellError> {
    let no_slice = || {
        let text = "count the I/Os of a polling task: none of its slices lies within the counted time; use a longer --trial";
        CellError::Trial(text.to_owned())
    };
    let (begin, end) = window.span().ok_or_else(no_slice)?;
    let is_counted = |((from, to), _): &PollSlice| *from >= begin && *to <= end;
    let lane = |slices: Vec<PollSlice>| {
        let inside = slices.into_iter().filter(is_counted);
        let inside: Vec<PhaseStats> = inside.map(|(_, stats)| stats).collect();
        (!inside.is_empty())
            .then(|| combine_phases(&inside))
            .ok_or_else(no_slice)
    };
    let lanes: Vec<PhaseStats> = slices.into_iter().map(lane).collect::<Result<_, _>>()?;
    let total = combine_lanes(&lanes);
    let (iops, latency) = (total.iops() / lanes.len() as f64, total.latency());
    Ok(PollTrial { iops, latency })
}

/// Runs a program on each of these CPU sets until `compute` has ended; calls `balance` every 100
/// ms.
///
/// # Errors
/// A program cannot be started, or ends before it is stopped.
pub(crate) fn run_programs<T: Send>(
    command: &str,
    cpus: &[Vec<CpuId>],
    compute: impl FnOnce() -> Result<T, CellError> + Send,
    mut balance: impl FnMut() -> Result<(), CellError>,
) -> Result<T, CellError> {
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let start = |cpus: &Vec<CpuId>| {
            let cpus = cpus.clone();
            scope.spawn(move || run_silently(command, &cpus, stop))
        };
        let programs: Vec<_> = cpus.iter().map(start).collect();
        let compute = scope.spawn(compute);
        let mut balanced = Ok(());
        while !compute.is_finished() && balanced.is_ok() {
            thread::sleep(LOOK_INTERVAL);
            balanced = balance();
        }
        let done = compute.join();
        stop.store(true, Ordering::Release);
        let ends: io::Result<Vec<_>> = programs.into_iter().map(join).collect();
        let ends = ends.map_err(|error| trial_error(&format!("run `{command}`"), &error))?;
        balanced?;
        let done = done.unwrap_or_else(|_| Err(panicked()))?;
        // A program that was stopped has no status; one that has a status ended too early.
        ends.into_iter().flatten().next().map_or(Ok(done), |status| {
            Err(CellError::Trial(format!(
                "keep `{command}` polling: expected it to run until it is stopped, it ended with {status}"
            )))
        })
    })
}
