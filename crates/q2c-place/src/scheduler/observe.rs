//! Which tasks of the machine are active, and which of them poll.
//!
//! Every thread's CPU time is read window by window. For each thread that was active the
//! [predictor](crate::predictor) takes in whether it polled in the window. The evidence, the most
//! trusted first, is the user's hint, the kernel's poll functions, the name of an io_uring
//! submission thread, or the name of a well-known poller. Few instructions per cycle prove nothing:
//! a loop without PAUSE has many.

use crate::predictor::{Class, Predictor};
use crate::scheduler::hints::{self, Hints};
use q2c_capture::ProbeError;
use q2c_capture::polls::Polls;
use q2c_host::restore::TaskId;
use q2c_host::tasks::{Cpusets, Scheduling, Thread, isolated, threads};
use q2c_host::{Roots, machine};
use q2c_model::{CpuId, Nanos};
use q2c_result::place_watch::{SeenBy, Stays};
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::allowed_of;
use std::collections::HashMap;

/// A thread that was active in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// The thread.
    pub thread: Thread,
    /// Share of one CPU that it used, 0 to 1.
    pub share: f64,
    /// The predictor's class, or that of a hint.
    pub class: Class,
    /// How the class is known.
    pub by: SeenBy,
    /// The CPUs that it may run on.
    pub allowed: Vec<CpuId>,
    /// Why it must stay where it is; `None` when it may be moved.
    pub stays: Option<Stays>,
}

impl Active {
    pub(crate) fn id(&self) -> TaskId {
        TaskId::from_thread(&self.thread)
    }
}

/// A thread counts as active when it used this share of a CPU, or could run but got less.
const ACTIVE: f64 = 0.05;
/// Windows after which a thread's control group is read again.
const GROUP_AGAIN: u64 = 10;
/// Seconds of a tick of `stat`.
const TICK_S: f64 = 0.01;

type Id = (u32, u64);

struct ObservedTask {
    ticks: u64,
    runnable: bool,
    predictor: Predictor,
    by: SeenBy,
    window: u64,
    /// Whether its CPUs are fewer than its control group's, and the window in which that was read.
    pinned: Option<(bool, Vec<CpuId>, u64)>,
}

/// Looks at all threads, window by window.
pub struct TaskObserver {
    roots: Roots,
    hints: Hints,
    polls: Result<Polls, ProbeError>,
    known: HashMap<Id, ObservedTask>,
    window: u64,
    began_ns: u64,
    isolated: Vec<CpuId>,
    /// The process that is left out: q2c's own, or 0 for none.
    pub(crate) own: u32,
}

