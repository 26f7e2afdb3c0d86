//! The polling tasks of a trial: lanes of q2c's engine, or programs.

use super::compute::{failed, joined, run_silently};
use super::window::CorunWindow;
use q2c_engine::measure::{PhaseStats, combine, in_turn};
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
pub(crate) const NAME: &str = "q2c-polls";

const SLICE: Nanos = Nanos::from_millis(100);
/// Samples of a lane that a slice has room for; I/Os beyond them are only counted.
const SAMPLES: usize = 60_000;
const LOOK: Duration = Duration::from_millis(100);

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
    /// Runs the lanes until `beside`, in a thread of its own, has ended, and calls `look` about
    /// every 100 ms. Returns the lanes' figures within the counted time, and the result of
    /// `beside`.
    ///
    /// # Errors
    /// A lane cannot be run, `beside` fails, or no slice lies within the counted time.
    pub(crate) fn run<T: Send>(
        &self,
        window: &CorunWindow,
        beside: impl FnOnce() -> Result<T, CellError> + Send,
        mut look: impl FnMut() -> Result<(), CellError> + Send,
    ) -> Result<(PollTrial, T), CellError> {
        let plan = self.plan();
        let mut slices: Vec<Vec<PollSlice>> = vec![Vec::new(); plan.jobs.len()];
        let heard = live(plan, self.stop, |live| -> Result<_, CellError> {
            let placed = self.place(live);
            placed.map_err(|error| failed("give a polling task its CPUs", &error))?;
            let done = thread::scope(|scope| {
                let beside = scope.spawn(beside);
                while !beside.is_finished() {
                    take(live, &mut slices);
                    look()?;
                }
                beside.join().unwrap_or_else(|_| Err(panicked()))
            })?;
            take(live, &mut slices);
            Ok((figures(slices, window)?, done))
        });
        heard
            .map_err(|error| CellError::Trial(error.to_string()))?
            .0
    }

    fn plan(&self) -> LivePlan {
        let mut stages = Stages::default();
        stages.then(Step::Rest, SLICE);
        let first = |cpus: &Vec<CpuId>| cpus.first().copied();
        let on = Workload {
            // A lane begins on its first CPU; it gets the others once it runs.
            cpus: self.cpus.iter().filter_map(first).collect(),
            ..self.workload.clone()
        };
        let mut jobs = on.foreground(self.bs, &stages, self.seed, SAMPLES);
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
            fs::write(roots.proc(&format!("self/task/{tid}/comm")), NAME)?;
            allow_other(*tid, cpus)?;
        }
        Ok(())
    }
}

fn panicked() -> CellError {
    CellError::Trial("run a task: its thread panicked".to_owned())
}

type PollSlice = ((u64, u64), PhaseStats);

fn take(live: &mut Live<'_>, slices: &mut [Vec<PollSlice>]) {
    let began = std::time::Instant::now();
    while let Some(left) = LOOK.checked_sub(began.elapsed()) {
        match live.hear(left) {
            LiveAnswer::Slice(slice) => slices[slice.lane].push((slice.span, slice.stats)),
            LiveAnswer::Nothing => {}
            LiveAnswer::End => return thread::sleep(left),
        }
    }
}

fn figures(slices: Vec<Vec<PollSlice>>, window: &CorunWindow) -> Result<PollTrial, CellError> {
    let none = || {
        let text = "count the I/Os of a polling task: none of its slices lies within the counted time; use a longer --trial";
        CellError::Trial(text.to_owned())
    };
    let (begin, end) = window.span().ok_or_else(none)?;
    let within = |((from, to), _): &PollSlice| *from >= begin && *to <= end;
    let lane = |slices: Vec<PollSlice>| {
        let inside = slices.into_iter().filter(within).map(|(_, stats)| stats);
        let inside: Vec<PhaseStats> = inside.collect();
        (!inside.is_empty())
            .then(|| in_turn(&inside))
            .ok_or_else(none)
    };
    let lanes: Vec<PhaseStats> = slices.into_iter().map(lane).collect::<Result<_, _>>()?;
    let total = combine(&lanes);
    Ok(PollTrial {
        iops: total.iops() / lanes.len() as f64,
        latency: total.latency(),
    })
}

/// Runs a program on each of these CPU sets until `beside` has ended; calls `look` every 100 ms.
///
/// # Errors
/// A program cannot be started, or ends before it is stopped.
pub(crate) fn programs<T: Send>(
    command: &str,
    cpus: &[Vec<CpuId>],
    beside: impl FnOnce() -> Result<T, CellError> + Send,
    mut look: impl FnMut() -> Result<(), CellError>,
) -> Result<T, CellError> {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let start = |cpus: &Vec<CpuId>| {
            let cpus = cpus.clone();
            scope.spawn(move || run_silently(command, &cpus, over))
        };
        let programs: Vec<_> = cpus.iter().map(start).collect();
        let beside = scope.spawn(beside);
        let mut looked = Ok(());
        while !beside.is_finished() && looked.is_ok() {
            thread::sleep(LOOK);
            looked = look();
        }
        let done = beside.join();
        over.store(true, Ordering::Release);
        let ends: io::Result<Vec<_>> = programs.into_iter().map(joined).collect();
        let ends = ends.map_err(|error| failed(&format!("run `{command}`"), &error))?;
        looked?;
        let done = done.unwrap_or_else(|_| Err(panicked()))?;
        ends.into_iter().flatten().next().map_or(Ok(done), |status| {
            Err(CellError::Trial(format!(
                "keep `{command}` polling: expected it to run until it is stopped, it ended with {status}"
            )))
        })
    })
}
