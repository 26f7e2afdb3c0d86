//! Judges one contender: how much it gains, and how surely it keeps the floor.

use crate::decide::MethodContender;
use crate::evidence::{Estimate, Noise, TrialFigures, middle};
use crate::goal::{Goal, WORTH};
use crate::states::Carry;
use q2c_result::tune::PerCore;
use q2c_sim::Objective;

/// Taken off the gain of a rule that does not follow the device: with
/// [`EQUAL`](crate::decide::EQUAL) it must be better by 2.5 %.
const NOT_FOLLOWING_PENALTY: f64 = 0.015;
/// The cost of breaking the floor, as a logarithm of the objective, times its probability.
const RISK: f64 = 1.0;
/// Standard errors by which the trials' median may lie below the floor within their interval.
const WITHIN: f64 = 1.25;
/// Trials contradict a simulation when they differ from it by more than this many standard errors.
const CONTRADICTED: f64 = 2.0;
/// From this number on, trials can show that one of them was unlucky, or that a simulation is
/// wrong.
const ENOUGH: usize = 3;
/// A method is open while it is within this many standard errors of being the answer.
pub(crate) const OPEN: f64 = 1.0;

#[derive(Clone, Debug)]
pub(crate) struct Assessment {
    pub index: usize,
    pub sleeps: bool,
    pub follows: bool,
    pub trials: u32,
    /// IOPS over polling's, median of its trials as they were.
    pub own: f64,
    /// IOPS over polling's, median of its trials carried to all states of the run.
    pub over_run: f64,
    /// IOPS over polling's, by trials and simulation together.
    pub iops: Estimate,
    /// The objective over polling's, by trials and simulation together.
    pub value: Estimate,
    pub per_core: Estimate,
    pub measured: f64,
    pub kept: bool,
    pub floor: f64,
    pub limits_kept: bool,
    /// By the trials' median or, where they may have been unlucky, by trials and simulation.
    pub floor_kept: bool,
    pub breaks: f64,
    /// Whether the method gains enough over polling in its trials, and a rule leaves the CPU.
    pub pays: bool,
    pub miss_rate: f64,
    pub params: usize,
}

impl Assessment {
    /// `None` where no trial can be compared. KIOPS/core divides by `cores`.
    pub(crate) fn from_trials(
        index: usize,
        contender: &MethodContender,
        goal: &Goal,
        noise: &Noise,
        (floor, wanted): (f64, u32),
        cores: PerCore,
    ) -> Option<Assessment> {
        let trials = &contender.trials;
        let carried = |factor: fn(&Carry) -> f64| {
            let carries = contender.carries.iter().map(factor);
            carries.chain(std::iter::repeat(1.0))
        };
        let ratios = trials.iter().map(TrialFigures::relative_iops);
        let ratios = ratios
            .zip(carried(|c| c.iops))
            .map(|(ratio, by)| ratio * by);
        let ratios: Vec<f64> = ratios.collect();
        let cores = trials.iter().map(|trial| trial.per_core(cores));
        let cores = cores.zip(carried(|c| c.per_core));
        let cores: Vec<f64> = cores.filter_map(|(gain, by)| Some(gain? * by)).collect();
        let live_iops = Estimate::from_ratios(&ratios, noise.iops)?;
        let live_cores = Estimate::from_ratios(&cores, noise.per_core)?;
        // A simulation that several trials contradict is not taken into account.
        let holds = |live: Estimate, model: &Estimate| {
            ratios.len() < ENOUGH
                || (live.log - model.log).abs() <= CONTRADICTED * live.se.hypot(model.se)
        };
        let (model_iops, model_cores) = contender.belief.unzip();
        let iops = live_iops.joined(model_iops.filter(|model| holds(live_iops, model)));
        let per_core = live_cores.joined(model_cores.filter(|model| holds(live_cores, model)));
        let cpu = trials.iter().map(|t| t.beside.cpu_pct / t.rates.cpu_pct);
        let cpu: Vec<f64> = cpu.collect();
        let live_cpu = Estimate::from_ratios(&cpu, noise.per_core)?;
        let (value, live) = match goal.objective {
            Objective::KiopsPerCore => (per_core, live_cores),
            Objective::Iops => (iops, live_iops),
            Objective::Cpu => (live_cpu, live_cpu),
        };
        let sleeps = contender.method.policy().is_some();
        let limits_kept = goal.other_limits_kept(trials);
        let above = live_iops.ratio() >= floor;
        // Three or more trials with their median below the floor may have been unlucky when one
        // kept it.
        let unlucky = ratios.len() >= ENOUGH && ratios.iter().any(|&ratio| ratio >= floor);
        let within = above || unlucky && live_iops.above(floor) >= -WITHIN;
        let answered = trials.len() as u32 >= wanted.max(ENOUGH as u32);
        let every = answered && ratios.iter().all(|&ratio| ratio >= floor);
        let miss_rate = middle(trials, |t| t.rates.miss_rate);
        let cpu_pct = middle(trials, |t| t.rates.cpu_pct);
        Some(Assessment {
            index,
            sleeps,
            follows: contender.method.follows_the_device(),
            trials: trials.len() as u32,
            own: middle(trials, TrialFigures::relative_iops),
            over_run: live_iops.ratio(),
            iops,
            value,
            per_core,
            floor,
            limits_kept,
            measured: live.log,
            kept: above && limits_kept,
            floor_kept: limits_kept && (above || within && iops.above(floor) >= 0.0),
            breaks: if every {
                0.0
            } else {
                1.0 - likely(iops.above(floor))
            },
            // A rule that does not leave the CPU saves none of it, whatever its noise says.
            pays: live_cores.ratio() >= WORTH
                && (!sleeps || cpu_pct <= middle(trials, TrialFigures::saving)),
            miss_rate,
            params: contender.method.policy().map_or(0, |p| p.params().len()),
        })
    }

    /// The logarithm of the objective, less the penalty of a rule that does not follow the device.
    pub(crate) fn gain(&self) -> f64 {
        let follows = self.follows;
        self.value.log - if follows { 0.0 } else { NOT_FOLLOWING_PENALTY }
    }

    pub(crate) fn score(&self) -> f64 {
        self.gain() - RISK * self.breaks
    }

    pub(crate) fn may_keep(&self) -> bool {
        let limits = self.limits_kept || self.trials < 2;
        limits && self.iops.above(self.floor) > -OPEN && self.per_core.above(WORTH) > -OPEN
    }
}

/// The probability of a normal deviate below `errors`, by the logistic curve within 1 %.
fn likely(errors: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * errors).exp())
}
