//! The threads of a run as coroutines on one thread.

use super::schedule::{Wake, WorldSchedule};
use crate::run::crew::{CrewJob, CrewResults, LaneWork, START_DELAY_NS, SideWork};
use crate::run::thread::{LaneResult, Meeting, lane_thread};
use crate::{LaneData, LaneStep, RunError, Time, World};
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};
use q2c_model::CpuId;
use q2c_sys::thread::ContextSwitches;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::thread::Thread;

/// The state that all threads of a run share.
struct CoroutineState<'a> {
    schedule: RefCell<WorldSchedule>,
    /// The next thread to run, as found by the thread that gave way.
    next: Cell<Option<usize>>,
    /// The common start, ns; `None` before it is known, and if there is none.
    start_ns: Cell<Option<u64>>,
    /// True while the thread beside the lanes waits for a message.
    listens: Cell<bool>,
    world: &'a World,
    halt: &'a AtomicBool,
}

#[derive(Clone, Copy)]
struct SimulatedThread<'a> {
    shared: &'a CoroutineState<'a>,
    yielder: &'a Yielder<(), ()>,
    thread: usize,
}

impl SimulatedThread<'_> {
    /// Lets other threads run until what this thread waits for has happened.
    fn give_way(self) {
        let next = self.shared.schedule.borrow_mut().next();
        if next != Some(self.thread) {
            self.shared.next.set(next);
            self.yielder.suspend(());
        }
    }

    /// Plans the next step of this thread, and lets other threads run if they come first.
    #[inline]
    fn plan(self, step: impl FnOnce(&mut WorldSchedule, usize) -> bool) {
        let must_wait = step(&mut self.shared.schedule.borrow_mut(), self.thread);
        if must_wait {
            self.give_way();
        }
    }

    fn sleep_until(self, at_ns: u64, wake: Wake) {
        let is_side_thread = {
            let mut schedule = self.shared.schedule.borrow_mut();
            schedule.sleep(self.thread, at_ns, wake);
            schedule.is_side_thread(self.thread)
        };
        self.give_way();
        if is_side_thread {
            self.shared.publish();
        }
    }
}

impl<'a> CoroutineState<'a> {
    fn time<'s>(&'s self, yielder: &'s Yielder<(), ()>, thread: usize) -> SimulatedThread<'s>
    where
        'a: 's,
    {
        SimulatedThread {
            shared: self,
            yielder,
            thread,
        }
    }

    fn begin(&self) {
        let mut schedule = self.schedule.borrow_mut();
        self.start_ns.set(Some(schedule.now + START_DELAY_NS));
        schedule.begin_all();
        self.next.set(schedule.next());
    }

    /// Stores time and counters in the world.
    fn publish(&self) {
        *self.world.lock() = self.schedule.borrow().counters();
    }
}

