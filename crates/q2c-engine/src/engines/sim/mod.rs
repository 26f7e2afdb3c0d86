//! `sim:` is a simulated device, so the truth about its times is known. Service times come from a
//! model, a queue feeds the servers, and time is that of the run. A request's latency is its wait
//! in the queue plus its service time; any further latency is lateness of the submitting thread.
//!
//! All users of a target share its device: lanes, background jobs and a replay's submitting threads
//! queue for the same servers ([`SimDevices`]). Each submitter draws the service times of its own
//! requests by its own seed. So with one submitter, the seed and the times of its submissions
//! determine everything. With several, the seeds determine the service times, and the threads'
//! timing the order in which requests reach the queue ([`q2c_service::Servers`] defines it).

mod capture;
#[cfg(test)]
mod tests;

pub use capture::{SimCapture, SimRequest};

use crate::{
    Engine, EngineError, EngineFacts, EngineSpec, LaneStep, Medium, Operation, Request,
    RingCompletion, Time, Waits,
};
use q2c_model::{Bytes, CpuId, Direction, Nanos};
use q2c_policy::Io;
use q2c_policy::method::Means;
use q2c_service::{
    Draws, Empirical, Measure, RecordedFacts, RecordedTimes, RequestQueue, Servers, ServiceTimes,
    SimInterface,
};
use std::error::Error;
use std::iter::repeat_n;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Thread, current};

/// The engine: one submitter of a simulated device.
pub(crate) struct Sim<T> {
    time: T,
    device: Arc<SimDevice>,
    /// The submitter's CPU, and the number of its hardware queue.
    cpu: CpuId,
    queue: usize,
    /// True if the submitter takes no request of the queue, and no lock.
    is_past_block_layer: bool,
    /// The part of a drawn service time that is a submission, which passes before: recorded U2C
    /// contains one. It is the machine's own, as the recording's interface is not known.
    submission: Nanos,
    draws: Draws,
    /// The submitter's own requests, each with its completion time, ns on the run's clock.
    in_flight: Vec<(u64, RingCompletion)>,
}

impl<T: Time> Sim<T> {
    /// Opens the device behind `interface` for up to `slots` requests in flight. `seed` draws the
    /// service times.
    pub(crate) fn open(
        time: T,
        device: Arc<SimDevice>,
        interface: Option<SimInterface>,
        slots: usize,
        seed: u64,
    ) -> Result<Self, EngineError> {
        if let Some(unknown) = interface.filter(|interface| !time.use_interface(*interface)) {
            return Err(EngineError::NoCosts(unknown));
        }
        let recorded = device.recorded_times();
        let recorded_u2c = recorded.filter(|times| times.measure() == Measure::U2c);
        *lock(&device.open_engines) += 1;
        Ok(Sim {
            time,
            is_past_block_layer: interface.is_some_and(SimInterface::is_past_block_layer),
            submission: Nanos(recorded_u2c.map_or(0, |_| time.recorded_submission_ns())),
            cpu: time.cpu(),
            queue: device.queue_of(time.cpu()),
            draws: Draws::new(device.times.clone(), seed),
            device,
            in_flight: Vec::with_capacity(slots),
        })
    }

    /// The requests of the submitter's hardware queue; `None` if it needs none.
    fn requests(&self) -> Option<&Mutex<RequestQueue<WaitingThread>>> {
        let requests = self.device.requests.get(self.queue);
        requests.filter(|_| !self.is_past_block_layer)
    }

    /// Sleeps until the hardware queue has a free request.
    fn take_request(&self) {
        let Some(queue) = self.requests() else { return };
        loop {
            let submitter = WaitingThread {
                thread_id: self.time.thread_id(),
                handle: current(),
            };
            let taken = lock(queue).take(Nanos(self.time.now()), submitter);
            let Err(free_at) = taken else { return };
            self.time.park(free_at.map(|at| at.0));
        }
    }

