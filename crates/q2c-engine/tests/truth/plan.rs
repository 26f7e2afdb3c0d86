//! Short plans on simulated devices, of which one is run at a time.

use q2c_engine::engines::SimDevices;
use q2c_engine::{
    Activity, EngineSpec, JobPlan, LaneData, Observer, RunData, RunError, RunPlan, Wait,
};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use q2c_sys::Clock;
pub use q2c_testkit::alone;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

pub const BLOCK: u32 = 4096;

/// Context switches per I/O of a thread that waits for interrupts. There are fewer than one,
/// because an I/O can be complete before the thread has given up its CPU; this happens more often
/// where the hypervisor or another task takes the CPU meanwhile. A thread that polls has hardly
/// any.
pub const SWITCHES: std::ops::Range<f64> = 0.2..1.5;

/// A clock that is fitted once for all tests: a fit takes 30 ms.
pub fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(Clock::new)
}

/// The `n`th of the CPUs that this process may use; after the last the first comes again.
pub fn cpu(n: usize) -> CpuId {
    static CPUS: OnceLock<Vec<CpuId>> = OnceLock::new();
    let cpus = CPUS.get_or_init(|| q2c_sys::thread::allowed_cpus().expect("the own CPUs"));
    cpus[n % cpus.len()]
}

/// One lane of depth 1 on `engine` that keeps every sample. A simulated device is the lane's own.
pub fn job(engine: &str, activities: Vec<Activity>) -> JobPlan {
    let spec: EngineSpec = engine.parse().expect("a known engine");
    JobPlan {
        name: format!("lane on {engine}"),
        medium: SimDevices::default().medium(&spec).expect("its device"),
        engine: spec,
        pattern: "randread".parse().expect("a known pattern"),
        bs: Bytes(BLOCK.into()),
        base: Bytes(0),
        span: Bytes(1 << 30),
        depth: 1,
        cpu: cpu(0),
        seed: 5,
        activities,
        capacity: 100_000,
        tally: false,
        rate: None,
        think: None,
        stop_on_fault: false,
    }
}

/// A plan that takes `jobs` through phases of these lengths in milliseconds.
pub fn plan(phases_ms: &[u64], jobs: Vec<JobPlan>) -> RunPlan {
    RunPlan {
        phases: phases_ms.iter().map(|&ms| Nanos::from_millis(ms)).collect(),
        jobs,
        interval: Nanos::from_millis(20),
        sampler_cpu: Some(cpu(1)),
        time: clock().into(),
    }
}

pub fn run(plan: RunPlan) -> Result<RunData, RunError> {
    run_watched(plan, &mut ())
}

pub fn run_watched(
    plan: RunPlan,
    observer: &mut (dyn Observer + Send),
) -> Result<RunData, RunError> {
    q2c_engine::run(plan, observer, &AtomicBool::new(false))
}

/// The results of one lane in one phase.
pub fn once(engine: &str, wait: Wait, ms: u64) -> LaneData {
    let job = job(engine, vec![Activity::Start(wait)]);
    let mut data = run(plan(&[ms], vec![job])).expect("a run");
    data.lanes.remove(0)
}

pub fn hybrid(rule: &str) -> Wait {
    let spec: PolicySpec = rule.parse().expect("a known rule");
    Wait::Hybrid(spec.build(1).remove(0))
}

/// A rule whose decision is a function of the I/O's number, from 1.
pub struct Scripted<F>(F, u64);

impl<F: Fn(u64) -> Decision + Send + 'static> Scripted<F> {
    pub fn wait(answer: F) -> Wait {
        Wait::Hybrid(Box::new(Scripted(answer, 0)))
    }
}

impl<F: Fn(u64) -> Decision + Send> Lane for Scripted<F> {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        self.1 += 1;
        (self.0(self.1), Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}

pub fn median_of(values: impl Iterator<Item = u64>) -> f64 {
    let values: Vec<f64> = values.map(|v| v as f64).collect();
    assert!(!values.is_empty(), "nothing to take the median of");
    q2c_stats::median(&q2c_stats::sorted(&values))
}
