//! The figures of trials relative to polling, and how exactly they are known.

use crate::goal::saving_cpu_pct;
use q2c_model::Rates;
use q2c_model::stats::{Interval, median, sorted};
use q2c_result::tune::{PerCore, Relative};

/// Classic polling in the slices before, between and after the parts of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PollingBaseline {
    /// I/Os per second of all lanes.
    pub iops: f64,
    /// Thread CPU per lane, percent of one CPU.
    pub cpu_pct: f64,
    /// Busy CPUs of the machine, minus the idle baseline; `None` if they could not be read.
    pub busy_cpus: Option<f64>,
    /// True if the lanes sleep between their I/Os, so that polling does not take a whole CPU.
    pub thinks: bool,
    /// Waits from the submission's return to the reaping, ns: quantiles at midpoints of equal
    /// shares; zeros if they are unknown.
    pub wait_ns: [f32; WAIT_QUANTILES],
}

/// Number of quantiles of a trial's waits in its polled slices.
pub const WAIT_QUANTILES: usize = 32;

/// The paired prediction of a trial: its rule simulated on the polled slices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairedPrediction {
    /// IOPS over the IOPS of the slices.
    pub relative_iops: f64,
    /// Thread CPU per lane, percent of one CPU.
    pub cpu_pct: f64,
    /// Misses / I/Os that hybrid polling handled.
    pub miss_rate: f64,
}

/// The figures of one live trial: those of its own parts, unless the field says something else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialFigures {
    /// Speed, cost and sleeps of all lanes.
    pub rates: Rates<f64>,
    /// Busy CPUs of the machine, minus the idle baseline; `None` if they could not be read.
    pub busy_cpus: Option<f64>,
    /// 99th percentile of U2C, ns.
    pub p99_ns: f64,
    /// The figures of the polled slices.
    pub polling: PollingBaseline,
    /// The paired prediction; `None` if the method is not predicted.
    pub predicted: Option<PairedPrediction>,
    /// The referee's round in which the trial ran, from 0.
    pub round: u32,
}

impl TrialFigures {
    /// True if the trial and its slices can be compared: all have I/Os and CPU time.
    pub(crate) fn is_complete(&self) -> bool {
        let figures = [self.relative_iops(), self.relative_per_thread_cpu()];
        figures.iter().all(|f| f.is_finite() && *f > 0.0)
    }

    /// The most thread CPU, percent, of a rule that has left the CPU: a share of polling's.
    pub(crate) fn saving_cpu_pct(&self) -> f64 {
        saving_cpu_pct(self.polling.thinks, self.polling.cpu_pct)
    }

    /// IOPS over the IOPS of the polled slices.
    pub fn relative_iops(&self) -> f64 {
        self.rates.iops / self.polling.iops
    }

    /// KIOPS/core over that of the polled slices, by the machine's busy CPUs; `None` if unknown.
    pub fn relative_per_core(&self) -> Option<f64> {
        let busy = self.busy_cpus.filter(|&busy| busy > 0.0)?;
        let polling = self.polling.busy_cpus.filter(|&busy| busy > 0.0)?;
        Some(self.relative_iops() * polling / busy)
    }

    pub(crate) fn per_core(&self, cores: PerCore) -> Option<f64> {
        match cores {
            PerCore::Machine => self.relative_per_core(),
            PerCore::Threads => Some(self.relative_per_thread_cpu()),
        }
    }

    /// KIOPS/core over that of the polled slices, counting only the submitting threads' CPU.
    pub fn relative_per_thread_cpu(&self) -> f64 {
        self.relative_iops() * self.polling.cpu_pct / self.rates.cpu_pct
    }
}

pub(crate) fn median_of(trials: &[TrialFigures], figure: impl Fn(&TrialFigures) -> f64) -> f64 {
    median(&sorted(&trials.iter().map(figure).collect::<Vec<f64>>()))
}

/// The CPU time that KIOPS/core divides by: the machine's busy CPUs if most trials of every method
/// have them. All methods divide by the same, because interrupts that belong to no thread would
/// make one look better.
pub fn per_core_divisor<'a>(methods: impl Iterator<Item = &'a [TrialFigures]>) -> PerCore {
    let is_known = |trials: &[TrialFigures]| {
        let with_cores = trials.iter().filter_map(TrialFigures::relative_per_core);
        2 * with_cores.count() > trials.len()
    };
    let all_known = methods.filter(|trials| !trials.is_empty()).all(is_known);
    if all_known {
        PerCore::Machine
    } else {
        PerCore::Threads
    }
}

