//! The solver against closed forms and enumerations that do not use its code.

use proptest::prelude::*;
use q2c_scale::handover::Lock;
use q2c_scale::machine::{DeviceModel, MachineModel, QueueTags};
use q2c_scale::network::{Station, cycle_rate};

/// Machine repair, M/M/1//N: the probability that no machine is broken is the inverse of the sum of
/// N! / (N - k)! r^k, where r is the repair time / the running time.
fn machine_repair(machines: u32, running: f64, repair: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 0..machines {
        term *= f64::from(machines - k) * repair / running;
        sum += term;
    }
    (1.0 - 1.0 / sum) / repair
}

/// Sums over all ways to put `n` customers into the stations, weighted as by Gordon and Newell.
fn enumerated(n: usize, rates: &[Vec<f64>]) -> f64 {
    let Some((first, others)) = rates.split_first() else {
        return if n == 0 { 1.0 } else { 0.0 };
    };
    let weight = |k: usize| first[..k].iter().map(|rate| 1.0 / rate).product::<f64>();
    (0..=n).map(|k| weight(k) * enumerated(n - k, others)).sum()
}

fn assert_close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
}

proptest! {
    #[test]
    fn a_delay_and_a_queue_are_machine_repair(
        n in 1_u32..60, running in 0.1_f64..100.0, repair in 0.01_f64..10.0
    ) {
        let queue = Station::from_rates(n as usize, |_| 1.0 / repair);
        let delay = Station::delay(running, n as usize);
        assert_close(delay.throughput_with(&queue, n as usize), machine_repair(n, running, repair));
        assert_close(delay.join(&queue).throughput(n as usize), machine_repair(n, running, repair));
        let throughput = cycle_rate(n as usize, |k| k as f64 / running, |_| 1.0 / repair);
        assert_close(throughput, machine_repair(n, running, repair));
    }

    #[test]
    fn stations_of_any_rates_are_those_of_gordon_and_newell(
        rates in proptest::collection::vec(proptest::collection::vec(0.05_f64..20.0, 7), 2..4),
        n in 1_usize..=7,
    ) {
        let station = |queue_rates: &Vec<f64>| Station::from_rates(7, |j| queue_rates[j - 1]);
        let mut combined = station(&rates[0]);
        for queue_rates in &rates[1..] {
            combined = combined.join(&station(queue_rates));
        }
        assert_close(combined.throughput(n), enumerated(n - 1, &rates) / enumerated(n, &rates));
    }

    /// With constant times, the other job comes during a hold with probability 1 - exp(-hold /
    /// other).
    #[test]
    fn two_jobs_at_a_constant_lock(hold in 0.1_f64..10.0, other in 0.1_f64..100.0) {
        // p: the other job waits. Else both are away, and the first one comes after `other` / 2.
        let p = 1.0 - (-hold / other).exp();
        let cycle = hold + (1.0 - p) * other / 2.0;
        let lock = Lock { hold_ns: hold, growth: 0.0, cv: 0.0 };
        assert_close(lock.rate(2, other), 1.0 / cycle);
    }

    #[test]
    fn a_lock_keeps_its_bounds(
        n in 1_usize..300, hold in 0.1_f64..50.0, growth in 0.0_f64..2.0, cv in 0.0_f64..1.0,
        other in 1.0_f64..1000.0,
    ) {
        let rate = Lock { hold_ns: hold, growth, cv }.rate(n, other);
        let most = (n as f64 / (other + hold)).min(1.0 / hold);
        prop_assert!(rate > 0.0 && rate <= most * (1.0 + 1e-6), "{rate} {most}");
    }
}

/// A lock whose time varies like an exponential one.
fn lock(hold_ns: f64, growth: f64) -> Lock {
    Lock {
        hold_ns,
        growth,
        cv: 1.0,
    }
}

#[test]
fn a_varied_lock_is_near_machine_repair() {
    for n in [1, 2, 5, 10, 20, 40, 80] {
        let ratio = lock(1.0, 0.0).rate(n as usize, 20.0) / machine_repair(n, 20.0, 1.0);
        assert!((ratio - 1.0).abs() < 0.005, "{n}: {ratio}");
    }
}

fn machine() -> MachineModel {
    MachineModel {
        depth: 1,
        cores: 64,
        cpu_ns: 2_000.0,
        rest_ns: 0.0,
        line_ns: 0.0,
        lock: None,
        tags: None,
        device: DeviceModel {
            service_ns: 8_000.0,
            parallel: None,
            cv: 1.0,
        },
    }
}

#[test]
fn jobs_without_a_limit_add_up() {
    assert_close(machine().iops(37), 37.0 * 1e5);
}

/// 8 requests of 8 us are 1 M I/Os per second at most.
#[test]
fn requests_bound_the_throughput() {
    let tags = Some(QueueTags {
        queues: 4,
        per_queue: 2,
    });
    let limited = MachineModel {
        tags,
        depth: 4,
        ..machine()
    };
    let most = limited.iops(64);
    assert!((most / 1e6 - 1.0).abs() < 0.01, "{most}");
}

#[test]
fn jobs_beyond_the_cores_share_them() {
    let few = MachineModel {
        cores: 4,
        ..machine()
    };
    // 4 cores at 2 us per I/O give 2 M I/Os per second; 64 jobs keep them busy.
    let most = few.iops(64);
    assert!((most / 2e6 - 1.0).abs() < 1e-3, "{most}");
}

#[test]
fn fixed_rates_do_not_fall() {
    let locked = |growth| MachineModel {
        lock: Some(lock(300.0, growth)),
        ..machine()
    };
    let falls = |m: MachineModel| (2..=64).any(|n| m.iops(n) < m.iops(n - 1) * (1.0 - 1e-9));
    assert!(!falls(locked(0.0)) && falls(locked(0.1)));
}
