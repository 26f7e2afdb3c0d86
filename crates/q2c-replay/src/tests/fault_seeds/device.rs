//! A device that fails, shortens, delays, reorders, loses and repeats completions by seed, with a
//! log of its own, and the clock of its replay.

use crate::ThreadClock;
use crate::time::WaitSpec;
use q2c_engine::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion};
use q2c_model::stats::Rng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A request as the device saw it. Requests are told apart by their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoggedIo {
    pub offset: u64,
    pub length: u32,
    pub submit_ns: u64,
    /// When the submitting thread got its completion, ns, and the result.
    pub done: Option<(u64, i32)>,
    /// Number of requests of another thread that were submitted before.
    pub others: u64,
}

#[derive(Debug, Default)]
pub(super) struct DeviceLog {
    /// All requests in the order of their submission.
    pub ios: Vec<LoggedIo>,
    /// Index in `ios` of the request in each slot.
    pub slots: BTreeMap<u16, usize>,
    pub slot_used_twice: bool,
    /// True if a completion came twice, or was about to.
    pub repeated: bool,
    /// True if a request was lost.
    pub lost: bool,
}

/// The faults of a seed: numbers of requests, from 0.
#[derive(Clone, Debug)]
pub(super) struct DeviceFaults {
    pub seed: u64,
    pub service_ns: u64,
    pub twice: Option<usize>,
    pub hang: Option<usize>,
}

pub(super) struct FaultyDevice {
    time: Rc<Cell<u64>>,
    others: Arc<AtomicU64>,
    rng: Rng,
    faults: DeviceFaults,
    log: Rc<RefCell<DeviceLog>>,
    /// Completions with their times, ns, and `true` for a repeated one.
    queue: Vec<(u64, RingCompletion, bool)>,
}

impl FaultyDevice {
    pub(super) fn new(clock: &SeededClock, faults: &DeviceFaults) -> Self {
        FaultyDevice {
            time: clock.time.clone(),
            others: clock.others.clone(),
            rng: Rng::new(faults.seed),
            faults: faults.clone(),
            log: clock.log.clone(),
            queue: Vec::new(),
        }
    }

    fn start(&mut self, request: &Request) {
        let mut log = self.log.borrow_mut();
        let (nth, now) = (log.ios.len(), self.time.get());
        log.ios.push(LoggedIo {
            offset: request.offset,
            length: request.length,
            submit_ns: now,
            done: None,
            others: self.others.load(Ordering::Relaxed),
        });
        log.slot_used_twice |= log.slots.insert(request.slot, nth).is_some();
        let result = match self.rng.below(20) {
            0 => -5,
            1 => request.length as i32 / 2,
            _ => request.length as i32,
        };
        let late_ns = [0, 20 * self.faults.service_ns][usize::from(self.rng.below(20) == 0)];
        let due = now + self.rng.below(2 * self.faults.service_ns) + late_ns;
        let done = RingCompletion {
            slot: request.slot,
            result,
        };
        if self.faults.hang == Some(nth) {
            log.lost = true;
            return;
        }
        self.queue.push((due, done, false));
        if self.faults.twice == Some(nth) {
            let again = due + self.rng.below(2) * self.rng.below(2 * self.faults.service_ns);
            self.queue.push((again, done, true));
        }
    }

    /// Fails if only a request that never completes is in flight.
    fn check_hang(&self) -> Result<(), EngineError> {
        let log = self.log.borrow();
        let slot = log
            .slots
            .iter()
            .next()
            .filter(|_| log.lost && self.queue.is_empty());
        slot.map_or(Ok(()), |(slot, nth)| {
            Err(EngineError::NeverCompletes(Request {
                operation: q2c_engine::engine::Operation::Read,
                offset: log.ios[*nth].offset,
                length: log.ios[*nth].length,
                slot: *slot,
            }))
        })
    }
}

impl Engine for FaultyDevice {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        requests.iter().for_each(|request| self.start(request));
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let now = self.time.get();
        let due = self.queue.iter().position(|(due, ..)| *due <= now);
        let Some((_, done, again)) = due.map(|at| self.queue.remove(at)) else {
            return self.check_hang().map(|()| None);
        };
        let mut log = self.log.borrow_mut();
        log.repeated |= again;
        if let Some(nth) = log.slots.remove(&done.slot) {
            log.ios[nth].done = Some((now, done.result));
        }
        Ok(Some(done))
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        let due = self.next_due().expect("a completion is to come");
        self.time.set(due.max(self.time.get()));
        Ok(self.poll()?.expect("it is due"))
    }

    fn next_due(&self) -> Option<u64> {
        self.queue.iter().map(|(due, ..)| *due).min()
    }

    fn wait_until(&mut self, deadline: u64) -> Result<Option<RingCompletion>, EngineError> {
        let until = self.next_due().unwrap_or(deadline).min(deadline);
        self.time.set(until.max(self.time.get()));
        self.poll()
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }
}

/// A clock that only waits advance. While it advances, another thread submits requests, and the
/// replay may be stopped.
#[derive(Clone)]
pub(super) struct SeededClock<'a> {
    pub time: Rc<Cell<u64>>,
    pub log: Rc<RefCell<DeviceLog>>,
    /// Number of requests that the other thread has submitted.
    pub others: Arc<AtomicU64>,
    /// Times of its submissions, ns, and the counter that it shares with the replay.
    pub other_ns: Vec<u64>,
    pub other_progress: &'a AtomicU64,
    pub stop: (Option<u64>, &'a AtomicBool),
    /// Number of waits that are left before the replay counts as one without an end.
    pub waits_left: Rc<Cell<u32>>,
}

/// Virtual time of a look, ns.
const LOOK_NS: u64 = 500;

impl SeededClock<'_> {
    fn catch_up(&self) {
        let now = self.time.get();
        let submitted = self.other_ns.partition_point(|at| *at <= now) as u64;
        self.others.store(submitted, Ordering::Relaxed);
        self.other_progress.store(submitted, Ordering::Release);
        if let (Some(stop_ns), stop) = self.stop {
            stop.fetch_or(now >= stop_ns, Ordering::Relaxed);
        }
    }
}

impl ThreadClock for SeededClock<'_> {
    fn now_ns(&self) -> u64 {
        self.time.get()
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError> {
        self.waits_left.set(self.waits_left.get() - 1);
        assert!(self.waits_left.get() > 0, "the replay does not end");
        let until = wait.due_ns.unwrap_or(u64::MAX).min(wait.limit_ns);
        let look = self.now_ns() + LOOK_NS;
        // A request that waits for another thread is due already; time passes all the same.
        let until = if wait.polls || until <= self.now_ns() {
            look
        } else {
            until
        };
        let done = engine.wait_until(until);
        self.catch_up();
        done
    }
}
