//! A workload that is watched while it runs. Orders to its lanes can change its method and its
//! background meanwhile.
//!
//! The lanes hand over slices. This crate joins the slices of all lanes to intervals of the length
//! asked for. An interval in which the order changed is cut there, so that every interval belongs
//! to one order. An interval in which a lane was late to take up its order belongs to no
//! order, and says so.

mod beside;
pub mod endpoint;
mod gather;
pub mod kernel;
mod late;
mod numbers;
pub mod steer;
mod summary;
pub mod tune_kernel;

pub(crate) use beside::SideThread;
pub use numbers::{counts, latency, mode, numbers};
pub use summary::summarize;

use gather::{DeviceCounters, SliceGatherer};
use late::LateView;
use q2c_engine::measure::PhaseStats;
use q2c_engine::{Activity, Live, LiveAnswer, LivePlan, RunError, Sample, live};
use q2c_model::{Bytes, Nanos};
use q2c_policy::LaneMethod;
use q2c_policy::method::Means;
use q2c_result::late::{LateMisses, LateNumbers, LateWatch};
use q2c_workbench::late::LateCapture;
use q2c_workbench::workload::{BackgroundSpec, Stages, Step, Workload, first_fault};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// One interval over all lanes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadInterval {
    /// Begin and end of the interval, ns from the common start.
    pub span: (u64, u64),
    /// The order in force, by the number that [`Watch::switch`] or [`Watch::switch_background`]
    /// returned; 0 before the first. `None` when the lanes had different orders.
    pub order: Option<u64>,
    /// Statistics of all foreground lanes together.
    pub foreground: PhaseStats,
    /// Statistics of all background lanes together; `lanes` is 0 when there are none.
    pub background: PhaseStats,
    /// How the foreground's engine looks for completions; `None` only in a default value.
    pub polls_by: Option<Means>,
    /// Interrupts of the device, background included; `None` when they could not be read.
    pub interrupts: Option<u64>,
    /// Requests that the device completed, background included; `None` when they could not be read.
    pub requests: Option<u64>,
    /// Samples of each foreground lane until they are joined; empty without a capture.
    pub samples: Vec<Vec<Sample>>,
    /// The parts of U2C of the foreground; `None` without a capture.
    pub late: Option<LateNumbers>,
    /// The misses of the foreground; `None` without a capture, and without a miss.
    pub misses: Option<LateMisses>,
}

/// The settings of a watch.
pub struct WatchPlan<'a> {
    /// Block size of the foreground.
    pub bs: Bytes,
    /// The method that the foreground begins with.
    pub first_method: &'a LaneMethod,
    /// Length of an interval.
    pub interval: Nanos,
    /// Seed of the offsets.
    pub seed: u64,
    /// The capture of the block layer, for the parts of U2C. It began before the watch, and ends
    /// with it. The workload's clock must convert to the kernel's time.
    pub capture: Option<LateCapture>,
}

/// The answer of [`Watch::next_event`].
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The next complete interval.
    Interval(Box<WorkloadInterval>),
    /// No interval was complete within the time given.
    Nothing,
    /// The workload has ended by a signal or a fault.
    End,
}

/// A running workload, as [`watch`] hands it to its caller.
pub struct Watch<'a, 'b> {
    workload: &'a Workload,
    live: &'a mut Live<'b>,
    gather: SliceGatherer,
    counters: DeviceCounters<'a>,
    late: Option<&'a mut LateView>,
}

/// The way in which a watched workload ended.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEnd {
    /// True if the stop flag ended the workload.
    pub stopped: bool,
    /// Text of the first I/O that failed or was short, background included. It ended the run.
    pub fault: Option<String>,
    /// The capture of the block layer; `None` where the plan had none.
    pub late: Option<LateWatch>,
}

/// Longest slice. Lanes take up orders and hand over buffers only at the end of each slice.
const MAX_SLICE: Nanos = Nanos::from_millis(250);
/// Samples that are kept per second and lane: on a faster device only some latencies are known.
const MAX_LANE_IOPS: f64 = 400e3;

