//! A run without a planned end: lanes hand over their samples slice by slice, and take new orders
//! between two slices.
//!
//! All lanes cut their time at the same instants: the common start plus multiples of the slice. At
//! a cut a lane exchanges its full buffer of samples for an empty one and checks for an order. It
//! never waits for another thread, and within a slice nothing is added to the I/O path. If the
//! listener does not listen, a lane runs out of buffers and its slice becomes longer; I/Os beyond
//! the buffer are only counted. If an I/O lasts beyond the end of its slice, the slice ends with
//! that I/O.

mod lane;

use super::crew::{SideWork, run_crew};
use super::plan::{check_activity, check_jobs, invalid};
use crate::measure::{PhaseStats, stats_from};
use crate::sample::prefaulted_samples;
use crate::{
    Activity, EngineFacts, EngineSpec, JobPlan, RunData, RunError, Sample, Time, TimeSource,
};
use lane::{Board, LaneChannels, RawSlice};
use q2c_model::{CpuId, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The plan of a run without a planned end.
pub struct LivePlan {
    /// The lanes. Each has one activity, with which it begins, and the capacity for one slice.
    pub jobs: Vec<JobPlan>,
    /// Length of a slice, above 0.
    pub slice: Nanos,
    /// CPU of the listener, best a CPU without a lane. `None`: the kernel chooses.
    pub listener_cpu: Option<CpuId>,
    /// The clock of all times in the run.
    pub time: TimeSource,
    /// True if slices contain their samples.
    pub samples: bool,
}

/// The data of one lane in one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSlice {
    /// Index of the lane in the plan.
    pub lane: usize,
    /// Number of the slice of time in which it ended, from 0. A missing number means that the lane
    /// was late; the next slice covers both.
    pub number: u64,
    /// Number of the order in force, as [`Live::order`] returned it; 0 before the first.
    pub order: u64,
    /// Begin and end on the run's clock, ns.
    pub span: (u64, u64),
    /// Counts and latencies of the slice.
    pub stats: PhaseStats,
    /// Facts about the lane's engine.
    pub facts: EngineFacts,
    /// The samples, if [`LivePlan::samples`] asked for them; else empty.
    pub samples: Vec<Sample>,
}

/// The answer of [`Live::hear`].
#[derive(Clone, Debug, PartialEq)]
pub enum LiveAnswer {
    /// The slice of one lane. The slices of each lane come in order.
    Slice(Box<LiveSlice>),
    /// No slice came within the time given.
    Nothing,
    /// The lanes have ended: `stop` was raised, or one of them failed.
    End,
}

/// The listener's side of a live run.
///
/// The listener's thread holds it while the lanes run. It calls [`Live::hear`] again and again,
/// which also returns buffers to the lanes and passes a raised `stop` on, and gives orders with
/// [`Live::order`] in between. After [`LiveAnswer::End`] no more slices come.
pub struct Live<'a> {
    now: &'a dyn Fn() -> u64,
    /// Receives the next slice of a lane, waiting at most for this many ns.
    receive: &'a dyn Fn(u64) -> Result<RawSlice, RecvTimeoutError>,
    start_ns: u64,
    threads: Vec<u32>,
    channels: ListenerChannels<'a>,
}

/// The listener's ends of the channels to and from the lanes.
struct ListenerChannels<'a> {
    /// Name, engine and depth of each lane.
    plan: Vec<(String, EngineSpec, u16)>,
    slice_ns: u64,
    wants_samples: bool,
    board: &'a Board,
    buffers: Vec<SyncSender<Vec<Sample>>>,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

struct Listener<'a, F> {
    cpu: Option<CpuId>,
    channels: ListenerChannels<'a>,
    slices: Receiver<RawSlice>,
    listen: F,
}

