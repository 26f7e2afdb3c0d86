//! The referee plans rounds of trials from the results of earlier trials.

use crate::candidates::candidates;
use crate::correction::Correction;
use crate::decide::{AdviceDecision, MethodContender, decide};
use crate::evidence::{Noise, PollingBaseline, TrialFigures, per_core_divisor};
use crate::fit::{FitFigures, FittedCorrection, Observation, fit};
use crate::goal::{Goal, MIN_GAIN};
use crate::outlook::{Outlook, SimulationInputs, outlook_of, outlooks, predict};
use crate::states::{Carry, DeviceStates};
use q2c_model::stats::{median, sorted};
use q2c_model::{Bytes, CostModel, CpuId, Nanos};
use q2c_policy::{LINUX, LaneMethod, PolicySpec};
use q2c_result::role::Role;
use q2c_result::tune::{PerCore, Recommendation, Verdict};
use q2c_sim::{LaneRecording, Objective};
use rayon::prelude::*;

/// The question that a referee answers: which method is best for one block size on one target.
#[derive(Clone, Debug)]
pub struct RefereeQuestion {
    /// The objective, the floor and the limits.
    pub goal: Goal,
    /// Calibrated costs, first recordings, the user's own rules, and the seed.
    pub inputs: SimulationInputs,
    /// CPUs that the lanes are pinned to, one per lane.
    pub cpus: Vec<CpuId>,
    /// Number of trials that the answer needs (`--trials`).
    pub wanted_trials: u32,
}

/// One method to try in a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The method to try.
    pub method: LaneMethod,
    /// The reason why the method was tried first; it stays the same in later rounds.
    pub role: Role,
    /// Number of trials in this round.
    pub trials: u32,
}

struct TriedMethod {
    method: LaneMethod,
    role: Role,
    trials: Vec<TrialFigures>,
}

/// Decides which methods are tried, and which one has won, for one block size. In each round the
/// caller gets orders from [`Referee::next`] and runs trials, predicted with [`Referee::cost`]. It
/// passes them to [`Referee::add_trial`], and a new polled recording to [`Referee::add_recording`],
/// until there is no order. Equal recordings and trials give equal orders, so that a run can be
/// resumed.
pub struct Referee {
    question: RefereeQuestion,
    tried: Vec<TriedMethod>,
    /// The correction with which each planned round was predicted, in the order of the rounds.
    corrections: Vec<Correction>,
    fitted: FittedCorrection,
    outlooks: Vec<Outlook>,
    trials_spent: u32,
}

/// The rule that the published study found best.
pub const PUBLISHED: &str = "min:ratio=70%,period=10ms";
/// Number of first rounds with one trial per method: simulation learns from many methods.
const SINGLE_ROUNDS: usize = 2;
/// Trials of each open method in a round, and the most such methods: in first and in later rounds.
const REPEATED_TRIALS: [(u32, usize); 2] = [(1, 5), (2, 2)];
/// Most new rules in each round: all candidates in the first; the last number for later rounds.
const MAX_NEW_RULES: [usize; 4] = [usize::MAX, 3, 2, 1];
/// Number of trials that baselines, Linux's rule and the user's rules get even if not open.
pub const MIN_COMPARED_TRIALS: usize = 2;
/// Simulated time of each prediction while a correction is fitted.
const FIT_TIME: Nanos = Nanos::from_millis(400);
/// The simulator's own standard errors: of thread CPU as a share of a CPU, and of the miss rate.
const MODEL_SD: [f64; 2] = [0.04, 0.08];
/// Share by which the robust objective of a new rule must exceed that of the present answer.
const PROMISING_SHARE: f64 = 0.01;

impl Referee {
    /// Creates a referee before its first round.
    pub fn new(question: RefereeQuestion) -> Self {
        Referee {
            question,
            tried: Vec::new(),
            corrections: Vec::new(),
            fitted: FittedCorrection::default(),
            outlooks: Vec::new(),
            trials_spent: 0,
        }
    }

    /// Adds a polled recording made since the last round: one [`LaneRecording`] per lane.
    pub fn add_recording(&mut self, recording: Vec<LaneRecording>) {
        self.question.inputs.recordings.push(recording);
    }

