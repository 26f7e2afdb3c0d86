//! The figures of each policy, from its starts.

use super::{PlaceStudyRequest, SetupRequest};
use crate::latency;
use crate::map::SmtMap;
use crate::placement::place_tasks;
use crate::rules::Rules;
use crate::sim::{Account, PlaceSim, PlaceSimOutcome, Policy, PollSharing, Task};
use q2c_model::stats::{mean, percentile, sorted};
use q2c_model::{Exit, Fault};
use q2c_result::place::{CTimes, PolicyFigures, PolicyName, States};
use rayon::prelude::*;

#[derive(Clone, Copy)]
pub(super) struct PolicyRunInputs<'a> {
    pub map: &'a SmtMap,
    pub machine: &'a SetupRequest,
    pub request: &'a PlaceStudyRequest,
}

/// The starts of a policy.
pub(super) struct PolicyStarts {
    pub figures: PolicyFigures,
    /// Mean run time of the C tasks in each start, as a multiple of that of a lone C task.
    slowdowns: Vec<f64>,
}

pub(super) struct SetupRuns(pub Vec<PolicyStarts>);

impl SetupRuns {
    pub(super) fn of_policies(
        inputs: &PolicyRunInputs<'_>,
        names: &[PolicyName],
    ) -> Result<Self, Fault> {
        let runs = names.iter().map(|name| inputs.run_policy(*name));
        Ok(SetupRuns(runs.collect::<Result<_, _>>()?))
    }

    /// The starts of a policy; none if it did not run.
    pub(super) fn slowdowns(&self, name: PolicyName) -> &[f64] {
        let run = self.0.iter().find(|run| run.figures.policy == name);
        run.map_or(&[], |run| &run.slowdowns)
    }

    pub(super) fn slowdown(&self, name: PolicyName) -> f64 {
        mean(self.slowdowns(name))
    }

    pub(super) fn c_times(&self, unit: f64, best: Option<f64>, worst: Option<f64>) -> CTimes {
        let time = |name| self.slowdown(name) / unit;
        CTimes {
            free: time(PolicyName::Free),
            bunch: time(PolicyName::Bunch),
            scatter: time(PolicyName::Scatter),
            colocate: time(PolicyName::Colocate),
            spread: time(PolicyName::Spread),
            worst: worst.map(|worst| worst / unit),
            best: best.map(|best| best / unit),
            proposed: time(PolicyName::Proposed),
            proposed_literal: time(PolicyName::ProposedLiteral),
            proposed_swap: time(PolicyName::ProposedSwap),
        }
    }
}

impl PolicyRunInputs<'_> {
    fn tasks(&self) -> Vec<Task> {
        let machine = self.machine;
        let task = |steady: Task, phases| Task { phases, ..steady };
        let compute = task(Task::compute(machine.work_s), machine.compute_phases);
        let polling = task(Task::polling(), machine.polling_phases);
        let mut tasks = vec![compute; machine.compute as usize];
        tasks.extend(vec![polling; machine.polling as usize]);
        if machine.background.is_some() {
            let background = task(Task::default(), machine.background);
            tasks.extend(vec![background; self.map.cpus()]);
        }
        tasks
    }

    fn run_policy(&self, name: PolicyName) -> Result<PolicyStarts, Fault> {
        let tasks = self.tasks();
        let sim = PlaceSim {
            map: self.map,
            tasks: &tasks,
            policy: self.policy(name),
            threshold: self.machine.threshold,
            speeds: self.request.speeds,
            cache: self.request.cache,
            // Even a task that has a thousandth of a CPU ends within this time.
            max_s: 1_000.0 * self.machine.work_s,
        };
        // A fixed placement without sleeps has nothing that a start could change.
        let sleeps = tasks.iter().any(|task| task.phases.is_some());
        let starts = match sim.policy {
            Policy::Fixed(_) if !sleeps => 1,
            _ => self.request.starts,
        };
        let outcome = |start: u32| {
            let seed = u64::from(start).wrapping_mul(0x9e37_79b9);
            sim.run(self.request.seed.wrapping_add(seed))
        };
        let outcomes: Vec<PlaceSimOutcome> = (0..starts).into_par_iter().map(outcome).collect();
        let mut slowdowns = Vec::new();
        let mut sum = Account::default();
        for outcome in outcomes {
            let slowdown = outcome.c_slowdown;
            slowdowns.push(slowdown.ok_or_else(|| self.no_end_fault(name, sim.max_s))?);
            add(&mut sum, &outcome.account);
        }
        let figures = self.figures(name, &sorted(&slowdowns), &sum);
        Ok(PolicyStarts { figures, slowdowns })
    }

    fn no_end_fault(&self, name: PolicyName, max_s: f64) -> Fault {
        let policy = format!("{name:?}").to_lowercase();
        let work_s = self.machine.work_s;
        let text = format!(
            "simulate placements: a computing task did not end within {max_s} simulated seconds under {policy}; use fewer tasks or --work below {work_s} s"
        );
        Fault::new(Exit::Usage, text)
    }

    fn policy(&self, name: PolicyName) -> Policy {
        let placed = place_tasks(name, self.map, self.machine.compute, self.machine.polling);
        if let Some(placed) = placed {
            // Further tasks are the background tasks, one for each CPU.
            let background = (0..self.map.cpus()).collect();
            return Policy::Fixed([placed.compute, placed.polling, background].concat());
        }
        match name {
            PolicyName::ProposedLiteral => Policy::Rules(Rules::Literal),
            PolicyName::ProposedSwap => Policy::Rules(Rules::WithSwap),
            PolicyName::Proposed => Policy::Rules(Rules::Proposed),
            _ => Policy::Free,
        }
    }

    fn figures(&self, policy: PolicyName, slowdowns: &[f64], sum: &Account) -> PolicyFigures {
        let polled_s: f64 = sum.sharing.iter().map(|shared| shared.work_s).sum();
        let share = |seconds: f64| seconds / sum.seconds;
        PolicyFigures {
            policy,
            c_slowdown: mean(slowdowns),
            c_slowdown_low: percentile(slowdowns, 0.025),
            c_slowdown_high: percentile(slowdowns, 0.975),
            p_bandwidth: if sum.polling_s > 0.0 {
                polled_s / sum.polling_s
            } else {
                0.0
            },
            p_latency: latency::poll_latency(&sum.sharing, self.request.poll),
            migrations: sum.migrations as f64 / slowdowns.len() as f64,
            states: States {
                colocate: share(sum.states.colocate),
                spread: share(sum.states.spread),
                bunch: share(sum.states.bunch),
                heap: share(sum.states.heap),
            },
        }
    }
}

fn add(sum: &mut Account, more: &Account) {
    sum.seconds += more.seconds;
    sum.polling_s += more.polling_s;
    sum.migrations += more.migrations;
    sum.states.colocate += more.states.colocate;
    sum.states.spread += more.states.spread;
    sum.states.bunch += more.states.bunch;
    sum.states.heap += more.states.heap;
    let longest = sum.sharing.len().max(more.sharing.len());
    sum.sharing.resize(longest, PollSharing::default());
    for (sum, more) in sum.sharing.iter_mut().zip(&more.sharing) {
        sum.ran_s += more.ran_s;
        sum.work_s += more.work_s;
    }
}
