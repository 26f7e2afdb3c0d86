use std::sync::LazyLock;

/// The completion flags of a ring. They decide when completion work runs, and so whether it
/// disturbs a timed sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskRun {
    /// SINGLE_ISSUER, DEFER_TASKRUN, TASKRUN_FLAG (6.1 and later): completions wait for the lane.
    Deferred,
    /// COOP_TASKRUN, TASKRUN_FLAG (5.19 and later): the kernel interrupts no running lane, but
    /// wakes a sleeping one early.
    Cooperative,
    /// No completion flags: task work interrupts the lane whenever it comes.
    Default,
}

/// A kernel thread that takes the submissions out of the ring (SQPOLL).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SqPoll {
    /// The CPU that the thread is bound to. With `None` the scheduler chooses.
    pub cpu: Option<u32>,
}

/// The options a ring is made with. The default is interrupts, no helper thread, and the best
/// [`TaskRun`] that the kernel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RingOptions {
    /// Completions are found by asking the device (IOPOLL); needs poll queues and direct I/O.
    pub iopoll: bool,
    /// The kernel sleeps before it polls (HYBRID_IOPOLL, 6.13 and later); only with `iopoll`.
    pub hybrid: bool,
    /// A kernel thread submits. With `None` the lane submits by its own calls.
    pub sqpoll: Option<SqPoll>,
    /// The only completion flags to try. With `None` the ring tries them in turn, best first.
    /// Cooperative and deferred flags exclude `sqpoll`, whose thread runs all completion work.
    pub taskrun: Option<TaskRun>,
}

impl TaskRun {
    const PREFERENCE: [TaskRun; 3] = [TaskRun::Deferred, TaskRun::Cooperative, TaskRun::Default];

    /// The kernel's names of these flags, joined by `|`; `none` for the default.
    #[cfg(test)]
    pub(crate) const fn names(self) -> &'static str {
        match self {
            TaskRun::Deferred => "SINGLE_ISSUER|DEFER_TASKRUN|TASKRUN_FLAG",
            TaskRun::Cooperative => "COOP_TASKRUN|TASKRUN_FLAG",
            TaskRun::Default => "none",
        }
    }

    /// True if a timed sleep lasts to its end although a request completes meanwhile.
    pub const fn sleeps_undisturbed(self) -> bool {
        matches!(self, TaskRun::Deferred)
    }

    /// Setup bits (include/uapi/linux/io_uring.h).
    const fn bits(self) -> u32 {
        match self {
            TaskRun::Deferred => TASKRUN_FLAG | SINGLE_ISSUER | DEFER_TASKRUN,
            TaskRun::Cooperative => TASKRUN_FLAG | COOP_TASKRUN,
            TaskRun::Default => 0,
        }
    }
}

// IORING_SETUP_* (include/uapi/linux/io_uring.h).
const IOPOLL: u32 = 1;
const SQPOLL: u32 = 1 << 1;
const SQ_AFF: u32 = 1 << 2;
const COOP_TASKRUN: u32 = 1 << 8;
const TASKRUN_FLAG: u32 = 1 << 9;
const SINGLE_ISSUER: u32 = 1 << 12;
const DEFER_TASKRUN: u32 = 1 << 13;
const HYBRID_IOPOLL: u32 = 1 << 17;

const FLAG_NAMES: [(u32, &str); 8] = [
    (IOPOLL, "IOPOLL"),
    (HYBRID_IOPOLL, "HYBRID_IOPOLL"),
    (SQPOLL, "SQPOLL"),
    (SQ_AFF, "SQ_AFF"),
    (SINGLE_ISSUER, "SINGLE_ISSUER"),
    (DEFER_TASKRUN, "DEFER_TASKRUN"),
    (COOP_TASKRUN, "COOP_TASKRUN"),
    (TASKRUN_FLAG, "TASKRUN_FLAG"),
];

impl RingOptions {
    /// The sets of completion flags to try, best first.
    pub(super) fn taskruns(&self) -> &[TaskRun] {
        match (&self.taskrun, self.sqpoll) {
            (Some(taskrun), _) => std::slice::from_ref(taskrun),
            // SQPOLL with COOP_TASKRUN or DEFER_TASKRUN is EINVAL.
            (None, Some(_)) => &[TaskRun::Default],
            (None, None) => &TaskRun::PREFERENCE,
        }
    }