    /// The next round of at most `max_trials` trials; empty if the answer is clear or none is left.
    pub fn next(&mut self, max_trials: u32) -> Vec<Order> {
        self.learn();
        let orders = if self.corrections.is_empty() {
            self.first_orders()
        } else {
            self.later_orders(max_trials)
        };
        let mut remaining = max_trials;
        let mut planned = Vec::new();
        // The last trials are used up too, even if an order gets fewer than it asks for.
        for order in orders {
            let trials = order.trials.min(remaining);
            remaining -= trials;
            if trials > 0 {
                planned.push(Order { trials, ..order });
            }
        }
        if !planned.is_empty() {
            self.corrections.push(self.fitted.correction);
        }
        for order in &planned {
            if self.tried.iter().all(|t| t.method != order.method) {
                self.tried.push(TriedMethod {
                    method: order.method.clone(),
                    role: order.role,
                    trials: Vec::new(),
                });
            }
        }
        planned
    }

    /// Takes one trial of an ordered method. A trial that cannot be compared only counts as spent.
    pub fn add_trial(&mut self, method: &LaneMethod, trial: TrialFigures) {
        self.trials_spent += 1;
        let is_comparable = trial.is_complete() && trial.round <= self.round();
        let tried = self.tried.iter_mut().find(|t| t.method == *method);
        if let Some(tried) = tried.filter(|_| is_comparable) {
            tried.trials.push(trial);
        }
    }

    /// The round that was last planned, from 0.
    pub fn round(&self) -> u32 {
        self.corrections.len().saturating_sub(1) as u32
    }

    /// Number of trials taken so far, including those that cannot be compared.
    pub fn trials_spent(&self) -> u32 {
        self.trials_spent
    }

    /// The correction that was fitted when the last round was planned.
    pub fn correction(&self) -> Correction {
        self.fitted.correction
    }

    /// The corrected costs, with which the trials of the last planned round are predicted.
    pub fn cost(&self) -> CostModel {
        self.corrected_cost(&self.fitted.correction)
    }

    /// The simulated figures of every rule of the grid, as of the last planned round.
    pub fn outlooks(&self) -> &[Outlook] {
        &self.outlooks
    }

    /// The methods in the order in which they were first ordered, with their roles and trials.
    pub fn tried_methods(&self) -> impl Iterator<Item = (&LaneMethod, Role, &[TrialFigures])> {
        let tried = self.tried.iter();
        tried.map(|t| (&t.method, t.role, t.trials.as_slice()))
    }

    /// The verdict from the trials so far. Its indices are those of [`Referee::tried_methods`].
    pub fn decision(&self) -> AdviceDecision {
        self.decision_on(&self.contenders())
    }

    fn decision_on(&self, contenders: &[MethodContender]) -> AdviceDecision {
        let question = &self.question;
        decide(
            contenders,
            &question.goal,
            &self.noise(),
            question.wanted_trials,
        )
    }

    pub(crate) fn noise(&self) -> Noise {
        Noise::from_cells(self.tried.iter().map(|t| t.trials.as_slice()))
    }

    /// The divisor of KIOPS/core, the same for all methods.
    pub fn cores(&self) -> PerCore {
        per_core_divisor(self.tried.iter().map(|t| t.trials.as_slice()))
    }

    /// The verdict as a result. `asked` is the floor as the user wrote it.
    pub fn recommendation(&self, bs: Bytes, asked: &str) -> Recommendation {
        let contenders = self.contenders();
        let decision = self.decision_on(&contenders);
        decision.recommendation(bs, &contenders, &self.noise(), asked)
    }

    fn contenders(&self) -> Vec<MethodContender> {
        let carries = self.carries();
        let contender = |(tried, carries): (&TriedMethod, Vec<Carry>)| {
            let policy = tried.method.policy();
            let outlook = policy.and_then(|policy| outlook_of(&self.outlooks, policy));
            MethodContender {
                method: tried.method.clone(),
                trials: tried.trials.clone(),
                carries,
                belief: outlook.map(|o| (o.iops, o.per_core)),
            }
        };
        self.tried.iter().zip(carries).map(contender).collect()
    }

    /// Carries of each method's trials; empty if the waits of some trial are not known.
    fn carries(&self) -> Vec<Vec<Carry>> {
        let trials = self.tried.iter().flat_map(|tried| &tried.trials);
        let baselines: Vec<PollingBaseline> = trials.map(|trial| trial.polling).collect();
        let RefereeQuestion { inputs, .. } = &self.question;
        let template = inputs.recordings.first().and_then(|lanes| lanes.first());
        let (cost, seed) = (self.cost(), inputs.seed);
        let has_waits = baselines.iter().all(|polling| polling.wait_ns[0] > 0.0);
        let Some(template) = template.filter(|template| has_waits && !template.is_empty()) else {
            return vec![Vec::new(); self.tried.len()];
        };
        let states = DeviceStates::new(&baselines, template, &cost, seed);
        let mut first = 0;
        let carries_of = |tried: &TriedMethod| {
            let trial_range = first..first + tried.trials.len();
            first = trial_range.end;
            match tried.method {
                LaneMethod::Poll => Vec::new(),
                _ => states.carries(&tried.method, &cost, seed)[trial_range].to_vec(),
            }
        };
        self.tried.iter().map(carries_of).collect()
    }

