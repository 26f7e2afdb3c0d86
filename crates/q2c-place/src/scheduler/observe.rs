//! Which tasks of the machine are active, and which of them poll.
//!
//! Every thread's CPU time is read window by window. The [predictor](crate::predictor) of each
//! active thread is told if the thread polled in the window. The evidence, the most trusted first,
//! is the user's hint, the kernel's poll functions, the name of an io_uring submission thread, or
//! the name of a well-known poller. Few instructions per cycle are no evidence: a polling loop
//! without PAUSE has many.

use crate::predictor::{Class, Predictor};
use crate::scheduler::hints::{self, Hints};
use q2c_capture::ProbeError;
use q2c_capture::polls::Polls;
use q2c_host::restore::TaskId;
use q2c_host::tasks::{Cpusets, Scheduling, Thread, isolated, threads};
use q2c_host::{Roots, machine};
use q2c_model::{CpuId, Nanos};
use q2c_result::place_watch::{SeenBy, StayReason};
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::allowed_cpus_of;
use std::collections::HashMap;

/// A thread that was active in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveTask {
    /// The thread.
    pub thread: Thread,
    /// Share of one CPU that it used, 0 to 1.
    pub share: f64,
    /// The predictor's class, or that of a hint.
    pub class: Class,
    /// How the class is known.
    pub seen_by: SeenBy,
    /// The CPUs that it may run on.
    pub allowed: Vec<CpuId>,
    /// Why it must stay where it is; `None` when it may be moved.
    pub stays: Option<StayReason>,
}

impl ActiveTask {
    pub(crate) fn id(&self) -> TaskId {
        TaskId::from_thread(&self.thread)
    }
}

/// A thread counts as active when it used this share of a CPU, or was ready to run but waited.
const MIN_ACTIVE_SHARE: f64 = 0.05;
/// Windows after which a thread's control group is read again.
const GROUP_REREAD_WINDOWS: u64 = 10;
/// Seconds of a tick of `stat`.
const TICK_S: f64 = 0.01;

type ThreadKey = (u32, u64);

struct ObservedTask {
    ticks: u64,
    runnable: bool,
    predictor: Predictor,
    seen_by: SeenBy,
    window: u64,
    /// True if it has fewer CPUs than its control group; its CPUs; the window of the reading.
    pinned: Option<(bool, Vec<CpuId>, u64)>,
}

/// Looks at all threads, window by window.
pub struct TaskObserver {
    roots: Roots,
    hints: Hints,
    polls: Result<Polls, ProbeError>,
    tasks: HashMap<ThreadKey, ObservedTask>,
    window: u64,
    began_ns: u64,
    isolated: Vec<CpuId>,
    /// The process that is left out: q2c's own, or 0 for none.
    pub(crate) own_pid: u32,
}

impl TaskObserver {
    /// Begins with the first window. Without BPF, polling is known by hints and names only
    /// ([`TaskObserver::missing_probe`]).
    pub fn begin(roots: &Roots, hints: Hints) -> TaskObserver {
        let mut observer = TaskObserver {
            polls: Polls::attach(roots),
            isolated: isolated(roots),
            roots: roots.clone(),
            hints,
            own_pid: std::process::id(),
            tasks: HashMap::new(),
            window: 0,
            began_ns: monotonic_ns(),
        };
        for thread in threads(roots) {
            observer.remember(&thread);
        }
        observer
    }

    /// The functions of the kernel that are watched.
    pub fn functions(&self) -> &[&'static str] {
        self.polls.as_ref().map_or(&[], |polls| polls.functions())
    }

    /// Why the kernel's poll functions are not watched; `None` when they are.
    pub fn missing_probe(&self) -> Option<&ProbeError> {
        self.polls.as_ref().err()
    }

    /// Ends a window and begins the next. Returns the active threads of other processes, sorted by
    /// process and thread.
    ///
    /// # Errors
    /// The probe cannot be read.
    pub fn window(&mut self) -> Result<Vec<ActiveTask>, ProbeError> {
        let now_ns = monotonic_ns();
        let seconds = now_ns.saturating_sub(self.began_ns).max(1) as f64 / 1e9;
        let polled = self.polled_threads()?;
        self.began_ns = now_ns;
        self.window += 1;
        let mut cpusets = Cpusets::default();
        let mut active = Vec::new();
        for thread in threads(&self.roots) {
            let task = self.tasks.get(&thread_key(&thread));
            let before = task.map(|task| (task.ticks, task.runnable));
            self.remember(&thread);
            let Some((ticks, runnable)) = before.filter(|_| thread.pid != self.own_pid) else {
                continue;
            };
            let share = (thread.ticks - ticks.min(thread.ticks)) as f64 * TICK_S / seconds;
            let waited = thread.runnable && runnable;
            if share < MIN_ACTIVE_SHARE && !waited {
                self.predict(&thread, false, SeenBy::Nothing);
                continue;
            }
            let seen_by = Self::evidence(&thread, &polled);
            let (class, seen_by) = self.predict(&thread, seen_by != SeenBy::Nothing, seen_by);
            let Ok(allowed) = allowed_cpus_of(thread.tid) else {
                continue;
            };
            let pinned = self.is_pinned(&thread, &allowed, &mut cpusets);
            let (stays, share) = (self.stay_reason(&thread, pinned), share.min(1.0));
            active.push(ActiveTask {
                thread,
                share,
                class,
                seen_by,
                allowed,
                stays,
            });
        }
        let window = self.window;
        self.tasks.retain(|_, task| task.window == window);
        active.sort_by_key(|seen| (seen.thread.pid, seen.thread.tid));
        Ok(active)
    }

