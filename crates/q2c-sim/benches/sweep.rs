//! Measures how fast a sweep is: I/Os x configurations per second over 2 M I/Os and 1,024
//! configurations.
//!
//! Run it with `cargo bench -p q2c-sim --bench sweep -- [ROUNDS] [CASE]`. The cases take turns,
//! since machines drift; each line gives the median and the range of a case. The first case is run
//! twice: the distance between the two shows how far the other figures can be trusted.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use q2c_model::stats::Rng;
use q2c_model::{CostModel, Curve, Direction, Nanos, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Batch, Drive, LaneRecording};
use std::time::Instant;

const IOS: usize = 2_000_000;
const CONFIGURATIONS: usize = 1_024;

fn recording(buckets: u32) -> LaneRecording {
    let mut rng = Rng::new(7);
    let mut trace = LaneRecording::default();
    for _ in 0..IOS {
        let uniform = 15_000.0 + 4_000.0 * rng.unit();
        let tail = -6_000.0 * (1.0 - rng.unit()).ln();
        let class = rng.below(u64::from(buckets)) as u32;
        let direction = [Direction::Read, Direction::Write][class as usize % 2];
        let bytes = if buckets == 1 {
            4_096
        } else {
            512 << (class / 2)
        };
        let wait = (uniform + tail).floor() as f32;
        trace.push(Io { direction, bytes }, 800.0, wait, 400.0);
    }
    trace
}

fn constant() -> CostModel {
    CostModel {
        submit_ns: 800.0,
        turnaround_ns: 400.0,
        reap_hit_ns: 100.0,
        sleep_cpu_clear_ns: Curve::constant(700.0),
        sleep_cpu_hit_ns: Curve::constant(900.0),
        other_cpu_sleep_ns: 300.0,
        ..CostModel::delayed(Nanos(2_000))
    }
}

fn curve(x: &[f64], y: impl Fn(f64) -> f64) -> Curve {
    Curve {
        x: x.to_vec(),
        y: x.iter().map(|&x| y(x)).collect(),
    }
}

/// A cost model with as many corner points as `q2c calibrate` finds, about ten per curve.
fn calibrated() -> CostModel {
    let sleeps = [1e3, 2e3, 5e3, 8e3, 12e3, 17e3, 25e3, 35e3, 50e3, 100e3];
    let by_sleep = |base: f64, rise: f64| curve(&sleeps, |x| base + rise * (x / 25e3).min(1.3));
    let distances = [-28e3, -15e3, -6e3, -1e3, 8e3, 20e3, 46e3, 80e3];
    let by_distance =
        |base: f64, rise: f64| curve(&distances, |x| base + rise * (1.0 - x.abs() / 80e3).powi(4));
    let mut rng = Rng::new(3);
    let mut z = |n: usize| -> Vec<f64> {
        let sum = |rng: &mut Rng| (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let rare = |rng: &mut Rng| if rng.below(50) == 0 { 5.0 } else { 0.0 };
        (0..n).map(|_| sum(&mut rng) + rare(&mut rng)).collect()
    };
    CostModel {
        wake_clear: WakeDelay {
            base_ns: by_sleep(2_000.0, 800.0),
            spread_ns: by_sleep(150.0, 90.0),
            least_ns: by_sleep(1_200.0, 200.0),
            most_ns: by_sleep(7_000.0, 900.0),
            z: z(3_000),
        },
        wake_hit: WakeDelay {
            base_ns: by_distance(2_500.0, 900.0),
            spread_ns: by_distance(200.0, 200.0),
            least_ns: by_distance(1_300.0, 100.0),
            most_ns: by_distance(8_000.0, 900.0),
            z: z(2_000),
        },
        hit_lead_ns: 1_000.0,
        sleep_cpu_clear_ns: by_sleep(1_500.0, 300.0),
        sleep_cpu_hit_ns: by_sleep(1_700.0, 300.0),
        added_latency_ns: curve(&[5e3, 20e3], |x| 130.0 - x / 500.0),
        added_submit_ns: curve(&[5e3, 20e3], |x| 40.0 + x / 400.0),
        ..constant()
    }
}

fn rules(texts: impl Iterator<Item = String>) -> Vec<PolicySpec> {
    texts
        .map(|text| text.parse().expect("a rule of the registry"))
        .collect()
}

const STANDARD: [u32; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
/// Window periods, ms, from the one published as best to beyond that of Linux.
const LONG_WINDOWS: [u32; 8] = [10, 15, 20, 30, 50, 70, 100, 200];

fn windowed(periods: [u32; 8]) -> Vec<PolicySpec> {
    rules(["mean", "min"].iter().flat_map(|rule| {
        (0..64).flat_map(move |step| {
            let ratio = 5.0 + f64::from(step) * 1.4;
            periods.map(move |period| format!("{rule}:ratio={ratio:.2}%,period={period}ms"))
        })
    }))
}

fn pas() -> Vec<PolicySpec> {
    let (up, down) = (
        |n| 0.001 * (1 + n % 32) as f64,
        |n| 0.01 * (1 + n / 32) as f64,
    );
    rules((0..CONFIGURATIONS).map(|n| format!("pas:up={:.3},down={:.2}", up(n), down(n))))
}

struct SweepCase<'a> {
    name: &'static str,
    trace: &'a LaneRecording,
    policies: &'a [PolicySpec],
    cost: &'a CostModel,
    percentiles: bool,
}

impl SweepCase<'_> {
    fn run(&self) -> (f64, f64) {
        let size = (self.trace.len(), self.policies.len());
        assert_eq!(size, (IOS, CONFIGURATIONS));
        let drive = Drive::one_pass(1);
        let started = Instant::now();
        let mut batch =
            Batch::new(self.policies, self.cost, drive, self.percentiles).expect("rules it holds");
        batch.feed(self.trace).expect("short times");
        let outcomes = batch.finish();
        let seconds = started.elapsed().as_secs_f64();
        let miss_rates = outcomes.iter().map(|o| o.gives.rates.miss_rate);
        let misses = miss_rates.sum::<f64>();
        (seconds, misses / CONFIGURATIONS as f64)
    }
}