    fn learn(&mut self) {
        self.fitted = self.fit();
        let inputs = SimulationInputs {
            cost: self.with_other_cpu(&self.question.inputs.cost),
            extra_rules: self.extra_rules(),
            ..self.question.inputs.clone()
        };
        self.outlooks = outlooks(&inputs, &self.fitted, &self.question.goal);
    }

    fn extra_rules(&self) -> Vec<PolicySpec> {
        let tried = self.tried.iter().filter_map(|t| t.method.policy().cloned());
        let mut policies = self.question.inputs.extra_rules.clone();
        let grid = crate::outlook::grid(&self.question.inputs);
        policies.extend(tried.filter(|policy| !grid.contains(policy)));
        policies
    }

    fn corrected_cost(&self, correction: &Correction) -> CostModel {
        let inputs = &self.question.inputs;
        self.with_other_cpu(&correction.apply(&inputs.cost, inputs.latency_ns))
    }

    /// Sets the machine's CPU per I/O beyond the threads': the median over trials and slices.
    fn with_other_cpu(&self, cost: &CostModel) -> CostModel {
        let lanes = self.question.cpus.len() as f64;
        let other_ns = |busy: Option<f64>, cpu_pct: f64, iops: f64| {
            Some(((busy? - cpu_pct / 100.0 * lanes) * 1e9 / iops).max(0.0))
        };
        let sleeping = self.tried.iter().filter(|t| t.method.policy().is_some());
        let trials: Vec<&TrialFigures> = sleeping.flat_map(|t| &t.trials).collect();
        let asleep = trials.iter();
        let asleep = asleep.filter_map(|t| other_ns(t.busy_cpus, t.rates.cpu_pct, t.rates.iops));
        let polling = trials.iter().map(|t| t.polling);
        let polling = polling.filter_map(|p| other_ns(p.busy_cpus, p.cpu_pct, p.iops));
        CostModel {
            other_cpu_sleep_ns: median_of(asleep).unwrap_or(cost.other_cpu_sleep_ns),
            other_cpu_poll_ns: median_of(polling).unwrap_or(cost.other_cpu_poll_ns),
            ..cost.clone()
        }
    }

    fn fit(&self) -> FittedCorrection {
        let (cells, observed) = self.observations();
        let RefereeQuestion { inputs, cpus, .. } = &self.question;
        let Some(recording) = inputs.recordings.last().filter(|_| !observed.is_empty()) else {
            return FittedCorrection::default();
        };
        let simulate = |correction: &Correction| -> Vec<FitFigures> {
            let cost = self.corrected_cost(correction);
            let predict_rates = |method: &LaneMethod| {
                let outcome = predict(method, recording, cpus, &cost, FIT_TIME, inputs.seed);
                outcome.gives.rates
            };
            let poll_iops = predict_rates(&LaneMethod::Poll).iops;
            let figures = |method: &&LaneMethod| {
                let rates = predict_rates(method);
                let relative = (rates.iops / poll_iops).max(f64::MIN_POSITIVE);
                [relative.ln(), rates.cpu_pct / 100.0, rates.miss_rate]
            };
            cells.par_iter().map(figures).collect()
        };
        fit(&observed, &self.corrections, &simulate)
    }

    fn observations(&self) -> (Vec<&LaneMethod>, Vec<Observation>) {
        let noise = self.noise();
        let sd = [noise.iops, MODEL_SD[0], MODEL_SD[1]];
        let sleeping = self.tried.iter().filter(|t| t.method.policy().is_some());
        let (mut cells, mut observed) = (Vec::new(), Vec::new());
        for (cell, tried) in sleeping.enumerate() {
            cells.push(&tried.method);
            observed.extend(tried.trials.iter().filter_map(|trial| {
                let predicted = trial.predicted?;
                let deviation = [
                    trial.relative_iops().ln() - predicted.relative_iops.ln(),
                    (trial.rates.cpu_pct - predicted.cpu_pct) / 100.0,
                    trial.rates.miss_rate - predicted.miss_rate,
                ];
                let finite = deviation.iter().all(|o| o.is_finite());
                finite.then_some(Observation {
                    cell,
                    correction: trial.round as usize,
                    deviation,
                    sd,
                })
            }));
        }
        (cells, observed)
    }

