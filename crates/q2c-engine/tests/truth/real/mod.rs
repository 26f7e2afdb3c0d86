//! What a world does not have, on the machine that the tests run on: threads of the kernel and
//! their CPU time, its clock and its timers, its interfaces for I/O, and a stop from another
//! thread.
//!
//! All bounds hold however busy the machine is: nothing completes or wakes early, what has happened
//! is counted once, and a thread's own work does not grow with the work of others. Nothing is said
//! of how fast it goes.

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

/// A clock that is fitted once for all tests: a fit takes 30 ms.
fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(Clock::new)
}

/// The `n`th of the CPUs that this process may use; after the last the first comes again.
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

/// The same plan on this machine: its lanes go to CPUs that there are.
fn here(plan: RunPlan) -> RunPlan {
    let mut jobs = plan.jobs;
    // A CPU that no machine has stays as it is.
    let far = |job: &&mut JobPlan| job.cpu.0 < 1_000;
    jobs.iter_mut()
        .filter(far)
        .for_each(|job| job.cpu = cpu(job.cpu.0 as usize));
    RunPlan {
        jobs,
        sampler_cpu: Some(cpu(1)),
        time: clock().into(),
        ..plan
    }
}

/// The results of one lane, or why its engine cannot be had here.
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
