//! The moves that the placement rules ask for, task by task.

use crate::observe::Active;
use q2c_place::map::{CpuIndex, SmtMap};
use q2c_place::predictor::Class;
use q2c_place::rules::{Movable, Move, Rules, Tally, Why, next_move};
use q2c_result::place_watch::MoveReason;

/// A task that should be on another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its place in the list of active tasks.
    pub task: usize,
    /// The CPU that it is on.
    pub from: CpuIndex,
    /// The CPU that it should be on.
    pub to: CpuIndex,
    /// The reason of its last move.
    pub why: MoveReason,
}

/// Where the active tasks are.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    map: &'a SmtMap,
    tasks: &'a [Active],
    on: Vec<Vec<usize>>,
    tally: Tally<'a>,
}

impl<'a> Places<'a> {
    /// The tasks where they are. Tasks on CPUs that are not in the map are left out.
    #[must_use]
    pub fn of(map: &'a SmtMap, tasks: &'a [Active]) -> Self {
        let mut places = Places {
            map,
            tasks,
            on: vec![Vec::new(); map.cpus()],
            tally: Tally::new(map),
        };
        for (task, active) in tasks.iter().enumerate() {
            if let Some(cpu) = map.index(active.thread.cpu) {
                places.on[cpu].push(task);
                places.tally.add(cpu, active.class);
            }
        }
        places
    }

    /// The tasks of a CPU, as places in the list of active tasks.
    #[must_use]
    pub fn on(&self, cpu: CpuIndex) -> &[usize] {
        &self.on[cpu]
    }

    /// How many tasks of each class every CPU has.
    #[must_use]
    pub fn tally(&self) -> &Tally<'a> {
        &self.tally
    }

    /// Whether some tasks poll and others do not: else there is nothing to keep apart.
    #[must_use]
    pub fn are_mixed(&self) -> bool {
        let all: u32 = self.tally.cpus().iter().map(|counts| counts.load()).sum();
        (1..all).contains(&self.tally.polling())
    }

    /// Moves tasks until the rules rest, and says which. Nothing moves where no task polls or none
    /// computes.
    pub fn settle(&mut self, rules: Rules) -> Vec<Planned> {
        let mut planned: Vec<Planned> = Vec::new();
        if !self.are_mixed() {
            return planned;
        }
        while let Some(next) = next_move(&self.tally, rules, self) {
            for (from, to, class, why) in parts(next) {
                let Some(task) = self.first(from, to, class) else {
                    return planned;
                };
                self.on[from].retain(|other| *other != task);
                self.on[to].push(task);
                self.tally.shift(from, to, class);
                note(&mut planned, task, from, to, why);
            }
        }
        planned.retain(|planned| planned.from != planned.to);
        planned
    }

    fn first(&self, from: CpuIndex, to: CpuIndex, class: Class) -> Option<usize> {
        let to = self.map.id(to);
        let may = |task: &&usize| {
            let task = &self.tasks[**task];
            task.class == class && task.stays.is_none() && task.allowed.contains(&to)
        };
        self.on[from].iter().find(may).copied()
    }
}

impl Movable for Places<'_> {
    fn may_move(&self, from: CpuIndex, to: CpuIndex, class: Class) -> bool {
        self.first(from, to, class).is_some()
    }
}

fn parts(next: Move) -> Vec<(CpuIndex, CpuIndex, Class, MoveReason)> {
    match next {
        Move::Steal(steal) => vec![(steal.from, steal.to, steal.class, MoveReason::Load)],
        Move::Swap(swap) => {
            let why = match swap.why {
                Why::Scatter => MoveReason::Scatter,
                Why::Colocate => MoveReason::Colocate,
            };
            let room = |back| (back, swap.from, Class::Compute, MoveReason::Room);
            let back = swap.back.map(room);
            let there = (swap.from, swap.to, Class::Polling, why);
            [Some(there), back].into_iter().flatten().collect()
        }
    }
}

/// A task that moves again keeps its first CPU and gets its last one.
fn note(planned: &mut Vec<Planned>, task: usize, from: CpuIndex, to: CpuIndex, why: MoveReason) {
    match planned.iter_mut().find(|planned| planned.task == task) {
        Some(earlier) => (earlier.to, earlier.why) = (to, why),
        None => planned.push(Planned {
            task,
            from,
            to,
            why,
        }),
    }
}

#[cfg(test)]
mod tests;