    /// The bits for `io_uring_setup`: those of the options and of `taskrun`.
    pub(super) fn bits(&self, taskrun: TaskRun) -> u32 {
        let flag = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let bound = self.sqpoll.is_some_and(|sqpoll| sqpoll.cpu.is_some());
        taskrun.bits()
            | flag(self.iopoll, IOPOLL)
            | flag(self.hybrid, HYBRID_IOPOLL)
            | flag(self.sqpoll.is_some(), SQPOLL)
            | flag(bound, SQ_AFF)
    }

    /// True if a wait polls the device in the kernel, in the caller's own thread.
    pub const fn polls_in_call(&self) -> bool {
        self.iopoll && self.sqpoll.is_none()
    }

    /// The options of the second ring, whose completions interrupt; `None` if these options do not
    /// poll, sleep in the kernel before they poll, or have a helper.
    pub(super) fn interrupting(&self) -> Option<RingOptions> {
        let iopoll = false;
        (self.polls_in_call() && !self.hybrid).then_some(RingOptions { iopoll, ..*self })
    }

    /// The kernel's names of all flags in force with `taskrun`; `none` when there are none.
    pub(crate) fn names(&self, taskrun: TaskRun) -> &'static str {
        let bits = self.bits(taskrun);
        let set = FLAG_SETS.iter().find(|(set, _)| *set == bits);
        set.map_or("unknown", |(_, names)| names)
    }

    /// The needs of these options that the kernel or the machine may not meet, for an error
    /// message; empty when there are none.
    pub(super) fn needs(&self) -> String {
        let mut needs = Vec::new();
        if self.hybrid {
            needs.push("HYBRID_IOPOLL needs IOPOLL and Linux 6.13".to_owned());
        }
        match self.sqpoll {
            Some(SqPoll { cpu: Some(cpu) }) => needs.push(format!(
                "SQPOLL needs Linux 5.11 (or root), no DEFER_TASKRUN or COOP_TASKRUN, and an online CPU of this \
                 process's set: is {cpu} one?"
            )),
            Some(SqPoll { cpu: None }) => needs.push(
                "SQPOLL needs Linux 5.11 (or root), and no DEFER_TASKRUN or COOP_TASKRUN".to_owned(),
            ),
            None => {}
        }
        match self.taskrun {
            Some(TaskRun::Deferred) => needs.push("DEFER_TASKRUN needs Linux 6.1".to_owned()),
            Some(TaskRun::Cooperative) => needs.push("COOP_TASKRUN needs Linux 5.19".to_owned()),
            Some(TaskRun::Default) | None => {}
        }
        needs.join("; ")
    }
}

/// Every possible set of flags with its joined names, made once, so that names can be `&'static
/// str`.
static FLAG_SETS: LazyLock<Vec<(u32, String)>> = LazyLock::new(|| {
    let poll_flags = [0, IOPOLL, HYBRID_IOPOLL, IOPOLL | HYBRID_IOPOLL];
    let helper_flags = [0, SQPOLL, SQPOLL | SQ_AFF];
    let sets = TaskRun::PREFERENCE.iter().flat_map(|taskrun| {
        let with = move |poll| helper_flags.map(|helper| taskrun.bits() | poll | helper);
        poll_flags.into_iter().flat_map(with)
    });
    sets.map(|bits| (bits, join_names(bits))).collect()
});

fn join_names(bits: u32) -> String {
    let names = FLAG_NAMES.iter().filter(|(bit, _)| bits & bit != 0);
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join("|")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_flags_alone_and_together() {
        let plain = RingOptions::default();
        for taskrun in TaskRun::PREFERENCE {
            assert_eq!(plain.names(taskrun), taskrun.names());
        }
        let combined = RingOptions {
            iopoll: true,
            hybrid: true,
            sqpoll: Some(SqPoll { cpu: Some(1) }),
            taskrun: None,
        };
        assert_eq!(combined.taskruns(), [TaskRun::Default]);
        let names = "IOPOLL|HYBRID_IOPOLL|SQPOLL|SQ_AFF";
        assert_eq!(combined.names(TaskRun::Default), names);
    }
}
