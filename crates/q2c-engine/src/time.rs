//! Time as a lane sees it: that of the machine that q2c runs on, or of a simulated machine.

use crate::world::World;
use q2c_model::CpuId;
use q2c_service::SimInterface;
use q2c_sys::Clock;
use q2c_sys::clock::{monotonic_ns, thread_cpu_ns};
use q2c_sys::thread::{
    ContextSwitches, allow, cpu_ns_of, current_cpu, id, minimize_timer_slack, sleep_until, switches,
};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::{Thread, park, park_timeout};
use std::time::Duration;

/// A step of a lane that a simulated machine charges for. On a real machine the step takes its time
/// by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneStep {
    /// The step from the reaping of a completion to the next submission.
    Turnaround,
    /// The submission of one request.
    Submission,
    /// The lock that all submitters share.
    Lock,
    /// One look for completions.
    Look,
}

/// The clock, the sleeps and the CPU time of a thread. The lane's loop is compiled once for each
/// implementation, so that real time costs no branch.
pub trait Time: Copy {
    /// True if time is simulated, so that no engine that needs the kernel can be used.
    const SIMULATED: bool;

    /// Time on the run's clock, ns.
    fn now(self) -> u64;

    /// Leaves the CPU for `ns`, by a timer.
    fn sleep(self, ns: u64);

    /// As [`Time::sleep`], beside requests of which the first completes at `next_due` if that is
    /// known. A simulated thread wakes otherwise if the completion comes before it runs.
    #[inline(always)]
    fn sleep_beside(self, ns: u64, _next_due: impl FnOnce() -> Option<u64>) {
        self.sleep(ns);
    }

    /// Leaves the CPU until the interrupt of a completion at `at_ns`. Returns at once if that time
    /// has passed.
    fn wait_for_completion(self, at_ns: u64);

    /// Leaves the CPU until another thread calls [`Time::unpark`], or until `at_ns` if that is
    /// known. It may return earlier.
    fn park(self, at_ns: Option<u64>);

    /// Lets a thread that is in [`Time::park`] continue at `at_ns`, or at once. Its id is
    /// `thread_id`, and `handle` is that of the system's thread that runs it.
    fn unpark(self, thread_id: u32, handle: &Thread, at_ns: u64);

    /// Goes from one look to the next. `next_find` turns the present time into the earliest time at
    /// which a look can find something. Simulated time skips the looks before that time. Returns
    /// the time of the last skipped look, or 0 if none was skipped.
    fn look_again(self, next_find: impl FnOnce(u64) -> u64) -> u64;

    /// One step of a wait for `at_ns` in which the thread keeps its CPU and looks for nothing.
    fn spin_until(self, at_ns: u64);

    /// Lets the time of a step pass.
    fn spend(self, step: LaneStep);

    /// Lets the steps of the calling thread cost what they do behind `interface`. Returns false if
    /// these costs are not known.
    fn use_interface(self, interface: SimInterface) -> bool;

    /// The submission that recorded U2C contains, ns: the machine's own at speed 1.
    fn recorded_submission_ns(self) -> u64;

    /// Puts the calling thread on `cpu`, with the smallest timer slack.
    fn pin(self, cpu: CpuId) -> io::Result<()>;

    /// Lets the scheduler move the calling thread among `cpus`, with the smallest timer slack.
    fn roam(self, cpus: &[CpuId]) -> io::Result<()>;

    /// Number of the calling thread.
    fn thread_id(self) -> u32;

    /// The CPU of the calling thread.
    fn cpu(self) -> CpuId;

    /// CPU time of the calling thread, ns.
    fn cpu_ns(self) -> u64;

    /// CPU time of another thread, ns; `None` if it has ended.
    fn cpu_ns_of(self, thread: u32) -> Option<u64>;

    /// How often the calling thread left its CPU.
    fn switches(self) -> ContextSwitches;

    /// Sends a message to the thread next to the lanes. The channel has room for it.
    fn send<M>(self, to: &SyncSender<M>, message: M);

    /// Waits for a message of a lane, for at most `ns`.
    fn receive<M>(self, from: &Receiver<M>, ns: u64) -> Result<M, RecvTimeoutError>;
}

/// The time of the machine that q2c runs on.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub Clock);

impl Time for Real {
    const SIMULATED: bool = false;

    #[inline(always)]
    fn now(self) -> u64 {
        self.0.now()
    }

    fn sleep(self, ns: u64) {
        sleep_until(monotonic_ns() + ns);
    }

