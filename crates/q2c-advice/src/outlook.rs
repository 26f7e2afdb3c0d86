//! Predicts the figures of a method on polled recordings. Also simulates every rule of the grid on
//! resampled recordings, with costs varied within their uncertainty.

use crate::correction::{Correction, TERMS};
use crate::evidence::Estimate;
use crate::fit::FittedCorrection;
use crate::goal::{Goal, saving_cpu_pct};
use q2c_model::stats::{Rng, mean};
use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_sim::answers::sensitivity;
use q2c_sim::{
    Configuration, Drive, LaneRecording, Objective, SimOutcome, Waiting, simulate, standard_grid,
    sweep,
};

/// The inputs of the simulations.
#[derive(Clone, Debug)]
pub struct SimulationInputs {
    /// Calibrated costs.
    pub cost: CostModel,
    /// Polled recordings, oldest first; each has one [`LaneRecording`] per lane.
    pub recordings: Vec<Vec<LaneRecording>>,
    /// Median of the latency from the submission's return to the reaping, ns.
    pub latency_ns: f64,
    /// Rules in addition to the standard grid.
    pub extra_rules: Vec<PolicySpec>,
    /// Seed of all draws.
    pub seed: u64,
}

/// The simulated figures of a rule, relative to polling on the same part of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// The rule and its parameters.
    pub policy: PolicySpec,
    /// True if the rule adapts its sleep to the device.
    pub follows_device: bool,
    /// IOPS over polling's.
    pub iops: Estimate,
    /// KIOPS/core over polling's.
    pub per_core: Estimate,
    /// Thread CPU per lane, percent of one CPU.
    pub cpu_pct: f64,
    /// True if the rule takes at most [`MAX_CPU_PCT`](crate::MAX_CPU_PCT) percent of a CPU or, with
    /// think time, of the CPU that polling takes.
    pub saves: bool,
    /// Mean sleep asked over all I/Os, ns.
    pub sleep_ns: f64,
    /// Misses / I/Os.
    pub miss_rate: f64,
    /// The objective over polling's, averaged over the draws; more is better.
    pub value: f64,
    /// The objective over polling's, averaged over all draws and the rule's neighbours in the grid.
    /// A draw that breaks the floor lowers it; one beyond a limit counts 0.
    pub robust: f64,
}

pub(crate) fn outlook_of<'a>(outlooks: &'a [Outlook], policy: &PolicySpec) -> Option<&'a Outlook> {
    outlooks.iter().find(|outlook| outlook.policy == *policy)
}

/// Numbers of draws. Several lanes need the slower simulator, so they get fewer.
const DRAWS_OF_ONE_LANE: usize = 6;
const DRAWS_OF_MANY_LANES: usize = 4;
/// Simulated time of a draw before figures count, and the time that counts.
const WARM_UP: Nanos = Nanos::from_millis(200);
const COUNTED_TIME: Nanos = Nanos::from_millis(600);
/// Periods to simulate, ms. Those of the standard grid are too close for trials to tell apart.
const PERIODS_MS: [f64; 4] = [2.0, 10.0, 50.0, 100.0];
/// Share of a recording's I/Os that one draw simulates.
const DRAWN_SHARE: f64 = 0.6;
/// Power of (IOPS / floor) below the floor: 1 % less IOPS costs 11 % of the objective.
const FLOOR_POWER: i32 = 12;
/// Weight of a rule's own utility, where each neighbour in the grid weighs 1.
const RULE_WEIGHT: f64 = 2.0;

pub(crate) fn grid(inputs: &SimulationInputs) -> Vec<PolicySpec> {
    let mut grid = standard_grid(Nanos(inputs.latency_ns as u64));
    grid.retain(|policy| period_ns(policy).is_none_or(|ns| PERIODS_MS.contains(&(ns / 1e6))));
    let midpoints = (0..10).map(|n| inputs.latency_ns * (f64::from(n) + 0.5) / 10.0);
    let fixed = midpoints.map(|ns| format!("fixed:{}ns", (ns as u64).max(1)));
    grid.extend(fixed.map(|text| text.parse().expect("a fixed sleep of 1 ns or more")));
    grid.extend(inputs.extra_rules.iter().cloned());
    grid
}

