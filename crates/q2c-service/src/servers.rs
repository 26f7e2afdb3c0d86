use q2c_model::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// The servers of a simulated device, and the queue in front of them: first come, first served.
/// Threads share it without a lock.
///
/// Requests come in the order in which [`Servers::arrive`] takes effect. A thread may be held up
/// between its reading of the clock and that call. Its request is then served behind those that
/// overtook it, although its arrival time is earlier, and no request that has its completion time
/// already is moved.
#[derive(Debug)]
pub struct Servers {
    /// Time at which each server is free again, ns.
    free_at: Box<[AtomicU64]>,
}

impl Servers {
    /// Idle servers, this many of them, at least one.
    pub fn new(servers: usize) -> Self {
        let idle = (0..servers.max(1)).map(|_| AtomicU64::new(0));
        Servers {
            free_at: idle.collect(),
        }
    }

    /// Puts a request that arrives at `at` and needs `service` on the server that is free first.
    /// Returns the time at which it is complete, on the clock of `at`.
    #[inline]
    pub fn arrive(&self, at: Nanos, service: Nanos) -> Nanos {
        loop {
            let (server, free_at) = self.first_free();
            let end = at.0.max(free_at).saturating_add(service.0);
            // Times only grow. So if this server has the time still, it is the first to be free,
            // even if the times of others were read before they grew. Each time stands for itself
            // and orders no other memory.
            let taken =
                server.compare_exchange_weak(free_at, end, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
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
    /// on them meanwhile: whether the servers keep those is not defined.
    pub fn clear(&self) {
        let servers = self.free_at.iter();
        servers.for_each(|server| server.store(0, Ordering::Relaxed));
    }
}
