//! Calibration on fake machines whose speeds are known.

use super::*;
use std::io;

struct SyntheticMachine {
    beside_compute: f64,
    beside_polling: f64,
    calls: u32,
}

impl PairMachine for SyntheticMachine {
    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64> {
        self.calls += 1;
        let base = 1_000.0 * (1.0 + f64::from(own as u32));
        let speed = match (own.polls(), neighbour, same_cpu) {
            (_, Some(_), true) => 0.5,
            (_, None, _) | (true, Some(_), false) => 1.0,
            (false, Some(other), false) if other.polls() => self.beside_polling,
            (false, Some(_), false) => self.beside_compute,
        };
        Ok(base * speed)
    }
}

const PLAN: CalibrationPlan = CalibrationPlan {
    trials: 5,
    trial: Duration::from_millis(1),
    seed: 1,
};

type MeasuredPairs = Result<(Vec<Pair>, Speeds), Fault>;

fn measured(
    beside_compute: f64,
    beside_polling: f64,
    stop: bool,
) -> (SyntheticMachine, MeasuredPairs) {
    let mut machine = SyntheticMachine {
        beside_compute,
        beside_polling,
        calls: 0,
    };
    let cpus = (CpuId(0), CpuId(1));
    let measured = measure(&mut machine, cpus, PLAN, &AtomicBool::new(stop));
    (machine, measured)
}

#[test]
fn the_truth_of_a_machine_is_found() {
    let (machine, measured) = measured(0.6, 0.8, false);
    let (pairs, speeds) = measured.unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(speeds.compute_beside_compute, 0.6);
    close(speeds.compute_beside_polling, 0.8);
    close(speeds.polling_beside_compute, 1.0);
    let shared = pairs.iter().find(|pair| pair.same_cpu).unwrap();
    close(shared.speed.median, 0.5);
    assert_eq!(machine.calls as usize, 5 * cells(&Work::POLLING).len());
    assert_eq!(machine.calls as usize, trial_count(&machine, 5));
}

#[test]
fn without_a_shared_pipeline_no_gain_is_told_and_a_signal_ends_it() {
    let refused = measured(0.98, 0.99, false).1.unwrap_err();
    let speed = "98.0 % of their speed alone";
    assert!(refused.message().contains(speed), "{refused}");
    assert_eq!(refused.exit(), Exit::Environment);
    let stopped = measured(0.5, 0.9, true).1.unwrap_err();
    assert_eq!(stopped.exit(), Exit::Interrupted);
}

#[test]
fn a_pair_runs_on_this_machine() {
    let cpus = q2c_sys::thread::allowed_cpus().expect("CPUs");
    let [own, other, ..] = cpus[..] else {
        q2c_testkit::skip("a pair of tasks", "this process may use one CPU only");
        return;
    };
    let mut pair = Siblings {
        own,
        other,
        trial: Duration::from_millis(60),
        device: None,
    };
    let mut rate = |beside, shared| pair.rate(Work::Integer, beside, shared).expect("a rate");
    let (alone, shared) = (rate(None, false), rate(Some(Work::Poll), true));
    assert!(alone > 0.0 && shared > 0.0, "{alone} {shared}");
}
