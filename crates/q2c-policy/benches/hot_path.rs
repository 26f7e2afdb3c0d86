//! Measures the cost of a rule per I/O: `decide` and `complete` together, in one of 64 lanes, with
//! one I/O in flight and warm caches.
//!
//! Windows have the length of the rule's example. The clock moves 10 us per I/O, so the figure
//! contains the closing of windows.
#![expect(clippy::print_stdout, reason = "the figure is the result")]

use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, RULES};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u64 = 5_000_000;

fn main() {
    for rule in RULES {
        let spec: PolicySpec = rule.example.parse().expect("examples are specifications");
        let mut lanes = spec.build(64);
        let best = (0..5)
            .map(|n| ns_per_io(&mut *lanes[0], n * ROUNDS))
            .fold(f64::INFINITY, f64::min);
        println!("{spec:<36} {best:6.2} ns per I/O, best of 5 passes");
    }
}

fn ns_per_io(lane: &mut dyn Lane, first_io: u64) -> f64 {
    let io = Io::READ_4K;
    let start = Instant::now();
    for i in first_io..first_io + ROUNDS {
        let now = Nanos(i * 10_000);
        let (decision, token) = lane.decide(black_box(io), now);
        let device_ns = 9_000 + (i & 1023);
        let missed = matches!(decision, Decision::Sleep(Nanos(s)) if s >= device_ns);
        let observed = Nanos(device_ns);
        lane.complete(io, token, black_box(Outcome { observed, missed }), now);
    }
    start.elapsed().as_nanos() as f64 / ROUNDS as f64
}