    /// Hands the request to the device at `now`. It asked its hardware queue at `queued_ns`, and
    /// had what it asked for at `got_ns`.
    fn start(&mut self, request: &Request, (queued_ns, got_ns, now): (u64, u64, u64)) {
        let is_write = request.operation != Operation::Read;
        let service = self.draws.next(Io {
            direction: [Direction::Read, Direction::Write][usize::from(is_write)],
            bytes: request.length,
        });
        let service = Nanos(service.0.saturating_sub(self.submission.0));
        let end = self.device.servers.enqueue(Nanos(now), service);
        if let Some(queue) = self.requests() {
            let wake = |submitter: &WaitingThread, at: Nanos| {
                let WaitingThread { thread_id, handle } = submitter;
                self.time.unpark(*thread_id, handle, at.0);
            };
            lock(queue).give_back(end, wake);
        }
        if T::SIMULATED
            && !self.is_past_block_layer
            && let Some(capture) = &mut *lock(&self.device.capture)
        {
            capture.add(SimRequest {
                thread_id: self.time.thread_id(),
                cpu: self.cpu,
                queue: self.queue as u32,
                operation: request.operation,
                offset: request.offset,
                length: Bytes(request.length.into()),
                queued_ns,
                got_ns,
                issued_ns: now,
                complete_ns: end.0,
            });
        }
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

/// When the last engine closes a device, it becomes idle: requests still in flight then delay
/// nobody who opens the device later.
impl<T> Drop for Sim<T> {
    fn drop(&mut self) {
        let mut open_engines = lock(&self.device.open_engines);
        *open_engines -= 1;
        if *open_engines == 0 {
            self.device.servers.clear();
            for queue in &self.device.requests {
                *lock(queue) = RequestQueue::new(self.device.nr_requests);
            }
        }
    }
}

impl<T: Time> Engine for Sim<T> {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        requests
            .iter()
            .for_each(|_| self.time.spend(LaneStep::Submission));
        let mut now = self.time.now();
        for request in requests {
            let (mut queued_ns, mut got_ns) = (now, now);
            // Else nothing between two requests takes time, and the clock is read once.
            if T::SIMULATED || !self.device.requests.is_empty() {
                queued_ns = self.time.now();
                self.take_request();
                got_ns = self.time.now();
                if !self.is_past_block_layer {
                    self.time.spend(LaneStep::Lock);
                }
                now = self.time.now();
            }
            self.start(request, (queued_ns, got_ns, now));
        }
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
        // Nothing wakes a thread behind such an interface, so it looks.
        while self.is_past_block_layer {
            if let Some(done) = self.poll()? {
                return Ok(done);
            }
            let next_due = self.next_due().ok_or(EngineError::NothingInFlight)?;
            self.time.look_again(|_| next_due);
        }
        let first_due = self.first_due();
        let (i, due) = first_due.expect("a request is in flight, as the contract says");
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
        let waits = if self.is_past_block_layer {
            Waits::Polling
        } else {
            Waits::Asleep
        };
        EngineFacts {
            polls_by: Means::Memory,
            waits,
            sleeps_undisturbed: true,
            ..EngineFacts::default()
        }
    }
}

/// The source of a simulated device's service times.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// From a model.
    Model(ServiceTimes),
    /// A recording, which is read when the device is made.
    Recorded(RecordedTimes),
}

/// A simulated device as the user asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The service times.
    pub service: Service,
    /// Number of requests served at the same time. Others queue: first come, first served.
    pub servers: usize,
    /// Number of hardware queues. CPUs are dealt to them in turn.
    pub queues: usize,
    /// Number of requests of each hardware queue; `None` for any number. A submitter that finds
    /// none free sleeps: first come, first served.
    pub nr_requests: Option<usize>,
    /// The interface by which requests reach the device; `None` for one with the machine's own
    /// costs. Engines behind different interfaces share the device.
    pub interface: Option<SimInterface>,
}

impl SimSpec {
    /// A device with one hardware queue of any number of requests.
    pub fn new(service: Service, servers: usize) -> Self {
        SimSpec {
            service,
            servers,
            queues: 1,
            nr_requests: None,
            interface: None,
        }
    }
}

/// A thread that waits for a request.
#[derive(Clone, Debug)]
struct WaitingThread {
    thread_id: u32,
    handle: Thread,
}

impl PartialEq for WaitingThread {
    fn eq(&self, other: &Self) -> bool {
        self.thread_id == other.thread_id
    }
}