struct OutlookDraw {
    cells: Vec<SimOutcome>,
    poll: SimOutcome,
}

pub(crate) fn outlooks(
    inputs: &SimulationInputs,
    fitted: &FittedCorrection,
    goal: &Goal,
) -> Vec<Outlook> {
    let grid = grid(inputs);
    let lanes = inputs.recordings.first().map_or(0, Vec::len);
    let count = match lanes {
        0 => return Vec::new(),
        1 => DRAWS_OF_ONE_LANE,
        _ => DRAWS_OF_MANY_LANES,
    };
    let mut rng = Rng::new(inputs.seed);
    let draws = (0..count).map(|n| draw(inputs, fitted, &grid, n, &mut rng));
    let draws: Vec<OutlookDraw> = draws.collect();
    let utilities = (0..grid.len()).map(|i| mean_over(&draws, |d| utility(d, i, goal)));
    let utilities: Vec<f64> = utilities.collect();
    let form_sd = fitted.form_sd;
    let cpu_pct = |i: usize| mean_over(&draws, |d| d.cells[i].gives.rates.cpu_pct);
    let mut all_lanes = inputs.recordings.iter().flatten();
    let thinks = all_lanes.any(|lane| lane.gap_cpu.is_some());
    let saving_cpu_pct = saving_cpu_pct(thinks, mean_over(&draws, |d| d.poll.gives.rates.cpu_pct));
    let outlook = |(i, policy): (usize, &PolicySpec)| Outlook {
        policy: policy.clone(),
        follows_device: policy.follows_the_device(),
        iops: estimate(draws.iter().map(|d| relative(d, i).0), form_sd),
        per_core: estimate(draws.iter().map(|d| relative(d, i).1), 2.0 * form_sd),
        cpu_pct: cpu_pct(i),
        saves: cpu_pct(i) <= saving_cpu_pct,
        sleep_ns: mean_over(&draws, |d| d.cells[i].gives.rates.effective_sleep_ns),
        miss_rate: mean_over(&draws, |d| d.cells[i].gives.rates.miss_rate),
        value: mean_over(&draws, |d| value(d, i, goal)),
        robust: robust_value(&grid, i, &utilities),
    };
    grid.iter().enumerate().map(outlook).collect()
}

fn draw(
    inputs: &SimulationInputs,
    fitted: &FittedCorrection,
    grid: &[PolicySpec],
    n: usize,
    rng: &mut Rng,
) -> OutlookDraw {
    // The newest recording comes first, so that the first draws show the present device.
    let count = inputs.recordings.len();
    let recording = &inputs.recordings[count - 1 - n % count];
    let start = rng.unit();
    let lanes: Vec<LaneRecording> = recording.iter().map(|lane| excerpt(lane, start)).collect();
    let terms = fitted.correction.terms();
    let normals: [f64; TERMS] = std::array::from_fn(|_| rng.normal());
    let terms_drawn: [f64; TERMS] = std::array::from_fn(|i| {
        let row = fitted.spread[i].iter().zip(&normals);
        terms[i] + row.map(|(spread, normal)| spread * normal).sum::<f64>()
    });
    let cost = Correction::clamped(terms_drawn).apply(&inputs.cost, inputs.latency_ns);
    let drive = Drive {
        warm_up: WARM_UP,
        measure: COUNTED_TIME,
        seed: inputs.seed.wrapping_add(n as u64),
    };
    let configuration = Configuration::closed_loop(&lanes, &cost, drive);
    OutlookDraw {
        cells: sweep(grid, &configuration),
        poll: configuration.simulate(Waiting::poll(lanes.len())),
    }
}

