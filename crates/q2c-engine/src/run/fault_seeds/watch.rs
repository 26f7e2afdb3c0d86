//! The log between a lane and its engine.

use super::plan::{LanePlan, SeededRun};
use crate::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion};
use crate::run::crew::LaneWork;
use crate::run::thread::{PhasesResult, PhasesWork};
use crate::{EngineLane, EngineSpec, FailedIo, JobPlan, Medium, PhaseData, Sample, Time, Waits};
use q2c_model::Nanos;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests and answers of a lane's engine, and, from `work` on, what the lane counted.
#[derive(Debug, Default)]
pub(super) struct LaneLog {
    pub submitted: u64,
    /// Offset and result of each completion, in the order of their hand-over.
    pub completions: Vec<(u64, i32)>,
    /// Offset of the request in each slot.
    pub in_flight: BTreeMap<u16, u64>,
    /// Number of completions of slots without a request, until the lane's work ended.
    pub strays: u64,
    pub slot_used_twice: bool,
    /// Number of looks, one after another, with nothing in flight.
    idle_looks: u32,
    /// Number of requests submitted after the stop.
    pub after_stop: u64,
    /// Number of requests in flight when the lane ended without an error.
    pub lost: usize,
    /// True if the engine still held a completion at the lane's end.
    pub left: bool,
    /// How the lane's work ended; `None` if it did not end.
    pub work: Option<Result<(), String>>,
    pub ios: u64,
    pub faults: u64,
    pub first_fault: Option<FailedIo>,
    pub samples: Vec<Sample>,
    pub phases: Vec<PhaseData>,
}

pub(super) type SharedLog = Arc<Mutex<LaneLog>>;

pub(super) fn lock(log: &SharedLog) -> MutexGuard<'_, LaneLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LaneLog {
    pub(super) fn shared() -> SharedLog {
        SharedLog::default()
    }

    fn submit(&mut self, requests: &[Request], stopped: bool) {
        self.idle_looks = 0;
        for request in requests {
            self.submitted += 1;
            self.after_stop += u64::from(stopped);
            let before = self.in_flight.insert(request.slot, request.offset);
            self.slot_used_twice |= before.is_some();
        }
    }

    fn complete(&mut self, done: RingCompletion) -> RingCompletion {
        match self.in_flight.remove(&done.slot) {
            Some(offset) => self.completions.push((offset, done.result)),
            None => self.strays += u64::from(self.work.is_none()),
        }
        done
    }
}

/// Most looks with nothing in flight: more of them are a lane that looks for ever.
const MAX_IDLE_LOOKS: u32 = 1_000;

struct WatchedEngine<'a> {
    inner: Box<dyn Engine + 'a>,
    log: SharedLog,
    stop: &'a AtomicBool,
}

impl WatchedEngine<'_> {
    fn note(&self, requests: &[Request]) {
        lock(&self.log).submit(requests, self.stop.load(Ordering::Relaxed));
    }
}

impl Engine for WatchedEngine<'_> {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.note(requests);
        self.inner.submit(requests)
    }

    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.note(requests);
        self.inner.submit_interrupting(requests)
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let done = self.inner.poll()?;
        let mut log = lock(&self.log);
        log.idle_looks += u32::from(log.in_flight.is_empty());
        if log.idle_looks > MAX_IDLE_LOOKS {
            return Err(EngineError::NothingInFlight);
        }
        Ok(done.map(|done| log.complete(done)))
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        let done = self.inner.wait()?;
        Ok(lock(&self.log).complete(done))
    }

    fn next_due(&self) -> Option<u64> {
        self.inner.next_due()
    }

    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }
}

/// The work of a lane in its phases, on a watched engine.
pub(super) struct WatchedWork {
    phases: Vec<Nanos>,
    two_paths: bool,
    polls_in_calls: bool,
    log: SharedLog,
}

impl WatchedWork {
    pub(super) fn new(run: &SeededRun, lane: &LanePlan, log: &SharedLog) -> Self {
        WatchedWork {
            phases: run.phases.clone(),
            two_paths: lane.two_paths,
            polls_in_calls: lane.polls_in_calls,
            log: Arc::clone(log),
        }
    }
}

impl LaneWork for WatchedWork {
    fn run<T: Time>(self, lane: &mut EngineLane<'_, T>, job: JobPlan, begin: u64) -> PhasesResult {
        let null = EngineSpec::Null.open(&Medium::None, 1, 1, 1);
        let inner = std::mem::replace(&mut lane.engine, null.expect("it needs nothing"));
        lane.engine = Box::new(WatchedEngine {
            inner,
            log: Arc::clone(&self.log),
            stop: lane.stop,
        });
        lane.two_paths = self.two_paths;
        if self.polls_in_calls {
            lane.waits = Waits::Polling;
        }
        let phases = PhasesWork(&self.phases).run(lane, job, begin);
        let left = lane.engine.next_due().is_some();
        let mut log = lock(&self.log);
        log.left = left && phases.is_ok();
        log.ios = lane.recorder.ios;
        (log.faults, log.first_fault) = (lane.recorder.faults, lane.recorder.first_fault);
        log.samples.clone_from(&lane.recorder.samples);
        if let Ok(phases) = &phases {
            log.lost = log.in_flight.len();
            log.phases.clone_from(phases);
        }
        let work = phases.as_ref().map(|_| ());
        log.work = Some(work.map_err(ToString::to_string));
        phases
    }
}
