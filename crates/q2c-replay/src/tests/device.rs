//! A virtual device, and the virtual time that it advances.

use crate::time::{ThreadClock, WaitSpec};
use q2c_engine::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The time in ns. It advances only while a thread waits.
pub(crate) type SharedTime = Rc<Cell<u64>>;

/// A clock on this time, the number of looks in place of sleeps, and the log of the device.
#[derive(Clone, Default)]
pub(crate) struct VirtualClock {
    pub time: SharedTime,
    pub polls: Rc<Cell<u64>>,
    pub log: SubmissionLog,
}

/// Virtual time that one look takes, ns.
const STEP_NS: u64 = 20_000;

impl ThreadClock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.time.get()
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError> {
        let until = wait.due_ns.unwrap_or(u64::MAX).min(wait.limit_ns);
        if !wait.polls {
            return engine.wait_until(until);
        }
        self.polls.set(self.polls.get() + 1);
        engine.wait_until(until.min(self.now_ns() + STEP_NS))
    }
}

/// For each request its time, its offset, and the number in flight just before it.
pub(crate) type SubmissionLog = Rc<RefCell<Vec<(u64, u64, usize)>>>;

/// A device with several servers. The n-th request takes the n-th service time; these repeat.
pub(crate) struct VirtualDevice {
    time: SharedTime,
    service_ns: Vec<u64>,
    /// Time at which each server becomes free, ns.
    free_ns: Vec<u64>,
    /// The requests in flight, each with its completion time, ns.
    in_flight: Vec<(u64, RingCompletion)>,
    log: SubmissionLog,
}

impl VirtualDevice {
    pub(crate) fn new(clock: &VirtualClock, service_ns: Vec<u64>, servers: usize) -> Self {
        VirtualDevice {
            time: clock.time.clone(),
            service_ns,
            free_ns: vec![0; servers],
            in_flight: Vec::new(),
            log: clock.log.clone(),
        }
    }
}

impl Engine for VirtualDevice {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        let now = self.time.get();
        for request in requests {
            let mut log = self.log.borrow_mut();
            let nth = log.len();
            log.push((now, request.offset, self.in_flight.len()));
            let server = self.free_ns.iter_mut().min().expect("a server");
            *server = now.max(*server) + self.service_ns[nth % self.service_ns.len()];
            let done = RingCompletion {
                slot: request.slot,
                result: request.length as i32,
            };
            self.in_flight.push((*server, done));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let now = self.time.get();
        let complete = self.in_flight.iter().position(|(due, _)| *due <= now);
        Ok(complete.map(|index| self.in_flight.remove(index).1))
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        unreachable!("replays wait with an end")
    }

    fn wait_until(&mut self, deadline: u64) -> Result<Option<RingCompletion>, EngineError> {
        let next = self.in_flight.iter().map(|(due, _)| *due).min();
        let until = next.unwrap_or(deadline).min(deadline);
        self.time.set(until.max(self.time.get()));
        self.poll()
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }
}
