//! Short plans on simulated devices, each in its own world, and the costs of steps there.

use q2c_engine::engines::SimDevices;
use q2c_engine::{
    Activity, EngineSpec, JobPlan, LaneData, RunData, RunError, RunPlan, SimMachine, Wait, World,
};
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use std::sync::atomic::AtomicBool;

pub(crate) const BLOCK: u32 = 4096;
pub(crate) const MS: u64 = 1_000_000;

/// Time from the reaping of a completion to the next submission, ns.
pub(crate) const TURNAROUND: u64 = 100;
pub(crate) const SUBMISSION: u64 = 500;
/// Time of a lane's steps from the reaping to the return of the next submission, ns.
pub(crate) const STEPS: u64 = TURNAROUND + SUBMISSION;
pub(crate) const LOOK: u64 = 50;
/// CPU time that a thread takes to leave its CPU and to come back, ns.
pub(crate) const SWITCH: u64 = 1_500;
/// Time from the end of a timed sleep until the thread runs, ns.
pub(crate) const WAKE: u64 = 2_500;
/// Time from a completion until the thread that waits for its interrupt has reaped it, ns.
pub(crate) const INTERRUPT: u64 = 3_000;

/// A world with these costs.
pub(crate) fn world() -> World {
    World::new(SimMachine {
        turnaround_ns: TURNAROUND,
        submission_ns: SUBMISSION,
        look_ns: LOOK,
        switch_ns: SWITCH,
        wake_delay_ns: WAKE,
        interrupt_delay_ns: INTERRUPT,
        ..SimMachine::default()
    })
}

/// The number of I/Os of a lane that does one every `cycle` ns, in a run of `ms`. The lane sleeps
/// until the start, so it begins when it has woken.
pub(crate) fn ios_in(ms: u64, cycle: u64) -> u64 {
    (ms * MS - WAKE).div_ceil(cycle)
}

/// One lane of depth 1 on `engine` that keeps every sample. A simulated device is not shared.
pub(crate) fn job(engine: &str, activities: Vec<Activity>) -> JobPlan {
    let spec: EngineSpec = engine.parse().expect("a known engine");
    let medium = SimDevices::default().medium(&spec).expect("its device");
    JobPlan {
        name: format!("lane on {engine}"),
        seed: 5,
        capacity: 100_000,
        ..JobPlan::new(spec, medium, activities)
    }
}

/// A plan that takes `jobs` through phases of these lengths in milliseconds.
pub(crate) fn plan(phases_ms: &[u64], jobs: Vec<JobPlan>) -> RunPlan {
    RunPlan {
        phases: phases_ms.iter().map(|&ms| Nanos::from_millis(ms)).collect(),
        jobs,
        interval: Nanos::from_millis(20),
        sampler_cpu: None,
        time: world().into(),
    }
}

pub(crate) fn run(plan: RunPlan) -> Result<RunData, RunError> {
    run_watched(plan, &mut |_| {})
}

pub(crate) fn run_watched(
    plan: RunPlan,
    on_boundary: &mut (dyn FnMut(usize) + Send),
) -> Result<RunData, RunError> {
    q2c_engine::run(plan, on_boundary, &AtomicBool::new(false))
}

/// The results of one lane.
pub(crate) fn run_one(phases_ms: &[u64], job: JobPlan) -> LaneData {
    let data = run(plan(phases_ms, vec![job]));
    data.expect("a run that can be done").lanes.remove(0)
}

/// The results of one lane in one phase.
pub(crate) fn once(engine: &str, wait: Wait, ms: u64) -> LaneData {
    run_one(&[ms], job(engine, vec![Activity::Start(wait)]))
}

pub(crate) fn hybrid(rule: &str) -> Wait {
    let spec: PolicySpec = rule.parse().expect("a known rule");
    Wait::Hybrid(spec.build(1).remove(0))
}

/// A rule whose decision is a function of the I/O's number, which counts from 1.
pub(crate) struct Scripted<F>(F, u64);

impl<F: FnMut(u64) -> Decision + Send + 'static> Scripted<F> {
    pub(crate) fn wait(answer: F) -> Wait {
        Wait::Hybrid(Box::new(Scripted(answer, 0)))
    }
}

impl<F: FnMut(u64) -> Decision + Send> Lane for Scripted<F> {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        let Scripted(answer, number) = self;
        *number += 1;
        (answer(*number), Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}
