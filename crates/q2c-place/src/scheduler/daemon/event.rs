//! What the daemon did, for its log.

use super::MovedTask;
use crate::predictor::Class;
use crate::scheduler::observe::Active;
use q2c_host::restore::{TaskId, UndoOutcome};
use q2c_host::tasks::list;
use q2c_model::CpuId;
use q2c_result::place_watch::SeenBy;
use std::fmt;

/// Something that the daemon did or saw, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonEvent {
    /// A task got CPUs.
    Moved(String),
    /// Anything else.
    Other(String),
}

/// Why a task got its own CPUs back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Freed {
    RoomForAll,
    NothingToKeepApart,
    Silent,
    /// It got a real-time policy, or a hint says that it stays.
    NotOurs,
    CpusChanged,
    Refused,
}

impl DaemonEvent {
    pub(super) fn moved(id: TaskId, task: &Active, before: &[CpuId], now: &[CpuId]) -> DaemonEvent {
        let (name, reason) = (&task.thread.comm, reason(task.class, task.by));
        let (tid, before, now) = (id.tid, list(before), list(now));
        DaemonEvent::Moved(format!("{name} ({tid}): CPUs {before} -> {now}: {reason}"))
    }

    pub(super) fn freed(
        id: TaskId,
        held: &MovedTask,
        why: Freed,
        outcome: &UndoOutcome,
    ) -> DaemonEvent {
        let (name, tid, cpus) = (&held.name, id.tid, list(&held.old));
        DaemonEvent::Other(format!(
            "{name} ({tid}): CPUs {cpus} again: {why}; {outcome}"
        ))
    }

    /// Somebody else chose CPUs for a task; they stay.
    pub(super) fn left(id: TaskId, name: &str, cpus: &[CpuId]) -> DaemonEvent {
        let (tid, cpus) = (id.tid, list(cpus));
        DaemonEvent::Other(format!(
            "{name} ({tid}): left alone: somebody else gave it CPUs {cpus}"
        ))
    }

    pub(super) fn refused(id: TaskId, name: &str, why: impl fmt::Display) -> DaemonEvent {
        DaemonEvent::Other(format!("{name} ({}): not moved: failed to {why}", id.tid))
    }

    pub(super) fn cpus_changed(before: &[CpuId], now: &[CpuId]) -> DaemonEvent {
        let (before, now) = (list(before), list(now));
        DaemonEvent::Other(format!(
            "CPUs {now} are online, {before} were: all tasks get their own CPUs back"
        ))
    }
}

impl fmt::Display for DaemonEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DaemonEvent::Moved(text) | DaemonEvent::Other(text) => f.write_str(text),
        }
    }
}

fn reason(class: Class, by: SeenBy) -> &'static str {
    match (class, by) {
        (Class::Compute, _) => "it computes, and gets the CPUs that have room beside polling tasks",
        (Class::Polling, SeenBy::Hint) => "it polls, by a hint",
        (Class::Polling, SeenBy::SubmissionThread) => "it polls a submission queue of io_uring",
        (Class::Polling, SeenBy::Name) => "it polls, by its name",
        (Class::Polling, SeenBy::Kernel | SeenBy::Nothing) => {
            "it polls: it called the kernel's poll functions"
        }
    }
}

impl fmt::Display for Freed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Freed::RoomForAll => "there is room on all of them",
            Freed::NothingToKeepApart => "no task polls any more, or none computes",
            Freed::Silent => "it was not active for long",
            Freed::NotOurs => "it has a real-time policy now, or stays by a hint",
            Freed::CpusChanged => "CPUs came or went",
            Freed::Refused => "the kernel refused to give it other CPUs",
        })
    }
}
