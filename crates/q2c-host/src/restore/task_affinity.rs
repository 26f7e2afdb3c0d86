use super::{RestoreChange, UndoOutcome};
use crate::tasks::{Thread, allowed, thread, threads};
use crate::{Roots, cpu_list, machine};
use q2c_model::CpuId;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A thread, identified uniquely within this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    /// Id of its process.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Start of the thread in clock ticks since boot.
    pub start_time: u64,
}

impl TaskId {
    /// The identity of a thread.
    pub fn from_thread(thread: &Thread) -> TaskId {
        TaskId {
            pid: thread.pid,
            tid: thread.tid,
            start_time: thread.start_time,
        }
    }

    /// The thread's folder in procfs, by which journals name it.
    pub(super) fn folder(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/task/{}", self.pid, self.tid))
    }

    /// The thread that a change in a journal names; `None` if it names no thread.
    fn read(change: &RestoreChange) -> Option<TaskId> {
        let parts = change.file.strip_prefix("/proc").ok()?.to_str()?;
        let (pid, tid) = parts.split_once("/task/")?;
        Some(TaskId {
            pid: pid.parse().ok()?,
            tid: tid.parse().ok()?,
            start_time: change.started?,
        })
    }

    pub(super) fn allowed(self, roots: &Roots) -> Option<Vec<CpuId>> {
        let present = thread(roots, self.pid, self.tid)?;
        (present.start_time == self.start_time).then_some(())?;
        allowed(roots, self.pid, self.tid)
    }
}

/// Name of the lock that lets only one process at a time move tasks.
pub(super) fn lock_name() -> &'static Path {
    Path::new("/proc/tasks")
}

pub(super) fn allow(task: TaskId, cpus: &[CpuId]) -> io::Result<()> {
    q2c_sys::thread::allow_other(task.tid, cpus)
}

/// Gives a thread its old CPUs back, if it still has those that the owner of the change gave it.
pub(super) fn put_back(roots: &Roots, change: &RestoreChange, values: &[String]) -> UndoOutcome {
    let Some((task, old)) = TaskId::read(change).zip(cpu_list::parse(&change.old)) else {
        return UndoOutcome::failed("the journal names no task and its CPUs");
    };
    let Some(present) = task.allowed(roots) else {
        return UndoOutcome::Ended;
    };
    let present = cpu_list::show(&present);
    if present == change.old {
        return UndoOutcome::AlreadyOld;
    }
    if !is_ours(&present, change, values, &machine::online(roots)) {
        return UndoOutcome::Foreign(present);
    }
    match allow(task, &old) {
        Ok(()) => UndoOutcome::Restored,
        Err(_) if task.allowed(roots).is_none() => UndoOutcome::Ended,
        Err(e) => UndoOutcome::failed(&e),
    }
}

/// True if the owner of the change gave the task these CPUs. procfs shows no offline CPUs.
fn is_ours(present: &str, change: &RestoreChange, values: &[String], online: &[CpuId]) -> bool {
    let online_text = |given: &String| {
        let mut cpus = cpu_list::parse(given)?;
        cpus.retain(|cpu| online.contains(cpu));
        Some(cpu_list::show(&cpus))
    };
    let mut given = values.iter().chain([&change.written]);
    given.any(|given| given == present || online_text(given).as_deref() == Some(present))
}

/// Gives back the old CPUs also to threads and children that a task made while it had other CPUs. A
/// thread whose parents have ended may have been placed there by somebody, and is left alone.
pub(super) fn free_heirs(roots: &Roots, changes: &[(RestoreChange, Vec<String>)]) {
    let by_process: HashMap<u32, (&RestoreChange, &Vec<String>)> = changes
        .iter()
        .filter_map(|(change, values)| Some((TaskId::read(change)?.pid, (change, values))))
        .collect();
    if by_process.is_empty() {
        return;
    }
    let all_threads = threads(roots);
    let online = machine::online(roots);
    let parents: HashMap<u32, u32> = all_threads.iter().map(|t| (t.pid, t.parent)).collect();
    for thread in &all_threads {
        let ancestors = std::iter::successors(Some(thread.pid), |pid| parents.get(pid).copied());
        // Ids are used again, so a chain of parents may never end.
        let mut changed = ancestors.take(64).filter_map(|pid| by_process.get(&pid));
        if let Some((change, values)) = changed.next()
            && change.started.is_some_and(|t| thread.start_time >= t)
            && let Some(present) = allowed(roots, thread.pid, thread.tid)
            && is_ours(&cpu_list::show(&present), change, values, &online)
            && let Some(old) = cpu_list::parse(&change.old)
        {
            allow(TaskId::from_thread(thread), &old).ok();
        }
    }
}
