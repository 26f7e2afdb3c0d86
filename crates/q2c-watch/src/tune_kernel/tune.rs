//! The phases of a run.

use super::calibrate::calibrate;
use super::conclude::{method_figures, verdict, warnings};
use super::lanes::{daemon_lanes, in_one_class, lanes};
use super::rig::{Rig, Stretch};
use crate::steer::Steering;
use q2c_advice::{PUBLISHED, settle_time};
use q2c_model::stats::{Rng, percentile, sorted};
use q2c_model::{Bytes, CostModel, Exit, Fault, Nanos, SimulatedFigures};
use q2c_policy::{KernelSleep, LINUX, Method, PolicySpec};
use q2c_result::kernel_tune::{KernelMethod, KernelTuneJob, KernelTuneResult, SCHEMA};
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::role::Role;
use q2c_result::sweep::SweepInput;
use q2c_result::{Device, Machine};
use q2c_sim::{
    Arrival, Configuration, Drive, LaneRecording, Limits, Objective, Waiting, standard_grid,
};
use q2c_study::{CellProgress, SimTrace, Study, Timing};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Uncounted time before the recording, and before each trial of a method without a rule.
const SETTLE: Nanos = Nanos::from_millis(300);
/// Intervals that a trial is cut into.
const TRIAL_INTERVALS: u64 = 10;

/// The inputs of a run.
pub struct TuneKernel<'a> {
    /// The plan.
    pub spec: &'a TuneKernelSpec,
    /// The command that polls the device, for the result; empty for a load that runs already.
    pub command: &'a [String],
    /// Facts of the machine, for the result.
    pub machine: &'a Machine,
    /// Facts of the device, for the result.
    pub device: &'a Device,
    /// Ends the run early when it is set.
    pub stop: &'a AtomicBool,
}

pub(crate) struct KernelCandidate {
    pub method: Method,
    pub role: Role,
    pub trials: Vec<KernelTrial>,
    pub predicted_first: SimulatedFigures,
}

pub(crate) struct KernelTrial {
    pub stretch: Stretch,
    /// Classic polling right before and right after it; for classic polling, the trial itself.
    pub beside: [KernelInterval; 2],
    /// Mean of the figures simulated from the classic polling before and after.
    pub predicted: SimulatedFigures,
}

struct ClassicTrial {
    lanes: Vec<LaneRecording>,
    total: KernelInterval,
}

struct KernelRecording {
    lanes: Vec<LaneRecording>,
    input: SweepInput,
    d2c_ns: Vec<f64>,
    /// Median of `d2c_ns`.
    p50: Nanos,
}

