//! The requests of a simulated device, as a capture of the kernel's block layer has them.

use super::{SimDevice, lock};
use crate::Operation;
use q2c_model::{Bytes, CpuId};

/// A request of a simulated device. Times are those of the run's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimRequest {
    /// The submitter, as [`LaneData::tid`](crate::LaneData::tid).
    pub thread_id: u32,
    /// The submitter's CPU.
    pub cpu: CpuId,
    /// Number of the hardware queue.
    pub queue: u32,
    /// Operation of the request.
    pub operation: Operation,
    /// First byte on the device.
    pub offset: u64,
    /// Length of the request.
    pub length: Bytes,
    /// Q: the submission is prepared, and asks for a request.
    pub queued_ns: u64,
    /// G: it has the request.
    pub got_ns: u64,
    /// I and D: the device has it.
    pub issued_ns: u64,
    /// C: it is complete.
    pub complete_ns: u64,
}

/// The captured requests of a simulated device, in the order in which they reached it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimCapture {
    /// The requests.
    pub requests: Vec<SimRequest>,
    /// Number of requests for which there was no room.
    pub not_kept: u64,
    from_ns: u64,
    most: usize,
}

impl SimCapture {
    pub(super) fn add(&mut self, request: SimRequest) {
        if request.queued_ns < self.from_ns {
            return;
        }
        if self.requests.len() < self.most {
            self.requests.push(request);
        } else {
            self.not_kept += 1;
        }
    }
}

impl SimDevice {
    /// Starts to capture requests in simulated time: those from `from_ns` of the run's clock, and
    /// `most` of them.
    pub fn start_capture(&self, from_ns: u64, most: usize) {
        *lock(&self.capture) = Some(SimCapture {
            from_ns,
            most,
            ..SimCapture::default()
        });
    }

    /// Ends the capture; it is empty if none was started.
    pub fn end_capture(&self) -> SimCapture {
        lock(&self.capture).take().unwrap_or_default()
    }

    /// The number of hardware queues, and the CPUs of each, on a machine with `cpus` CPUs.
    pub fn queue_cpus(&self, cpus: &[CpuId]) -> Vec<(u32, Vec<CpuId>)> {
        let is_on = |cpu: &CpuId, queue: usize| self.queue_of(*cpu) == queue;
        let queue_cpus = |queue| {
            cpus.iter()
                .copied()
                .filter(|cpu| is_on(cpu, queue))
                .collect()
        };
        (0..self.queues)
            .map(|queue| (queue as u32, queue_cpus(queue)))
            .collect()
    }
}