pub(crate) fn per_core(trials: &[TrialFigures], cores: PerCore) -> Vec<f64> {
    let trials = trials.iter();
    trials.filter_map(|trial| trial.per_core(cores)).collect()
}

/// The relative figures of a cell as a result, `None` without trials; `cores` is that of all cells.
pub fn relative(trials: &[TrialFigures], cores: PerCore) -> Option<Relative> {
    let iops: Vec<f64> = trials.iter().map(TrialFigures::relative_iops).collect();
    (!trials.is_empty()).then(|| Relative {
        iops: Interval::from_samples(&iops),
        kiops_per_core: Interval::from_samples(&per_core(trials, cores)),
        cores,
    })
}

/// The logarithm of a ratio, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the ratio.
    pub log: f64,
    /// Standard error of the logarithm.
    pub se: f64,
}

/// Standard error of a median over that of a mean, for normal deviates.
const MEDIAN_ERROR: f64 = 1.25;

impl Estimate {
    /// Estimates the median of ratios whose logarithms scatter by `sd`; `None` if not above 0.
    pub(crate) fn from_ratios(ratios: &[f64], sd: f64) -> Option<Self> {
        let ratios = sorted(ratios);
        let middle = median(&ratios);
        (middle > 0.0).then(|| Estimate {
            // This is not the median of the logarithms, so that it agrees with the printed median.
            log: middle.ln(),
            se: match ratios.len() {
                // The median of one or two values is their mean.
                1 | 2 => sd / (ratios.len() as f64).sqrt(),
                n => MEDIAN_ERROR * sd / (n as f64).sqrt(),
            },
        })
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.log.exp()
    }

    /// Joins two estimates, each weighted by the inverse of its squared standard error.
    pub(crate) fn join(self, other: Option<Estimate>) -> Estimate {
        let Some(other) = other else { return self };
        let (a, b) = (1.0 / self.se.powi(2), 1.0 / other.se.powi(2));
        Estimate {
            log: (self.log * a + other.log * b) / (a + b),
            se: (1.0 / (a + b)).sqrt(),
        }
    }

    /// Number of standard errors by which the estimate is above a ratio; negative if it is below.
    pub(crate) fn errors_above(&self, ratio: f64) -> f64 {
        (self.log - ratio.ln()) / self.se.max(f64::MIN_POSITIVE)
    }
}

/// The scatter of single trials at one block size, as standard deviations of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Scatter of relative IOPS.
    pub iops: f64,
    /// Scatter of relative KIOPS/core.
    pub per_core: f64,
}

/// The scatter assumed before the first trial (docs/journal/2026-11-22-verdicts.md).
const ASSUMED_SD: f64 = 0.04;
/// Weight of [`ASSUMED_SD`], in degrees of freedom.
const ASSUMED_WEIGHT: f64 = 1.0;

impl Noise {
    /// Pools the scatter within each cell over all cells.
    pub fn from_cells<'a>(cells: impl Iterator<Item = &'a [TrialFigures]> + Clone) -> Self {
        let iops =
            |trials: &[TrialFigures]| trials.iter().map(TrialFigures::relative_iops).collect();
        let cores = per_core_divisor(cells.clone());
        Noise {
            iops: pooled_sd(cells.clone().map(iops)),
            per_core: pooled_sd(cells.map(|trials| per_core(trials, cores))),
        }
    }
}

