//! What trials measured beside polling, and how well that is known.

use q2c_result::tune::{PerCore, Relative};
use q2c_stats::{Interval, median, sorted};

/// Polling in the slices between the parts of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// I/Os per second, all lanes.
    pub iops: f64,
    /// Thread CPU, percent of one CPU and lane.
    pub cpu_pct: f64,
    /// Busy CPUs of the machine, idle baseline taken off.
    pub busy_cpus: Option<f64>,
}

/// What the simulator made of those slices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// IOPS over those of the slices.
    pub relative_iops: f64,
    /// Thread CPU, percent of one CPU and lane.
    pub cpu_pct: f64,
    /// Misses / I/Os handled.
    pub miss_rate: f64,
}

/// One live trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// I/Os per second, all lanes.
    pub iops: f64,
    /// Thread CPU, percent of one CPU and lane.
    pub cpu_pct: f64,
    /// Busy CPUs of the machine, idle baseline taken off.
    pub busy_cpus: Option<f64>,
    /// Misses / I/Os handled.
    pub miss_rate: f64,
    /// Sum of sleeps asked / I/Os handled, ns.
    pub effective_sleep_ns: f64,
    /// U2C: 99th percentile, ns.
    pub p99_ns: f64,
    /// Polling beside it.
    pub beside: Beside,
    /// The paired prediction; `None` where nothing is predicted.
    pub predicted: Option<Predicted>,
    /// The referee's round in which it ran, from 0.
    pub round: u32,
}

impl Trial {
    /// Whether it can be compared: a trial or slices without an I/O, or without CPU time, cannot.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let figures = [self.relative_iops(), self.relative_per_thread_cpu()];
        figures.iter().all(|f| f.is_finite() && *f > 0.0)
    }

    /// IOPS over those of polling beside it.
    #[must_use]
    pub fn relative_iops(&self) -> f64 {
        self.iops / self.beside.iops
    }

    /// KIOPS/core over that of polling beside it, by the machine's busy CPUs; `None` where they
    /// could not be read.
    #[must_use]
    pub fn relative_per_core(&self) -> Option<f64> {
        let busy = self.busy_cpus.filter(|&busy| busy > 0.0)?;
        let beside = self.beside.busy_cpus.filter(|&busy| busy > 0.0)?;
        Some(self.relative_iops() * beside / busy)
    }

    /// The same by the CPU time of the submitting threads alone: interrupts that hit another CPU
    /// are not in it.
    #[must_use]
    pub fn relative_per_thread_cpu(&self) -> f64 {
        self.relative_iops() * self.beside.cpu_pct / self.cpu_pct
    }
}

/// The median of a figure over trials.
pub(crate) fn middle(trials: &[Trial], of: impl Fn(&Trial) -> f64) -> f64 {
    median(&sorted(&trials.iter().map(of).collect::<Vec<f64>>()))
}

/// KIOPS/core of each trial over polling beside it: by the machine's CPUs when every trial has
/// them, else by the threads'.
pub(crate) fn per_core(trials: &[Trial]) -> (Vec<f64>, PerCore) {
    let by_machine: Option<Vec<f64>> = trials.iter().map(Trial::relative_per_core).collect();
    match by_machine {
        Some(all) => (all, PerCore::Machine),
        None => (
            trials.iter().map(Trial::relative_per_thread_cpu).collect(),
            PerCore::Threads,
        ),
    }
}

/// The paired figures of a cell as results have them; `None` without a trial.
#[must_use]
pub fn relative(trials: &[Trial]) -> Option<Relative> {
    let iops: Vec<f64> = trials.iter().map(Trial::relative_iops).collect();
    let (per_core, of) = per_core(trials);
    (!trials.is_empty()).then(|| Relative {
        iops: Interval::of(&iops),
        kiops_per_core: Interval::of(&per_core),
        cores: of,
    })
}

/// The logarithm of a ratio, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the ratio.
    pub log: f64,
    /// Standard error of that.
    pub se: f64,
}

/// Standard error of a median over that of a mean, normal deviations.
const OF_MEDIAN: f64 = 1.25;

impl Estimate {
    /// From ratios whose logarithms scatter by `sd`; `None` without any.
    #[must_use]
    pub fn of(ratios: &[f64], sd: f64) -> Option<Self> {
        let ratios = sorted(ratios);
        let middle = median(&ratios);
        (middle > 0.0).then(|| Estimate {
            // The median that is printed, whose logarithm this is.
            log: middle.ln(),
            se: match ratios.len() {
                // A median of one or two is their mean.
                1 | 2 => sd / (ratios.len() as f64).sqrt(),
                n => OF_MEDIAN * sd / (n as f64).sqrt(),
            },
        })
    }

    /// The ratio.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.log.exp()
    }

    /// Both weighted by how well they are known.
    #[must_use]
    pub fn joined(self, other: Option<Estimate>) -> Estimate {
        let Some(other) = other else { return self };
        let (a, b) = (1.0 / self.se.powi(2), 1.0 / other.se.powi(2));
        Estimate {
            log: (self.log * a + other.log * b) / (a + b),
            se: (1.0 / (a + b)).sqrt(),
        }
    }

    /// How many standard errors it lies above a ratio; negative when below.
    #[must_use]
    pub fn above(&self, ratio: f64) -> f64 {
        (self.log - ratio.ln()) / self.se.max(f64::MIN_POSITIVE)
    }
}

