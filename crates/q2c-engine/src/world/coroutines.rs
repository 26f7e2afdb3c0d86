//! The threads of a run as coroutines on one thread.

use super::schedule::{Wake, WorldSchedule};
use crate::run::crew::{CrewJob, CrewResults, LEAD_NS, LaneWork, SideWork};
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

struct CoroutineStage<'a> {
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
    stage: &'a CoroutineStage<'a>,
    yielder: &'a Yielder<(), ()>,
    thread: usize,
}

impl SimulatedThread<'_> {
    /// Lets other threads run until what this thread waits for has happened.
    fn give_way(self) {
        let next = self.stage.schedule.borrow_mut().next();
        if next != Some(self.thread) {
            self.stage.next.set(next);
            self.yielder.suspend(());
        }
    }

    /// Plans the next step of this thread, and lets other threads run if they come first.
    #[inline]
    fn plan(self, step: impl FnOnce(&mut WorldSchedule, usize) -> bool) {
        let must_wait = step(&mut self.stage.schedule.borrow_mut(), self.thread);
        if must_wait {
            self.give_way();
        }
    }

    fn sleep_until(self, at_ns: u64, wake: Wake) {
        let is_side_thread = {
            let mut schedule = self.stage.schedule.borrow_mut();
            schedule.sleep(self.thread, at_ns, wake);
            schedule.is_side_thread(self.thread)
        };
        self.give_way();
        if is_side_thread {
            self.stage.publish();
        }
    }
}

impl<'a> CoroutineStage<'a> {
    fn time<'s>(&'s self, yielder: &'s Yielder<(), ()>, thread: usize) -> SimulatedThread<'s>
    where
        'a: 's,
    {
        SimulatedThread {
            stage: self,
            yielder,
            thread,
        }
    }

    fn begin(&self) {
        let mut schedule = self.schedule.borrow_mut();
        self.start_ns.set(Some(schedule.now + LEAD_NS));
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
        self.stage.schedule.borrow().now
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

    fn look_again(self, next: impl FnOnce(u64) -> u64) -> u64 {
        let mut last = 0;
        self.plan(|schedule, thread| {
            let (now, look) = (schedule.now, schedule.costs.look_ns);
            let looks = next(now).saturating_sub(now).div_ceil(look);
            // The look that finds something has yet to come.
            let blind = looks.saturating_sub(1).saturating_mul(look);
            last = now.saturating_add(blind);
            blind > 0 && schedule.look_until(thread, last)
        });
        let schedule = self.stage.schedule.borrow();
        // A thread that lost its CPU did not look during that time.
        if schedule.now > last {
            schedule.threads[self.thread].left_ns
        } else {
            last
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
                self.stage.halt.store(true, Ordering::Relaxed);
            }
            must_wait
        });
    }

    fn pin(self, cpu: CpuId) -> io::Result<()> {
        if self.stage.schedule.borrow_mut().place(self.thread, cpu) {
            return Ok(());
        }
        let cpus = self.stage.world.machine().cpus;
        let text = format!("the simulated machine has CPUs 0 to {}", cpus - 1);
        Err(io::Error::other(text))
    }

    fn thread_id(self) -> u32 {
        self.thread as u32 + 1
    }

    fn cpu_ns(self) -> u64 {
        self.stage.schedule.borrow().cpu_ns(self.thread)
    }

    fn cpu_ns_of(self, thread: u32) -> Option<u64> {
        Some(self.stage.schedule.borrow().cpu_ns(thread as usize - 1))
    }

    fn switches(self) -> ContextSwitches {
        self.stage.schedule.borrow().threads[self.thread].switches
    }

    fn send<M>(self, to: &SyncSender<M>, message: M) {
        to.send(message).ok();
        if self.stage.listens.get() {
            self.stage.schedule.borrow_mut().wake_side_thread();
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
                    self.stage.listens.set(true);
                    self.sleep(end - self.now());
                    self.stage.listens.set(false);
                }
            }
        }
    }
}

