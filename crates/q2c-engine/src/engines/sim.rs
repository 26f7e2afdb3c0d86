//! `sim:` is a simulated device of known truth: service times from a model, a queue with servers,
//! in real time.

use crate::engine::{Completion, Engine, EngineError, EngineFacts, Request};
use q2c_model::Nanos;
use q2c_policy::method::Means;
use q2c_stats::Rng;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;

/// The time that the device serves one request, once a server is free.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Every request takes the same time.
    Constant(Nanos),
    /// Times are lognormal.
    Lognormal {
        /// Median of the times.
        median: Nanos,
        /// Standard deviation of the logarithm of the times.
        sigma: f64,
    },
    /// These times in this order, again and again.
    List(Vec<Nanos>),
}

/// A simulated device. Each lane has its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The service times.
    pub service: Service,
    /// Number of requests that are served at the same time. Others queue: first come, first served.
    pub servers: usize,
}

/// The engine: the state of a simulated device.
pub struct Sim {
    service: Service,
    rng: Rng,
    served: usize,
    /// Time at which each server is free again, CLOCK_MONOTONIC ns.
    free_at: Vec<u64>,
    in_flight: Vec<(u64, Completion)>,
}

impl Sim {
    /// Opens a device with room for `slots` requests in flight. `seed` draws the service times.
    pub fn open(spec: &SimSpec, slots: usize, seed: u64) -> Self {
        Sim {
            service: spec.service.clone(),
            rng: Rng::new(seed),
            served: 0,
            free_at: vec![0; spec.servers.max(1)],
            in_flight: Vec::with_capacity(slots),
        }
    }

    fn draw(&mut self) -> u64 {
        self.served += 1;
        match &self.service {
            Service::Constant(time) => time.0,
            Service::Lognormal { median, sigma } => {
                (median.0 as f64 * (sigma * self.rng.normal()).exp()) as u64
            }
            Service::List(times) => times[(self.served - 1) % times.len()].0,
        }
    }

    fn start(&mut self, request: &Request, now: u64) {
        let service = self.draw();
        let first_free = self.free_at.iter_mut().min().expect("at least one server");
        let end = now.max(*first_free) + service;
        *first_free = end;
        let done = Completion {
            slot: request.slot,
            result: request.length as i32,
        };
        self.in_flight.push((end, done));
    }

    /// Index of the request that completes first, and the time at which it does.
    fn next_due(&self) -> Option<(usize, u64)> {
        let due = self
            .in_flight
            .iter()
            .enumerate()
            .min_by_key(|(_, (due, _))| *due);
        due.map(|(i, &(due, _))| (i, due))
    }
}

impl Engine for Sim {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        let now = monotonic_ns();
        requests.iter().for_each(|request| self.start(request, now));
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Completion>, EngineError> {
        Ok(match self.next_due() {
            Some((i, due)) if due <= monotonic_ns() => Some(self.in_flight.swap_remove(i).1),
            _ => None,
        })
    }

    fn wait(&mut self) -> Result<Completion, EngineError> {
        let (i, due) = self
            .next_due()
            .expect("a request is in flight, as the contract says");
        sleep_until(due);
        Ok(self.in_flight.swap_remove(i).1)
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<Completion>, EngineError> {
        let due = self.next_due().map_or(u64::MAX, |(_, due)| due);
        sleep_until(due.min(deadline_ns));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Operation;

    fn request(slot: u16) -> Request {
        Request {
            operation: Operation::Read,
            offset: 0,
            length: 4096,
            slot,
        }
    }

    #[test]
    fn one_server_serves_one_after_the_other() {
        let spec = SimSpec {
            service: Service::Constant(Nanos(200_000)),
            servers: 1,
        };
        let mut sim = Sim::open(&spec, 2, 1);
        let start = monotonic_ns();
        sim.submit(&[request(0), request(1)]).unwrap();
        assert_eq!(sim.wait().unwrap().slot, 0);
        assert_eq!(sim.wait().unwrap().slot, 1);
        assert!(monotonic_ns() - start >= 400_000);
    }

    #[test]
    fn lognormal_service_has_its_median() {
        let service = Service::Lognormal {
            median: Nanos(50_000),
            sigma: 0.3,
        };
        let mut sim = Sim::open(
            &SimSpec {
                service,
                servers: 1,
            },
            1,
            7,
        );
        let mut draws: Vec<u64> = (0..20_001).map(|_| sim.draw()).collect();
        draws.sort_unstable();
        // The standard error of the median is 1.25 * sigma / sqrt(n) = 0.27 %.
        assert!(draws[10_000].abs_diff(50_000) < 600, "{}", draws[10_000]);
        // 84.13 % of all draws lie below one standard deviation of the logarithm above the median.
        let above = (50_000.0 * 0.3f64.exp()) as u64;
        let share = draws.partition_point(|&d| d < above) as f64 / 20_001.0;
        assert!((share - 0.8413).abs() < 0.01, "{share}");
    }
}
