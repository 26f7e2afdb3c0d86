//! `sim:` is a simulated device of known truth: service times from a model, a queue with servers,
//! in the time of the run. The latency of a request is its wait in the queue and its service time;
//! what a thread sees on top is its own lateness.
//!
//! A device is one, whoever uses it: lanes, background jobs and a replay's submitting threads on
//! one target share its servers ([`SimDevices`]). Each of them draws the service times of its own
//! requests, by its own seed. So with one submitter everything is told by the seed and the times of
//! its submissions; with several the seeds tell the service times, and the order in which the
//! requests reach the queue is the threads' ([`q2c_service::Servers`] defines it).

mod device;
#[cfg(test)]
mod tests;

pub use device::{ReadTimes, Service, SimDevice, SimDevices, SimSpec};

use crate::{Engine, EngineError, EngineFacts, LaneStep, Operation, Request, RingCompletion, Time};
use device::OpenDevice;
use q2c_model::{Direction, Nanos};
use q2c_policy::Io;
use q2c_policy::method::Means;
use q2c_service::Draws;
use std::sync::Arc;

/// The engine: one submitter of a simulated device.
pub(crate) struct Sim<T> {
    time: T,
    device: OpenDevice,
    draws: Draws,
    /// The submitter's own requests, each with its completion time.
    in_flight: Vec<(u64, RingCompletion)>,
}

impl<T: Time> Sim<T> {
    /// Opens the device with room for `slots` requests in flight. `seed` draws the service times.
    pub(crate) fn open(time: T, device: Arc<SimDevice>, slots: usize, seed: u64) -> Self {
        Sim {
            time,
            draws: Draws::new(device.times.clone(), seed),
            device: OpenDevice::new(device),
            in_flight: Vec::with_capacity(slots),
        }
    }

    fn start(&mut self, request: &Request, now: u64) {
        let service = self.draws.next(io(request));
        let end = self.device.servers.arrive(Nanos(now), service);
        let done = RingCompletion {
            slot: request.slot,
            result: request.length as i32,
        };
        self.in_flight.push((end.0, done));
    }

    /// Index of the request that completes first, and the time at which it does.
    fn first_due(&self) -> Option<(usize, u64)> {
        let requests = self.in_flight.iter().enumerate();
        let first = requests.min_by_key(|(_, (due, _))| *due);
        first.map(|(i, &(due, _))| (i, due))
    }
}

fn io(request: &Request) -> Io {
    let direction = match request.operation {
        Operation::Read => Direction::Read,
        _ => Direction::Write,
    };
    Io {
        direction,
        bytes: request.length,
    }
}

impl<T: Time> Engine for Sim<T> {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        requests
            .iter()
            .for_each(|_| self.time.spend(LaneStep::Submission));
        let now = self.time.now();
        requests.iter().for_each(|request| self.start(request, now));
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        self.time.spend(LaneStep::Look);
        Ok(match self.first_due() {
            Some((i, due)) if due <= self.time.now() => Some(self.in_flight.swap_remove(i).1),
            _ => None,
        })
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        let first = self.first_due();
        let (i, due) = first.expect("a request is in flight, as the contract says");
        self.time.wait_for_completion(due);
        Ok(self.in_flight.swap_remove(i).1)
    }

    fn next_due(&self) -> Option<u64> {
        self.first_due().map(|(_, due)| due)
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        let due = self.next_due().unwrap_or(u64::MAX);
        self.time.wait_for_completion(due.min(deadline_ns));
        self.poll()
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts {
            polls_by: Means::Memory,
            sleeps_undisturbed: true,
            ..EngineFacts::default()
        }
    }
}