impl TuneKernel<'_> {
    /// Runs all phases. `on_phase` gets the name of each phase before it begins.
    pub fn run(
        &self,
        rig: &mut Rig<'_>,
        on_phase: &mut dyn FnMut(&str),
    ) -> Result<KernelTuneResult, Fault> {
        let begun = Instant::now();
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let spec = self.spec;
        on_phase("waiting for polled requests");
        rig.wait_for_load(spec.patience)?;
        on_phase("recording under classic polling");
        let stretch = rig.stretch(&Method::POLL, SETTLE, spec.record, (1, "recording"))?;
        let recording = KernelRecording::from_stretch(&self.device.name, &stretch);
        on_phase("calibrating sleeps in the kernel");
        let calibrated = calibrate(rig, spec, &recording.d2c_ns)?;
        on_phase("simulating sleep rules");
        let (policies, not_followed) = kernel_rules(&spec.policies, recording.p50)?;
        let best = self.best_rule(&recording, &calibrated.cost, &policies)?;
        let mut candidates = self.candidates(&recording, &calibrated.cost, best.as_ref());
        let own_cpu_pct = self.verify(rig, &calibrated.cost, &mut candidates, on_phase)?;
        let lost = rig.take_lost()?;
        let methods: Vec<KernelMethod> = candidates.iter().map(method_figures).collect();
        let (verdict, recommended, floor) = verdict(spec, &methods);
        Ok(KernelTuneResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: started.map_or(0, |t| t.as_secs()),
            seconds: begun.elapsed().as_secs_f64(),
            job: KernelTuneJob {
                command: self.command.to_vec(),
                record_ns: spec.record,
                trial_ns: spec.trial,
                trials: spec.trials,
                objective: spec.objective.to_string(),
                limits: spec.limits.in_words(),
                seed: spec.seed,
            },
            machine: self.machine.clone(),
            device: self.device.clone(),
            warnings: warnings(&recording.input, &calibrated.points, &candidates),
            recorded: recording.input,
            points: calibrated.points,
            cost: calibrated.cost,
            simulated: policies.len() as u64,
            not_followed: not_followed as u64,
            best: best.map(|policy| policy.to_string()),
            methods,
            verdict,
            recommended,
            floor,
            lost,
            own_cpu_pct,
            restored: String::new(),
        })
    }

    /// The best rule by simulation; `None` when none keeps the limits.
    fn best_rule(
        &self,
        recording: &KernelRecording,
        cost: &CostModel,
        policies: &[PolicySpec],
    ) -> Result<Option<PolicySpec>, Fault> {
        let traces = [SimTrace {
            input: recording.input.clone(),
            lanes: in_one_class(&recording.lanes),
            facts: BTreeMap::new(),
        }];
        let study = Study {
            traces: &traces,
            reading_s: 0.0,
            policies,
            cost,
            cost_in_words: String::new(),
            timing: Timing {
                warm_up: SETTLE,
                measure: None,
                seed: self.spec.seed,
            },
            arrival: Arrival::ClosedLoop,
            objective: self.spec.objective,
            limits: self.spec.limits,
            follow: None,
        };
        let result = study.run(&mut CellProgress::new(self.stop, &mut |_progress| ()))?;
        let best = result.best.map(|best| best.policy.parse());
        Ok(best.map(|policy| policy.expect("a sweep names rules by their texts")))
    }

    /// The methods to verify, classic polling first: the trials of a round are compared with it.
    fn candidates(
        &self,
        recording: &KernelRecording,
        cost: &CostModel,
        best: Option<&PolicySpec>,
    ) -> Vec<KernelCandidate> {
        let published: PolicySpec = PUBLISHED.parse().expect("a rule of the registry");
        let steered = |p: &PolicySpec| Method::HybridKernel(KernelSleep::Steered(p.clone()));
        let mut methods = vec![
            (Method::POLL, Role::Baseline),
            (Method::HybridKernel(KernelSleep::Own), Role::Linux),
        ];
        methods.extend(best.map(|policy| (steered(policy), Role::Robust)));
        if best.is_none_or(|policy| policy.to_string() != published.to_string()) {
            methods.push((steered(&published), Role::Published));
        }
        let candidate = |(method, role)| KernelCandidate {
            predicted_first: self.predict(&method, &recording.lanes, cost),
            method,
            role,
            trials: Vec::new(),
        };
        methods.into_iter().map(candidate).collect()
    }

    /// Runs the trials in an order that changes, with classic polling before and after each trial:
    /// a drift of the device is in all of them. Returns the CPU of this process while it steered,
    /// percent of one CPU.
    fn verify(
        &self,
        rig: &mut Rig<'_>,
        cost: &CostModel,
        candidates: &mut [KernelCandidate],
        on_phase: &mut dyn FnMut(&str),
    ) -> Result<f64, Fault> {
        let mut rng = Rng::new(self.spec.seed);
        let (mut pct_sum, mut steered_trials) = (0.0, 0_u32);
        let mut before = self.classic_trial(rig, cost, &mut candidates[0])?;
        for round in 0..self.spec.trials {
            on_phase(&format!("trial {} of {}", round + 1, self.spec.trials));
            let mut order: Vec<usize> = (1..candidates.len()).collect();
            rng.shuffle(&mut order);
            for n in order {
                let method = candidates[n].method.clone();
                let stretch = self.trial(rig, &method)?;
                if matches!(method, Method::HybridKernel(KernelSleep::Steered(_))) {
                    pct_sum += stretch.total.own_cpu_pct;
                    steered_trials += 1;
                }
                let after = self.classic_trial(rig, cost, &mut candidates[0])?;
                let predictions = [&before, &after].map(|c| self.predict(&method, &c.lanes, cost));
                candidates[n].trials.push(KernelTrial {
                    predicted: SimulatedFigures::mean(&predictions),
                    beside: [before.total, after.total.clone()],
                    stretch,
                });
                before = after;
            }
        }
        Ok(pct_sum / f64::from(steered_trials.max(1)))
    }

    fn classic_trial(
        &self,
        rig: &mut Rig<'_>,
        cost: &CostModel,
        classic: &mut KernelCandidate,
    ) -> Result<ClassicTrial, Fault> {
        let stretch = self.trial(rig, &Method::POLL)?;
        let (lanes, _) = lanes(&stretch.completions);
        let total = stretch.total.clone();
        classic.trials.push(KernelTrial {
            predicted: self.predict(&Method::POLL, &lanes, cost),
            beside: [total.clone(), total.clone()],
            stretch,
        });
        Ok(ClassicTrial { lanes, total })
    }

    fn trial(&self, rig: &mut Rig<'_>, method: &Method) -> Result<Stretch, Fault> {
        let settle = simulated_rule(method).map_or(SETTLE, |policy| settle_time(&policy));
        let phase = (TRIAL_INTERVALS, "verifying");
        rig.stretch(method, settle, self.spec.trial, phase)
    }

    fn predict(
        &self,
        method: &Method,
        lanes: &[LaneRecording],
        cost: &CostModel,
    ) -> SimulatedFigures {
        let merged_lanes = in_one_class(lanes);
        let rule = simulated_rule(method);
        let (lanes, waiting) = match (&rule, method) {
            (None, _) => (lanes, Waiting::poll(lanes.len())),
            // The kernel's own sleep differs by direction and size.
            (Some(policy), Method::HybridKernel(KernelSleep::Own)) => {
                (lanes, Waiting::rules(policy.build(lanes.len())))
            }
            (Some(policy), _) => {
                let rules = daemon_lanes(policy, merged_lanes.len());
                (&merged_lanes[..], Waiting::rules(rules))
            }
        };
        let configuration = Configuration {
            lanes,
            cost,
            drive: Drive {
                warm_up: rule.map_or(Nanos::ZERO, |policy| settle_time(&policy)),
                measure: self.spec.trial,
                seed: self.spec.seed,
            },
            arrival: Arrival::ClosedLoop,
        };
        configuration.simulate(waiting).gives
    }
}

