//! A machine as the model sees it, and the throughput that it gives.

pub use crate::handover::Lock;
use crate::network::{Station, cycle_rate};
use q2c_result::scale::Resource;

/// Up to this many requests in flight, two successive parts are solved exactly if jobs have several
/// requests. With more, the slower part counts.
const EXACT_IN_FLIGHT: usize = 96;

/// The times of an I/O that is alone, ns, and the resources that it shares with others.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineModel {
    /// Requests in flight per job.
    pub depth: u32,
    /// Number of cores. Further jobs wait for a core.
    pub cores: u32,
    /// Time of an I/O on its core, ns, without the parts below.
    pub cpu_ns: f64,
    /// Time in which an I/O uses nothing shared, ns: interrupt, wake-up.
    pub rest_ns: f64,
    /// Time that each further core adds to the time on the core, ns, by a shared cache line.
    pub line_ns: f64,
    /// A lock that all jobs take for each I/O.
    pub lock: Option<Lock>,
    /// Hardware queues and their tags; `None` if tags are unlimited.
    pub tags: Option<QueueTags>,
    /// The device.
    pub device: DeviceModel,
}

/// Hardware queues, and the requests (tags) that each can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTags {
    /// Number of hardware queues.
    pub queues: u32,
    /// Requests (tags) of each queue.
    pub per_queue: u32,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceModel {
    /// Time of a request that does not wait, ns.
    pub service_ns: f64,
    /// Number of requests served at once; `None` for any number.
    pub parallel: Option<f64>,
    /// Standard deviation / mean of the service time.
    pub cv: f64,
}

impl QueueTags {
    /// Most requests that `jobs` jobs can have in total, if they are spread evenly over the queues.
    pub(crate) fn reachable(&self, jobs: u32) -> u64 {
        u64::from(self.queues.min(jobs)) * u64::from(self.per_queue)
    }

    /// Requests in use if `waiting` I/Os of `jobs` jobs want one. Some queues have one job more.
    fn in_use(&self, waiting: f64, jobs: u32) -> f64 {
        let (jobs_each, more) = (jobs / self.queues, jobs % self.queues);
        let queue = |queue_jobs: u32| {
            (waiting * f64::from(queue_jobs) / f64::from(jobs)).min(self.per_queue.into())
        };
        f64::from(more) * queue(jobs_each + 1) + f64::from(self.queues - more) * queue(jobs_each)
    }
}

impl DeviceModel {
    /// The wait, given the wait `exponential` with exponential times. With less variation, a
    /// request in service has less time left (Pollaczek and Khinchine).
    pub(crate) fn wait(&self, exponential: f64) -> f64 {
        exponential * (1.0 + self.cv.min(1.0).powi(2)) / 2.0
    }

    pub(crate) fn rate(&self, j: f64) -> f64 {
        j.min(self.parallel.unwrap_or(f64::INFINITY)) / self.service_ns
    }
}

impl MachineModel {
    /// I/Os per second with `jobs` jobs, at least 1.
    pub fn iops(&self, jobs: u32) -> f64 {
        let solved = self.product_form(jobs);
        if self.device.cv >= 1.0 || self.device.parallel.is_none() || !self.outside_waits(jobs) {
            return 1e9 * solved;
        }
        // A product form computes waits as for exponential times.
        let free = self.without(Resource::Device).product_form(jobs);
        let requests = f64::from(jobs) * f64::from(self.depth);
        let waits = requests / solved - requests / free;
        let varied = requests / (requests / free + self.device.wait(waits));
        1e9 * varied.min(self.outside_rate(jobs, requests)).max(solved)
    }

    fn product_form(&self, jobs: u32) -> f64 {
        match self.depth {
            1 => self.one_request_each(jobs),
            _ => self.several_requests_each(jobs),
        }
    }

    /// The machine as if `resource` had no limit. Its cost for an I/O alone remains.
    pub(crate) fn without(&self, resource: Resource) -> MachineModel {
        let mut free = self.clone();
        match resource {
            Resource::Cpu => free.cores = u32::MAX,
            Resource::Lock => free.cpu_ns += free.lock.take().map_or(0.0, |lock| lock.hold_ns),
            Resource::CacheLine => free.line_ns = 0.0,
            Resource::Tags => free.tags = None,
            Resource::Device => free.device.parallel = None,
        }
        free
    }

    fn core_ns(&self, jobs: u32) -> f64 {
        self.cpu_ns + self.line_ns * f64::from(jobs.min(self.cores) - 1)
    }

