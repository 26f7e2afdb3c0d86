//! The slices of a trial, and the activity of its threads in each.

use q2c_engine::{Activity, Wait};
use std::ops::Range;

/// Numbers of slices: those in which the first background runs alone, then those of each phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timetable {
    pub background_only: usize,
    pub warm_up: usize,
    pub measured: usize,
    pub phases: usize,
}

impl Timetable {
    pub(crate) fn slices(&self) -> usize {
        self.background_only + self.phases * (self.warm_up + self.measured)
    }

    pub(crate) fn phase(&self, n: usize) -> Range<usize> {
        let length = self.warm_up + self.measured;
        let begin = self.background_only + n * length;
        begin..begin + length
    }

    pub(crate) fn measured_job(&self, wait: Wait) -> Vec<Activity> {
        self.in_slices(self.background_only..self.slices(), Activity::Start(wait))
    }

    /// The slices of a background job of phase `n`. The first background also runs before.
    pub(crate) fn background_job(&self, n: usize, at_work: Activity) -> Vec<Activity> {
        let Range { start, end } = self.phase(n);
        let start = if n == 0 { 0 } else { start };
        self.in_slices(start..end, at_work)
    }

    fn in_slices(&self, active: Range<usize>, begin: Activity) -> Vec<Activity> {
        let mut begin = Some(begin);
        let activity = |slice: usize| {
            if active.contains(&slice) {
                begin.take().unwrap_or(Activity::Continue)
            } else {
                Activity::Idle
            }
        };
        (0..self.slices()).map(activity).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(activities: &[Activity]) -> String {
        let mark = |activity: &Activity| match activity {
            Activity::Idle => '-',
            Activity::Start(_) => 'S',
            Activity::Continue => 'c',
            Activity::Resume => '?',
        };
        activities.iter().map(mark).collect()
    }

    /// Two phases, each with one slice of warm-up and two counted ones.
    #[test]
    fn jobs_run_on_while_the_background_changes() {
        let times = Timetable {
            background_only: 1,
            warm_up: 1,
            measured: 2,
            phases: 2,
        };
        assert_eq!((times.phase(0), times.phase(1)), (1..4, 4..7));
        assert_eq!(marks(&times.measured_job(Wait::Poll)), "-Sccccc");
        let background = |n| times.background_job(n, Activity::Start(Wait::Interrupt));
        assert_eq!(marks(&background(0)), "Sccc---");
        assert_eq!(marks(&background(1)), "----Scc");
    }
}
