//! When the CPUs of a simulation balance, and what they then move.

use super::linux::{self, LEVELS};
use super::{Policy, machine::SimRunQueues};
use crate::map::{CpuIndex, Distance};
use crate::predictor::Class;
use crate::rules::{AllMovable, Decider, Rules};

pub(super) struct Balancer {
    due_s: Vec<[f64; LEVELS.len()]>,
    at_rest: Vec<[bool; LEVELS.len()]>,
}

impl Balancer {
    pub(crate) fn new(cpus: usize) -> Self {
        let due_s = vec![[0.0; LEVELS.len()]; cpus];
        let at_rest = vec![[false; LEVELS.len()]; cpus];
        Balancer { due_s, at_rest }
    }

    /// Something changed: every CPU has to look again.
    pub(crate) fn mark_changed(&mut self) {
        self.at_rest
            .iter_mut()
            .for_each(|levels| levels.fill(false));
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.iter().flatten().all(|at_rest| *at_rest)
    }

    /// Balances every CPU whose time has come. Returns the number of moves.
    pub(crate) fn tick(&mut self, queues: &mut SimRunQueues<'_>, policy: &Policy) -> u64 {
        let mut moves = 0;
        for cpu in 0..self.due_s.len() {
            let load = queues.truth.cpus[cpu].load();
            for (nth, level) in LEVELS.into_iter().enumerate() {
                if load > 0 && queues.now_s < self.due_s[cpu][nth] {
                    continue;
                }
                let interval = linux::interval_s(queues.truth.map, cpu, level, load > 0);
                self.due_s[cpu][nth] = queues.now_s + interval;
                let moved = match policy {
                    Policy::Fixed(_) => 0,
                    Policy::Free => balance_blindly(queues, cpu, level),
                    Policy::Rules(rules) => apply_rules(queues, cpu, level, *rules),
                };
                moves += moved;
                match moved {
                    0 => self.at_rest[cpu][nth] = true,
                    _ => self.mark_changed(),
                }
            }
        }
        moves
    }
}

fn balance_blindly(queues: &mut SimRunQueues<'_>, cpu: CpuIndex, level: Distance) -> u64 {
    let mut moves = 0;
    while let Some(from) = linux::busiest(&queues.truth, cpu, level) {
        queues.move_random(from, cpu);
        moves += 1;
    }
    moves
}

/// Steals from the whole machine at every level. Swaps happen only at the cache level, as exchanges
/// between cores are not urgent.
fn apply_rules(queues: &mut SimRunQueues<'_>, cpu: CpuIndex, level: Distance, rules: Rules) -> u64 {
    let mut moves = 0;
    while let Some(steal) = decider(queues, rules).steal(cpu) {
        queues.move_class(steal.from, steal.to, steal.class);
        moves += 1;
    }
    if level != Distance::Cache || moves > 0 {
        return moves;
    }
    let core = queues.seen.map.core_of(cpu);
    let Some(swap) = decider(queues, rules).swap_for_core(core) else {
        return 0;
    };
    queues.move_class(swap.from, swap.to, Class::Polling);
    if let Some(back) = swap.back {
        queues.move_class(back, swap.from, Class::Compute);
    }
    1 + u64::from(swap.back.is_some())
}

fn decider<'a>(queues: &'a SimRunQueues<'_>, rules: Rules) -> Decider<'a, AllMovable> {
    Decider {
        tally: &queues.seen,
        rules,
        movable: &AllMovable,
    }
}