fn report(case: &SweepCase<'_>, runs: &[(f64, f64)]) {
    let mut seconds: Vec<f64> = runs.iter().map(|(seconds, _)| *seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let rate = |s: f64| (IOS * CONFIGURATIONS) as f64 / s / 1e9;
    let ((low, high), (_, miss_rate)) = ((seconds[0], seconds[seconds.len() - 1]), runs[0]);
    let median = seconds[seconds.len() / 2];
    println!(
        "{:<44} {median:6.3} s  {:5.2} [{:.2}, {:.2}] e9 I/O x configurations/s, miss rate {:.3}",
        case.name,
        rate(median),
        rate(high),
        rate(low),
        miss_rate,
    );
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let rounds = args.first().and_then(|n| n.parse().ok()).unwrap_or(3);
    let (one, sixteen) = (recording(1), recording(16));
    let (windowed, long, pas) = (windowed(STANDARD), windowed(LONG_WINDOWS), pas());
    let (constant, calibrated) = (constant(), calibrated());
    let case = |name, trace, policies, cost, percentiles| SweepCase {
        name,
        trace,
        policies,
        cost,
        percentiles,
    };
    let mut cases = vec![
        case("mean, min; constant", &one, &windowed, &constant, false),
        case("the same again", &one, &windowed, &constant, false),
        case("mean, min; constant, p99", &one, &windowed, &constant, true),
        case("pas; constant", &one, &pas, &constant, false),
        case("pas; constant, p99", &one, &pas, &constant, true),
        case("mean, min; calibrated", &one, &windowed, &calibrated, false),
        case(
            "mean, min; calibrated, 16 buckets, p99",
            &sixteen,
            &windowed,
            &calibrated,
            true,
        ),
        case(
            "the same, windows from 10 ms",
            &sixteen,
            &long,
            &calibrated,
            true,
        ),
    ];
    cases.retain(|case| args.get(1).is_none_or(|name| case.name.contains(name)));
    let mut runs = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (case, runs) in cases.iter().zip(&mut runs) {
            runs.push(case.run());
        }
    }
    let pairs = cases.iter().zip(&runs);
    pairs.for_each(|(case, runs)| report(case, runs));
}