impl TaskObserver {
    /// Begins with the first window. Without BPF, polling is known by hints and names only
    /// ([`TaskObserver::blind`]).
    pub fn begin(roots: &Roots, hints: Hints) -> TaskObserver {
        let mut observer = TaskObserver {
            polls: Polls::attach(roots),
            isolated: isolated(roots),
            roots: roots.clone(),
            hints,
            own: std::process::id(),
            known: HashMap::new(),
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
    pub fn blind(&self) -> Option<&ProbeError> {
        self.polls.as_ref().err()
    }

    /// Ends a window and begins the next. Returns the active threads of other processes, sorted by
    /// process and thread.
    ///
    /// # Errors
    /// The probe cannot be read.
    pub fn window(&mut self) -> Result<Vec<Active>, ProbeError> {
        let now_ns = monotonic_ns();
        let seconds = now_ns.saturating_sub(self.began_ns).max(1) as f64 / 1e9;
        let polled = self.polled()?;
        self.began_ns = now_ns;
        self.window += 1;
        let mut cpusets = Cpusets::default();
        let mut active = Vec::new();
        for thread in threads(&self.roots) {
            let known = self.known.get(&id(&thread));
            let before = known.map(|known| (known.ticks, known.runnable));
            self.remember(&thread);
            let Some((ticks, runnable)) = before.filter(|_| thread.pid != self.own) else {
                continue;
            };
            let share = (thread.ticks - ticks.min(thread.ticks)) as f64 * TICK_S / seconds;
            let waits = thread.runnable && runnable;
            if share < ACTIVE && !waits {
                self.predict(&thread, false, SeenBy::Nothing);
                continue;
            }
            let by = Self::evidence(&thread, &polled);
            let (class, by) = self.predict(&thread, by != SeenBy::Nothing, by);
            let Ok(allowed) = allowed_of(thread.tid) else {
                continue;
            };
            let pinned = self.is_pinned(&thread, &allowed, &mut cpusets);
            let (stays, share) = (self.stays(&thread, pinned), share.min(1.0));
            active.push(Active {
                thread,
                share,
                class,
                by,
                allowed,
                stays,
            });
        }
        let window = self.window;
        self.known.retain(|_, known| known.window == window);
        active.sort_by_key(|seen| (seen.thread.pid, seen.thread.tid));
        Ok(active)
    }

    fn polled(&self) -> Result<HashMap<u32, u64>, ProbeError> {
        let Ok(polls) = &self.polls else {
            return Ok(HashMap::new());
        };
        let polled = polls.read()?.into_iter();
        Ok(polled.filter(|(_, ns)| *ns >= self.began_ns).collect())
    }

    fn evidence(thread: &Thread, polled: &HashMap<u32, u64>) -> SeenBy {
        if polled.contains_key(&thread.tid) {
            SeenBy::Kernel
        } else if hints::is_submission_thread(&thread.comm) {
            SeenBy::SubmissionThread
        } else if hints::is_known_poller(&thread.comm) {
            SeenBy::Name
        } else {
            SeenBy::Nothing
        }
    }

    fn remember(&mut self, thread: &Thread) {
        let window = self.window;
        let known = self.known.entry(id(thread)).or_insert(ObservedTask {
            ticks: 0,
            runnable: false,
            predictor: Predictor::default(),
            by: SeenBy::Nothing,
            window,
            pinned: None,
        });
        known.ticks = thread.ticks;
        known.runnable = thread.runnable;
        known.window = window;
    }

    /// Updates the predictor. While it takes a silent task for polling, the earlier evidence
    /// stands.
    fn predict(&mut self, thread: &Thread, polled: bool, by: SeenBy) -> (Class, SeenBy) {
        if let Some(class) = self.hints.class(&thread.comm) {
            return (class, SeenBy::Hint);
        }
        let Some(known) = self.known.get_mut(&id(thread)) else {
            return (Class::Compute, SeenBy::Nothing);
        };
        known.predictor.window(polled);
        if polled {
            known.by = by;
        }
        match known.predictor.class() {
            Class::Polling => (Class::Polling, known.by),
            Class::Compute => (Class::Compute, SeenBy::Nothing),
        }
    }

    /// True if a task has fewer CPUs than its control group, which is read again when they change,
    /// and every [`GROUP_AGAIN`] windows.
    fn is_pinned(&mut self, thread: &Thread, allowed: &[CpuId], cpusets: &mut Cpusets) -> bool {
        let window = self.window;
        let known = self.known.get_mut(&id(thread));
        if let Some((pinned, cpus, read)) = known.as_ref().and_then(|known| known.pinned.as_ref())
            && cpus == allowed
            && window < read + GROUP_AGAIN
        {
            return *pinned;
        }
        let usual = cpusets.cpus_of_process(&self.roots, thread.pid);
        let usual = usual.unwrap_or_else(|| machine::online(&self.roots));
        let mut usual = usual.iter().filter(|cpu| !self.isolated.contains(cpu));
        let pinned = !usual.all(|cpu| allowed.contains(cpu));
        if let Some(known) = known {
            known.pinned = Some((pinned, allowed.to_vec(), window));
        }
        pinned
    }

    fn stays(&self, thread: &Thread, pinned: bool) -> Option<Stays> {
        [
            (thread.bound, Stays::PerCpu),
            (thread.kernel, Stays::Kernel),
            (thread.scheduling == Scheduling::RealTime, Stays::RealTime),
            (self.hints.leaves(&thread.comm), Stays::Hint),
            (pinned, Stays::Pinned),
        ]
        .into_iter()
        .find_map(|(holds, reason)| holds.then_some(reason))
    }
}

fn id(thread: &Thread) -> Id {
    (thread.tid, thread.start_time)
}

/// The window to use instead of `asked`: at least 50 ms. A task that polls is noted once in each
/// tick, and newer kernels poll for up to two ticks in one call.
pub fn window_of(asked: Nanos) -> Nanos {
    asked.max(Nanos::from_millis(50))
}

#[cfg(test)]
mod tests;
