//! A submitting thread of a replay: it opens its engine, waits for the common start, and works.

use crate::time::RealClock;
use crate::worker::{EngineSubmitter, ReplayWorker, Schedule, ThreadAccount};
use crate::{
    GateRule, ReplayCounts, ReplayError, ReplayPlan, ReplayTarget, RowSender, ScheduledIo, Shared,
};
use q2c_engine::engine::{Engine, EngineError};
use q2c_engine::start::{Member, Start};
use q2c_model::CpuId;
use q2c_sys::clock::thread_cpu_ns;
use q2c_sys::{Clock, thread};
use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;
use std::thread::{Builder, Scope, ScopedJoinHandle};

pub(super) struct ThreadSetup<'a> {
    pub number: usize,
    pub plan: &'a ReplayPlan,
    pub deliveries: Receiver<Vec<ScheduledIo>>,
    pub shared: &'a Shared<'a>,
    pub counts: ReplayCounts,
    pub rows: Option<RowSender>,
    pub clock: Clock,
    pub start: &'a Start,
}

type SubmitResult = Result<(ReplayCounts, Option<RowSender>), EngineError>;

pub(super) type SubmittingThread<'s> = ScopedJoinHandle<'s, SubmitResult>;

/// Starts a thread named after its work.
pub(super) fn spawn_named<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    name: &str,
    body: impl FnOnce() -> T + Send + 's,
) -> Result<ScopedJoinHandle<'s, T>, ReplayError> {
    let thread = Builder::new().name(format!("q2c-{name}"));
    thread.spawn_scoped(scope, body).map_err(ReplayError::Spawn)
}

pub(super) fn submit(setup: ThreadSetup<'_>) -> SubmitResult {
    let (plan, shared) = (setup.plan, setup.shared);
    let target = &plan.targets[setup.number / plan.submitters];
    let member = Member::new(setup.start, setup.number, &shared.failed);
    let opened = open(plan, target, setup.number);
    let begin_ns = member.ready(opened.is_ok());
    let engine = member.checked(opened)?;
    let Some(begin_ns) = begin_ns else {
        return Ok((setup.counts, setup.rows));
    };
    let (rule, count) = GateRule::from_mode(&plan.mode);
    let may_sleep = target.engine.may_sleep_in_submission();
    let worker = ReplayWorker {
        schedule: Schedule::new(rule, count, setup.deliveries, &shared.progress),
        submitter: EngineSubmitter::new(engine, may_sleep, plan.in_flight),
        account: ThreadAccount::new(setup.counts, setup.rows),
        shared,
        on_error: plan.on_error,
        may_poll: has_spare_cpus(plan),
        time: RealClock::new(setup.clock, begin_ns, plan.spin),
    };
    let (mut counts, rows) = member.checked(worker.run())?;
    counts.cpu_ns = thread_cpu_ns();
    Ok((counts, rows))
}

/// True if every submitting thread can have its own CPU, and one is left for the other threads.
pub fn has_spare_cpus(plan: &ReplayPlan) -> bool {
    let threads = plan.threads();
    let named: BTreeSet<&CpuId> = plan.cpus.iter().collect();
    let enough_named = named.is_empty() || named.len() >= threads;
    enough_named && threads < plan.room
}

/// Moves the calling thread off the CPUs of the submitting threads, if it may run on others.
pub fn avoid_submitter_cpus(plan: &ReplayPlan) {
    let submitter_cpus = &plan.cpus[..plan.cpus.len().min(plan.threads())];
    let allowed = thread::allowed_cpus().unwrap_or_default();
    let mut other_cpus = allowed;
    other_cpus.retain(|cpu| !submitter_cpus.contains(cpu));
    if !other_cpus.is_empty() {
        // If this is refused, the kernel chooses the CPU.
        thread::allow(&other_cpus).ok();
    }
}

fn open(
    plan: &ReplayPlan,
    target: &ReplayTarget,
    number: usize,
) -> Result<Box<dyn Engine>, EngineError> {
    if !plan.cpus.is_empty() {
        let cpu = plan.cpus[number % plan.cpus.len()];
        thread::pin(cpu).map_err(|source| EngineError::Pin { cpu: cpu.0, source })?;
    }
    // With the default timer slack sleeps end up to 50 us late, and the margin that waits learn
    // would grow by that much.
    thread::minimize_timer_slack().ok();
    let (medium, seed) = (&target.medium, plan.seed + number as u64);
    target.engine.open_in(medium, plan.memory, seed)
}

/// The counts and lost rows of all threads together, or the first error or panic in their order.
pub(super) fn join_all(
    threads: Vec<SubmittingThread<'_>>,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let panicked = || ReplayError::Panic("submitting");
    let join = |thread: SubmittingThread<'_>| match thread.join() {
        Ok(result) => result.map_err(ReplayError::from),
        Err(_) => Err(panicked()),
    };
    // All threads are joined, even after one that failed.
    let joined: Vec<_> = threads.into_iter().map(join).collect();
    let joined = joined.into_iter().collect::<Result<Vec<_>, _>>()?;
    let rows = joined.iter().flat_map(|(_, rows)| rows);
    let lost = rows.map(|rows| rows.lost).sum();
    let total = joined.into_iter().map(|(counts, _)| counts);
    let total = total.reduce(|mut total, counts| {
        total.merge(counts);
        total
    });
    Ok((total.ok_or_else(panicked)?, lost))
}
