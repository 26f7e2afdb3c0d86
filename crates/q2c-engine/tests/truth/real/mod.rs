//! Tests of what a world does not have, on the machine that they run on: kernel threads and their
//! CPU time, the clock and the timers, the interfaces for I/O, and a stop from another thread.
//!
//! All bounds hold on a busy machine too: nothing completes or wakes early, what has happened is
//! counted once, and a thread's own work does not grow with that of others. No test checks speed.

mod disk;
mod engines;
mod live;
mod threads;
mod times;

use crate::plan;
use q2c_engine::{Activity, JobPlan, LaneData, RunError, RunPlan};
use q2c_model::CpuId;
use q2c_sys::Clock;
use std::sync::OnceLock;

/// A clock that is calibrated once for all tests, because that takes 30 ms.
fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(Clock::new)
}

/// The `n`th of the CPUs that this process may use, from 0; after the last comes the first.
fn cpu(n: usize) -> CpuId {
    static CPUS: OnceLock<Vec<CpuId>> = OnceLock::new();
    let cpus = CPUS.get_or_init(|| q2c_sys::thread::allowed_cpus().expect("the own CPUs"));
    cpus[n % cpus.len()]
}

fn job(engine: &str, activities: Vec<Activity>) -> JobPlan {
    JobPlan {
        cpu: cpu(0),
        ..plan::job(engine, activities)
    }
}

/// The same plan on this machine, with its lanes on CPUs that exist.
fn on_this_machine(plan: RunPlan) -> RunPlan {
    let mut jobs = plan.jobs;
    // A CPU that no machine has is not changed.
    let exists = |job: &&mut JobPlan| job.cpu.0 < 1_000;
    jobs.iter_mut()
        .filter(exists)
        .for_each(|job| job.cpu = cpu(job.cpu.0 as usize));
    RunPlan {
        jobs,
        sampler_cpu: Some(cpu(1)),
        time: clock().into(),
        ..plan
    }
}

/// The results of one lane, or the reason why its engine is not available here.
fn run_one(phases_ms: &[u64], job: JobPlan) -> Result<LaneData, String> {
    let plan = RunPlan {
        time: clock().into(),
        ..plan::plan(phases_ms, vec![job])
    };
    match plan::run(plan) {
        Ok(mut data) => Ok(data.lanes.remove(0)),
        Err(RunError::Lane { source, .. }) => Err(source.to_string()),
        Err(e) => panic!("{e}"),
    }
}