/// The rule that a method sleeps by in the simulator; `None` for classic polling.
fn simulated_rule(method: &Method) -> Option<PolicySpec> {
    match method {
        Method::HybridKernel(KernelSleep::Steered(policy)) => Some(policy.with_new_counts()),
        Method::HybridKernel(KernelSleep::Own) => Some(LINUX.parse().expect("Linux's rule")),
        _ => None,
    }
}

impl KernelRecording {
    fn from_stretch(disk: &str, stretch: &Stretch) -> Self {
        let (lanes, taken_as) = lanes(&stretch.completions);
        let d2c_ns = stretch.d2c_ns();
        let ascending = sorted(&d2c_ns);
        let completions = stretch.completions.iter();
        let sizes: BTreeSet<Bytes> = completions.map(|done| Bytes(done.bytes.into())).collect();
        KernelRecording {
            input: SweepInput {
                path: disk.to_owned(),
                taken_as,
                lanes: lanes.len(),
                ios: stretch.completions.len() as u64,
                sizes: sizes.into_iter().collect(),
                span_ns: Nanos::from_secs_f64(stretch.total.length_s),
                latency_ns: [0.0, 0.1, 0.5, 0.99, 1.0].map(|q| percentile(&ascending, q)),
            },
            p50: Nanos(percentile(&ascending, 0.5) as u64),
            lanes,
            d2c_ns,
        }
    }
}

/// How long each phase lasts, which rules are simulated, and which of them is best.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneKernelSpec {
    /// Longest wait for the load's first polled requests.
    pub patience: Nanos,
    /// Length of the recording under classic polling.
    pub record: Nanos,
    /// Length of each stretch of the calibration.
    pub calibrate: Nanos,
    /// Length of a trial, without the time in which the rule settles.
    pub trial: Nanos,
    /// Trials of each method.
    pub trials: u32,
    /// Rules to simulate; empty for the standard grid. Those that do not fit are counted.
    pub policies: Vec<PolicySpec>,
    /// The figure by which the best rule is chosen.
    pub objective: Objective,
    /// The limits that the best rule must keep.
    pub limits: Limits,
    /// Seed of the draws and of the order of the trials.
    pub seed: u64,
}

/// Shortest window of a rule: the daemon looks every half window, at most once per ms.
const MIN_WINDOW: Nanos = Nanos::from_millis(2);

/// The rules of `named` (or the standard grid) that the kernel can follow; the number of others.
fn kernel_rules(named: &[PolicySpec], p50: Nanos) -> Result<(Vec<PolicySpec>, usize), Fault> {
    let mut policies = match named {
        [] => standard_grid(p50),
        _ => named.to_vec(),
    };
    let count = policies.len();
    policies.retain(can_be_followed);
    if policies.is_empty() {
        let text = format!(
            "tune the kernel's polling: expected rules that the kernel can follow (mean, min, quantile, fixed or a formula, with \
             windows of {MIN_WINDOW} or more), found none among the {count} named"
        );
        return Err(Fault::new(Exit::Usage, text));
    }
    let not_followed = count - policies.len();
    Ok((policies, not_followed))
}

fn can_be_followed(policy: &PolicySpec) -> bool {
    let is_short = |(name, ns): (&str, f64)| name == "period" && (ns as u64) < MIN_WINDOW.0;
    Steering::new(policy).is_ok() && !policy.params().into_iter().any(is_short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_grid_keeps_what_the_kernel_can_follow() {
        let (fitting, left_out) = kernel_rules(&[], Nanos(80_000)).unwrap();
        // mean and min over 19 ratios and the 7 periods from 2 ms on, and ten fixed sleeps.
        assert_eq!(fitting.len(), 2 * 19 * 7 + 10);
        // The periods of 1 ms, pas and uring.
        assert_eq!(left_out, 2 * 19 + 2);
    }

    #[test]
    fn rules_that_need_more_are_refused() {
        let pas = ["pas".parse().unwrap()];
        let message = kernel_rules(&pas, Nanos(80_000)).unwrap_err().to_string();
        assert!(message.contains("none among the 1 named"), "{message}");
        let two = ["pas".parse().unwrap(), "min:70%,10ms".parse().unwrap()];
        let (fitting, left_out) = kernel_rules(&two, Nanos(80_000)).unwrap();
        assert_eq!((fitting.len(), left_out), (1, 1));
    }
}
