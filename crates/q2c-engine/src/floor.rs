//! The harness's own cost: what the loop charges for an I/O that takes no time.

use crate::engines::{EngineSpec, Medium};
use crate::lane::Wait;
use crate::pattern::Pattern;
use crate::run::{Activity, JobPlan, RunError, RunPlan, run};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_stats::{median, sorted};
use q2c_sys::Clock;
use std::sync::atomic::AtomicBool;

/// Runs of which the median counts: one of them may meet a tick or another task.
const RUNS: usize = 5;
/// Length of one.
const LENGTH: Nanos = Nanos::from_millis(8);
/// Room for every I/O of a run down to 15 ns each: a sample that is only counted costs less than one that is kept.
const CAPACITY: usize = 1 << 19;

/// Thread CPU per I/O of classic polling on the `null` engine on `cpu`, every sample recorded, in nanoseconds. Takes about 0.1 s.
///
/// # Errors
/// When the CPU may not be used.
pub fn measure(clock: Clock, cpu: CpuId) -> Result<f64, RunError> {
    let costs = (0..RUNS).map(|_| once(clock, cpu));
    let costs = costs.collect::<Result<Vec<f64>, RunError>>()?;
    Ok(median(&sorted(&costs)))
}

fn once(clock: Clock, cpu: CpuId) -> Result<f64, RunError> {
    let job = JobPlan {
        name: "floor".to_owned(),
        engine: EngineSpec::Null,
        medium: Medium::None,
        pattern: Pattern {
            random: true,
            write: false,
        },
        bs: Bytes(4096),
        span: Bytes(1 << 30),
        depth: 1,
        cpu,
        seed: 1,
        activities: vec![Activity::Start(Wait::Poll)],
        capacity: CAPACITY,
        stop_on_fault: true,
    };
    let plan = RunPlan {
        phases: vec![LENGTH],
        jobs: vec![job],
        interval: LENGTH,
        sampler_cpu: None,
        clock,
    };
    let data = run(plan, &mut (), &AtomicBool::new(false))?;
    let phase = &data.lanes[0].phases[0];
    Ok((phase.end.cpu_ns - phase.begin.cpu_ns) as f64 / phase.ios as f64)
}
