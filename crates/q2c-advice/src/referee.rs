//! The referee plans rounds of trials from the results of earlier trials.

use crate::candidates::candidates;
use crate::correction::Correction;
use crate::decide::{AdviceDecision, MethodContender, decide};
use crate::evidence::{Noise, PollingBaseline, TrialFigures, cores_of};
use crate::fit::{FitFigures, FittedCorrection, Observed, fit};
use crate::goal::{Goal, WORTH};
use crate::outlook::{Outlook, SimulationInputs, outlooks, predict};
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
    pub setting: SimulationInputs,
    /// CPUs that the lanes are pinned to, one per lane.
    pub cpus: Vec<CpuId>,
    /// Number of trials that the answer needs (`--trials`).
    pub wanted: u32,
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
    subject: RefereeQuestion,
    tried: Vec<TriedMethod>,
    /// The correction with which each planned round was predicted, in the order of the rounds.
    corrections: Vec<Correction>,
    fitted: FittedCorrection,
    outlooks: Vec<Outlook>,
    spent: u32,
}

/// The rule that the published study found best.
pub const PUBLISHED: &str = "min:ratio=70%,period=10ms";
/// Number of first rounds with one trial per method: simulation learns from many methods.
const SINGLE_ROUNDS: usize = 2;
/// Most open methods tried again in a round of single trials; then in a later round.
const AGAIN: usize = 5;
const FOCUS: usize = 2;
/// Most new rules in each round: all candidates in the first; the last number is for later rounds.
const NEW: [usize; 4] = [usize::MAX, 3, 2, 1];
/// Number of trials that baselines, Linux's rule and the user's rules get even if not open.
pub const COMPARED: usize = 2;
/// Simulated time of each prediction while a correction is fitted.
const FIT_FOR: Nanos = Nanos::from_millis(400);
/// The simulator's own standard errors: of thread CPU as a share of a CPU, and of the miss rate.
const MODEL_SD: [f64; 2] = [0.04, 0.08];
/// Share by which the robust objective of a new rule must exceed that of the present answer.
const PROMISE: f64 = 0.01;

impl Referee {
    /// Creates a referee before its first round.
    pub fn new(subject: RefereeQuestion) -> Self {
        Referee {
            subject,
            tried: Vec::new(),
            corrections: Vec::new(),
            fitted: FittedCorrection::default(),
            outlooks: Vec::new(),
            spent: 0,
        }
    }

    /// Adds a polled recording made since the last round: one [`LaneRecording`] per lane.
    pub fn add_recording(&mut self, recording: Vec<LaneRecording>) {
        self.subject.setting.recordings.push(recording);
    }

    /// The next round of at most `most` trials; empty if the answer is clear or none are left.
    pub fn next(&mut self, most: u32) -> Vec<Order> {
        self.learn();
        let begins = self.corrections.is_empty();
        let orders = if begins {
            self.opening()
        } else {
            self.further(most)
        };
        let mut left = most;
        let mut kept = Vec::new();
        // The last trials are used up too, even if an order gets fewer than it asks for.
        for order in orders {
            let trials = order.trials.min(left);
            left -= trials;
            if trials > 0 {
                kept.push(Order { trials, ..order });
            }
        }
        if !kept.is_empty() {
            self.corrections.push(self.fitted.correction);
        }
        for order in &kept {
            self.enter(order);
        }
        kept
    }

    /// Takes one trial of an ordered method. A trial that cannot be compared only counts as spent.
    pub fn add_trial(&mut self, method: &LaneMethod, trial: TrialFigures) {
        self.spent += 1;
        let ordered = trial.is_whole() && trial.round <= self.round();
        let tried = self.tried.iter_mut().find(|t| t.method == *method);
        if let Some(tried) = tried.filter(|_| ordered) {
            tried.trials.push(trial);
        }
    }

    /// The round that was last planned, from 0.
    pub fn round(&self) -> u32 {
        self.corrections.len().saturating_sub(1) as u32
    }

    /// Number of trials taken so far, including those that cannot be compared.
    pub fn spent(&self) -> u32 {
        self.spent
    }