/// Runs the workload until `follow` returns. The foreground waits by the plan's first method and
/// the background works, until `follow` orders a change.
pub fn watch<T: Send>(
    workload: &Workload,
    plan: WatchPlan<'_>,
    stop: &AtomicBool,
    follow: impl FnOnce(&mut Watch<'_, '_>) -> T + Send,
) -> Result<(T, WatchEnd), RunError> {
    let interval_slices = plan.interval.0.div_ceil(MAX_SLICE.0).max(1);
    let slice = Nanos(plan.interval.0 / interval_slices);
    let capacity = (slice.as_secs_f64() * MAX_LANE_IOPS) as usize + 1;
    // A watched run has one stage, which lasts until the methods change by an order.
    let mut stages = Stages::default();
    stages.push(Step::By(plan.first_method.clone()), slice);
    let mut jobs = workload.foreground(plan.bs, &stages, plan.seed, capacity);
    jobs.extend(workload.background_jobs(&stages, plan.seed));
    let mut late = plan.capture.map(LateView::new);
    let live_plan = LivePlan {
        jobs,
        slice,
        listener_cpu: workload.sampler_cpu,
        time: workload.site.time.clone(),
        samples: late.is_some(),
    };
    let lanes = live_plan.jobs.len();
    let (answer, data) = live(live_plan, stop, |live| {
        let start_ns = live.start_ns();
        if let Some(late) = &mut late {
            let kernel_ns = workload.site.time.kernel_ns_at(start_ns);
            late.start_ns = kernel_ns.unwrap_or(start_ns);
        }
        follow(&mut Watch {
            workload,
            live,
            gather: SliceGatherer::new(lanes, workload.cpus.len(), interval_slices, start_ns),
            counters: DeviceCounters::new(&workload.site),
            late: late.as_mut(),
        })
    })?;
    let end = WatchEnd {
        stopped: data.stopped,
        fault: first_fault(&data),
        late: late.map(LateView::end),
    };
    Ok((answer, end))
}

impl Watch<'_, '_> {
    /// Waits for the next interval, at most for `patience` of the workload's time.
    pub fn next_event(&mut self, patience: Duration) -> WatchEvent {
        let deadline = Duration::from_nanos(self.live.now()) + patience;
        loop {
            if let Some(interval) = self.next_interval() {
                return WatchEvent::Interval(Box::new(interval));
            }
            let remaining = deadline.saturating_sub(Duration::from_nanos(self.live.now()));
            match self.live.hear(remaining) {
                LiveAnswer::Slice(slice) => {
                    self.counters.slice_arrived = true;
                    self.gather.add(*slice);
                }
                LiveAnswer::Nothing => return WatchEvent::Nothing,
                LiveAnswer::End => return WatchEvent::End,
            }
        }
    }

    /// The next complete interval; with a capture only after the interval's requests have come.
    fn next_interval(&mut self) -> Option<WorkloadInterval> {
        let Some(late) = self.late.take() else {
            return self.next_gathered();
        };
        late.collect_requests();
        while let Some(interval) = self.next_gathered() {
            late.waiting.push_back((Instant::now(), interval));
        }
        let next = late.next(self.workload, self.live.tids());
        self.late = Some(late);
        next
    }

    /// The next complete interval with the device's counts, before its requests have come.
    fn next_gathered(&mut self) -> Option<WorkloadInterval> {
        let mut interval = self.gather.ready.pop_front()?;
        let is_last = self.gather.ready.is_empty();
        self.counters.add_counts(&mut interval, is_last);
        Some(interval)
    }

    /// Lets the foreground go on by `method`. Returns the number of the order.
    pub fn switch(&mut self, method: &LaneMethod) -> Result<u64, RunError> {
        let mut activities = Step::By(method.clone()).activities(&self.workload.cpus);
        activities.extend(self.background_lanes().map(|_| Activity::Continue));
        self.live.order(activities)
    }

    /// Lets the background work or rest. Returns the number of the order.
    pub fn switch_background(&mut self, on: bool) -> Result<u64, RunError> {
        let foreground = self.workload.cpus.iter().map(|_| Activity::Continue);
        let activity = |job: &BackgroundSpec| {
            if on { job.activity() } else { Activity::Idle }
        };
        let activities = foreground.chain(self.background_lanes().map(activity));
        self.live.order(activities.collect())
    }

    /// The job of each background lane.
    fn background_lanes(&self) -> impl Iterator<Item = &BackgroundSpec> {
        let jobs = self.workload.background.iter();
        jobs.flat_map(|job| (0..job.jobs).map(move |_| job))
    }
}

/// Time until a method's figures count: two periods of its rule's windows, at least 250 ms; 0
/// without a rule.
pub fn settle_time(method: &LaneMethod) -> Nanos {
    method.policy().map_or(Nanos::ZERO, q2c_advice::settle_time)
}