    fn first_orders(&self) -> Vec<Order> {
        let hybrid =
            |text: &str| LaneMethod::Hybrid(text.parse().expect("the standard rules are valid"));
        let mut orders = vec![
            single_trial(LaneMethod::Interrupt, Role::Baseline),
            single_trial(LaneMethod::Poll, Role::Baseline),
            single_trial(hybrid(LINUX), Role::Linux),
            single_trial(hybrid(PUBLISHED), Role::Published),
        ];
        let tried_rules = orders.iter().filter_map(|o| o.method.policy().cloned());
        let tried_rules: Vec<PolicySpec> = tried_rules.collect();
        let floor = self.question.goal.floor(self.polled_iops());
        orders.extend(self.proposals(&tried_rules, floor));
        orders
    }

    fn proposals(&self, taken: &[PolicySpec], floor: f64) -> Vec<Order> {
        let proposals = candidates(
            &self.outlooks,
            floor,
            &self.question.inputs.extra_rules,
            taken,
        );
        let order = |(policy, role)| single_trial(LaneMethod::Hybrid(policy), role);
        proposals.into_iter().map(order).collect()
    }

    fn polled_iops(&self) -> f64 {
        let RefereeQuestion { inputs, cpus, .. } = &self.question;
        let Some(lanes) = inputs.recordings.first() else {
            return 0.0;
        };
        let (cost, seed) = (&inputs.cost, inputs.seed);
        let polled = predict(&LaneMethod::Poll, lanes, cpus, cost, FIT_TIME, seed);
        polled.gives.rates.iops
    }

    fn later_orders(&self, max_trials: u32) -> Vec<Order> {
        let round = self.corrections.len();
        let (trials, limit) = REPEATED_TRIALS[usize::from(round >= SINGLE_ROUNDS)];
        let decision = self.decision();
        let repeated = decision.open.iter().take(limit).map(|&i| &self.tried[i]);
        let repeated = repeated.map(|t| Order {
            trials,
            ..single_trial(t.method.clone(), t.role)
        });
        let mut orders: Vec<Order> = repeated.collect();
        let max_new = MAX_NEW_RULES[round.min(MAX_NEW_RULES.len() - 1)];
        orders.extend(self.promising_orders(&decision).into_iter().take(max_new));
        if orders.is_empty() {
            return orders;
        }
        let few_trials = |t: &&TriedMethod| t.trials.len() < MIN_COMPARED_TRIALS;
        for tried in self.tried.iter().filter(few_trials) {
            let is_compared = matches!(tried.role, Role::Baseline | Role::Linux | Role::User);
            if is_compared && orders.iter().all(|o| o.method != tried.method) {
                orders.push(single_trial(tried.method.clone(), tried.role));
            }
        }
        orders.truncate(max_trials as usize);
        orders
    }

    fn promising_orders(&self, decision: &AdviceDecision) -> Vec<Order> {
        let goal = &self.question.goal;
        let tried_rules = self.tried.iter().filter_map(|t| t.method.policy().cloned());
        let tried_rules: Vec<PolicySpec> = tried_rules.collect();
        let robust_of = |policy: &PolicySpec| outlook_of(&self.outlooks, policy).map(|o| o.robust);
        let answer = match decision.verdict {
            Verdict::Rule => decision.chosen.and_then(|i| self.tried[i].method.policy()),
            _ => None,
        };
        // The bound is in units of the objective. KIOPS/core has to pay, or exceed that of
        // interrupts; other objectives have a bound only if a rule is the answer.
        let min_value = match (goal.objective, decision.verdict, decision.chosen) {
            (_, Verdict::Rule, _) => answer
                .and_then(robust_of)
                .map_or(0.0, |robust| robust * (1.0 + PROMISING_SHARE)),
            (Objective::KiopsPerCore, Verdict::Interrupt, Some(i)) => {
                let trials = self.tried[i].trials.iter();
                median_of(trials.filter_map(TrialFigures::relative_per_core)).unwrap_or(MIN_GAIN)
            }
            (Objective::KiopsPerCore, ..) => MIN_GAIN,
            _ => 0.0,
        };
        let mut orders = self.proposals(&tried_rules, decision.floor);
        orders.retain(|order| {
            let robust = order.method.policy().and_then(robust_of);
            robust.is_some_and(|robust| robust > min_value)
        });
        orders
    }
}

fn single_trial(method: LaneMethod, role: Role) -> Order {
    Order {
        method,
        role,
        trials: 1,
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values = sorted(&values.collect::<Vec<_>>());
    (!values.is_empty()).then(|| median(&values))
}
