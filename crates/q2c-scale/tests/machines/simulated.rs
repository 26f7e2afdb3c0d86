//! A discrete-event simulator of a machine with jobs, cores, a cache line, hardware queues with a
//! limited number of requests, a lock and a device. It shares no code with the model. Everything
//! waits in the order of arrival.

use q2c_model::stats::Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hidden {
    /// Requests in flight per job; one thread submits them one after the other.
    pub depth: usize,
    pub cpu_ns: f64,
    /// Standard deviation / mean of `cpu_ns`.
    pub cpu_cv: f64,
    pub line_ns: f64,
    pub dispatch_ns: f64,
    /// Mean time for which the lock between G and D is held, ns; 0 without a lock.
    pub lock_ns: f64,
    pub lock_growth: f64,
    /// Standard deviation / mean of the lock's time: exponential if it is 1, else log-normal.
    pub lock_cv: f64,
    pub queues: usize,
    pub tags: usize,
    pub device_ns: f64,
    /// As `lock_cv`, for the device's time.
    pub device_cv: f64,
    pub parallel: usize,
}

/// Times of a stage: mean, percentiles and minimum, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageTimes {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub min: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct PointObservation {
    pub iops: f64,
    pub q2g: StageTimes,
    pub g2d: StageTimes,
    pub d2c: StageTimes,
    pub cpu_ns: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MachineEvent {
    /// Bits of the time. For times of 0 or above, their order is that of the times.
    at: u64,
    what: MachineEventKind,
    job: usize,
    io: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MachineEventKind {
    Ready,
    Dispatch,
    Unlock,
    Complete,
}

#[derive(Clone, Copy, Default)]
struct JobIo {
    job: usize,
    queued: f64,
    tagged: f64,
    issued: f64,
}

struct MachineRun<'a> {
    machine: &'a Hidden,
    jobs: usize,
    rng: Rng,
    now: f64,
    events: BinaryHeap<Reverse<MachineEvent>>,
    ios: Vec<JobIo>,
    /// The I/Os of each job that its thread may submit, and whether the thread is busy.
    idle: Vec<Vec<usize>>,
    at_work: Vec<bool>,
    free_tags: Vec<usize>,
    tag_waiters: Vec<VecDeque<usize>>,
    locked: bool,
    lock_waiters: VecDeque<usize>,
    in_device: usize,
    device_waiters: VecDeque<usize>,
    begun_ns: Vec<f64>,
    counting: bool,
    done: u64,
    busy: f64,
    times: [Vec<f64>; 3],
}

impl Hidden {
    /// Runs `jobs` jobs until `ios` I/Os are complete after a warm-up of a fifth of them.
    pub(crate) fn run(&self, jobs: usize, ios: u64, seed: u64) -> PointObservation {
        let mut run = MachineRun::new(self, jobs, seed);
        run.run_until(ios / 5);
        let from = run.now;
        (run.counting, run.done, run.busy) = (true, 0, 0.0);
        run.run_until(ios);
        let seconds = (run.now - from) / 1e9;
        let [q2g, g2d, d2c] = run.times.each_mut().map(|times| stage(times));
        PointObservation {
            iops: run.done as f64 / seconds,
            q2g,
            g2d,
            d2c,
            cpu_ns: run.busy / run.done as f64,
        }
    }
}

fn stage(times: &mut [f64]) -> StageTimes {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let min = times.iter().copied().fold(f64::INFINITY, f64::min);
    // Sorting all times would take longer than the simulation.
    let n = times.len();
    let mut at = |rank: usize| *times.select_nth_unstable_by(rank, f64::total_cmp).1;
    StageTimes {
        mean,
        p50: at(n / 2),
        p90: at(n * 9 / 10),
        p99: at(n * 99 / 100),
        min,
    }
}

impl<'a> MachineRun<'a> {
    fn new(machine: &'a Hidden, jobs: usize, seed: u64) -> Self {
        let requests = jobs * machine.depth;
        let io = |i| JobIo {
            job: i / machine.depth,
            ..JobIo::default()
        };
        let mut run = MachineRun {
            machine,
            jobs,
            rng: Rng::new(seed),
            now: 0.0,
            events: BinaryHeap::new(),
            ios: (0..requests).map(io).collect(),
            idle: (0..jobs)
                .map(|j| (j * machine.depth..(j + 1) * machine.depth).collect())
                .collect(),
            at_work: vec![false; jobs],
            free_tags: vec![machine.tags; machine.queues],
            tag_waiters: vec![VecDeque::new(); machine.queues],
            locked: false,
            lock_waiters: VecDeque::new(),
            in_device: 0,
            device_waiters: VecDeque::new(),
            begun_ns: vec![0.0; jobs],
            counting: false,
            done: 0,
            busy: 0.0,
            times: Default::default(),
        };
        (0..jobs).for_each(|job| run.begin(job));
        run
    }

