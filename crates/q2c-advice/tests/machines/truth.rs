//! The truth about a machine, found by brute force over the grid, and the tool's answer for it.

use crate::machine::{CPUS, DriftingMachine};
use q2c_advice::{Goal, MIN_GAIN, Referee, RefereeQuestion, STANDARD_FLOOR, SimulationInputs};
use q2c_model::stats::{percentile, sorted};
use q2c_model::{CostModel, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_result::tune::Verdict;
use q2c_sim::{
    Configuration, Drive, LaneRecording, Limits, Objective, SimOutcome, Waiting, choose, simulate,
    standard_grid, sweep,
};

type Ratios = (f64, f64);

pub(crate) struct MachineTruth {
    lanes: Vec<LaneRecording>,
    cost: CostModel,
    poll: SimOutcome,
    pub floor: f64,
    /// Best KIOPS/core over polling's of all methods that keep the floor, polling included.
    pub best: f64,
    /// The name and the IOPS of that method.
    pub best_is: (String, f64),
    pub room: bool,
}

const TRUTH_DRIVE: Drive = Drive {
    warm_up: Nanos::from_millis(400),
    measure: Drive::ONE_PASS,
    seed: 99,
};

impl MachineTruth {
    pub(crate) fn from_machine(
        machine: &DriftingMachine,
        lanes: Vec<LaneRecording>,
        extra_rules: &[PolicySpec],
    ) -> Self {
        let cost = machine.truth.clone();
        let poll = simulate(&lanes, &cost, Waiting::poll(1), TRUTH_DRIVE);
        let mut truth = MachineTruth {
            lanes,
            cost,
            poll,
            best: 1.0,
            best_is: ("poll".to_owned(), 1.0),
            floor: STANDARD_FLOOR,
            room: false,
        };
        let mut grid = standard_grid(Nanos(machine.latency as u64));
        grid.extend(extra_rules.iter().cloned());
        let configuration = Configuration::closed_loop(&truth.lanes, &truth.cost, TRUTH_DRIVE);
        let outcomes = sweep(&grid, &configuration);
        let rules: Vec<Ratios> = outcomes.iter().map(|o| truth.ratios_of(o)).collect();
        for (policy, ratios) in grid.iter().zip(rules) {
            truth.consider(policy.to_string(), ratios);
        }
        truth.room = truth.best > MIN_GAIN;
        let interrupt = truth.ratios(&LaneMethod::Interrupt);
        truth.consider("interrupt".to_owned(), interrupt);
        truth
    }

    fn consider(&mut self, name: String, (iops, per_core): Ratios) {
        if iops >= self.floor && per_core > self.best {
            (self.best, self.best_is) = (per_core, (name, iops));
        }
    }

    pub(crate) fn best_method(&self) -> LaneMethod {
        match self.best_is.0.as_str() {
            "poll" => LaneMethod::Poll,
            "interrupt" => LaneMethod::Interrupt,
            policy => LaneMethod::Hybrid(policy.parse().expect("a rule of the grid")),
        }
    }

    fn ratios_of(&self, outcome: &SimOutcome) -> Ratios {
        let (gives, poll) = (&outcome.gives, &self.poll.gives);
        (
            gives.rates.iops / poll.rates.iops,
            gives.kiops_per_core / poll.kiops_per_core,
        )
    }

    pub(crate) fn ratios(&self, method: &LaneMethod) -> Ratios {
        let method = Waiting::Lanes(method.build_on(&CPUS));
        self.ratios_of(&simulate(&self.lanes, &self.cost, method, TRUTH_DRIVE))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AnswerScore {
    pub seed: u64,
    pub verdict: Verdict,
    pub chosen: String,
    /// Share of KIOPS/core lost against the truly best method that keeps the floor.
    pub regret: f64,
    /// True IOPS of the answer, relative to polling.
    pub iops: f64,
    pub per_core: f64,
    pub best: f64,
    pub best_is: (String, f64),
    pub floor: f64,
    pub room: bool,
    pub trials: u32,
}

impl AnswerScore {
    pub(crate) fn new(
        seed: u64,
        truth: &MachineTruth,
        verdict: Verdict,
        method: &LaneMethod,
        trials: u32,
    ) -> Self {
        let (iops, per_core) = truth.ratios(method);
        AnswerScore {
            seed,
            verdict,
            chosen: method.to_string(),
            regret: (1.0 - per_core / truth.best).max(0.0),
            iops,
            per_core,
            best: truth.best,
            best_is: truth.best_is.clone(),
            floor: truth.floor,
            room: truth.room,
            trials,
        }
    }

    pub(crate) fn broke_the_floor(&self) -> bool {
        self.iops < self.floor
    }

    pub(crate) fn false_no_room(&self) -> bool {
        self.verdict == Verdict::NoRoom && self.room
    }
}

const MAX_TRIALS: u32 = 30;
const WANTED_TRIALS: u32 = 5;

fn inputs(machine: &mut DriftingMachine) -> SimulationInputs {
    let recordings = vec![machine.recording(2e9)];
    let waits = recordings[0][0].wait.iter().map(|&w| f64::from(w));
    let waits: Vec<f64> = waits.collect();
    SimulationInputs {
        cost: machine.calibrated.clone(),
        recordings,
        latency_ns: percentile(&sorted(&waits), 0.5),
        extra_rules: Vec::new(),
        seed: machine.seed,
    }
}

pub(crate) fn score_referee(seed: u64) -> AnswerScore {
    judge(DriftingMachine::new(seed), MAX_TRIALS)
}

pub(crate) fn score_two_states(seed: u64) -> AnswerScore {
    judge(DriftingMachine::with_two_states(seed), MAX_TRIALS)
}

pub(crate) fn score_hasty_referee(seed: u64) -> AnswerScore {
    judge(DriftingMachine::new(seed), MAX_TRIALS / 2)
}

fn judge(mut machine: DriftingMachine, max_trials: u32) -> AnswerScore {
    let seed = machine.seed;
    let mut referee = Referee::new(RefereeQuestion {
        goal: Goal::default(),
        inputs: inputs(&mut machine),
        cpus: CPUS.to_vec(),
        wanted_trials: WANTED_TRIALS,
    });
    loop {
        let orders = referee.next(max_trials.saturating_sub(referee.trials_spent()));
        if orders.is_empty() {
            break;
        }
        let (cost, round) = (referee.cost(), referee.round());
        for order in orders {
            for _ in 0..order.trials {
                let trial = machine.trial(&order.method, &cost, round);
                referee.add_trial(&order.method, trial);
            }
        }
        let recording = machine.recording(0.5e9);
        referee.add_recording(recording);
    }
    let decision = referee.decision();
    let tried: Vec<LaneMethod> = referee
        .tried_methods()
        .map(|(method, ..)| method.clone())
        .collect();
    let chosen = decision.chosen.map(|i| tried[i].clone());
    let method = chosen.unwrap_or(LaneMethod::Poll);
    let policies: Vec<PolicySpec> = tried.iter().filter_map(|m| m.policy().cloned()).collect();
    let truth = MachineTruth::from_machine(&machine, machine.diary(), &policies);
    let spent = referee.trials_spent();
    AnswerScore::new(seed, &truth, decision.verdict, &method, spent)
}

const TRIALS_NS: f64 = 20e9;

/// Answers by simulation of the first recording only, as the tool did before it had a referee.
pub(crate) fn score_simulation(seed: u64) -> AnswerScore {
    let mut machine = DriftingMachine::new(seed);
    let inputs = inputs(&mut machine);
    let drive = Drive {
        warm_up: Nanos::from_millis(400),
        measure: Nanos::from_millis(2_000),
        seed,
    };
    let grid = standard_grid(Nanos(inputs.latency_ns as u64));
    let lanes = &inputs.recordings[0];
    let outcomes = sweep(
        &grid,
        &Configuration::closed_loop(lanes, &inputs.cost, drive),
    );
    let poll = simulate(lanes, &inputs.cost, Waiting::poll(1), drive);
    let interrupt = simulate(lanes, &inputs.cost, Waiting::interrupt(1), drive);
    let eligible = grid.iter().map(|p| p.follows_the_device());
    let eligible: Vec<bool> = eligible.collect();
    let (objective, limits) = (Objective::KiopsPerCore, Limits::default());
    let choice = choose(&outcomes, &eligible, &poll, objective, &limits);
    let pays = |&i: &usize| outcomes[i].gives.kiops_per_core > poll.gives.kiops_per_core * MIN_GAIN;
    let best = choice.best.filter(pays);
    let (verdict, method) = match best {
        Some(i) => (Verdict::Rule, LaneMethod::Hybrid(grid[i].clone())),
        None if interrupt.gives.rates.iops >= choice.floor_iops => {
            (Verdict::NoRoom, LaneMethod::Interrupt)
        }
        None => (Verdict::NoRoom, LaneMethod::Poll),
    };
    let lanes = machine.recording(TRIALS_NS);
    let truth = MachineTruth::from_machine(&machine, lanes, &[]);
    AnswerScore::new(seed, &truth, verdict, &method, 0)
}