fn pooled_sd(cells: impl Iterator<Item = Vec<f64>>) -> f64 {
    let (mut sum, mut degrees) = (ASSUMED_SD.powi(2) * ASSUMED_WEIGHT, ASSUMED_WEIGHT);
    for ratios in cells {
        let logs = sorted(&ratios.iter().map(|r| r.ln()).collect::<Vec<f64>>());
        let middle = median(&logs);
        // A deviation is limited: a stall of the whole machine says nothing about other trials.
        let deviation = |log: &f64| (log - middle).abs().min(3.0 * ASSUMED_SD);
        sum += logs.iter().map(|log| deviation(log).powi(2)).sum::<f64>();
        degrees += logs.len().saturating_sub(1) as f64;
    }
    (sum / degrees).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(iops: f64, busy: f64) -> TrialFigures {
        TrialFigures {
            rates: Rates {
                iops,
                cpu_pct: 50.0,
                ..Rates::default()
            },
            busy_cpus: Some(busy),
            polling: PollingBaseline {
                iops: 100.0,
                cpu_pct: 100.0,
                busy_cpus: Some(1.2),
                thinks: false,
                ..PollingBaseline::default()
            },
            ..TrialFigures::default()
        }
    }

    /// 96 IOPS on 0.6 CPUs beside 100 on 1.2 give 0.96 and 1.92; by thread CPU 0.96 * 100 / 50.
    #[test]
    fn a_trial_over_polling_beside_it() {
        let one = trial(96.0, 0.6);
        assert_eq!(one.relative_iops(), 0.96);
        assert_eq!(one.relative_per_core(), Some(1.92));
        assert_eq!(one.relative_per_thread_cpu(), 1.92);
    }

    /// Polling that thinks takes 40 % of a CPU, so a rule that has left it takes at most 38.8 %.
    #[test]
    fn a_rule_leaves_what_polling_takes() {
        let mut one = trial(96.0, 0.6);
        assert_eq!(one.saving_cpu_pct(), 97.0);
        (one.polling.thinks, one.polling.cpu_pct) = (true, 40.0);
        assert!((one.saving_cpu_pct() - 38.8).abs() < 1e-12);
    }

    #[test]
    fn a_stalled_trial_is_not_whole() {
        assert!(trial(96.0, 0.6).is_complete());
        assert!(!trial(0.0, 0.6).is_complete());
        let mut alone = trial(96.0, 0.6);
        alone.polling = PollingBaseline::default();
        assert!(!alone.is_complete());
        assert_eq!(Estimate::from_ratios(&[f64::NAN], 0.01), None);
    }

    /// If half the trials of a method lack busy CPUs, all methods are compared by thread CPU.
    #[test]
    fn busy_cpus_of_all_methods_or_of_none() {
        let mut blind = trial(96.0, 0.6);
        blind.busy_cpus = None;
        let seen = [trial(90.0, 0.9), trial(90.0, 0.9), blind];
        let half = [trial(96.0, 0.6), blind];
        assert_eq!(per_core_divisor([&seen[..]].into_iter()), PerCore::Machine);
        let by_machine = relative(&seen, PerCore::Machine).unwrap().kiops_per_core;
        assert!((by_machine.median - 1.2).abs() < 1e-12);
        assert_eq!(by_machine.trials, 2);

        let both = per_core_divisor([&seen[..], &half[..], &[]].into_iter());
        assert_eq!(both, PerCore::Threads);
        let by_threads = relative(&seen, both).unwrap();
        // 90 and 96 % of the IOPS with half of the thread CPU.
        assert_eq!(by_threads.kiops_per_core.min, 1.8);
        assert_eq!(by_threads.kiops_per_core.max, 1.92);
        assert_eq!(by_threads.cores, PerCore::Threads);
        assert_eq!(relative(&[], both), None);
    }

    /// The weights 1/0.01^2 and 1/0.02^2 are as 4 to 1: 0.2 * 0.05 = 0.01, error sqrt(1 / 12500).
    #[test]
    fn what_is_known_better_counts_more() {
        let [sure, less] = [(0.0, 0.01), (0.05, 0.02)].map(|(log, se)| Estimate { log, se });
        let both = sure.join(Some(less));
        assert!((both.log - 0.01).abs() < 1e-12);
        assert!((both.se - (1.0f64 / 12_500.0).sqrt()).abs() < 1e-12);
        assert_eq!(sure.join(None), sure);
    }

    /// Deviations are -2 %, 0 and +2 % in both cells: (0.04^2 + 4 * ln(1.02)^2) / (1 + 4).
    #[test]
    fn scatter_is_pooled_within_cells() {
        let cell = |center: f64| {
            let trials = [center / 1.02, center, center * 1.02].map(|iops| trial(iops, 1.0));
            trials.to_vec()
        };
        let cells = [cell(90.0), cell(50.0)];
        let noise = Noise::from_cells(cells.iter().map(Vec::as_slice));
        let expected = ((0.0016 + 4.0 * 1.02f64.ln().powi(2)) / 5.0).sqrt();
        assert!((noise.iops - expected).abs() < 1e-9, "{noise:?}");
    }
}