    /// The correction that was fitted when the last round was planned.
    pub fn correction(&self) -> Correction {
        self.fitted.correction
    }

    /// The corrected costs, with which the trials of the last planned round are predicted.
    pub fn cost(&self) -> CostModel {
        self.corrected(&self.fitted.correction)
    }

    /// The simulated figures of every rule of the grid, as of the last planned round.
    pub fn outlooks(&self) -> &[Outlook] {
        &self.outlooks
    }

    /// The methods in the order in which they were first ordered, with their roles and trials.
    pub fn tried(&self) -> impl Iterator<Item = (&LaneMethod, Role, &[TrialFigures])> {
        let tried = self.tried.iter();
        tried.map(|t| (&t.method, t.role, t.trials.as_slice()))
    }

    /// The verdict from the trials so far. Its indices are those of [`Referee::tried`].
    pub fn decision(&self) -> AdviceDecision {
        self.decision_on(&self.contenders())
    }

    fn decision_on(&self, contenders: &[MethodContender]) -> AdviceDecision {
        let RefereeQuestion { goal, wanted, .. } = &self.subject;
        decide(contenders, goal, &self.noise(), *wanted)
    }

    /// The scatter of single trials.
    pub(crate) fn noise(&self) -> Noise {
        Noise::from_cells(self.tried.iter().map(|t| t.trials.as_slice()))
    }

    /// The divisor of KIOPS/core, the same for all methods.
    pub fn cores(&self) -> PerCore {
        cores_of(self.tried.iter().map(|t| t.trials.as_slice()))
    }

    /// The verdict as a result. `asked` is the floor as the user wrote it.
    pub fn recommendation(&self, bs: Bytes, asked: &str) -> Recommendation {
        let contenders = self.contenders();
        let decision = self.decision_on(&contenders);
        decision.recommendation(bs, &contenders, &self.noise(), asked)
    }

    fn enter(&mut self, order: &Order) {
        if self.tried.iter().all(|t| t.method != order.method) {
            self.tried.push(TriedMethod {
                method: order.method.clone(),
                role: order.role,
                trials: Vec::new(),
            });
        }
    }

    fn contenders(&self) -> Vec<MethodContender> {
        let carries = self.carries();
        let belief = |method: &LaneMethod| {
            let policy = method.policy()?;
            let known = self.outlooks.iter().find(|o| o.policy == *policy)?;
            Some((known.iops, known.per_core))
        };
        let contender = |(tried, carries): (&TriedMethod, Vec<Carry>)| MethodContender {
            method: tried.method.clone(),
            trials: tried.trials.clone(),
            carries,
            belief: belief(&tried.method),
        };
        self.tried.iter().zip(carries).map(contender).collect()
    }

    /// Carries of each method's trials; empty if the waits of some trial are not known.
    fn carries(&self) -> Vec<Vec<Carry>> {
        let trials = self.tried.iter().flat_map(|tried| &tried.trials);
        let seen: Vec<PollingBaseline> = trials.map(|trial| trial.beside).collect();
        let RefereeQuestion { setting, .. } = &self.subject;
        let like = setting.recordings.first().and_then(|lanes| lanes.first());
        let (cost, seed) = (self.cost(), setting.seed);
        let known = seen.iter().all(|beside| beside.waits[0] > 0.0);
        let Some(like) = like.filter(|like| known && !like.is_empty()) else {
            return vec![Vec::new(); self.tried.len()];
        };
        let states = DeviceStates::new(&seen, like, &cost, seed);
        let mut before = 0;
        let mut carries_of = |tried: &TriedMethod| {
            let trial_range = before..before + tried.trials.len();
            before = trial_range.end;
            match tried.method {
                LaneMethod::Poll => Vec::new(),
                _ => states.carries(&tried.method, &cost, seed)[trial_range].to_vec(),
            }
        };
        self.tried.iter().map(&mut carries_of).collect()
    }

    fn learn(&mut self) {
        self.fitted = self.fit();
        let setting = SimulationInputs {
            cost: self.with_others(&self.subject.setting.cost),
            own: self.own(),
            ..self.subject.setting.clone()
        };
        self.outlooks = outlooks(&setting, &self.fitted, &self.subject.goal);
    }