type Routine<'a> = ScopedCoroutine<'a, (), (), ()>;
type Open<'a> = ScopedCoroutineRef<'a, (), (), (), DefaultStack>;

impl Meeting for SimulatedThread<'_> {
    fn ready(&self, is_set_up: bool) -> Option<u64> {
        if !is_set_up {
            return None;
        }
        self.yielder.suspend(());
        self.stage.start_ns.get()
    }

    fn wait_for_end(&self) {}
}

/// Runs every job's `work` as a lane of `world`, and `side_work` next to them, as
/// [`run_crew`](crate::run::crew::run_crew) does with threads.
pub(crate) fn run_crew<W: LaneWork, B: SideWork>(
    jobs: Vec<CrewJob<W>>,
    world: &World,
    halt: &AtomicBool,
    name: &str,
    side_work: B,
) -> Result<CrewResults<B::Out>, RunError> {
    let names: Vec<String> = jobs.iter().map(|(job, _)| job.name.clone()).collect();
    let schedule = WorldSchedule::new(world.machine().at_speed(), &world.counters(), jobs.len());
    let stage = &CoroutineStage {
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
            let time = stage.time(yielder, thread);
            result.set(Some(lane_thread(job, time, halt, &time, work)));
        }));
    }
    let lanes = names.len() as u32;
    routines.push(Routine::new(move |yielder, ()| {
        let time = stage.time(yielder, lanes as usize);
        let threads: Vec<u32> = (1..=lanes).collect();
        stage.publish();
        let start_ns = stage.start_ns.get().unwrap_or_default();
        side_result.set(Some(side_work.run(time, start_ns, &threads)));
    }));
    let mut conducted = Ok(());
    open_all(routines, Vec::new(), &mut |open| {
        conducted = conduct(stage, open)
    });
    stage.publish();
    let name_of = |thread: usize| names.get(thread).map_or(name, String::as_str);
    conducted.map_err(|thread| RunError::Panic(name_of(thread).to_owned()))?;
    let lane_data = |(lane, result): (String, Cell<Option<LaneResult>>)| match result.into_inner() {
        Some(result) => result.map_err(|source| RunError::Lane { lane, source }),
        None => Ok(LaneData::default()),
    };
    let lanes = names.into_iter().zip(results).map(lane_data);
    let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
    let schedule = stage.schedule.borrow();
    let at_ns = schedule.now;
    match (side_result.take(), stage.start_ns.get()) {
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
    mut open: Vec<Open<'_>>,
    then: &mut dyn FnMut(&mut [Open<'_>]),
) {
    match closed.pop() {
        None => {
            open.reverse();
            then(&mut open);
        }
        Some(routine) => routine.scope(|routine| {
            let mut open: Vec<Open<'_>> = open;
            open.push(routine);
            open_all(closed, open, then);
        }),
    }
}

/// Sets up the lanes one after another, then runs whichever thread is next until all have ended. If
/// a lane cannot be set up, none begins. The error is the thread that panicked.
fn conduct(stage: &CoroutineStage<'_>, open: &mut [Open<'_>]) -> Result<(), usize> {
    let lanes = open.len() - 1;
    for (thread, lane) in open[..lanes].iter_mut().enumerate() {
        if resume(lane, thread)? {
            return Ok(());
        }
    }
    stage.begin();
    let mut left = open.len();
    while let (Some(thread), true) = (stage.next.get(), left > 0) {
        if resume(&mut open[thread], thread)? {
            left -= 1;
            let mut schedule = stage.schedule.borrow_mut();
            schedule.end(thread);
            stage.next.set(schedule.next());
        }
    }
    Ok(())
}

/// Lets the thread run until it gives way. Returns true if it has ended; the error is its index.
fn resume(open: &mut Open<'_>, thread: usize) -> Result<bool, usize> {
    let resumed = catch_unwind(AssertUnwindSafe(|| open.resume(())));
    let resumed = resumed.map_err(|_| thread)?;
    Ok(matches!(resumed, CoroutineResult::Return(())))
}
