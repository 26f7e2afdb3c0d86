//! When the CPUs of a simulation balance, and what they then move.

use super::linux::{self, LEVELS};
use super::{PlaceSim, Policy, machine::SimRunQueues};
use crate::map::{CpuIndex, Distance, SmtMap};
use crate::predictor::Class;
use crate::rules::{AllMovable, Decider, Rules};
use q2c_model::stats::Rng;

pub(super) struct Balancer {
    /// When each CPU next balances each level: at one of its ticks.
    due_s: Vec<[f64; LEVELS.len()]>,
    at_rest: Vec<[bool; LEVELS.len()]>,
}

impl Balancer {
    pub(crate) fn new(map: &SmtMap, rng: &mut Rng) -> Self {
        let mut first_due_s = |cpu, level| {
            let within_s = rng.unit() * linux::interval_s(map, cpu, level, true);
            linux::tick_s(map, cpu, within_s)
        };
        let due_s = (0..map.cpus()).map(|cpu| LEVELS.map(|level| first_due_s(cpu, level)));
        Balancer {
            due_s: due_s.collect(),
            at_rest: vec![[false; LEVELS.len()]; map.cpus()],
        }
    }

    pub(crate) fn next_due_s(&self) -> f64 {
        let due_s = self.due_s.iter().flatten().copied();
        due_s.fold(f64::INFINITY, f64::min)
    }

    /// Something changed: every CPU has to look again.
    pub(crate) fn mark_changed(&mut self) {
        self.at_rest
            .iter_mut()
            .for_each(|levels| levels.fill(false));
    }

    /// True if no CPU moves a task before something changes.
    pub(crate) fn is_at_rest(&self, queues: &SimRunQueues<'_>, policy: &Policy) -> bool {
        let may_swap = matches!(policy, Policy::Rules(rules) if *rules != Rules::Literal);
        let mut loads = queues.truth.cpus.iter().map(|counts| counts.load());
        let first = loads.next();
        let even = loads.all(|load| Some(load) == first);
        (!may_swap && even) || self.at_rest.iter().flatten().all(|at_rest| *at_rest)
    }

    /// Leaves out the balances until this time, at which none would move a task.
    pub(crate) fn skip_to(&mut self, time_s: f64, queues: &SimRunQueues<'_>) {
        for (cpu, due_s) in self.due_s.iter_mut().enumerate() {
            let busy = queues.truth.cpus[cpu].load() > 0;
            for (due_s, level) in due_s.iter_mut().zip(LEVELS) {
                let interval_s = linux::interval_s(queues.truth.map, cpu, level, busy);
                let skipped = ((time_s - *due_s) / interval_s).ceil();
                if skipped > 0.0 {
                    // A due time that is a tick stays one.
                    let due_after_s = *due_s + skipped * interval_s - 1e-9;
                    *due_s = linux::tick_s(queues.truth.map, cpu, due_after_s);
                }
            }
        }
    }

    /// Balances every CPU whose time has come, and those that ran out of tasks.
    pub(crate) fn balance(&mut self, queues: &mut SimRunQueues<'_>, sim: &PlaceSim<'_>) {
        let became_idle = std::mem::take(&mut queues.became_idle);
        for cpu in 0..self.due_s.len() {
            let is_idle = became_idle.contains(&cpu) && queues.truth.cpus[cpu].load() == 0;
            for (nth, level) in LEVELS.into_iter().enumerate() {
                if !is_idle && queues.now_s < self.due_s[cpu][nth] {
                    continue;
                }
                let busy = queues.truth.cpus[cpu].load() > 0;
                let wait_s = linux::interval_s(sim.map, cpu, level, busy);
                self.due_s[cpu][nth] = linux::tick_s(sim.map, cpu, queues.now_s + wait_s);
                let moved = match sim.policy {
                    Policy::Fixed(_) => 0,
                    Policy::Free => balance_blindly(queues, cpu, level, sim.threshold),
                    Policy::Rules(rules) => apply_rules(queues, cpu, level, rules, sim.threshold),
                };
                match moved {
                    0 => self.at_rest[cpu][nth] = true,
                    _ => self.mark_changed(),
                }
            }
        }
    }
}

fn balance_blindly(
    queues: &mut SimRunQueues<'_>,
    cpu: CpuIndex,
    level: Distance,
    threshold: u32,
) -> u64 {
    let mut moves = 0;
    while let Some(from) = linux::busiest(&queues.truth, cpu, level, threshold) {
        queues.move_random(from, cpu);
        moves += 1;
    }
    moves
}

/// Steals from the whole machine at every level. Swaps happen only at the cache level, as exchanges
/// between cores are not urgent.
fn apply_rules(
    queues: &mut SimRunQueues<'_>,
    cpu: CpuIndex,
    level: Distance,
    rules: Rules,
    threshold: u32,
) -> u64 {
    let mut moves = 0;
    while let Some(steal) = decider(queues, rules, threshold).steal(cpu) {
        queues.move_class(steal.from, steal.to, steal.class);
        moves += 1;
    }
    if level != Distance::Cache || moves > 0 {
        return moves;
    }
    let core = queues.seen.map.core_of(cpu);
    let Some(swap) = decider(queues, rules, threshold).swap_for_core(core) else {
        return 0;
    };
    queues.move_class(swap.from, swap.to, Class::Polling);
    if let Some(back) = swap.back {
        queues.move_class(back, swap.from, Class::Compute);
    }
    1 + u64::from(swap.back.is_some())
}

fn decider<'a>(
    queues: &'a SimRunQueues<'_>,
    rules: Rules,
    threshold: u32,
) -> Decider<'a, AllMovable> {
    Decider {
        tally: &queues.seen,
        rules,
        threshold: rules.threshold(threshold),
        movable: &AllMovable,
    }
}