impl Time for SimulatedThread<'_> {
    const SIMULATED: bool = true;

    #[inline]
    fn now(self) -> u64 {
        self.shared.schedule.borrow().now
    }

    fn sleep(self, ns: u64) {
        let at = self.now().saturating_add(ns);
        self.sleep_until(at, Wake::Timer);
    }

    fn wait_for_completion(self, at_ns: u64) {
        if at_ns > self.now() {
            self.sleep_until(at_ns, Wake::Interrupt);
        }
    }

    fn park(self, at_ns: Option<u64>) {
        self.sleep_until(at_ns.unwrap_or(u64::MAX), Wake::Request);
    }

    fn unpark(self, thread_id: u32, _handle: &Thread, at_ns: u64) {
        let mut schedule = self.shared.schedule.borrow_mut();
        schedule.wake_at(thread_id as usize - 1, at_ns);
    }

    fn look_again(self, next_find: impl FnOnce(u64) -> u64) -> u64 {
        let mut last_skipped_ns = 0;
        self.plan(|schedule, thread| {
            let (now, look_ns) = (schedule.now, schedule.costs.look_ns);
            let looks = next_find(now).saturating_sub(now).div_ceil(look_ns);
            // The last of these looks finds something, so it is not skipped.
            let skipped_ns = looks.saturating_sub(1).saturating_mul(look_ns);
            last_skipped_ns = now.saturating_add(skipped_ns);
            skipped_ns > 0 && schedule.look_until(thread, last_skipped_ns)
        });
        let schedule = self.shared.schedule.borrow();
        // A thread that lost its CPU did not look during that time.
        if schedule.now > last_skipped_ns {
            schedule.threads[self.thread].left_cpu_ns
        } else {
            last_skipped_ns
        }
    }

    fn spin_until(self, at_ns: u64) {
        self.plan(|schedule, thread| schedule.look_until(thread, at_ns));
    }

    #[inline]
    fn spend(self, step: LaneStep) {
        self.plan(|schedule, thread| {
            let ns = match step {
                LaneStep::Turnaround => schedule.costs.turnaround_ns,
                LaneStep::Submission => schedule.costs.submission_ns,
                LaneStep::Look => schedule.costs.look_ns,
            };
            let must_wait = schedule.work(thread, ns);
            if schedule.is_stuck() {
                self.shared.halt.store(true, Ordering::Relaxed);
            }
            must_wait
        });
    }

    fn pin(self, cpu: CpuId) -> io::Result<()> {
        if self.shared.schedule.borrow_mut().place(self.thread, cpu) {
            return Ok(());
        }
        let cpus = self.shared.world.machine().cpus();
        let text = format!("the simulated machine has CPUs 0 to {}", cpus - 1);
        Err(io::Error::other(text))
    }

    fn thread_id(self) -> u32 {
        self.thread as u32 + 1
    }

    fn cpu(self) -> CpuId {
        self.shared.schedule.borrow().cpu_of(self.thread)
    }

    fn cpu_ns(self) -> u64 {
        self.shared.schedule.borrow().cpu_ns(self.thread)
    }

    fn cpu_ns_of(self, thread: u32) -> Option<u64> {
        Some(self.shared.schedule.borrow().cpu_ns(thread as usize - 1))
    }

    fn switches(self) -> ContextSwitches {
        self.shared.schedule.borrow().threads[self.thread].switches
    }

    fn send<M>(self, to: &SyncSender<M>, message: M) {
        to.send(message).ok();
        if self.shared.listens.get() {
            self.shared.schedule.borrow_mut().wake_side_thread();
        }
    }

    fn receive<M>(self, from: &Receiver<M>, ns: u64) -> Result<M, RecvTimeoutError> {
        let end = self.now().saturating_add(ns);
        loop {
            match from.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if self.now() >= end => {
                    return Err(RecvTimeoutError::Timeout);
                }
                Err(TryRecvError::Empty) => {
                    self.shared.listens.set(true);
                    self.sleep(end - self.now());
                    self.shared.listens.set(false);
                }
            }
        }
    }
}

type Routine<'a> = ScopedCoroutine<'a, (), (), ()>;
type OpenRoutine<'a> = ScopedCoroutineRef<'a, (), (), (), DefaultStack>;

impl Meeting for SimulatedThread<'_> {
    fn ready(&self, is_set_up: bool) -> Option<u64> {
        if !is_set_up {
            return None;
        }
        self.yielder.suspend(());
        self.shared.start_ns.get()
    }

    fn wait_for_end(&self) {}
}

