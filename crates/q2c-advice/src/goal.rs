//! The goal of a recommendation: an objective, a floor of IOPS, and limits. Also the choice among
//! the kernel's own ways to sleep.

use crate::evidence::{TrialFigures, median_of};
use q2c_policy::Method;
pub use q2c_result::tune::{MAX_CPU_PCT, MIN_GAIN, STANDARD_FLOOR};
use q2c_result::tune::{Relative, Verdict};
use q2c_sim::{Limits, MinIops, Objective};

/// The figure at which a recommended method should be best, and the limits that it must keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// The figure by which methods are compared.
    pub objective: Objective,
    /// The floor of IOPS, and the limits on latency and CPU.
    pub limits: Limits,
}

/// The most thread CPU, percent, of a method that has left the CPU: a share of polling's CPU, which
/// is less than a whole CPU if the lanes think.
pub(crate) fn saving_cpu_pct(thinks: bool, polled_pct: f64) -> f64 {
    if thinks {
        MAX_CPU_PCT / 100.0 * polled_pct
    } else {
        MAX_CPU_PCT
    }
}

impl Goal {
    /// The floor as a share of polling's IOPS, where polling has `poll_iops`.
    pub fn floor(&self, poll_iops: f64) -> f64 {
        match self.limits.min_iops {
            None => STANDARD_FLOOR,
            Some(MinIops::OfPolling(share)) => share,
            Some(MinIops::Iops(iops)) => iops / poll_iops,
        }
    }

    /// True if the medians of the trials keep the limits on p99 latency and thread CPU.
    pub(crate) fn other_limits_kept(&self, trials: &[TrialFigures]) -> bool {
        let keeps = |limit: Option<f64>, figure: fn(&TrialFigures) -> f64| {
            limit.is_none_or(|limit| median_of(trials, figure) <= limit)
        };
        keeps(self.limits.max_p99_ns, |t| t.p99_ns)
            && keeps(self.limits.max_cpu_pct, |t| t.rates.cpu_pct)
    }
}

/// The figures of one of the kernel's ways to sleep, medians over its trials.
#[derive(Clone, Copy, Debug)]
pub struct KernelWay<'a> {
    /// The method.
    pub method: &'a Method,
    /// Its figures relative to the kernel's classic polling.
    pub relative: &'a Relative,
    /// CPU of the polling threads, percent of one CPU.
    pub cpu_pct: f64,
    /// 99th percentile of the latency, ns: U2C of q2c's own runs, D2C under the user's load.
    pub p99_ns: f64,
}

impl KernelWay<'_> {
    fn pays(&self) -> bool {
        self.relative.kiops_per_core.median >= MIN_GAIN && self.cpu_pct <= MAX_CPU_PCT
    }

    fn keeps_limits(&self, goal: &Goal) -> bool {
        let keeps = |limit: Option<f64>, found: f64| limit.is_none_or(|limit| found <= limit);
        keeps(goal.limits.max_cpu_pct, self.cpu_pct) && keeps(goal.limits.max_p99_ns, self.p99_ns)
    }

    fn score(&self, objective: Objective) -> f64 {
        match objective {
            Objective::KiopsPerCore => self.relative.kiops_per_core.median,
            Objective::Iops => self.relative.iops.median,
            Objective::Cpu => -self.cpu_pct,
        }
    }
}

/// The best of the ways that pay, keep the limits, and keep `floor`, a share of classic polling's
/// IOPS. If there is no such way, the verdict says which condition none of the ways meets.
pub fn best_of_kernel<'a>(
    ways: &[KernelWay<'a>],
    floor: f64,
    goal: &Goal,
) -> (Verdict, Option<&'a Method>) {
    let pays: Vec<&KernelWay<'_>> = ways.iter().filter(|way| way.pays()).collect();
    let keeps = pays.iter().filter(|way| way.relative.iops.median >= floor);
    let keeps: Vec<&KernelWay<'a>> = keeps.copied().collect();
    let eligible = keeps.iter().filter(|way| way.keeps_limits(goal));
    let score = |way: &KernelWay<'_>| way.score(goal.objective);
    match eligible.max_by(|a, b| score(a).total_cmp(&score(b))) {
        Some(best) => (Verdict::Rule, Some(best.method)),
        None if pays.is_empty() => (Verdict::NoRoom, None),
        None if keeps.is_empty() => (Verdict::TradeOff, None),
        None => (Verdict::Limits, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::stats::Interval;
    use q2c_sim::Limits;

    fn relative(iops: f64, per_core: f64) -> Relative {
        Relative {
            iops: Interval::from_samples(&[iops]),
            kiops_per_core: Interval::from_samples(&[per_core]),
            ..Relative::default()
        }
    }

    /// The first saves most but loses too many IOPS, the second is best, the third is the fastest.
    /// The fourth never left the CPU.
    #[test]
    fn the_objective_chooses_among_those_that_keep_the_limits() {
        let methods = ["1us", "2us", "3us", "4us"];
        let methods: [Method; 4] = methods.map(|us| format!("hybrid-kernel:{us}").parse().unwrap());
        let figures = [
            (relative(0.90, 3.0), 30.0, 300e3),
            (relative(0.98, 2.0), 50.0, 200e3),
            (relative(0.99, 1.5), 66.0, 100e3),
            (relative(1.0, 1.1), 99.9, 90e3),
        ];
        let ways: [KernelWay<'_>; 4] = std::array::from_fn(|n| KernelWay {
            method: &methods[n],
            relative: &figures[n].0,
            cpu_pct: figures[n].1,
            p99_ns: figures[n].2,
        });
        let unlimited = Limits::default();
        let p99 = |ns| Limits {
            max_p99_ns: Some(ns),
            ..unlimited
        };
        use Objective::{Cpu, Iops, KiopsPerCore};
        for (objective, limits, floor, wanted) in [
            (KiopsPerCore, unlimited, 0.97, Ok(1)),
            (Iops, unlimited, 0.97, Ok(2)),
            (Cpu, unlimited, 0.97, Ok(1)),
            (KiopsPerCore, unlimited, 0.5, Ok(0)),
            (KiopsPerCore, p99(150e3), 0.97, Ok(2)),
            (KiopsPerCore, p99(95e3), 0.97, Err(Verdict::Limits)),
            (KiopsPerCore, unlimited, 0.995, Err(Verdict::TradeOff)),
        ] {
            let goal = Goal { objective, limits };
            let (verdict, best) = best_of_kernel(&ways, floor, &goal);
            match wanted {
                Ok(n) => assert_eq!((verdict, best), (Verdict::Rule, Some(&methods[n]))),
                Err(why) => assert_eq!((verdict, best), (why, None)),
            }
        }
        let goal = Goal {
            objective: Iops,
            limits: unlimited,
        };
        let stays = best_of_kernel(&ways[3..], 0.97, &goal);
        assert_eq!(stays, (Verdict::NoRoom, None));
    }
}
