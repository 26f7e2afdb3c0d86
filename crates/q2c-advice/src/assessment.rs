//! Assesses one contender: how much it gains, and how surely it keeps the floor.

use crate::decide::MethodContender;
use crate::evidence::{Estimate, Noise, TrialFigures, middle};
use crate::goal::{Goal, WORTH};
use crate::states::Carry;
use q2c_result::tune::PerCore;
use q2c_sim::Objective;

/// Subtracted from the log gain of a rule that does not follow the device. With
/// [`EQUAL`](crate::decide::EQUAL), such a rule must be better by 2.5 %.
const NOT_FOLLOWING_PENALTY: f64 = 0.015;
/// The cost of breaking the floor, in log units of the objective; its probability multiplies it.
const RISK: f64 = 1.0;
/// Number of standard errors that the trials' median may lie below the floor if one trial kept it.
const WITHIN: f64 = 1.25;
/// Trials contradict a simulation if they differ from it by more than this many standard errors.
const CONTRADICTED: f64 = 2.0;
/// Number of trials that are enough to show that one of them was unlucky, or that a simulation is
/// wrong.
const ENOUGH: usize = 3;
/// A method is open while this many standard errors could make it the answer.
pub(crate) const OPEN: f64 = 1.0;

#[derive(Clone, Debug)]
pub(crate) struct Assessment {
    pub index: usize,
    pub sleeps: bool,
    pub follows: bool,
    pub trials: u32,
    /// IOPS over polling's: the median of its trials as measured.
    pub own: f64,
    /// IOPS over polling's: the median of its trials, carried to all states of the run.
    pub over_run: f64,
    /// IOPS over polling's, from trials and simulation together.
    pub iops: Estimate,
    /// The objective over polling's, from trials and simulation together.
    pub value: Estimate,
    pub per_core: Estimate,
    pub measured: f64,
    pub kept: bool,
    pub floor: f64,
    pub limits_kept: bool,
    /// By the trials' median; if they may have been unlucky, by trials and simulation together.
    pub floor_kept: bool,
    pub breaks: f64,
    /// True if the method gains enough over polling in its trials and, for a rule, leaves the CPU.
    pub pays: bool,
    pub miss_rate: f64,
    pub params: usize,
}

impl Assessment {
    /// Returns `None` if no trial can be compared. `cores` says what KIOPS/core divides by.
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
        // A simulation that several trials contradict is ignored.
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
        // Three or more trials with a median below the floor may have been unlucky if one of them
        // kept the floor.
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
            // A rule that does not leave the CPU saves no CPU time, whatever its noise suggests.
            pays: live_cores.ratio() >= WORTH
                && (!sleeps || cpu_pct <= middle(trials, TrialFigures::saving)),
            miss_rate,
            params: contender.method.policy().map_or(0, |p| p.params().len()),
        })
    }

    /// The logarithm of the objective, minus the penalty of a rule that does not follow the device.
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

/// The probability that a normal deviate is below `errors`; the logistic curve is within 1 % of it.
fn likely(errors: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * errors).exp())
}
