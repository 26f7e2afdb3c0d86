//! A run without a planned end: lanes hand over what they did slice by slice, and take new orders between two slices.
//!
//! All lanes cut their time at the same instants: the common start plus whole slices. At a cut a lane changes its full buffer
//! of samples for an empty one and looks whether there is an order. It waits for nobody, and within a slice nothing is added to
//! the I/O path. A lane for which no buffer is left, because nobody listens, goes on with its slice: the slice becomes longer, and
//! what does not fit is counted. A slice that an I/O outlasts ends with that I/O.

mod lane;
mod order;

use super::crew::crew;
use super::plan::{Activity, JobPlan, check_activity, check_jobs};
use super::{RunData, RunError};
use crate::engine::Facts;
use crate::engines::EngineSpec;
use crate::lane::Lane;
use crate::measure::{PhaseStats, stats_of};
use crate::sample::{Sample, touched};
use lane::{Hand, RawSlice, in_slices};
use order::Board;
use q2c_model::{CpuId, Nanos};
use q2c_sys::Clock;
use q2c_sys::thread::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// What is run without a planned end.
pub struct LivePlan {
    /// The lanes. Each has one activity, its first; its capacity is that of one slice.
    pub jobs: Vec<JobPlan>,
    /// Length of a slice, above 0.
    pub slice: Nanos,
    /// The CPU of the one who listens; best one without a job.
    pub listener_cpu: Option<CpuId>,
    /// The clock of all times.
    pub clock: Clock,
}

/// What one lane did in one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSlice {
    /// Which lane, as in the plan.
    pub lane: usize,
    /// The slice of time it ended with, from 0. Where a number is left out the lane was late: the next one stands for both.
    pub number: u64,
    /// The order in force: what [`Live::order`] gave, 0 before.
    pub order: u64,
    /// Its begin and end on the run's clock, ns.
    pub span: (u64, u64),
    /// What was done.
    pub stats: PhaseStats,
    /// What the lane's engine is.
    pub facts: Facts,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// A slice of some lane. Each lane's come in their order.
    Slice(Box<LiveSlice>),
    /// Nothing within the time given.
    Nothing,
    /// The lanes have ended: by `stop`, or because one of them failed.
    End,
}

/// A run at work, in the hands of the one who listens.
pub struct Live<'a> {
    /// Each lane's name, engine and depth.
    plan: Vec<(String, EngineSpec, u16)>,
    clock: Clock,
    slice: u64,
    start_ns: u64,
    board: &'a Board,
    full: Receiver<RawSlice>,
    empty: Vec<SyncSender<Vec<Sample>>>,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

/// Buffers of each lane: one at work, and three for a listener that is busy with something else.
const BUFFERS: usize = 4;
/// How long a listener waits without looking whether to stop.
const NAP: Duration = Duration::from_millis(20);
/// An order takes effect at the first cut that is at least this far away, so that every lane has seen it by then.
const NOTICE_NS: u64 = 2_000_000;