    fn polled_threads(&self) -> Result<HashMap<u32, u64>, ProbeError> {
        let Ok(polls) = &self.polls else {
            return Ok(HashMap::new());
        };
        let polled = polls.read()?.into_iter();
        Ok(polled.filter(|(_, ns)| *ns >= self.began_ns).collect())
    }

    fn evidence(thread: &Thread, polled: &HashMap<u32, u64>) -> SeenBy {
        match thread.comm.as_str() {
            _ if polled.contains_key(&thread.tid) => SeenBy::Kernel,
            name if hints::is_submission_thread(name) => SeenBy::SubmissionThread,
            name if hints::is_known_poller(name) => SeenBy::Name,
            _ => SeenBy::Nothing,
        }
    }

    fn remember(&mut self, thread: &Thread) {
        let window = self.window;
        let entry = self.tasks.entry(thread_key(thread));
        let task = entry.or_insert(ObservedTask {
            ticks: 0,
            runnable: false,
            predictor: Predictor::default(),
            seen_by: SeenBy::Nothing,
            window,
            pinned: None,
        });
        task.ticks = thread.ticks;
        task.runnable = thread.runnable;
        task.window = window;
    }

    /// Updates the predictor. If it takes a task for polling that did not poll in this window, the
    /// evidence of an earlier window is returned.
    fn predict(&mut self, thread: &Thread, polled: bool, seen_by: SeenBy) -> (Class, SeenBy) {
        if let Some(class) = self.hints.class(&thread.comm) {
            return (class, SeenBy::Hint);
        }
        let Some(task) = self.tasks.get_mut(&thread_key(thread)) else {
            return (Class::Compute, SeenBy::Nothing);
        };
        task.predictor.update(polled);
        if polled {
            task.seen_by = seen_by;
        }
        match task.predictor.class() {
            Class::Polling => (Class::Polling, task.seen_by),
            Class::Compute => (Class::Compute, SeenBy::Nothing),
        }
    }

    /// True if a task has fewer CPUs than its control group, which is read again when they change,
    /// and every [`GROUP_REREAD_WINDOWS`] windows.
    fn is_pinned(&mut self, thread: &Thread, allowed: &[CpuId], cpusets: &mut Cpusets) -> bool {
        let window = self.window;
        let task = self.tasks.get_mut(&thread_key(thread));
        if let Some((pinned, cpus, read)) = task.as_ref().and_then(|task| task.pinned.as_ref())
            && cpus == allowed
            && window < read + GROUP_REREAD_WINDOWS
        {
            return *pinned;
        }
        let group_cpus = cpusets.cpus_of_process(&self.roots, thread.pid);
        let group_cpus = group_cpus.unwrap_or_else(|| machine::online(&self.roots));
        let mut usual_cpus = group_cpus.iter().filter(|cpu| !self.isolated.contains(cpu));
        let pinned = !usual_cpus.all(|cpu| allowed.contains(cpu));
        if let Some(task) = task {
            task.pinned = Some((pinned, allowed.to_vec(), window));
        }
        pinned
    }

    fn stay_reason(&self, thread: &Thread, pinned: bool) -> Option<StayReason> {
        let is_real_time = thread.scheduling == Scheduling::RealTime;
        [
            (thread.bound, StayReason::PerCpu),
            (thread.kernel, StayReason::Kernel),
            (is_real_time, StayReason::RealTime),
            (self.hints.never_moves(&thread.comm), StayReason::Hint),
            (pinned, StayReason::Pinned),
        ]
        .into_iter()
        .find_map(|(holds, reason)| holds.then_some(reason))
    }
}

fn thread_key(thread: &Thread) -> ThreadKey {
    (thread.tid, thread.start_time)
}

/// The window to use instead of `requested`: at least 50 ms. A task that polls is noted once in a
/// tick, and newer kernels poll for up to two ticks in one call.
pub fn usable_window(requested: Nanos) -> Nanos {
    requested.max(Nanos::from_millis(50))
}

#[cfg(test)]
mod tests;