/// The part of a lane that a draw simulates. It begins at the share `start`, and wraps around.
fn excerpt(lane: &LaneRecording, start: f64) -> LaneRecording {
    let length = (lane.len() as f64 * DRAWN_SHARE).ceil() as usize;
    let from = (start * lane.len() as f64) as usize;
    let to = (from + length).min(lane.len());
    let mut part = lane.part(from..to);
    part.extend(&lane.part(0..length - (to - from)));
    part.first_at = 0.0;
    part
}

/// IOPS and KIOPS/core of the rule with the index `i`, over polling's.
fn relative(draw: &OutlookDraw, i: usize) -> (f64, f64) {
    let (cell, poll) = (&draw.cells[i].gives, &draw.poll.gives);
    (
        cell.rates.iops / poll.rates.iops,
        cell.kiops_per_core / poll.kiops_per_core,
    )
}

fn value(draw: &OutlookDraw, i: usize, goal: &Goal) -> f64 {
    let (iops, per_core) = relative(draw, i);
    match goal.objective {
        Objective::KiopsPerCore => per_core,
        Objective::Iops => iops,
        Objective::Cpu => draw.poll.gives.rates.cpu_pct / draw.cells[i].gives.rates.cpu_pct,
    }
}

fn utility(draw: &OutlookDraw, i: usize, goal: &Goal) -> f64 {
    if !goal.limits.allow(&draw.cells[i], 0.0) {
        return 0.0;
    }
    let (iops, _) = relative(draw, i);
    let floor = goal.floor(draw.poll.gives.rates.iops);
    // The floor is not a hard limit here, because the simulation may be a little wrong.
    value(draw, i, goal) * (iops / floor).min(1.0).powi(FLOOR_POWER)
}

fn robust_value(policies: &[PolicySpec], i: usize, utilities: &[f64]) -> f64 {
    let neighbours = sensitivity(policies, i, |n| utilities[n]);
    let sum: f64 = neighbours.iter().map(|n| utilities[n.cell]).sum();
    (RULE_WEIGHT * utilities[i] + sum) / (RULE_WEIGHT + neighbours.len() as f64)
}

fn mean_over(draws: &[OutlookDraw], of: impl Fn(&OutlookDraw) -> f64) -> f64 {
    mean(&draws.iter().map(of).collect::<Vec<f64>>())
}

/// A ratio's estimate from its logarithms; `form_sd` adds the error of the model's form.
fn estimate(ratios: impl Iterator<Item = f64>, form_sd: f64) -> Estimate {
    let logs: Vec<f64> = ratios.map(|r| r.max(f64::MIN_POSITIVE).ln()).collect();
    let log = mean(&logs);
    let variance = logs.iter().map(|l| (l - log).powi(2)).sum::<f64>() / logs.len() as f64;
    Estimate {
        log,
        se: (variance + form_sd.powi(2)).sqrt(),
    }
}

/// Number of periods that a rule runs before its figures count, and the shortest such time.
const SETTLE_PERIODS: u64 = 2;
const MIN_SETTLE_TIME: Nanos = Nanos::from_millis(250);

pub(crate) fn period_ns(policy: &PolicySpec) -> Option<f64> {
    policy
        .params()
        .into_iter()
        .find_map(|(name, ns)| (name == "period").then_some(ns))
}

/// Time that a rule runs before its figures count, in live trials and in simulations alike.
pub fn settle_time(policy: &PolicySpec) -> Nanos {
    let periods = period_ns(policy).map_or(0, |ns| ns as u64 * SETTLE_PERIODS);
    Nanos(periods.max(MIN_SETTLE_TIME.0))
}

/// Simulates a method on polled recordings, one per lane on each of `cpus`. It counts the time
/// `measure` after the rule has settled.
pub fn predict(
    method: &LaneMethod,
    lanes: &[LaneRecording],
    cpus: &[CpuId],
    cost: &CostModel,
    measure: Nanos,
    seed: u64,
) -> SimOutcome {
    let drive = Drive {
        warm_up: method.policy().map_or(Nanos::ZERO, settle_time),
        measure,
        seed,
    };
    simulate(lanes, cost, Waiting::Lanes(method.build_on(cpus)), drive)
}