/// Runs the lanes until `listen` returns, and gives what it returned. `listen` hears of the end when `stop` is raised or a lane
/// fails. The lanes' data holds no phases and few samples: the others were handed over.
///
/// # Errors
/// When the plan is wrong, a lane cannot be set up, or an engine breaks. No thread is left behind.
pub fn live<T: Send>(
    plan: LivePlan,
    stop: &AtomicBool,
    listen: impl FnOnce(&mut Live<'_>) -> T + Send,
) -> Result<(T, RunData), RunError> {
    check_jobs(&plan.jobs, 1)?;
    if plan.slice == Nanos::ZERO {
        return Err(wrong("slices", "the length of a slice must be above 0"));
    }
    let halt = AtomicBool::new(false);
    let board = Board::new(plan.jobs.len());
    let (mut ears, hands) = Live::wired(&plan, &board, stop, &halt);
    let work = |hand| move |lane: &mut Lane<'_>, job, begin| in_slices(lane, job, begin, &hand);
    let works = hands.into_iter().map(work);
    let jobs = plan.jobs.into_iter().zip(works).collect();
    let beside = |start_ns, _: &[u32]| {
        if let Some(cpu) = plan.listener_cpu {
            // Best effort: a listener without a place costs the lanes a little, and changes no number's meaning.
            pin(cpu).ok();
        }
        ears.start_ns = start_ns;
        let heard = listen(&mut ears);
        halt.store(true, Ordering::Relaxed);
        heard
    };
    let crewed = crew(jobs, plan.clock, &halt, "listener", beside)?;
    let data = RunData {
        lanes: crewed.lanes,
        start_ns: crewed.start_ns,
        stopped: stop.load(Ordering::Relaxed),
    };
    Ok((crewed.beside, data))
}

fn wrong(lane: &str, problem: &str) -> RunError {
    RunError::Plan {
        lane: lane.to_owned(),
        problem: problem.to_owned(),
    }
}

impl<'a> Live<'a> {
    /// The listener's end and the lanes' ends of everything between them.
    fn wired(
        plan: &LivePlan,
        board: &'a Board,
        stop: &'a AtomicBool,
        halt: &'a AtomicBool,
    ) -> (Self, Vec<Hand<'a>>) {
        let slice = plan.slice.0;
        let (out, full) = sync_channel(plan.jobs.len() * BUFFERS);
        let mut empty = Vec::with_capacity(plan.jobs.len());
        let mut hand = |(lane, job): (usize, &JobPlan)| {
            let (give, spare) = sync_channel(BUFFERS);
            for _ in 1..BUFFERS {
                give.try_send(touched(job.capacity))
                    .expect("there is room for every buffer");
            }
            empty.push(give);
            let out = out.clone();
            Hand {
                lane,
                slice,
                out,
                spare,
                board,
            }
        };
        let hands = plan.jobs.iter().enumerate().map(&mut hand).collect();
        let known = |job: &JobPlan| (job.name.clone(), job.engine.clone(), job.depth);
        let live = Live {
            plan: plan.jobs.iter().map(known).collect(),
            clock: plan.clock,
            slice,
            start_ns: 0,
            board,
            full,
            empty,
            stop,
            halt,
        };
        (live, hands)
    }

    /// The common start on the run's clock, ns.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Waits for the next slice, no longer than `patience`.
    pub fn hear(&mut self, patience: Duration) -> Heard {
        let until = Instant::now() + patience;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.full.recv_timeout(left.min(NAP)) {
                Ok(raw) => return Heard::Slice(Box::new(self.digest(raw))),
                Err(RecvTimeoutError::Disconnected) => return Heard::End,
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Heard::Nothing,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn digest(&self, raw: RawSlice) -> LiveSlice {
        let slice = LiveSlice {
            lane: raw.lane,
            number: raw.number,
            order: raw.order,
            span: (raw.data.begin.t_ns, raw.data.end.t_ns),
            stats: stats_of(&raw.data, &raw.samples),
            facts: raw.facts,
        };
        // A lane that has ended needs no buffer any more.
        self.empty[raw.lane].try_send(raw.samples).ok();
        slice
    }

    /// Gives every lane something else to do, from the next cut of all lanes on, and gives the number that slices under this
    /// order bear. A lane that has not taken up an order before takes up this one instead, but for [`Activity::Continue`].
    ///
    /// # Errors
    /// When there is not one activity for each lane, or a lane cannot do its own.
    pub fn order(&mut self, activities: Vec<Activity>) -> Result<u64, RunError> {
        if activities.len() != self.plan.len() {
            return Err(wrong("order", "every lane needs an activity"));
        }
        let mut pairs = self.plan.iter().zip(&activities);
        pairs.try_for_each(|((name, engine, depth), activity)| {
            check_activity(name, engine, *depth, activity)
        })?;
        let soon = self.clock.now() + NOTICE_NS;
        let from = soon.saturating_sub(self.start_ns) / self.slice + 1;
        Ok(self.board.post(from, activities))
    }
}