    /// A job and its request are one customer. The solution is exact, except for the lock's
    /// variation.
    fn one_request_each(&self, jobs: u32) -> f64 {
        let n = jobs as usize;
        let (mut delay, mut queues) = (self.rest_ns, Vec::new());
        if jobs > self.cores {
            queues.push(self.cpu_station(jobs));
        } else {
            delay += self.core_ns(jobs);
        }
        if self.outside_waits(jobs) {
            queues.push(self.outside_station(jobs, n));
        } else {
            delay += self.device.service_ns;
        }
        let Some(last) = queues.pop() else {
            let lock = self.lock;
            return lock.map_or(n as f64 / delay, |lock| lock.rate(n, delay));
        };
        let mut combined = Station::delay(delay, n);
        for queue in &queues {
            combined = combined.join(queue);
        }
        let Some(lock) = self.lock else {
            return combined.throughput_with(&last, n);
        };
        // Without its queue, the lock's time is a delay.
        let with_lock = combined.join(&lock_station(lock, n));
        // The time of an I/O that never waits, without the lock.
        let other_ns = self.core_ns(jobs) + self.rest_ns + self.device.service_ns;
        with_lock.throughput_with(&last, n) * lock_correction(lock, n, other_ns)
    }

    /// True if requests may wait outside the threads: for a tag, or in the device.
    fn outside_waits(&self, jobs: u32) -> bool {
        let requests = f64::from(jobs) * f64::from(self.depth);
        let short = |tags: QueueTags| jobs.div_ceil(tags.queues) * self.depth > tags.per_queue;
        self.device.parallel.is_some_and(|p| p < requests) || self.tags.is_some_and(short)
    }

    fn cpu_station(&self, jobs: u32) -> Station {
        let (cores, time) = (f64::from(self.cores), self.core_ns(jobs));
        Station::from_rates(jobs as usize, |j| (j as f64).min(cores) / time)
    }

    fn outside_rate(&self, jobs: u32, j: f64) -> f64 {
        let in_use = self.tags.map_or(j, |tags| tags.in_use(j, jobs));
        self.device.rate(in_use)
    }

    fn outside_station(&self, jobs: u32, n: usize) -> Station {
        Station::from_rates(n, |j| self.outside_rate(jobs, j as f64))
    }

    /// Jobs submit one request at a time. Threads compete for cores and lock; requests circulate
    /// between the threads and the parts after them.
    fn several_requests_each(&self, jobs: u32) -> f64 {
        let depth = self.depth as usize;
        let (threads, requests) = (jobs as usize, jobs as usize * depth);
        let host = self.thread_rates(jobs);
        let host_rate = |k: usize| {
            // With k of all requests at the threads, at random, these threads have one on average.
            let idle = (1.0 - k as f64 / requests as f64).powi(self.depth as i32);
            interpolate(&host, threads as f64 * (1.0 - idle))
        };
        let is_exact = self.rest_ns > 0.0 && requests <= EXACT_IN_FLIGHT;
        let joined = (is_exact && self.outside_waits(jobs)).then(|| {
            Station::delay(self.rest_ns, requests).join(&self.outside_station(jobs, requests))
        });
        cycle_rate(requests, host_rate, |k| match &joined {
            Some(joined) => joined.throughput(k),
            None => {
                let free = k as f64 / (self.rest_ns + self.device.service_ns);
                free.min(self.outside_rate(jobs, k as f64))
            }
        })
    }

    fn thread_rates(&self, jobs: u32) -> Vec<f64> {
        let n = jobs as usize;
        let time = self.core_ns(jobs);
        let Some(lock) = self.lock else {
            let cores = f64::from(self.cores);
            return (1..=n).map(|k| (k as f64).min(cores) / time).collect();
        };
        let mut stations = if jobs > self.cores {
            self.cpu_station(jobs)
        } else {
            Station::delay(time, n)
        };
        stations = stations.join(&lock_station(lock, n));
        let correction = lock_correction(lock, n, time);
        let rate = |k| stations.throughput(k) * correction;
        (1..=n).map(rate).collect()
    }
}

fn lock_station(lock: Lock, n: usize) -> Station {
    Station::from_rates(n, |j| 1.0 / lock.held_ns(j - 1))
}

/// Factor by which the lock's real variation changes a product form's throughput, if `n` jobs are
/// elsewhere for `other_ns`.
fn lock_correction(lock: Lock, n: usize, other_ns: f64) -> f64 {
    let product_form = Station::delay(other_ns, n).throughput_with(&lock_station(lock, n), n);
    lock.rate(n, other_ns) / product_form
}

fn interpolate(rates: &[f64], n: f64) -> f64 {
    let below = n.floor().min((rates.len() - 1) as f64);
    let rate = |n: f64| if n < 1.0 { 0.0 } else { rates[n as usize - 1] };
    let (low, high) = (rate(below), rate(below + 1.0));
    low + (high - low) * (n - below)
}
