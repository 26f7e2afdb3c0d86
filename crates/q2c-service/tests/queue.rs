//! The queue of servers against formulas of queueing theory and a second, naive model.

use proptest::prelude::*;
use q2c_model::stats::Rng;
use q2c_model::{Direction, Nanos};
use q2c_policy::Io;
use q2c_service::{Draws, Servers, ServiceTimes};
use std::collections::VecDeque;
use std::thread;

const READ: Io = Io {
    direction: Direction::Read,
    bytes: 4096,
};

/// The time from one event of a Poisson process to the next, ns.
fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.unit()).ln()
}

/// The mean time that requests wait for a server, with Poisson arrivals every `mean_ns` on average.
fn mean_wait(servers: usize, mean_ns: f64, mut service: impl FnMut() -> Nanos) -> f64 {
    const REQUESTS: u32 = 1_000_000;
    let queue = Servers::new(servers);
    let mut rng = Rng::new(11);
    let (mut at, mut waited) = (0.0, 0.0);
    for _ in 0..REQUESTS {
        at += exponential(&mut rng, mean_ns);
        let (arrival, service) = (Nanos(at as u64), service());
        let complete = queue.enqueue(arrival, service);
        waited += (complete.0 - arrival.0 - service.0) as f64;
    }
    waited / f64::from(REQUESTS)
}

/// Pollaczek and Khinchine for constant times (M/D/1): load * service / (2 * (1 - load)).
#[test]
fn one_server_of_constant_time_waits_as_the_formula_says() {
    for load in [0.3, 0.7] {
        let mut draws = Draws::new(ServiceTimes::Constant(Nanos(10_000)), 1);
        let waited = mean_wait(1, 10_000.0 / load, || draws.next(READ));
        let wanted = load * 10_000.0 / (2.0 * (1.0 - load));
        assert!((waited / wanted - 1.0).abs() < 0.02, "{waited} {wanted}");
    }
}

/// Pollaczek and Khinchine for lognormal times (M/G/1): rate * E[S^2] / (2 * (1 - load)), with
/// E[S] = median * exp(sigma^2 / 2) and E[S^2] = median^2 * exp(2 * sigma^2).
#[test]
fn one_server_of_lognormal_times_waits_as_the_formula_says() {
    let (median, sigma, load) = (10_000.0, 0.5f64, 0.6);
    let mean = median * (sigma * sigma / 2.0).exp();
    let model = ServiceTimes::Lognormal {
        median: Nanos(10_000),
        sigma,
    };
    let mut draws = Draws::new(model, 3);
    let waited = mean_wait(1, mean / load, || draws.next(READ));
    let square = median * median * (2.0 * sigma * sigma).exp();
    let wanted = load / mean * square / (2.0 * (1.0 - load));
    assert!((waited / wanted - 1.0).abs() < 0.03, "{waited} {wanted}");
}

/// Erlang's formula for two servers of exponential times (M/M/2): a request waits with the
/// probability 2 * load^2 / (1 + load), and then for service / (2 * (1 - load)) in the mean.
#[test]
fn two_servers_of_exponential_times_wait_as_the_formula_says() {
    let load = 0.7;
    let mut rng = Rng::new(5);
    let service = || Nanos(exponential(&mut rng, 10_000.0) as u64);
    let waited = mean_wait(2, 10_000.0 / (2.0 * load), service);
    let wanted = 2.0 * load * load / (1.0 + load) * 10_000.0 / (2.0 * (1.0 - load));
    assert!((waited / wanted - 1.0).abs() < 0.03, "{waited} {wanted}");
}

