use crate::Empirical;
use q2c_model::stats::Rng;
use q2c_model::{Direction, Nanos};
use q2c_policy::Io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The servers of a simulated device, and the queue in front of them: first come, first served.
/// Threads share it without a lock.
///
/// Requests come in the order in which [`Servers::enqueue`] takes effect. A thread may be held up
/// between its reading of the clock and that call. Its request is then served after those that
/// overtook it, although its arrival time is earlier. A completion time, once given, never moves.
#[derive(Debug)]
pub struct Servers {
    /// Time at which each server is free again, ns.
    free_at: Box<[AtomicU64]>,
}

impl Servers {
    /// Makes this many idle servers, at least one.
    pub fn new(servers: usize) -> Self {
        let idle = (0..servers.max(1)).map(|_| AtomicU64::new(0));
        Servers {
            free_at: idle.collect(),
        }
    }

    /// Puts a request that arrives at `at` and needs `service` on the server that is free first.
    /// Returns the time at which it is complete, on the clock of `at`.
    #[inline]
    pub fn enqueue(&self, at: Nanos, service: Nanos) -> Nanos {
        loop {
            let (server, free_at) = self.first_free();
            let end = at.0.max(free_at).saturating_add(service.0);
            // The times only grow. If this server's time has not changed, the server is still the
            // first to be free, even if other servers' times have grown since they were read. No
            // other memory depends on the order of these stores.
            let exchanged =
                server.compare_exchange_weak(free_at, end, Ordering::Relaxed, Ordering::Relaxed);
            if exchanged.is_ok() {
                return Nanos(end);
            }
        }
    }

    fn first_free(&self) -> (&AtomicU64, u64) {
        let times = self.free_at.iter();
        let times = times.map(|server| (server, server.load(Ordering::Relaxed)));
        let first_free = times.min_by_key(|(_, free_at)| *free_at);
        first_free.expect("at least one server")
    }

    /// Makes all servers idle, as if no request had come so far. No other thread may put requests
    /// on them meanwhile: such a request may be lost or kept.
    pub fn clear(&self) {
        let servers = self.free_at.iter();
        servers.for_each(|server| server.store(0, Ordering::Relaxed));
    }
}

/// The time that a server works on one request.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceTimes {
    /// Every request takes the same time.
    Constant(Nanos),
    /// Times have an exponential distribution with this mean.
    Exponential(Nanos),
    /// Times are lognormal: their logarithm has a normal distribution.
    Lognormal {
        /// Median of the times.
        median: Nanos,
        /// Standard deviation of the logarithm of the times.
        sigma: f64,
    },
    /// Times are drawn from recorded ones, by direction and size of the request.
    Empirical(Arc<Empirical>),
    /// A submitter's requests take these times in this order, again and again. There must be at
    /// least one.
    Sequence(Arc<[Nanos]>),
    /// Requests that read take the first times, all others the second.
    ByDirection(Arc<[ServiceTimes; 2]>),
}

/// The service times of one submitter's requests. Equal seeds give equal times for equal requests,
/// whatever other submitters do meanwhile.
#[derive(Clone, Debug)]
pub struct Draws {
    times: ServiceTimes,
    rng: Rng,
    drawn: usize,
}

impl Draws {
    /// Times of the model `times`, drawn by `seed`.
    pub fn new(times: ServiceTimes, seed: u64) -> Self {
        Draws {
            times,
            rng: Rng::new(seed),
            drawn: 0,
        }
    }

    /// The service time of the submitter's next request.
    #[inline]
    pub fn next(&mut self, io: Io) -> Nanos {
        let nth = self.drawn;
        self.drawn = nth.wrapping_add(1);
        self.times.draw(nth, io, &mut self.rng)
    }
}

impl ServiceTimes {
    /// The time of a submitter's request number `nth`.
    #[inline]
    fn draw(&self, nth: usize, io: Io, rng: &mut Rng) -> Nanos {
        match self {
            ServiceTimes::Constant(time) => *time,
            ServiceTimes::Exponential(mean) => {
                Nanos((mean.0 as f64 * -(1.0 - rng.unit()).ln()) as u64)
            }
            ServiceTimes::Lognormal { median, sigma } => {
                Nanos((median.0 as f64 * (sigma * rng.normal()).exp()) as u64)
            }
            ServiceTimes::Empirical(recorded) => recorded.draw(io, rng),
            ServiceTimes::Sequence(times) => times[nth % times.len()],
            ServiceTimes::ByDirection(times) => match io.direction {
                Direction::Read => times[0].draw(nth, io, rng),
                Direction::Write => times[1].draw(nth, io, rng),
            },
        }
    }
}