    fn run_until(&mut self, ios: u64) {
        while self.done < ios {
            let Reverse(event) = self.events.pop().expect("a closed loop never ends");
            self.now = f64::from_bits(event.at);
            match event.what {
                MachineEventKind::Ready => self.take_tag(event.io),
                MachineEventKind::Dispatch => self.take_lock(event.io),
                MachineEventKind::Unlock => self.unlock(event.io),
                MachineEventKind::Complete => self.complete(event.io),
            }
        }
    }

    fn schedule(&mut self, ns: f64, what: MachineEventKind, io: usize) {
        let job = self.ios[io].job;
        let at = (self.now + ns).to_bits();
        self.events
            .push(Reverse(MachineEvent { at, what, job, io }));
    }

    /// A log-normal time with this mean and this standard deviation / mean.
    fn varied(&mut self, mean: f64, cv: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        let sigma = (1.0 + cv * cv).ln().sqrt();
        // The generator's own function would not be inlined into a test.
        let radius = (-2.0 * (1.0 - self.rng.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.rng.unit()).cos();
        mean * (sigma * normal - sigma * sigma / 2.0).exp()
    }

    fn service_time(&mut self, mean: f64, cv: f64) -> f64 {
        match cv {
            1.0 => -mean * (1.0 - self.rng.unit()).ln(),
            cv => self.varied(mean, cv),
        }
    }

    fn begin(&mut self, job: usize) {
        if self.at_work[job] {
            return;
        }
        let Some(io) = self.idle[job].pop() else {
            return;
        };
        self.at_work[job] = true;
        self.begun_ns[job] = self.now;
        let cpu = self.varied(self.machine.cpu_ns, self.machine.cpu_cv);
        let line = self.machine.line_ns * (self.jobs - 1) as f64 + self.varied(150.0, 0.1);
        self.ios[io].queued = self.now + cpu;
        self.schedule(cpu + line, MachineEventKind::Ready, io);
    }

    fn take_tag(&mut self, io: usize) {
        let queue = self.ios[io].job % self.machine.queues;
        match self.free_tags[queue] {
            0 => self.tag_waiters[queue].push_back(io),
            _ => {
                self.free_tags[queue] -= 1;
                self.got_tag(io);
            }
        }
    }

    fn got_tag(&mut self, io: usize) {
        self.ios[io].tagged = self.now;
        let dispatch = self.varied(self.machine.dispatch_ns, 0.1);
        self.schedule(dispatch, MachineEventKind::Dispatch, io);
    }

    fn take_lock(&mut self, io: usize) {
        match (self.machine.lock_ns > 0.0, self.locked) {
            (false, _) => self.issue(io),
            (true, true) => self.lock_waiters.push_back(io),
            (true, false) => self.hold(io),
        }
    }

    fn hold(&mut self, io: usize) {
        self.locked = true;
        let grown = 1.0 + self.machine.lock_growth * self.lock_waiters.len() as f64;
        let hold = self.service_time(self.machine.lock_ns * grown, self.machine.lock_cv);
        self.schedule(hold, MachineEventKind::Unlock, io);
    }

    fn unlock(&mut self, io: usize) {
        self.locked = false;
        if let Some(next) = self.lock_waiters.pop_front() {
            self.hold(next);
        }
        self.issue(io);
    }

    fn issue(&mut self, io: usize) {
        let job = self.ios[io].job;
        self.ios[io].issued = self.now;
        self.busy += self.now - self.begun_ns[job];
        self.at_work[job] = false;
        if self.in_device < self.machine.parallel {
            self.serve(io);
        } else {
            self.device_waiters.push_back(io);
        }
        self.begin(job);
    }

    fn serve(&mut self, io: usize) {
        self.in_device += 1;
        let time = self.service_time(self.machine.device_ns, self.machine.device_cv);
        self.schedule(time, MachineEventKind::Complete, io);
    }

    fn complete(&mut self, io: usize) {
        self.in_device -= 1;
        if let Some(next) = self.device_waiters.pop_front() {
            self.serve(next);
        }
        self.done += 1;
        let request = &self.ios[io];
        let job = request.job;
        if self.counting {
            let spent = [
                request.tagged - request.queued,
                request.issued - request.tagged,
                self.now - request.issued,
            ];
            let pairs = self.times.iter_mut().zip(spent);
            pairs.for_each(|(times, time)| times.push(time));
        }
        let queue = job % self.machine.queues;
        match self.tag_waiters[queue].pop_front() {
            Some(next) => self.got_tag(next),
            None => self.free_tags[queue] += 1,
        }
        self.idle[job].push(io);
        self.begin(job);
    }
}
