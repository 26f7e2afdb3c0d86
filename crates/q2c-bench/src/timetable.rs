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

    /// The activities of a background job of phase `n`. A job of phase 0 starts earlier, alone.
    pub(crate) fn background_job(&self, n: usize, at_work: Activity) -> Vec<Activity> {
        let Range { start, end } = self.phase(n);
        let start = if n == 0 { 0 } else { start };
        self.in_slices(start..end, at_work)
    }

    fn in_slices(&self, active: Range<usize>, first: Activity) -> Vec<Activity> {
        let mut first = Some(first);
        let activity = |slice: usize| {
            if active.contains(&slice) {
                first.take().unwrap_or(Activity::Continue)
            } else {
                Activity::Idle
            }
        };
        (0..self.slices()).map(activity).collect()
    }
}

const TREND_SLICES: usize = 4;
/// Throughput is steady if its trend over these slices is less than this share of their mean.
const MAX_TREND: f64 = 0.05;

/// The counted slices, and whether the warm-up had become steady before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SteadyWindow {
    /// The slice with which the warm-up began.
    pub begin: usize,
    pub slices: Range<usize>,
    pub steady: bool,
}

impl SteadyWindow {
    pub(crate) fn shifted_by(self, begin: usize) -> Self {
        SteadyWindow {
            begin: self.begin + begin,
            slices: self.slices.start + begin..self.slices.end + begin,
            steady: self.steady,
        }
    }
}

/// Chooses `measured` slices that start where the throughput is steady, after `warm_up` slices at
/// the latest. The trend is a least-squares line over four slices, as in fio's `iops_slope`.
pub(super) fn steady_window(iops: &[f64], warm_up: usize, measured: usize) -> SteadyWindow {
    let slices = |from: usize| iops.get(from..from + TREND_SLICES);
    let steady = |from: &usize| slices(*from).is_some_and(|values| trend(values).abs() < MAX_TREND);
    // The first slice never counts: it contains the start.
    let first = (1..=warm_up).find(steady);
    let from = first.unwrap_or(warm_up);
    SteadyWindow {
        begin: 0,
        slices: from..(from + measured).min(iops.len()),
        steady: first.is_some(),
    }
}

/// Change from first to last along the least-squares line, as a share of the mean.
fn trend(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let middle = (n - 1.0) / 2.0;
    let x = |i: usize| i as f64 - middle;
    let products = values.iter().enumerate();
    let products: f64 = products.map(|(i, v)| x(i) * (v - mean)).sum();
    let square: f64 = (0..values.len()).map(|i| x(i) * x(i)).sum();
    products / square * (n - 1.0) / mean
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

    #[test]
    fn a_trend_is_the_change_along_the_line() {
        assert!((trend(&[100.0, 110.0, 120.0, 130.0]) - 30.0 / 115.0).abs() < 1e-12);
        assert!(trend(&[100.0, 104.0, 96.0, 100.0]).abs() < 0.13);
        assert_eq!(trend(&[5.0, 5.0, 5.0]), 0.0);
    }

    #[test]
    fn the_warm_up_ends_when_the_rise_does() {
        let mut iops = vec![10.0, 40.0, 70.0, 90.0];
        iops.extend([100.0; 10]);
        let got = steady_window(&iops, 6, 8);
        assert_eq!((got.slices, got.steady), (4..12, true));
    }

    #[test]
    fn what_never_settles_counts_from_the_end_of_the_warm_up() {
        let iops: Vec<f64> = (0..12).map(|i| 100.0 * 1.2f64.powi(i)).collect();
        let got = steady_window(&iops, 4, 8);
        assert_eq!((got.slices, got.steady), (4..12, false));
    }
}