    fn wait_for_completion(self, at_ns: u64) {
        self.sleep(at_ns.saturating_sub(self.now()));
    }

    fn park(self, at_ns: Option<u64>) {
        match at_ns {
            Some(at_ns) => {
                park_timeout(Duration::from_nanos(at_ns.saturating_sub(self.now())));
            }
            None => park(),
        }
    }

    fn unpark(self, _thread_id: u32, handle: &Thread, _at_ns: u64) {
        handle.unpark();
    }

    #[inline(always)]
    fn look_again(self, _next_find: impl FnOnce(u64) -> u64) -> u64 {
        std::hint::spin_loop();
        0
    }

    #[inline(always)]
    fn spin_until(self, _at_ns: u64) {
        std::hint::spin_loop();
    }

    #[inline(always)]
    fn spend(self, _step: LaneStep) {}

    fn use_interface(self, _interface: SimInterface) -> bool {
        false
    }

    fn recorded_submission_ns(self) -> u64 {
        0
    }

    fn pin(self, cpu: CpuId) -> io::Result<()> {
        self.roam(&[cpu])
    }

    fn roam(self, cpus: &[CpuId]) -> io::Result<()> {
        allow(cpus).and_then(|()| minimize_timer_slack())
    }

    fn thread_id(self) -> u32 {
        id()
    }

    fn cpu(self) -> CpuId {
        current_cpu()
    }

    fn cpu_ns(self) -> u64 {
        thread_cpu_ns()
    }

    fn cpu_ns_of(self, thread: u32) -> Option<u64> {
        cpu_ns_of(thread).ok()
    }

    fn switches(self) -> ContextSwitches {
        switches()
    }

    fn send<M>(self, to: &SyncSender<M>, message: M) {
        // At the end of the run the receiver may no longer exist.
        to.send(message).ok();
    }

    fn receive<M>(self, from: &Receiver<M>, ns: u64) -> Result<M, RecvTimeoutError> {
        from.recv_timeout(Duration::from_nanos(ns))
    }
}

/// The longest sleep until `stop` is checked again, ns.
pub(crate) const MAX_SLEEP_NS: u64 = 50_000_000;

/// Sleeps until the run's clock shows `end`, or `stop` is raised.
pub(crate) fn sleep_unless_stopped<T: Time>(end: u64, time: T, stop: &AtomicBool) {
    loop {
        let left_ns = end.saturating_sub(time.now());
        if left_ns == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        time.sleep(left_ns.min(MAX_SLEEP_NS));
    }
}

/// The time source of a run.
#[derive(Clone, Debug)]
pub enum TimeSource {
    /// The clock of this machine.
    Real(Clock),
    /// The clock of a simulated machine.
    World(World),
}

impl TimeSource {
    /// Time since the clock or the world was made, ns.
    pub fn now(&self) -> u64 {
        match self {
            TimeSource::Real(clock) => clock.now(),
            TimeSource::World(world) => world.now(),
        }
    }

    /// The time of CLOCK_MONOTONIC, ns, when this clock shows `ns`; `None` if it is not known, see
    /// [`Clock::kernel_ns_at`]. Captures in a world use its own clock.
    pub fn kernel_ns_at(&self, ns: u64) -> Option<u64> {
        match self {
            TimeSource::Real(clock) => clock.kernel_ns_at(ns),
            TimeSource::World(_) => Some(ns),
        }
    }

    /// The name of the time source, as results print it.
    pub fn name(&self) -> &'static str {
        match self {
            TimeSource::Real(clock) => clock.source(),
            TimeSource::World(_) => "simulated",
        }
    }

    /// This machine's clock; `None` if time is simulated.
    pub fn real(&self) -> Option<Clock> {
        match self {
            TimeSource::Real(clock) => Some(*clock),
            TimeSource::World(_) => None,
        }
    }

    /// The simulated machine; `None` if time is real.
    pub fn world(&self) -> Option<&World> {
        match self {
            TimeSource::Real(_) => None,
            TimeSource::World(world) => Some(world),
        }
    }
}

/// CLOCK_MONOTONIC.
impl Default for TimeSource {
    fn default() -> Self {
        TimeSource::Real(Clock::MONOTONIC)
    }
}

impl From<Clock> for TimeSource {
    fn from(clock: Clock) -> Self {
        TimeSource::Real(clock)
    }
}

impl From<World> for TimeSource {
    fn from(world: World) -> Self {
        TimeSource::World(world)
    }
}
