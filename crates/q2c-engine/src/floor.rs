//! The harness's own cost: what the loop charges for an I/O that takes no time.

use crate::engines::{EngineSpec, Medium};
use crate::lane::Wait;
use crate::pattern::Pattern;
use crate::run::{Activity, JobPlan, PhaseData, RunError, RunPlan, run};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_sys::Clock;
use std::sync::atomic::AtomicBool;

/// Runs of which the one with most I/Os counts: others may have met other tasks.
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
    let mut best = PhaseData::default();
    for _ in 0..RUNS {
        let phase = once(clock, cpu)?;
        if phase.ios > best.ios {
            best = phase;
        }
    }
    Ok((best.end.cpu_ns - best.begin.cpu_ns) as f64 / best.ios as f64)
}

fn once(clock: Clock, cpu: CpuId) -> Result<PhaseData, RunError> {
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
        tally: false,
        stop_on_fault: true,
    };
    let plan = RunPlan {
        phases: vec![LENGTH],
        jobs: vec![job],
        interval: LENGTH,
        sampler_cpu: None,
        clock,
    };
    let mut data = run(plan, &mut (), &AtomicBool::new(false))?;
    Ok(data.lanes.swap_remove(0).phases.swap_remove(0))
}
