//! What the daemon did, for its log.

use q2c_host::restore::{Outcome, TaskId};
use q2c_host::tasks::list;
use q2c_model::CpuId;
use q2c_place::predictor::Class;
use q2c_result::place_watch::SeenBy;
use std::fmt;

/// Something that the daemon did or saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task got CPUs.
    Moved {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// Its class.
        class: Class,
        /// How the class is known.
        by: SeenBy,
        /// Its CPUs before.
        before: Vec<CpuId>,
        /// Its CPUs now.
        now: Vec<CpuId>,
    },
    /// A task got its own CPUs back.
    Freed {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// Its own CPUs.
        cpus: Vec<CpuId>,
        /// The reason.
        why: Freed,
        /// Whether it worked.
        outcome: Outcome,
    },
    /// Somebody else chose CPUs for a task; they stay.
    Left {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// The CPUs that were found.
        cpus: Vec<CpuId>,
    },
    /// The kernel refused to move a task.
    Refused {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// The kernel's words.
        why: String,
    },
    /// CPUs came or went.
    CpusChanged {
        /// Online before.
        before: Vec<CpuId>,
        /// Online now.
        now: Vec<CpuId>,
    },
}

/// Why a task got its own CPUs back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// There is room for computing tasks on all of its CPUs.
    RoomForAll,
    /// No task polls any more, or none computes.
    NothingToKeepApart,
    /// It was not active for long.
    Silent,
    /// It got a real-time policy, or a hint says that it stays.
    NotOurs,
    /// CPUs came or went.
    CpusChanged,
    /// The kernel refused to give it other CPUs.
    Refused,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Moved {
                task,
                name,
                class,
                by,
                before,
                now,
            } => {
                let why = reason(*class, *by);
                write!(
                    f,
                    "{name} ({}): CPUs {} -> {}: {why}",
                    task.tid,
                    list(before),
                    list(now)
                )
            }
            Event::Freed {
                task,
                name,
                cpus,
                why,
                outcome,
            } => write!(
                f,
                "{name} ({}): CPUs {} again: {why}; {outcome}",
                task.tid,
                list(cpus)
            ),
            Event::Left { task, name, cpus } => write!(
                f,
                "{name} ({}): left alone: somebody else gave it CPUs {}",
                task.tid,
                list(cpus)
            ),
            Event::Refused { task, name, why } => {
                write!(f, "{name} ({}): not moved: failed to {why}", task.tid)
            }
            Event::CpusChanged { before, now } => write!(
                f,
                "CPUs {} are online, {} were: all tasks get their own CPUs back",
                list(now),
                list(before)
            ),
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
