//! Assesses one contender: how much it gains, and how surely it keeps the floor.

use crate::decide::MethodContender;
use crate::evidence::{Estimate, Noise, TrialFigures, median_of};
use crate::goal::{Goal, MIN_GAIN};
use q2c_result::tune::PerCore;
use q2c_sim::Objective;

/// Subtracted from the log gain of a rule that does not follow the device. With
/// [`SCORE_TIE`](crate::decide::SCORE_TIE), such a rule must be better by 2.5 %.
const FIXED_PENALTY: f64 = 0.015;
/// The cost of breaking the floor, in log units of the objective; its probability multiplies it.
const FLOOR_BREAK_COST: f64 = 1.0;
/// Standard errors by which the trials' median may lie below the floor if one trial kept it.
const MAX_ERRORS_BELOW: f64 = 1.25;
/// Trials contradict a simulation if they differ from it by more than this many standard errors.
const MAX_MODEL_ERRORS: f64 = 2.0;
/// Trials that can show that one of them was unlucky, or that a simulation is wrong.
const ENOUGH_TRIALS: usize = 3;
/// A method is open while this many standard errors could make it the answer.
pub(crate) const OPEN_ERRORS: f64 = 1.0;

#[derive(Clone, Debug)]
pub(crate) struct Assessment {
    pub index: usize,
    pub sleeps: bool,
    pub follows: bool,
    pub trials: u32,
    /// IOPS over polling's: the median of its trials as measured.
    pub own_iops: f64,
    /// IOPS over polling's: the median of its trials, carried to all states of the run.
    pub iops_over_run: f64,
    /// IOPS over polling's, from trials and simulation together.
    pub iops: Estimate,
    /// The objective over polling's, from trials and simulation together.
    pub value: Estimate,
    pub per_core: Estimate,
    /// Logarithm of the objective over polling's, from trials alone.
    pub own_log: f64,
    pub kept_by_median: bool,
    pub floor: f64,
    pub limits_kept: bool,
    /// True if the trials' median keeps the floor, or if unlucky trials and simulation together do.
    pub floor_kept: bool,
    pub break_chance: f64,
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
        (floor, wanted_trials): (f64, u32),
        cores: PerCore,
    ) -> Option<Assessment> {
        let trials = &contender.trials;
        let (mut iops_ratios, mut core_ratios) = (Vec::new(), Vec::new());
        for (i, trial) in trials.iter().enumerate() {
            let carry = contender.carries.get(i);
            let (iops_factor, core_factor) = carry.map_or((1.0, 1.0), |c| (c.iops, c.per_core));
            iops_ratios.push(trial.relative_iops() * iops_factor);
            core_ratios.extend(trial.per_core(cores).map(|ratio| ratio * core_factor));
        }
        let live_iops = Estimate::from_ratios(&iops_ratios, noise.iops)?;
        let live_cores = Estimate::from_ratios(&core_ratios, noise.per_core)?;
        // A simulation that several trials contradict is ignored.
        let agrees = |live: Estimate, model: &Estimate| {
            iops_ratios.len() < ENOUGH_TRIALS
                || (live.log - model.log).abs() <= MAX_MODEL_ERRORS * live.se.hypot(model.se)
        };
        let (model_iops, model_cores) = contender.belief.unzip();
        let iops = live_iops.join(model_iops.filter(|model| agrees(live_iops, model)));
        let per_core = live_cores.join(model_cores.filter(|model| agrees(live_cores, model)));
        let cpu_ratios = trials.iter().map(|t| t.polling.cpu_pct / t.rates.cpu_pct);
        let cpu_ratios: Vec<f64> = cpu_ratios.collect();
        let live_cpu = Estimate::from_ratios(&cpu_ratios, noise.per_core)?;
        let (value, live) = match goal.objective {
            Objective::KiopsPerCore => (per_core, live_cores),
            Objective::Iops => (iops, live_iops),
            Objective::Cpu => (live_cpu, live_cpu),
        };
        let sleeps = contender.method.policy().is_some();
        let limits_kept = goal.other_limits_kept(trials);
        let median_keeps = live_iops.ratio() >= floor;
        // Three or more trials with a median below the floor may have been unlucky if one of them
        // kept the floor.
        let kept_once = iops_ratios.iter().any(|&ratio| ratio >= floor);
        let unlucky = iops_ratios.len() >= ENOUGH_TRIALS && kept_once;
        let may_keep = live_iops.errors_above(floor) >= -MAX_ERRORS_BELOW;
        let may_keep = unlucky && may_keep && iops.errors_above(floor) >= 0.0;
        let has_enough_trials = trials.len() as u32 >= wanted_trials.max(ENOUGH_TRIALS as u32);
        let always_kept = has_enough_trials && iops_ratios.iter().all(|&ratio| ratio >= floor);
        let break_chance = 1.0 - chance_below(iops.errors_above(floor));
        let miss_rate = median_of(trials, |t| t.rates.miss_rate);
        let cpu_pct = median_of(trials, |t| t.rates.cpu_pct);
        Some(Assessment {
            index,
            sleeps,
            follows: contender.method.follows_the_device(),
            trials: trials.len() as u32,
            own_iops: median_of(trials, TrialFigures::relative_iops),
            iops_over_run: live_iops.ratio(),
            iops,
            value,
            per_core,
            floor,
            limits_kept,
            own_log: live.log,
            kept_by_median: median_keeps && limits_kept,
            floor_kept: limits_kept && (median_keeps || may_keep),
            break_chance: if always_kept { 0.0 } else { break_chance },
            // A rule that does not leave the CPU saves no CPU time, whatever its noise suggests.
            pays: live_cores.ratio() >= MIN_GAIN
                && (!sleeps || cpu_pct <= median_of(trials, TrialFigures::saving_cpu_pct)),
            miss_rate,
            params: contender.method.policy().map_or(0, |p| p.params().len()),
        })
    }

    /// The logarithm of the objective, minus the penalty of a rule that does not follow the device.
    pub(crate) fn gain(&self) -> f64 {
        self.value.log - if self.follows { 0.0 } else { FIXED_PENALTY }
    }

    pub(crate) fn score(&self) -> f64 {
        self.gain() - FLOOR_BREAK_COST * self.break_chance
    }

    pub(crate) fn may_keep_floor(&self) -> bool {
        let may_reach = |estimate: Estimate, bound| estimate.errors_above(bound) > -OPEN_ERRORS;
        let may_keep_limits = self.limits_kept || self.trials < 2;
        may_keep_limits && may_reach(self.iops, self.floor) && may_reach(self.per_core, MIN_GAIN)
    }
}

/// The probability that a normal deviate is below `errors`; the logistic curve is within 1 % of it.
fn chance_below(errors: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * errors).exp())
}
