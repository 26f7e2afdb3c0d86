//! A submitting thread of a replay: it opens its engine, waits for the common start, and works.

use crate::feed::{Deliveries, Delivery, MAX_QUEUED_BATCHES};
use crate::time::{EventClock, RunClock};
use crate::worker::{EngineSubmitter, ReplayWorker, Schedule, ThreadAccount};
use crate::{
    GateRule, ReplayCounts, ReplayError, ReplayPlan, ReplayTarget, RowSender, ScheduledIo, Shared,
    ThreadClock,
};
use q2c_engine::engine::{Engine, EngineError};
use q2c_engine::start::{Member, Start};
use q2c_engine::{Meeting, Real, ThreadBody, Time, World, run_in_world};
use q2c_model::CpuId;
use q2c_sys::{Clock, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

pub(super) struct ThreadSetup<'a> {
    pub number: usize,
    pub plan: &'a ReplayPlan,
    pub shared: &'a Shared<'a>,
    pub counts: ReplayCounts,
    pub rows: Option<RowSender>,
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

type RequestSenders = Vec<SyncSender<Vec<ScheduledIo>>>;

/// Starts the submitting threads in real time. Returns them with the channels of their requests.
pub(super) fn spawn_submitters<'s>(
    scope: &'s Scope<'s, '_>,
    setups: Vec<ThreadSetup<'s>>,
    clock: Clock,
    start: &'s Start,
) -> Result<(Vec<SubmittingThread<'s>>, RequestSenders), ReplayError> {
    let (mut submitting, mut senders) = (Vec::new(), Vec::new());
    for setup in setups {
        let (sender, deliveries) = sync_channel(MAX_QUEUED_BATCHES);
        senders.push(sender);
        let body = move || {
            let member = Member::new(start, setup.number, &setup.shared.failed);
            let [time, engine_time] = [clock, Clock::MONOTONIC].map(Real);
            let spin = setup.plan.spin;
            let clock = |start_ns| RunClock::new(time, engine_time, start_ns, spin);
            let deliveries = move || deliveries.try_recv();
            submit(setup, engine_time, &member, deliveries, clock)
        };
        submitting.push(spawn_named(scope, "submitter", body)?);
    }
    Ok((submitting, senders))
}

/// Runs the submitting threads in simulated time, and returns when all have ended. If the plan
/// names no CPUs, their steps take no time.
pub(super) fn submit_in_world(
    world: &World,
    setups: Vec<ThreadSetup<'_>>,
    deliveries: Deliveries,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let results: Vec<Cell<Option<SubmitResult>>> = setups.iter().map(|_| Cell::new(None)).collect();
    let deliveries = &RefCell::new(deliveries);
    let mut bodies: Vec<ThreadBody<'_>> = Vec::with_capacity(setups.len());
    for (setup, result) in setups.into_iter().zip(&results) {
        let (number, plan) = (setup.number, setup.plan);
        let deliver = move || deliveries.borrow_mut().next(number);
        bodies.push(Box::new(move |time| {
            result.set(Some(if plan.cpus.is_empty() {
                let clock = |start_ns| EventClock::new(time, start_ns);
                submit(setup, time, &time, deliver, clock)
            } else {
                let clock = |start_ns| RunClock::new(time, time, start_ns, plan.spin);
                submit(setup, time, &time, deliver, clock)
            }));
        }));
    }
    let panicked = |_thread| ReplayError::Panic("submitting");
    run_in_world(world, bodies).map_err(panicked)?;
    let results = results.into_iter().filter_map(Cell::into_inner);
    total(
        results
            .map(|result| result.map_err(ReplayError::from))
            .collect(),
    )
}

/// The work of a submitting thread. `engine_time` is the clock of its engine. `clock` makes the
/// thread's clock for a replay that starts at this time of the run's clock, ns.
fn submit<'a, T: Time + 'a, C: ThreadClock>(
    setup: ThreadSetup<'a>,
    engine_time: T,
    meeting: &impl Meeting,
    deliveries: impl FnMut() -> Delivery,
    clock: impl FnOnce(u64) -> C,
) -> SubmitResult {
    let (plan, shared) = (setup.plan, setup.shared);
    let target = &plan.targets[setup.number / plan.submitters];
    let opened = open(plan, target, setup.number, engine_time);
    let start_ns = meeting.ready(opened.is_ok());
    let engine = shared.note_failure(opened)?;
    let Some(start_ns) = start_ns else {
        return Ok((setup.counts, setup.rows));
    };
    let (rule, count) = GateRule::from_mode(&plan.mode);
    let may_sleep = target.engine.may_sleep_in_submission();
    let mut schedule = Schedule::new(rule, count, deliveries, &shared.progress);
    // In simulated time all requests that may wait here are known at the start, so the order of
    // streams does not depend on how their requests are divided into deliveries.
    while T::SIMULATED && schedule.take() {}
    let worker = ReplayWorker {
        schedule,
        submitter: EngineSubmitter::new(engine, may_sleep, plan.in_flight),
        account: ThreadAccount::new(setup.counts, setup.rows),
        shared,
        on_error: plan.on_error,
        may_poll: has_spare_cpus(plan),
        waits_for_others: false,
        time: clock(start_ns),
    };
    let (mut counts, rows) = shared.note_failure(worker.run())?;
    counts.cpu_ns = engine_time.cpu_ns();
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

fn open<'a, T: Time + 'a>(
    plan: &ReplayPlan,
    target: &ReplayTarget,
    number: usize,
    time: T,
) -> Result<Box<dyn Engine + 'a>, EngineError> {
    if let Some(&cpu) = plan.cpus.get(number % plan.cpus.len().max(1)) {
        let pinned = time.pin(cpu);
        pinned.map_err(|source| EngineError::Pin { cpu: cpu.0, source })?;
    } else if !T::SIMULATED {
        // With the default timer slack sleeps end up to 50 us late, and the margin that waits learn
        // would grow by that much.
        thread::minimize_timer_slack().ok();
    }
    let (medium, seed) = (&target.medium, plan.seed + number as u64);
    target.engine.open_at(time, medium, plan.memory, seed)
}

/// Waits for all threads, and returns their [`total`].
pub(super) fn join_all(
    threads: Vec<SubmittingThread<'_>>,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let join = |thread: SubmittingThread<'_>| match thread.join() {
        Ok(result) => result.map_err(ReplayError::from),
        Err(_) => Err(ReplayError::Panic("submitting")),
    };
    // All threads are joined, even after one that failed.
    total(threads.into_iter().map(join).collect())
}

/// The counts and lost rows of all threads together, or the first error or panic in their order.
fn total(
    results: Vec<Result<(ReplayCounts, Option<RowSender>), ReplayError>>,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let ended = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    let rows = ended.iter().flat_map(|(_, rows)| rows);
    let lost = rows.map(|rows| rows.lost).sum();
    let total = ended.into_iter().map(|(counts, _)| counts);
    let total = total.reduce(|mut total, counts| {
        total.merge(counts);
        total
    });
    Ok((total.ok_or(ReplayError::Panic("submitting"))?, lost))
}
