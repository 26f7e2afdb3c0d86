//! The harness's own cost: the CPU time of the loop for an I/O that itself takes no time.

use crate::run::run;
use crate::{Activity, EngineSpec, JobPlan, Medium, PhaseData, RunError, RunPlan, TimeSource};
use q2c_model::{CpuId, Nanos};
use q2c_policy::Wait;
use q2c_sys::Clock;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;

/// Number of runs. Only the run with the most I/Os counts, because other tasks may have disturbed
/// the other runs.
const RUNS: usize = 5;
const RUN_LENGTH: Nanos = Nanos::from_millis(8);
/// The most samples of a run: one for every I/O, down to 15 ns each. All samples must be kept,
/// because an I/O that is only counted costs less.
const CAPACITY: usize = 1 << 19;

/// Readings of the clock in a batch, and number of batches. The cheapest batch counts.
const READINGS: u32 = 10_000;
const BATCHES: u32 = 5;

/// The cost of one clock reading on this thread's CPU, ns. Measuring takes a millisecond if the
/// clock is cheap.
pub fn clock_ns(clock: Clock) -> f64 {
    let batch = || {
        let start = clock.now();
        (0..READINGS).for_each(|_| {
            black_box(clock.now());
        });
        (clock.now() - start) as f64 / f64::from(READINGS)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

/// Thread CPU per I/O, ns, of classic polling on the `null` engine on `cpu`, with every sample
/// recorded. Measuring takes about 0.1 s.
pub fn measure(time: &TimeSource, cpu: CpuId) -> Result<f64, RunError> {
    ns_per_io(time, cpu, CAPACITY)
}

/// As [`measure`], but I/Os are only counted, with no samples and no times.
pub fn measure_counting(time: &TimeSource, cpu: CpuId) -> Result<f64, RunError> {
    ns_per_io(time, cpu, 0)
}

/// In simulated time an I/O that takes no time costs what the machine says, so no run is needed.
fn ns_per_io(time: &TimeSource, cpu: CpuId, capacity: usize) -> Result<f64, RunError> {
    if let Some(world) = time.world() {
        return Ok(world.machine().at_speed().turnaround_ns as f64);
    }
    let mut best = PhaseData::default();
    for _ in 0..RUNS {
        let activities = vec![Activity::Start(Wait::Poll)];
        let job = JobPlan {
            name: "floor".to_owned(),
            cpu,
            capacity,
            stop_on_fault: true,
            ..JobPlan::new(EngineSpec::Null, Medium::None, activities)
        };
        let plan = RunPlan {
            phases: vec![RUN_LENGTH],
            jobs: vec![job],
            interval: RUN_LENGTH,
            sampler_cpu: None,
            time: time.clone(),
        };
        let mut data = run(plan, &mut |_| {}, &AtomicBool::new(false))?;
        let phase = data.lanes.swap_remove(0).phases.swap_remove(0);
        if phase.ios > best.ios {
            best = phase;
        }
    }
    Ok((best.end.cpu_ns - best.begin.cpu_ns) as f64 / best.ios as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_costs_something_and_less_than_a_sleep() {
        let cost = clock_ns(Clock::new());
        assert!((1.0..50_000.0).contains(&cost), "{cost}");
    }
}
