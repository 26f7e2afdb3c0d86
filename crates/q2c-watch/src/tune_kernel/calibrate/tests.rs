use super::*;
use crate::steer::polled_read;
use crate::tune_kernel::lanes::lanes;
use q2c_model::Rates;
use q2c_result::kernel_watch::KernelInterval;
use q2c_sim::{Drive, Waiting, simulate};

/// A fake machine with known times, ns: one thread, requests of 80 to 120 us in an order without
/// pattern, 3 us of computing between them. A sleep begins 2 us after the hand-over, ends 5 to 6 us
/// late, takes 1 us of CPU and makes the device 0.5 us slower. `rested` is the time that the device
/// gains by a sleep: an emulated CPU that polls keeps a CPU of the host from it.
#[derive(Clone, Copy, Default)]
struct SyntheticMachine {
    rested: f64,
}

/// The machine whose device takes the same time with a sleep and without.
const PLAIN: SyntheticMachine = SyntheticMachine { rested: 0.0 };

const THINK: f64 = 3_000.0;
const SHORTEST: f64 = 80_000.0;
const BEFORE_SLEEP: f64 = 2_000.0;
const SLEEP_CPU: f64 = 1_000.0;
const SLOWER: f64 = 500.0;
const REQUESTS: u64 = 4_000;

struct SyntheticRequest {
    d2c: f64,
    cpu: f64,
    missed: bool,
    slept: f64,
}

impl SyntheticMachine {
    fn latency(n: u64) -> f64 {
        SHORTEST + (n * 7_919 % 40_009) as f64
    }

    fn delay(n: u64) -> f64 {
        5_000.0 + (n * 104_729 % 1_009) as f64
    }

    /// Request `n` with a sleep of `asked`, 0 for classic polling.
    fn request(self, n: u64, asked: f64) -> SyntheticRequest {
        if asked == 0.0 {
            let d2c = Self::latency(n);
            return SyntheticRequest {
                d2c,
                cpu: THINK + d2c,
                missed: false,
                slept: 0.0,
            };
        }
        let slept = asked + Self::delay(n);
        let looks = BEFORE_SLEEP + slept;
        let rests = asked >= 0.85 * SHORTEST;
        let gain = if rests { self.rested } else { 0.0 };
        let complete = Self::latency(n) + SLOWER - gain;
        let polled = (complete - looks).max(0.0);
        SyntheticRequest {
            d2c: complete.max(looks),
            cpu: THINK + SLEEP_CPU + polled,
            missed: complete <= looks,
            slept,
        }
    }

    fn stretch(self, asked: f64) -> Stretch {
        let (mut at, mut cpu, mut missed, mut slept) = (0.0, 0.0, 0_u64, 0.0);
        let mut completions = Vec::new();
        for n in 0..REQUESTS {
            let request = self.request(n, asked);
            at += THINK + request.d2c;
            cpu += request.cpu;
            missed += u64::from(request.missed);
            slept += request.slept;
            completions.push(polled_read(Nanos(at as u64), Nanos(request.d2c as u64)));
        }
        let requests = REQUESTS as f64;
        Stretch {
            total: KernelInterval {
                length_s: at / 1e9,
                polled: REQUESTS,
                missed,
                threads: 1,
                busy_cpus: Some(cpu / at),
                rates: Rates {
                    iops: Some(requests / at * 1e9),
                    cpu_pct: Some(cpu / at * 100.0),
                    miss_rate: Some(missed as f64 / requests),
                    effective_sleep_ns: Some(asked),
                },
                slept_ns: (asked > 0.0).then_some(slept / requests),
                ..KernelInterval::default()
            },
            series: Vec::new(),
            completions,
        }
    }
}

fn recorded() -> Vec<f64> {
    PLAIN.stretch(0.0).d2c_ns()
}

fn cost(machine: SyntheticMachine) -> CostModel {
    let classic = machine.stretch(0.0);
    let point = |us: u32| {
        let slept = machine.stretch(f64::from(us) * 1e3);
        KernelSleepPoint::new(us, slept, [&classic, &classic])
    };
    let points: Vec<KernelSleepPoint> = sleeps_us(&recorded()).into_iter().map(point).collect();
    fit(&points)
}

#[test]
fn the_ladder_is_below_and_above_the_latencies() {
    // p10 is 84 us and p90 116 us.
    assert_eq!(sleeps_us(&recorded()), [25, 50, 67, 76, 84, 145]);
}

#[test]
fn the_costs_are_those_of_the_machine() {
    let cost = cost(PLAIN);
    let near = |name: &str, got: f64, wanted: f64, tolerance: f64| {
        let error = (got - wanted).abs();
        assert!(error <= tolerance, "{name}: {got}, wanted {wanted}");
    };
    for asked in [25_000.0, 50_000.0, 84_000.0, 145_000.0] {
        let late = BEFORE_SLEEP + 5_504.0;
        let base = cost.wake_clear.base_ns.value_at(asked);
        near("lateness", base, late, 60.0);
        let cpu = cost.sleep_cpu_clear_ns.value_at(asked);
        near("CPU of a clear sleep", cpu, SLEEP_CPU, 60.0);
    }
    let cpu = cost.sleep_cpu_hit_ns.value_at(0.0);
    near("CPU of a hit sleep", cpu, SLEEP_CPU, 60.0);
    // The added latency comes from the medians of D2C; at the last point, from its miss rate.
    for (asked, tolerance) in [(50_000.0, 20.0), (84_000.0, 100.0)] {
        let added = cost.added_latency_ns.value_at(asked);
        near("added latency", added, SLOWER, tolerance);
    }
    let (least, most) = cost.wake_clear.bounds(50_000.0);
    near("least", least, BEFORE_SLEEP + 5_000.0, 60.0);
    near("most", most, BEFORE_SLEEP + 6_009.0, 60.0);
}

/// Checks that the simulator predicts the machine for sleeps that never, sometimes and always miss.
fn predicts(machine: SyntheticMachine, sleeps: &[u32], max_error: f64) {
    let (lanes, _) = lanes(&machine.stretch(0.0).completions);
    let cost = cost(machine);
    for us in sleeps {
        let asked = f64::from(*us) * 1e3;
        let measured = machine.stretch(asked).total.rates;
        let rule = format!("hybrid:fixed:{us}us").parse().expect("a rule");
        let waiting = Waiting::from_method(&rule, 1);
        let got = simulate(&lanes, &cost, waiting, Drive::one_pass(7));
        let got = got.gives.rates;
        let measured = measured.map(|rate| rate.expect("measured"));
        let details = format!("{us} us: {got:?}, {measured:?}");
        let error = (got.miss_rate - measured.miss_rate).abs();
        assert!(error < max_error, "{details}");
        let error = (got.cpu_pct - measured.cpu_pct).abs();
        assert!(error < 0.5 + 50.0 * (max_error - 0.01), "{details}");
        assert!((got.iops / measured.iops - 1.0).abs() < 0.005, "{details}");
    }
}

#[test]
fn predictions_are_what_the_machine_does() {
    predicts(PLAIN, &[40, 80, 95, 105, 130], 0.01);
}

/// Short sleeps do not show what the device gains by long ones; the miss rate of longer ones does.
/// Without it the miss rate at 80 us would be predicted 20 percentage points too low.
#[test]
fn a_device_that_gains_by_long_sleeps_is_predicted_by_their_misses() {
    let machine = SyntheticMachine { rested: 8_000.0 };
    predicts(machine, &[40, 76, 80, 84], 0.03);
}