/// Runs every job's `work` as a lane of `world`, and `side_work` next to them, as
/// [`run_crew`](crate::run::crew::run_crew) does with threads.
pub(crate) fn run_crew<W: LaneWork, B: SideWork>(
    jobs: Vec<CrewJob<W>>,
    world: &World,
    halt: &AtomicBool,
    side_name: &str,
    side_work: B,
) -> Result<CrewResults<B::Out>, RunError> {
    let names: Vec<String> = jobs.iter().map(|(job, _)| job.name.clone()).collect();
    let schedule = WorldSchedule::new(world.machine().at_speed(), &world.counters(), jobs.len());
    let shared = &CoroutineState {
        schedule: RefCell::new(schedule),
        next: Cell::new(None),
        start_ns: Cell::new(None),
        listens: Cell::new(false),
        world,
        halt,
    };
    let results: Vec<Cell<Option<LaneResult>>> = names.iter().map(|_| Cell::new(None)).collect();
    let side_result = &Cell::new(None);
    let mut routines: Vec<Routine<'_>> = Vec::with_capacity(jobs.len() + 1);
    for (thread, ((job, work), result)) in jobs.into_iter().zip(&results).enumerate() {
        routines.push(Routine::new(move |yielder, ()| {
            let time = shared.time(yielder, thread);
            result.set(Some(lane_thread(job, time, halt, &time, work)));
        }));
    }
    let lanes = names.len() as u32;
    routines.push(Routine::new(move |yielder, ()| {
        let time = shared.time(yielder, lanes as usize);
        let threads: Vec<u32> = (1..=lanes).collect();
        shared.publish();
        let start_ns = shared.start_ns.get().unwrap_or_default();
        side_result.set(Some(side_work.run(time, start_ns, &threads)));
    }));
    let mut outcome = Ok(());
    open_all(routines, Vec::new(), &mut |open| {
        outcome = conduct(shared, open)
    });
    shared.publish();
    let name_of = |thread: usize| names.get(thread).map_or(side_name, String::as_str);
    outcome.map_err(|thread| RunError::Panic(name_of(thread).to_owned()))?;
    let lane_data = |(lane, result): (String, Cell<Option<LaneResult>>)| match result.into_inner() {
        Some(result) => result.map_err(|source| RunError::Lane { lane, source }),
        None => Ok(LaneData::default()),
    };
    let lanes = names.into_iter().zip(results).map(lane_data);
    let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
    let schedule = shared.schedule.borrow();
    let at_ns = schedule.now;
    match (side_result.take(), shared.start_ns.get()) {
        (Some(side), Some(start_ns)) if !schedule.is_stuck() => Ok(CrewResults {
            lanes,
            side,
            start_ns,
        }),
        _ => Err(RunError::Stuck { at_ns }),
    }
}

/// Opens the scope of every coroutine, each within the previous one, and calls `then` with all of
/// them in order.
fn open_all(
    mut closed: Vec<Routine<'_>>,
    mut open: Vec<OpenRoutine<'_>>,
    then: &mut dyn FnMut(&mut [OpenRoutine<'_>]),
) {
    match closed.pop() {
        None => {
            open.reverse();
            then(&mut open);
        }
        Some(routine) => routine.scope(|routine| {
            let mut open: Vec<OpenRoutine<'_>> = open;
            open.push(routine);
            open_all(closed, open, then);
        }),
    }
}

/// Sets up the lanes one after another, then runs whichever thread is next until all have ended. If
/// a lane cannot be set up, none begins. The error is the thread that panicked.
fn conduct(shared: &CoroutineState<'_>, open: &mut [OpenRoutine<'_>]) -> Result<(), usize> {
    let lanes = open.len() - 1;
    for (thread, lane) in open[..lanes].iter_mut().enumerate() {
        if resume(lane, thread)? {
            return Ok(());
        }
    }
    shared.begin();
    let mut running = open.len();
    while let (Some(thread), true) = (shared.next.get(), running > 0) {
        if resume(&mut open[thread], thread)? {
            running -= 1;
            let mut schedule = shared.schedule.borrow_mut();
            schedule.end(thread);
            shared.next.set(schedule.next());
        }
    }
    Ok(())
}

/// Lets the thread run until it gives way. Returns true if it has ended; the error is its index.
fn resume(open: &mut OpenRoutine<'_>, thread: usize) -> Result<bool, usize> {
    let resumed = catch_unwind(AssertUnwindSafe(|| open.resume(())));
    let resumed = resumed.map_err(|_| thread)?;
    Ok(matches!(resumed, CoroutineResult::Return(())))
}