    fn own(&self) -> Vec<PolicySpec> {
        let tried = self.tried.iter().filter_map(|t| t.method.policy().cloned());
        let mut policies = self.subject.setting.own.clone();
        let grid = crate::outlook::grid(&self.subject.setting);
        policies.extend(tried.filter(|policy| !grid.contains(policy)));
        policies
    }

    fn corrected(&self, correction: &Correction) -> CostModel {
        let setting = &self.subject.setting;
        self.with_others(&correction.apply(&setting.cost, setting.latency_ns))
    }

    /// Sets the machine's CPU per I/O beyond the threads': the median over trials and slices.
    fn with_others(&self, cost: &CostModel) -> CostModel {
        let lanes = self.subject.cpus.len() as f64;
        let other = |busy: Option<f64>, cpu_pct: f64, iops: f64| {
            Some(((busy? - cpu_pct / 100.0 * lanes) * 1e9 / iops).max(0.0))
        };
        let sleeping = self.tried.iter().filter(|t| t.method.policy().is_some());
        let trials: Vec<&TrialFigures> = sleeping.flat_map(|t| &t.trials).collect();
        let asleep = trials.iter();
        let asleep = asleep.filter_map(|t| other(t.busy_cpus, t.rates.cpu_pct, t.rates.iops));
        let beside = trials.iter().map(|t| t.beside);
        let polling = beside.filter_map(|b| other(b.busy_cpus, b.cpu_pct, b.iops));
        CostModel {
            other_cpu_sleep_ns: middle(asleep).unwrap_or(cost.other_cpu_sleep_ns),
            other_cpu_poll_ns: middle(polling).unwrap_or(cost.other_cpu_poll_ns),
            ..cost.clone()
        }
    }

    fn fit(&self) -> FittedCorrection {
        let (cells, observed) = self.observed();
        let Some(recording) = self.subject.setting.recordings.last() else {
            return FittedCorrection::default();
        };
        let simulate = |correction: &Correction| -> Vec<FitFigures> {
            let cost = self.corrected(correction);
            let seed = self.subject.setting.seed;
            let run = |method: &LaneMethod| {
                predict(method, recording, &self.subject.cpus, &cost, FIT_FOR, seed)
            };
            let poll = run(&LaneMethod::Poll);
            let figures = |method: &&LaneMethod| {
                let rates = run(method).gives.rates;
                let relative = (rates.iops / poll.gives.rates.iops).max(f64::MIN_POSITIVE);
                [relative.ln(), rates.cpu_pct / 100.0, rates.miss_rate]
            };
            cells.par_iter().map(figures).collect()
        };
        if observed.is_empty() {
            return FittedCorrection::default();
        }
        fit(&observed, &self.corrections, &simulate)
    }

    fn observed(&self) -> (Vec<&LaneMethod>, Vec<Observed>) {
        let noise = self.noise();
        let sd = [noise.iops, MODEL_SD[0], MODEL_SD[1]];
        let sleeping = self.tried.iter().filter(|t| t.method.policy().is_some());
        let (mut cells, mut observed) = (Vec::new(), Vec::new());
        for (cell, tried) in sleeping.enumerate() {
            cells.push(&tried.method);
            observed.extend(tried.trials.iter().filter_map(|trial| {
                let predicted = trial.predicted?;
                let off = [
                    trial.relative_iops().ln() - predicted.relative_iops.ln(),
                    (trial.rates.cpu_pct - predicted.cpu_pct) / 100.0,
                    trial.rates.miss_rate - predicted.miss_rate,
                ];
                let correction = trial.round as usize;
                let finite = off.iter().all(|o| o.is_finite());
                finite.then_some(Observed {
                    cell,
                    correction,
                    off,
                    sd,
                })
            }));
        }
        (cells, observed)
    }