impl<R: Send, F: FnOnce(&mut Live<'_>) -> R + Send> SideWork for Listener<'_, F> {
    type Out = R;

    fn run<T: Time>(self, time: T, start_ns: u64, threads: &[u32]) -> R {
        if let Some(cpu) = self.cpu {
            // If pinning fails, the listener may disturb the lanes a little, but no figure becomes
            // wrong.
            time.pin(cpu).ok();
        }
        let halt = self.channels.halt;
        let result = (self.listen)(&mut Live {
            now: &|| time.now(),
            receive: &|ns| time.receive(&self.slices, ns),
            start_ns,
            threads: threads.to_vec(),
            channels: self.channels,
        });
        halt.store(true, Ordering::Relaxed);
        result
    }
}

/// Number of buffers of each lane: one in use, and three in reserve while the listener is busy.
const BUFFERS: usize = 4;
/// The longest wait of the listener until it checks `stop`, ns.
const MAX_LISTEN_NS: u64 = 20_000_000;
/// An order takes effect at the first cut at least this far away, ns, so that every lane sees it by
/// then.
const ORDER_LEAD_NS: u64 = 2_000_000;

/// Runs the lanes until `listen` returns, and returns its result. `listen` is informed of the end
/// when `stop` is raised or a lane fails. The returned data of lanes has no phases, and only
/// samples that were not handed over.
///
/// No thread is left behind, whatever fails.
pub fn live<T: Send>(
    plan: LivePlan,
    stop: &AtomicBool,
    listen: impl FnOnce(&mut Live<'_>) -> T + Send,
) -> Result<(T, RunData), RunError> {
    check_jobs(&plan.jobs, 1)?;
    if plan.slice == Nanos::ZERO {
        return Err(invalid("slices", "the length of a slice must be above 0"));
    }
    let halt = AtomicBool::new(false);
    let board = Board::new(plan.jobs.len());
    let (out, slices) = sync_channel(plan.jobs.len() * BUFFERS);
    let (channels, lanes) = connect(&plan, &out, &board, stop, &halt)?;
    drop(out);
    let listener = Listener {
        cpu: plan.listener_cpu,
        channels,
        slices,
        listen,
    };
    let jobs = plan.jobs.into_iter().zip(lanes).collect();
    let results = run_crew(jobs, &plan.time, &halt, "listener", listener)?;
    let data = RunData {
        lanes: results.lanes,
        start_ns: results.start_ns,
        stopped: stop.load(Ordering::Relaxed),
    };
    Ok((results.side, data))
}

/// Connects the listener and the lanes with channels; returns both sides.
fn connect<'a>(
    plan: &LivePlan,
    out: &SyncSender<RawSlice>,
    board: &'a Board,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
) -> Result<(ListenerChannels<'a>, Vec<LaneChannels<'a>>), RunError> {
    let slice_ns = plan.slice.0;
    let mut buffers = Vec::with_capacity(plan.jobs.len());
    let mut connect_lane = |(lane, job): (usize, &JobPlan)| {
        let (sender, receiver) = sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            let buffer = match plan.time {
                TimeSource::Real(_) => prefaulted_samples(job.capacity),
                TimeSource::World(_) => Ok(Vec::new()),
            };
            let buffer = buffer.map_err(|source| RunError::Lane {
                lane: job.name.clone(),
                source,
            })?;
            let sent = sender.try_send(buffer);
            sent.expect("there is room for every buffer");
        }
        buffers.push(sender);
        Ok(LaneChannels {
            lane,
            slice_ns,
            out: out.clone(),
            empty_buffers: receiver,
            board,
        })
    };
    let lanes = plan.jobs.iter().enumerate().map(&mut connect_lane);
    let lanes = lanes.collect::<Result<_, RunError>>()?;
    let lane_plan = |job: &JobPlan| (job.name.clone(), job.engine.clone(), job.depth);
    let channels = ListenerChannels {
        plan: plan.jobs.iter().map(lane_plan).collect(),
        slice_ns,
        wants_samples: plan.samples,
        board,
        buffers,
        stop,
        halt,
    };
    Ok((channels, lanes))
}

impl Live<'_> {
    /// The common start on the run's clock, ns.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The time on the run's clock, ns.
    pub fn now(&self) -> u64 {
        (self.now)()
    }

    /// The kernel's ids of the lanes' threads, in the order of the plan.
    pub fn tids(&self) -> &[u32] {
        &self.threads
    }

    /// Waits for the next slice, for at most `patience`.
    pub fn hear(&mut self, patience: Duration) -> LiveAnswer {
        let channels = &self.channels;
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let until = (self.now)().saturating_add(patience_ns);
        loop {
            if channels.stop.load(Ordering::Relaxed) {
                channels.halt.store(true, Ordering::Relaxed);
            }
            let left_ns = until.saturating_sub((self.now)());
            match (self.receive)(left_ns.min(MAX_LISTEN_NS)) {
                Ok(raw) => return LiveAnswer::Slice(Box::new(self.to_live_slice(raw))),
                Err(RecvTimeoutError::Disconnected) => return LiveAnswer::End,
                Err(RecvTimeoutError::Timeout) if left_ns == 0 => return LiveAnswer::Nothing,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn to_live_slice(&self, raw: RawSlice) -> LiveSlice {
        let samples = self.channels.wants_samples.then(|| raw.samples.clone());
        let slice = LiveSlice {
            lane: raw.lane,
            number: raw.number,
            order: raw.order,
            span: (raw.data.begin.t_ns, raw.data.end.t_ns),
            stats: stats_from(&raw.data, &raw.samples),
            facts: raw.facts,
            samples: samples.unwrap_or_default(),
        };
        // A lane that has ended does not take its buffer back.
        self.channels.buffers[raw.lane].try_send(raw.samples).ok();
        slice
    }

    /// Orders a new activity for every lane, from the next cut that all lanes can reach. Returns
    /// the number that slices under this order carry. A new activity replaces an earlier one that
    /// its lane has not yet taken, unless the new one is [`Activity::Continue`].
    pub fn order(&mut self, activities: Vec<Activity>) -> Result<u64, RunError> {
        if activities.len() != self.channels.plan.len() {
            return Err(invalid("order", "every lane needs an activity"));
        }
        let mut pairs = self.channels.plan.iter().zip(&activities);
        pairs.try_for_each(|((name, engine, depth), activity)| {
            check_activity(name, engine, *depth, activity)
        })?;
        let earliest_ns = (self.now)() + ORDER_LEAD_NS;
        let from_slice = earliest_ns.saturating_sub(self.start_ns) / self.channels.slice_ns + 1;
        Ok(self.channels.board.post(from_slice, activities))
    }
}
