//! How long the trials of a run will take, computed before anything is measured.

use super::plan::OVERHEAD_S;
use super::record::WARM_UP;
use super::rounds::MAX_TRIALS_PER_REQUESTED;
use super::{TuneSettings, late};
use q2c_advice::MIN_COMPARED_TRIALS;
use q2c_policy::LaneMethod;
use q2c_workbench::calibrate;

/// Number of runs for late time that are expected for each block size.
const LATE_RUNS: f64 = 4.0;

/// The time of a run's trials, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedTrials {
    /// Time of the trials of the user's rules, which run whatever simulation predicts for them.
    pub rules_s: f64,
    /// Upper bound on the time of all other methods' trials.
    pub others_s: f64,
}

impl TuneSettings {
    pub(super) fn max_trials(&self) -> u32 {
        self.trials * MAX_TRIALS_PER_REQUESTED
    }

    /// The time of a whole run at one number of jobs, seconds. It assumes the largest number of
    /// trials, and a device that is fast enough for trials of normal length.
    pub(super) fn expected_s(&self, calibrates: bool) -> f64 {
        let sizes = self.workload.bs.len();
        let calibration = calibrates.then(|| calibrate::expected_s(sizes));
        let recording = self.record_seconds() + WARM_UP.as_secs_f64() + OVERHEAD_S;
        let late = LATE_RUNS * (OVERHEAD_S + late::length(self).as_secs_f64());
        let ExpectedTrials { rules_s, others_s } = self.expected_trials(1);
        let trials = rules_s.max(others_s);
        let trials = trials.min(self.budget_s.unwrap_or(f64::INFINITY));
        calibration.unwrap_or(0.0) + sizes as f64 * (recording + late) + trials
    }

    /// The time of the trials at `job_counts` numbers of jobs. A rule settles for two of its
    /// periods in each trial, so that its trials can take much longer.
    #[must_use]
    pub fn expected_trials(&self, job_counts: usize) -> ExpectedTrials {
        let trial = |method: &LaneMethod| {
            OVERHEAD_S + self.timetable(method, f64::INFINITY).stages.seconds()
        };
        let rules = self.policy.iter().cloned().map(LaneMethod::Hybrid);
        let rules_s: f64 = rules.map(|rule| trial(&rule)).sum();
        let combinations = self.workload.bs.len() as f64 * job_counts as f64;
        let trials = f64::from(self.max_trials());
        ExpectedTrials {
            rules_s: rules_s
                * combinations
                * f64::from(self.trials.min(MIN_COMPARED_TRIALS as u32)),
            others_s: trial(&LaneMethod::Interrupt) * combinations * trials,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::tests::settings;

    /// The parts: a recording of 2.3 s, four runs of 1.1 s for late time, and 30 trials of 1.909 s
    /// or the budget.
    #[test]
    fn a_run_is_as_long_as_its_parts() {
        let spec = settings("sim:50us");
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
        let trials = 30.0 * (0.1 + 0.1 + 1.7089);
        near(spec.expected_s(false), 2.3 + 4.4 + trials);
        let calibration = q2c_workbench::calibrate::expected_s(1);
        near(spec.expected_s(true), 2.3 + 4.4 + trials + calibration);
        let short = crate::TuneSettings {
            budget_s: Some(10.0),
            ..spec
        };
        near(short.expected_s(false), 2.3 + 4.4 + 10.0);
    }

    /// One second has 16 parts and 17 slices: 1 + 17 * 0.0417 = 1.709 s. A rule settles for at
    /// least 0.25 s, and for two hours if its period is one hour. Interrupts settle for 0.1 s.
    #[test]
    fn a_rule_with_a_long_period_takes_long() {
        let expected = |rule: &str, numbers| {
            settings(&format!("sim:50us --bs 4k,64k --policy {rule}")).expected_trials(numbers)
        };
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
        let short = expected("min:70%,10ms", 1);
        near(short.rules_s, 2.0 * 2.0 * (0.1 + 0.25 + 1.7089));
        near(short.others_s, 2.0 * 30.0 * (0.1 + 0.1 + 1.7089));
        let long = expected("min:70%,3600s", 3);
        near(long.rules_s, 3.0 * 2.0 * 2.0 * (0.1 + 7_200.0 + 1.7089));
    }
}