    fn opening(&self) -> Vec<Order> {
        let hybrid =
            |text: &str| LaneMethod::Hybrid(text.parse().expect("the standard rules are valid"));
        let mut orders = vec![
            once(LaneMethod::Interrupt, Role::Baseline),
            once(LaneMethod::Poll, Role::Baseline),
            once(hybrid(LINUX), Role::Linux),
            once(hybrid(PUBLISHED), Role::Published),
        ];
        let taken = orders.iter().filter_map(|o| o.method.policy().cloned());
        let taken: Vec<PolicySpec> = taken.collect();
        let floor = self.subject.goal.floor(self.polled_iops());
        orders.extend(self.proposed(&taken, floor));
        orders
    }

    fn proposed(&self, taken: &[PolicySpec], floor: f64) -> Vec<Order> {
        let setting = &self.subject.setting;
        let proposed = candidates(&self.outlooks, floor, &setting.own, taken).into_iter();
        proposed
            .map(|(policy, role)| once(LaneMethod::Hybrid(policy), role))
            .collect()
    }

    fn polled_iops(&self) -> f64 {
        let RefereeQuestion { setting, cpus, .. } = &self.subject;
        let Some(lanes) = setting.recordings.first() else {
            return 0.0;
        };
        let (cost, seed) = (&setting.cost, setting.seed);
        let polled = predict(&LaneMethod::Poll, lanes, cpus, cost, FIT_FOR, seed);
        polled.gives.rates.iops
    }

    fn further(&self, most: u32) -> Vec<Order> {
        let round = self.corrections.len();
        let single = round < SINGLE_ROUNDS;
        let (trials, methods) = if single { (1, AGAIN) } else { (2, FOCUS) };
        let decision = self.decision();
        let again = decision.open.iter().take(methods).map(|&i| &self.tried[i]);
        let again = again.map(|t| Order {
            trials,
            ..once(t.method.clone(), t.role)
        });
        let mut orders: Vec<Order> = again.collect();
        let new = NEW[round.min(NEW.len() - 1)];
        orders.extend(self.promising(&decision).into_iter().take(new));
        if orders.is_empty() {
            return orders;
        }
        for tried in self.tried.iter().filter(|t| t.trials.len() < COMPARED) {
            let compared = matches!(tried.role, Role::Baseline | Role::Linux | Role::User);
            if compared && orders.iter().all(|o| o.method != tried.method) {
                orders.push(once(tried.method.clone(), tried.role));
            }
        }
        orders.truncate(most as usize);
        orders
    }

    fn promising(&self, decision: &AdviceDecision) -> Vec<Order> {
        let goal = &self.subject.goal;
        let taken = self.tried.iter().filter_map(|t| t.method.policy().cloned());
        let taken: Vec<PolicySpec> = taken.collect();
        let outlook_of = |policy: &PolicySpec| self.outlooks.iter().find(|o| o.policy == *policy);
        let answer = match decision.verdict {
            Verdict::Rule => decision.chosen.and_then(|i| self.tried[i].method.policy()),
            _ => None,
        };
        // The bound is in units of the objective. KIOPS/core has to pay, or exceed that of
        // interrupts; other objectives have a bound only if a rule is the answer.
        let least = match (goal.objective, decision.verdict, decision.chosen) {
            (_, Verdict::Rule, _) => answer
                .and_then(outlook_of)
                .map_or(0.0, |o| o.robust * (1.0 + PROMISE)),
            (Objective::KiopsPerCore, Verdict::Interrupt, Some(i)) => {
                let gains = self.tried[i]
                    .trials
                    .iter()
                    .filter_map(TrialFigures::relative_per_core);
                middle(gains).unwrap_or(WORTH)
            }
            (Objective::KiopsPerCore, ..) => WORTH,
            _ => 0.0,
        };
        let mut orders = self.proposed(&taken, decision.floor);
        orders.retain(|order| {
            let outlook = order.method.policy().and_then(outlook_of);
            outlook.is_some_and(|o| o.robust > least)
        });
        orders
    }
}

fn once(method: LaneMethod, role: Role) -> Order {
    Order {
        method,
        role,
        trials: 1,
    }
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values = sorted(&values.collect::<Vec<_>>());
    (!values.is_empty()).then(|| median(&values))
}
