//! The threads of a world as coroutines on one thread: the lanes of a run with the work next to
//! them, or the submitting threads of a replay.

use super::schedule::{Wake, WorldSchedule};
use crate::run::crew::START_DELAY_NS;
use crate::{LaneStep, Meeting, Time, World};
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};
use q2c_model::CpuId;
use q2c_service::SimInterface;
use q2c_sys::thread::ContextSwitches;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::thread::Thread;

/// A thread of a world, from its set-up to its end.
pub type ThreadBody<'a> = Box<dyn FnOnce(SimulatedThread<'_>) + 'a>;

/// The state that all threads of a run share.
struct CoroutineState<'a> {
    schedule: RefCell<WorldSchedule>,
    /// The next thread to run, as found by the thread that gave way.
    next: Cell<Option<usize>>,
    /// The common start, ns; `None` before it is known, and if there is none.
    start_ns: Cell<Option<u64>>,
    /// The sleeping threads that another thread may wake, see [`SimulatedThread::wake_listeners`].
    listeners: RefCell<Vec<usize>>,
    world: &'a World,
    halt: &'a AtomicBool,
}

/// The time of one thread of a world. A thread that is not pinned to a CPU takes no time for its
/// steps: for it time passes only in sleeps.
#[derive(Clone, Copy)]
pub struct SimulatedThread<'a> {
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

impl SimulatedThread<'_> {
    /// Lets [`SimulatedThread::wake_listeners`] end the next sleep of this thread early. The thread
    /// MUST NOT be pinned.
    pub fn listen(self) {
        self.shared.listeners.borrow_mut().push(self.thread);
    }

    /// Ends the present sleep of all threads that listen.
    #[inline]
    pub fn wake_listeners(self) {
        let listeners = &mut *self.shared.listeners.borrow_mut();
        for thread in listeners.drain(..) {
            self.shared.schedule.borrow_mut().wake_now(thread);
        }
    }

    /// Shows the world's users the present time and counters, and returns the common start, ns.
    pub(super) fn publish_start(self) -> u64 {
        self.shared.publish();
        self.shared.start_ns.get().unwrap_or_default()
    }

    /// No other thread wakes this one any more.
    pub fn stop_listening(self) {
        let listeners = &mut *self.shared.listeners.borrow_mut();
        listeners.retain(|thread| *thread != self.thread);
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
        self.sleep_beside(ns, || None);
    }

    fn sleep_beside(self, ns: u64, next_due: impl FnOnce() -> Option<u64>) {
        let at = self.now().saturating_add(ns);
        // The wake-up of a sleep that is not missed comes before the completion.
        let wake_ns = at.saturating_add(self.shared.schedule.borrow().costs.wake_delay_ns);
        let is_missed = next_due().is_some_and(|due| due <= wake_ns);
        self.sleep_until(at, [Wake::Timer, Wake::MissedTimer][usize::from(is_missed)]);
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
            let (now, look_ns) = (schedule.now, schedule.threads[thread].costs.look_ns);
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
            if step == LaneStep::Lock {
                return schedule.lock(thread);
            }
            let costs = &schedule.threads[thread].costs;
            let ns = match step {
                LaneStep::Turnaround => schedule.beside_siblings(thread, costs.turnaround_ns),
                LaneStep::Submission => schedule.beside_siblings(thread, costs.submission_ns),
                LaneStep::Look | LaneStep::Lock => costs.look_ns,
            };
            let must_wait = schedule.work(thread, ns);
            if schedule.is_stuck() {
                self.shared.halt.store(true, Ordering::Relaxed);
            }
            must_wait
        });
    }

    fn use_interface(self, interface: SimInterface) -> bool {
        let Some(machine) = self.shared.world.machine().behind(interface) else {
            return false;
        };
        let mut schedule = self.shared.schedule.borrow_mut();
        schedule.threads[self.thread].costs = Rc::new(machine.at_speed());
        true
    }

    fn recorded_submission_ns(self) -> u64 {
        self.shared.world.machine().submission_ns
    }

    fn pin(self, cpu: CpuId) -> io::Result<()> {
        if self.shared.schedule.borrow_mut().place(self.thread, cpu) {
            return Ok(());
        }
        let cpus = self.shared.world.machine().cpus();
        let text = format!("the simulated machine has CPUs 0 to {}", cpus - 1);
        Err(io::Error::other(text))
    }

    fn roam(self, _cpus: &[CpuId]) -> io::Result<()> {
        let text = "a simulated machine has no scheduler that moves threads, so pin this one";
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
        self.wake_listeners();
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
                    self.listen();
                    self.sleep(end - self.now());
                    self.stop_listening();
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
}

/// The end of a run in a world.
pub(crate) struct WorldRunEnd {
    /// The common start, ns; `None` if a thread could not be set up.
    pub start_ns: Option<u64>,
    /// The time of the end, ns.
    pub at_ns: u64,
    /// True if the run ended because its lanes made no progress.
    pub is_stuck: bool,
}

/// Runs `bodies` as threads of `world`, and `side` next to them. Each of the bodies sets itself up,
/// calls [`Meeting::ready`] and continues when all have done so; then `side` begins, which costs no
/// time. `halt` is raised if the run is stuck. The error is the index of a thread that panicked.
pub(crate) fn run_threads<'a>(
    world: &World,
    halt: &AtomicBool,
    mut bodies: Vec<ThreadBody<'a>>,
    side: ThreadBody<'a>,
) -> Result<WorldRunEnd, usize> {
    let schedule = WorldSchedule::new(world.machine().at_speed(), &world.counters(), bodies.len());
    let shared = &CoroutineState {
        schedule: RefCell::new(schedule),
        next: Cell::new(None),
        start_ns: Cell::new(None),
        listeners: RefCell::default(),
        world,
        halt,
    };
    bodies.push(side);
    let routine = |(thread, body): (usize, ThreadBody<'a>)| {
        Routine::new(move |yielder, ()| body(shared.time(yielder, thread)))
    };
    let routines = bodies.into_iter().enumerate().map(routine).collect();
    let mut outcome = Ok(());
    open_all(routines, Vec::new(), &mut |open| {
        outcome = conduct(shared, open)
    });
    shared.publish();
    let schedule = shared.schedule.borrow();
    outcome.map(|()| WorldRunEnd {
        start_ns: shared.start_ns.get(),
        at_ns: schedule.now,
        is_stuck: schedule.is_stuck(),
    })
}

/// Runs `bodies` as threads of `world` that have nothing next to them, such as the submitting
/// threads of a replay. Each sets itself up, calls [`Meeting::ready`] and continues when all have
/// done so. Returns when all have ended.
///
/// # Errors
/// The index of a thread that panicked; its panic ends the others.
pub fn run_in_world(world: &World, bodies: Vec<ThreadBody<'_>>) -> Result<(), usize> {
    let (halt, side) = (
        AtomicBool::new(false),
        Box::new(|_: SimulatedThread<'_>| ()),
    );
    run_threads(world, &halt, bodies, side).map(|_end| ())
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