/// How much single trials scatter at one block size, as standard deviations of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Of relative IOPS.
    pub iops: f64,
    /// Of relative KIOPS/core.
    pub per_core: f64,
}

/// Scatter assumed before anything was measured, and how many deviations that assumption is worth
/// (docs/journal/2026-11-22-verdicts.md).
const ASSUMED: f64 = 0.04;
const WEIGHT: f64 = 1.0;

impl Noise {
    /// From the trials of all cells: the scatter within cells, pooled.
    #[must_use]
    pub fn of<'a>(cells: impl Iterator<Item = &'a [Trial]> + Clone) -> Self {
        let iops = |trials: &[Trial]| trials.iter().map(Trial::relative_iops).collect();
        Noise {
            iops: pooled(cells.clone().map(iops)),
            per_core: pooled(cells.map(|trials| per_core(trials).0)),
        }
    }
}

fn pooled(cells: impl Iterator<Item = Vec<f64>>) -> f64 {
    let (mut sum, mut degrees) = (ASSUMED.powi(2) * WEIGHT, WEIGHT);
    for ratios in cells {
        let logs = sorted(&ratios.iter().map(|r| r.ln()).collect::<Vec<f64>>());
        let middle = median(&logs);
        // A stall of the whole machine says nothing of the other trials.
        let deviation = |log: &f64| (log - middle).abs().min(3.0 * ASSUMED);
        sum += logs.iter().map(|log| deviation(log).powi(2)).sum::<f64>();
        degrees += logs.len().saturating_sub(1) as f64;
    }
    (sum / degrees).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(iops: f64, busy: f64) -> Trial {
        Trial {
            iops,
            cpu_pct: 50.0,
            busy_cpus: Some(busy),
            beside: Beside {
                iops: 100.0,
                cpu_pct: 100.0,
                busy_cpus: Some(1.2),
            },
            ..Trial::default()
        }
    }

    /// 96 of 100 IOPS at 0.6 instead of 1.2 CPUs: 0.96 and 1.92. By the threads: 0.96 * 100 / 50.
    #[test]
    fn a_trial_over_polling_beside_it() {
        let one = trial(96.0, 0.6);
        assert_eq!(one.relative_iops(), 0.96);
        assert_eq!(one.relative_per_core(), Some(1.92));
        assert_eq!(one.relative_per_thread_cpu(), 1.92);
    }

    #[test]
    fn a_stalled_trial_is_not_whole() {
        assert!(trial(96.0, 0.6).is_whole());
        assert!(!trial(0.0, 0.6).is_whole());
        let alone = Trial {
            beside: Beside::default(),
            ..trial(96.0, 0.6)
        };
        assert!(!alone.is_whole());
        assert_eq!(Estimate::of(&[f64::NAN], 0.01), None);
    }

    /// One trial without a reading, and all are taken by the threads' CPU: never a mixture.
    #[test]
    fn busy_cpus_of_all_trials_or_of_none() {
        let blind = Trial {
            busy_cpus: None,
            ..trial(96.0, 0.6)
        };
        let both = relative(&[trial(90.0, 0.9), blind]).unwrap();
        assert_eq!(both.cores, PerCore::Threads);
        assert_eq!(both.kiops_per_core.max, 1.92);
        let seen = relative(&[trial(90.0, 0.9)]).unwrap();
        assert_eq!(seen.cores, PerCore::Machine);
        assert!((seen.kiops_per_core.median - 1.2).abs() < 1e-12);
        assert_eq!(relative(&[]), None);
    }

    /// Weights 1/0.01^2 and 1/0.02^2 are 4 to 1: 0.8 * 0.0 + 0.2 * 0.05 = 0.01, error sqrt(1 /
    /// 12500).
    #[test]
    fn what_is_known_better_counts_more() {
        let sure = Estimate { log: 0.0, se: 0.01 };
        let less = Estimate {
            log: 0.05,
            se: 0.02,
        };
        let both = sure.joined(Some(less));
        assert!((both.log - 0.01).abs() < 1e-12);
        assert!((both.se - (1.0f64 / 12_500.0).sqrt()).abs() < 1e-12);
        assert_eq!(sure.joined(None), sure);
    }

    /// Two cells of three: deviations +-2 % and 0, twice: (0.04^2 + 4 * ln(1.02)^2) / (1 + 4).
    #[test]
    fn scatter_is_pooled_within_cells() {
        let cell = |center: f64| {
            [center / 1.02, center, center * 1.02]
                .map(|iops| trial(iops, 1.0))
                .to_vec()
        };
        let cells = [cell(90.0), cell(50.0)];
        let noise = Noise::of(cells.iter().map(Vec::as_slice));
        let wanted = ((0.0016 + 4.0 * 1.02f64.ln().powi(2)) / 5.0).sqrt();
        assert!((noise.iops - wanted).abs() < 1e-9, "{noise:?}");
    }
}