/// A function that reads the service times of a recording. This crate cannot read traces, so its
/// caller provides the function.
pub type ReadTimes = fn(&RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>>;

/// A simulated device. All engines that open it share its servers and their queue.
#[derive(Debug)]
pub struct SimDevice {
    times: ServiceTimes,
    servers: Servers,
    queues: usize,
    nr_requests: usize,
    /// The requests of each hardware queue; empty if there are any number.
    requests: Vec<Mutex<RequestQueue<WaitingThread>>>,
    open_engines: Mutex<usize>,
    /// The capture in progress; `None` if there is none.
    capture: Mutex<Option<SimCapture>>,
}

impl SimDevice {
    /// Number of the hardware queue of a CPU.
    fn queue_of(&self, cpu: CpuId) -> usize {
        cpu.0 as usize % self.queues
    }

    /// The recorded times that the device draws from; `None` for a device with another model.
    pub(crate) fn recorded_times(&self) -> Option<&Empirical> {
        match &self.times {
            ServiceTimes::Empirical(recorded) => Some(recorded),
            _ => None,
        }
    }
}

/// The simulated devices of one target, one for each [`SimSpec`]. Clones share them, so all jobs on
/// the target that name the same device use the same one. Another target has its own devices, even
/// under the same name.
#[derive(Clone, Debug)]
pub struct SimDevices {
    devices: Arc<Mutex<Vec<SimDeviceEntry>>>,
    read_times: ReadTimes,
}

/// A device, and the specification that it was made for.
type SimDeviceEntry = (SimSpec, Arc<SimDevice>);

impl SimDevices {
    /// An empty set of devices. `read_times` reads recordings for devices that draw from one.
    pub fn new(read_times: ReadTimes) -> Self {
        SimDevices {
            devices: Arc::default(),
            read_times,
        }
    }

    /// The device of this specification; it is created on first use.
    pub fn device_for(&self, spec: &SimSpec) -> Result<Arc<SimDevice>, EngineError> {
        let mut devices = lock(&self.devices);
        let mut spec = spec.clone();
        spec.interface = None;
        if let Some((_, device)) = devices.iter().find(|(key, _)| *key == spec) {
            return Ok(Arc::clone(device));
        }
        let times = match &spec.service {
            Service::Model(times) => times.clone(),
            Service::Recorded(recording) => {
                let times = (self.read_times)(recording);
                let times = times.map_err(|source| EngineError::ServiceTimes {
                    path: recording.path.clone(),
                    source,
                })?;
                ServiceTimes::Empirical(Arc::new(times))
            }
        };
        let request_queue = |requests| Mutex::new(RequestQueue::new(requests));
        let queues = spec.nr_requests.into_iter();
        let queues = queues.flat_map(|requests| repeat_n(requests, spec.queues));
        let device = Arc::new(SimDevice {
            times,
            servers: Servers::new(spec.servers),
            queues: spec.queues,
            nr_requests: spec.nr_requests.unwrap_or_default(),
            requests: queues.map(request_queue).collect(),
            open_engines: Mutex::default(),
            capture: Mutex::default(),
        });
        devices.push((spec, Arc::clone(&device)));
        Ok(device)
    }

    /// The facts about the recorded times of `engine`'s device, which is created if needed. `None`
    /// if the engine does not simulate, or simulates by a model.
    pub fn recorded_facts(
        &self,
        engine: &EngineSpec,
    ) -> Result<Option<RecordedFacts>, EngineError> {
        let Some(spec) = engine.simulates() else {
            return Ok(None);
        };
        let device = self.device_for(spec)?;
        Ok(device.recorded_times().map(Empirical::facts))
    }

    /// The medium of a target without a file: these devices for an engine that simulates (its
    /// device is created now), otherwise none.
    pub fn medium(&self, engine: &EngineSpec) -> Result<Medium, EngineError> {
        let Some(spec) = engine.simulates() else {
            return Ok(Medium::None);
        };
        self.device_for(spec)?;
        Ok(Medium::Simulated(self.clone()))
    }

    /// The medium of an engine's jobs on a target with the medium `target`: these devices if the
    /// engine simulates, else the target's medium.
    pub fn background_medium(&self, target: &Medium, engine: &EngineSpec) -> Medium {
        match engine.simulates() {
            Some(_) => Medium::Simulated(self.clone()),
            None => target.clone(),
        }
    }
}

/// No devices, and no function that can read a recording.
impl Default for SimDevices {
    fn default() -> Self {
        SimDevices::new(|_| Err("nothing here can read recordings".into()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