/// Completion times by a second model, from event to event. Requests are (arrival, service time).
fn complete_by_events(servers: usize, requests: &[(u64, u64)]) -> Vec<u64> {
    let mut complete = vec![0; requests.len()];
    let mut busy: Vec<(u64, usize)> = Vec::new();
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let mut arriving = requests.iter().enumerate().peekable();
    loop {
        let next_end = busy.iter().copied().min();
        let next_arrival = arriving.peek().map(|(_, (at, _))| *at);
        let now = match (next_end, next_arrival) {
            (None, None) => return complete,
            (Some((end, request)), next_arrival) if next_arrival.is_none_or(|at| end <= at) => {
                busy.retain(|&(_, other)| other != request);
                complete[request] = end;
                end
            }
            _ => {
                let (request, (at, _)) = arriving.next().expect("it was seen");
                waiting.push_back(request);
                *at
            }
        };
        while busy.len() < servers
            && let Some(request) = waiting.pop_front()
        {
            busy.push((now + requests[request].1, request));
        }
    }
}

proptest! {
    #[test]
    fn requests_in_order_are_served_as_by_the_model_of_events(
        servers in 1usize..6,
        steps in prop::collection::vec((0u64..50, 0u64..200), 1..200),
    ) {
        let mut at = 0;
        let mut requests = steps;
        for (gap_to_arrival, _service) in &mut requests {
            at += *gap_to_arrival;
            *gap_to_arrival = at;
        }
        let queue = Servers::new(servers);
        let completion_of = |&(at, service): &(u64, u64)| queue.enqueue(Nanos(at), Nanos(service)).0;
        let complete: Vec<u64> = requests.iter().map(completion_of).collect();
        prop_assert_eq!(complete, complete_by_events(servers, &requests));
    }

    /// With arrival times out of order, no request is served before it arrives, and never more
    /// requests at once than there are servers.
    #[test]
    fn times_out_of_order_keep_the_number_of_servers(
        servers in 1usize..4,
        requests in prop::collection::vec((0u64..500, 1u64..40), 1..80),
    ) {
        let queue = Servers::new(servers);
        let mut served: Vec<(u64, u64)> = Vec::new();
        for (at, service) in requests {
            let end = queue.enqueue(Nanos(at), Nanos(service)).0;
            prop_assert!(end >= at + service);
            served.push((end - service, end));
        }
        for &(begin, _) in &served {
            let at_once = served.iter().filter(|&&(from, to)| (from..to).contains(&begin));
            prop_assert!(at_once.count() <= servers);
        }
    }
}

/// All requests arrive at time 0 and take 7 ns, so on three servers three are complete at each
/// multiple of 7 ns, whichever thread brought them.
#[test]
fn threads_share_the_servers() {
    const PER_THREAD: u64 = 20_000;
    let queue = Servers::new(3);
    let completion = |_| queue.enqueue(Nanos::ZERO, Nanos(7)).0;
    let work = || (0..PER_THREAD).map(completion).collect::<Vec<u64>>();
    let mut completions: Vec<u64> = thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(work));
        let joined = threads
            .into_iter()
            .flat_map(|t| t.join().expect("no panic"));
        joined.collect()
    });
    completions.sort_unstable();
    let wanted: Vec<u64> = (0..4 * PER_THREAD).map(|n| 7 * (n / 3 + 1)).collect();
    assert_eq!(completions, wanted);
}

#[test]
fn cleared_servers_are_idle() {
    let queue = Servers::new(2);
    for _ in 0..2 {
        assert_eq!(queue.enqueue(Nanos(5), Nanos(1_000)), Nanos(1_005));
        assert_eq!(queue.enqueue(Nanos(6), Nanos(1_000)), Nanos(1_006));
        assert_eq!(queue.enqueue(Nanos(7), Nanos(1_000)), Nanos(2_005));
        queue.clear();
    }
}

/// A request that would never be complete is complete at the end of time, instead of before it
/// came.
#[test]
fn the_longest_times_do_not_begin_again() {
    let queue = Servers::new(1);
    assert_eq!(queue.enqueue(Nanos(1), Nanos(u64::MAX)), Nanos(u64::MAX));
    assert_eq!(queue.enqueue(Nanos(2), Nanos(1)), Nanos(u64::MAX));
}
