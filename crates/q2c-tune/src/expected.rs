//! How long the trials of a run take, told before anything is measured.

use super::TuneSpec;
use super::plan::OVERHEAD_S;
use super::rounds::TRIALS_PER_WANTED;
use q2c_advice::COMPARED;
use q2c_policy::LaneMethod;

/// The time of a run's trials, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedTrials {
    /// Trials of the user's rules, which are tried whatever simulation says of them.
    pub own_s: f64,
    /// Trials of all other methods, at most.
    pub others_s: f64,
}

impl TuneSpec {
    /// The time of the trials at `numbers` numbers of jobs, on a device whose trials need not be
    /// made longer. A rule settles for two of its periods in each trial, so that its trials can
    /// take much longer than others'.
    #[must_use]
    pub fn expected_trials(&self, numbers: usize) -> ExpectedTrials {
        let trial = |method: &LaneMethod| {
            OVERHEAD_S + self.timetable(method, f64::INFINITY).stages.seconds()
        };
        let rules = self.rules().into_iter().map(LaneMethod::Hybrid);
        let own: f64 = rules.map(|rule| trial(&rule)).sum();
        let each = self.sizes.len() as f64 * numbers as f64;
        let trials = f64::from(self.trials) * f64::from(TRIALS_PER_WANTED);
        ExpectedTrials {
            own_s: own * each * f64::from(self.trials.min(COMPARED as u32)),
            others_s: trial(&LaneMethod::Interrupt) * each * trials,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checked::tests::good;
    use q2c_model::Bytes;

    /// A trial of one second has 16 parts and 17 slices: 1 + 17 * 0.0417 = 1.709 s. A rule settles
    /// for 0.25 s at least, and for two hours with a period of one hour; interrupts for 0.1 s.
    #[test]
    fn a_rule_with_a_long_period_takes_long() {
        let of = |rule: &str, numbers| {
            let spec = crate::TuneSpec {
                rules: vec![rule.to_owned()],
                sizes: vec![Bytes(4096), Bytes(65536)],
                ..good()
            };
            spec.expected_trials(numbers)
        };
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
        let short = of("min:70%,10ms", 1);
        near(short.own_s, 2.0 * 2.0 * (0.1 + 0.25 + 1.7089));
        near(short.others_s, 2.0 * 30.0 * (0.1 + 0.1 + 1.7089));
        let long = of("min:70%,3600s", 3);
        near(long.own_s, 3.0 * 2.0 * 2.0 * (0.1 + 7_200.0 + 1.7089));
    }
}
