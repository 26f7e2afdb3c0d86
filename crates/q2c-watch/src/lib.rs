//! A workload that is watched while it runs, its method and its background changed on the way.
//!
//! Lanes hand over slices; slices of all lanes become intervals here, of the length asked for. An interval in which the orders
//! changed is cut there, so that an interval is of one order, or says that it is of none: where a lane was late to take one up.

mod gather;
pub mod kernel;
mod numbers;
mod summary;

pub use numbers::{mode, numbers};
pub use summary::by_method;

use gather::Gather;
use q2c_engine::measure::PhaseStats;
use q2c_engine::{Activity, Heard, Live, LivePlan, RunError, live};
use q2c_model::{Bytes, Nanos};
use q2c_policy::LaneMethod;
use q2c_workbench::workload::{BackgroundSpec, Step, Workload, activities, first_fault};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// One interval of all lanes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchInterval {
    /// Its begin and end, ns from the common start.
    pub span: (u64, u64),
    /// The order in force, as the call that gave it told: 0 from the start. `None` when lanes differed.
    pub order: Option<u64>,
    /// The foreground lanes as one.
    pub foreground: PhaseStats,
    /// The background lanes as one; no lanes when there are none.
    pub background: PhaseStats,
    /// How the foreground's engine looks for completions.
    pub polls_by: &'static str,
}

/// What a watcher sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The next interval.
    Interval(Box<WatchInterval>),
    /// None within the time given.
    Nothing,
    /// The workload has ended: by a signal or a fault.
    End,
}

/// A workload at work.
pub struct Watch<'a, 'b> {
    workload: &'a Workload,
    live: &'a mut Live<'b>,
    gather: Gather,
}

/// What a watched workload left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEnd {
    /// It was stopped by the flag.
    pub stopped: bool,
    /// The first I/O that failed or was short, background included; it ended the run.
    pub fault: Option<String>,
}

/// Longest slice: orders are taken up, and buffers handed over, at least this often.
const LONGEST_SLICE: Nanos = Nanos::from_millis(250);
/// Samples kept per second and lane at most. Faster devices are counted whole, and their latencies known in part.
const MOST_IOPS: f64 = 400e3;

/// The slice for intervals of `interval`, and how many of it an interval has.
fn slices(interval: Nanos) -> (Nanos, u64) {
    let count = interval.0.div_ceil(LONGEST_SLICE.0).max(1);
    (Nanos(interval.0 / count), count)
}

/// Runs the foreground as `first` says, with the background at work, until `see` returns; gives what it returned. The
/// background of a workload without background jobs is empty.
///
/// # Errors
/// When a lane cannot be set up or an engine breaks.
pub fn watch<T: Send>(
    workload: &Workload,
    bs: Bytes,
    first: &LaneMethod,
    interval: Nanos,
    seed: u64,
    stop: &AtomicBool,
    see: impl FnOnce(&mut Watch<'_, '_>) -> T + Send,
) -> Result<(T, WatchEnd), RunError> {
    let (slice, count) = slices(interval);
    let capacity = (slice.as_secs_f64() * MOST_IOPS) as usize + 1;
    let mut jobs = workload.foreground(bs, &[&Step::By(first.clone())], seed, capacity);
    jobs.extend(workload.background_jobs(1, seed));
    let plan = LivePlan {
        jobs,
        slice,
        listener_cpu: workload.sampler_cpu,
        clock: workload.clock,
    };
    let lanes = plan.jobs.len();
    let (value, data) = live(plan, stop, |live| {
        let start_ns = live.start_ns();
        see(&mut Watch {
            workload,
            live,
            gather: Gather::new(lanes, workload.cpus.len(), count, start_ns),
        })
    })?;
    let end = WatchEnd {
        stopped: data.stopped,
        fault: first_fault(&data),
    };
    Ok((value, end))
}

impl Watch<'_, '_> {
    /// Waits for the next interval, no longer than `patience`.
    pub fn see(&mut self, patience: Duration) -> Seen {
        let until = Instant::now() + patience;
        loop {
            if let Some(interval) = self.gather.interval() {
                return Seen::Interval(Box::new(interval));
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.live.hear(left) {
                Heard::Slice(slice) => self.gather.take(*slice),
                Heard::Nothing => return Seen::Nothing,
                Heard::End => return Seen::End,
            }
        }
    }

    /// Lets the foreground go on by `method`; gives the order's number.
    ///
    /// # Errors
    /// None is expected: the foreground knows every method.
    pub fn switch(&mut self, method: &LaneMethod) -> Result<u64, RunError> {
        let mut all = activities(&Step::By(method.clone()), &self.workload.cpus);
        let background = self.background().map(|_| Activity::Continue);
        all.extend(background);
        self.live.order(all)
    }

    /// Lets the background work or rest; gives the order's number.
    ///
    /// # Errors
    /// None is expected: the background can do both.
    pub fn switch_background(&mut self, on: bool) -> Result<u64, RunError> {
        let foreground = self.workload.cpus.iter().map(|_| Activity::Continue);
        let background = self.background().map(|job| match on {
            true => job.at_work(),
            false => Activity::Idle,
        });
        let all = foreground.chain(background).collect();
        self.live.order(all)
    }

    /// What each background lane is.
    fn background(&self) -> impl Iterator<Item = &BackgroundSpec> {
        let jobs = self.workload.background.iter();
        jobs.flat_map(|job| (0..job.jobs).map(move |_| job))
    }
}

/// How long a method needs before it is itself: two periods of a rule's windows, 250 ms at least; other methods need nothing.
#[must_use]
pub fn settling(method: &LaneMethod) -> Nanos {
    method.policy().map_or(Nanos::ZERO, q2c_advice::settling)
}
