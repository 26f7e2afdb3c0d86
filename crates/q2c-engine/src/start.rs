//! Threads that start at the same time, and end together when one of them fails.
//!
//! The thread that starts the others creates a [`Start`] before its scope and a [`Starter`] in it.
//! Each other thread creates its [`Member`] first of all, sets itself up, and calls
//! [`Member::ready`]. When every member has reported, the starter sets the common start with
//! [`Starter::start_at`], and all members continue.
//!
//! No thread waits for ever, whatever fails:
//! - A member that panics or returns before it has reported counts as not set up.
//! - A starter that is dropped before it has set the start announces that there is none.
//! - A member that panics raises the halt flag, so that the others end too.

use crate::Meeting;
use q2c_sys::thread::id;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A common start of several threads. It is set once.
pub struct Start {
    /// The thread id of each member, or `None` if it could not be set up.
    reports: Vec<OnceLock<Option<u32>>>,
    /// The start on the run's clock, ns, or `None` if there is none.
    at_ns: OnceLock<Option<u64>>,
}

impl Start {
    /// A common start of this number of threads.
    pub fn for_members(members: usize) -> Self {
        Start {
            reports: (0..members).map(|_| OnceLock::new()).collect(),
            at_ns: OnceLock::new(),
        }
    }
}

/// The side of the thread that starts the others. If it is dropped unused, there is no start.
pub struct Starter<'a>(&'a Start);

impl<'a> Starter<'a> {
    /// The starter of `start`.
    #[must_use]
    pub fn new(start: &'a Start) -> Self {
        Starter(start)
    }

    /// Waits for the reports and returns the thread ids of all members in their order. Returns
    /// `None` as soon as a member could not be set up.
    #[must_use]
    pub fn wait_for_all(&self) -> Option<Vec<u32>> {
        self.0.reports.iter().map(|report| *report.wait()).collect()
    }

    /// Sets the start, ns on the run's clock, and ends the members' wait.
    pub fn start_at(self, ns: u64) {
        self.0.at_ns.set(Some(ns)).ok();
    }
}

impl Drop for Starter<'_> {
    fn drop(&mut self) {
        self.0.at_ns.set(None).ok();
    }
}

/// One thread's place in a common start; the thread holds it while it works.
pub struct Member<'a> {
    start: &'a Start,
    index: usize,
    halt: HaltsOnPanic<'a>,
}

impl<'a> Member<'a> {
    /// Member number `index` of `start`, from 0. `halt` is raised when its thread fails.
    #[must_use]
    pub fn new(start: &'a Start, index: usize, halt: &'a AtomicBool) -> Self {
        let halt = HaltsOnPanic(halt);
        Member { start, index, halt }
    }

    /// Reports whether this thread is set up, waits for the others, and returns the common start,
    /// ns. `None` if there is none, because a thread could not be set up or started.
    #[must_use]
    pub fn ready(&self, set_up: bool) -> Option<u64> {
        self.start.reports[self.index].set(set_up.then(id)).ok();
        *self.start.at_ns.wait()
    }

    /// Raises the halt flag if the work of this thread has failed, and returns the result.
    pub fn checked<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        result.inspect_err(|_| self.halt.0.store(true, Ordering::Relaxed))
    }
}

impl Meeting for Member<'_> {
    fn ready(&self, is_set_up: bool) -> Option<u64> {
        Member::ready(self, is_set_up)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        // This has no effect if the thread has reported before.
        self.start.reports[self.index].set(None).ok();
    }
}

/// Raises the flag if the thread that holds it panics, so that the others do not continue to the
/// planned end.
pub(crate) struct HaltsOnPanic<'a>(pub &'a AtomicBool);

impl Drop for HaltsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::scope;

    /// Runs three members; number 1 calls `act` before it is ready. Returns the starts that the
    /// others got, and whether the run was halted.
    fn three(act: impl Fn(&Member<'_>) + Sync) -> (Vec<Option<u64>>, bool) {
        let (start, halt) = (Start::for_members(3), AtomicBool::new(false));
        let member = |index| {
            let member = Member::new(&start, index, &halt);
            if index == 1 {
                act(&member);
            }
            member.ready(true)
        };
        let starts = scope(|scope| {
            let starter = Starter::new(&start);
            let member = &member;
            let threads: Vec<_> = (0..3)
                .map(|index| scope.spawn(move || member(index)))
                .collect();
            if starter.wait_for_all().is_some_and(|ids| ids.len() == 3) {
                starter.start_at(7);
            } else {
                drop(starter);
            }
            threads.into_iter().filter_map(|t| t.join().ok()).collect()
        });
        (starts, halt.load(Ordering::Relaxed))
    }

    #[test]
    fn all_get_the_same_start() {
        assert_eq!(three(|_| {}), (vec![Some(7); 3], false));
    }

    #[test]
    fn one_that_is_not_set_up_leaves_no_start() {
        let refused = |member: &Member<'_>| assert_eq!(member.ready(false), None);
        assert_eq!(three(refused), (vec![None; 3], false));
    }

    #[test]
    fn a_panic_before_the_report_keeps_nobody_waiting() {
        let panicked = three(|_| panic!("as the test wants"));
        assert_eq!(panicked, (vec![None; 2], true));
    }

    #[test]
    fn a_panic_after_the_start_halts_the_others() {
        let late = |member: &Member<'_>| {
            assert_eq!(member.ready(true), Some(7));
            panic!("as the test wants");
        };
        assert_eq!(three(late), (vec![Some(7); 2], true));
    }

    #[test]
    fn an_error_halts_the_others() {
        let fails = |member: &Member<'_>| member.checked(Err::<(), ()>(())).unwrap_or_default();
        assert_eq!(three(fails), (vec![Some(7); 3], true));
    }
}
