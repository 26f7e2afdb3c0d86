//! The moves that the placement rules ask for, task by task.

use crate::map::{CpuIndex, SmtMap};
use crate::predictor::Class;
use crate::rules::{Decider, Movable, Move, Rules, SwapReason, THRESHOLD, Tally};
use crate::scheduler::observe::ActiveTask;
use q2c_result::place_watch::MoveReason;

/// A task that should be on another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedMove {
    /// The task's index in the list of active tasks.
    pub task: usize,
    pub from: CpuIndex,
    pub to: CpuIndex,
    /// The reason of its last move.
    pub reason: MoveReason,
}

/// Where the active tasks are.
pub(crate) struct ActiveTaskMap<'a> {
    map: &'a SmtMap,
    tasks: &'a [ActiveTask],
    /// The tasks of each CPU, as indices into the list of active tasks.
    pub tasks_on: Vec<Vec<usize>>,
    pub tally: Tally<'a>,
}

impl<'a> ActiveTaskMap<'a> {
    /// The tasks where they are. Tasks on CPUs that are not in the map are left out.
    pub(crate) fn from_tasks(map: &'a SmtMap, tasks: &'a [ActiveTask]) -> Self {
        let mut places = ActiveTaskMap {
            map,
            tasks,
            tasks_on: vec![Vec::new(); map.cpus()],
            tally: Tally::new(map),
        };
        for (task, active) in tasks.iter().enumerate() {
            if let Some(cpu) = map.index(active.thread.cpu) {
                places.tasks_on[cpu].push(task);
                places.tally.add(cpu, active.class);
            }
        }
        places
    }

    /// True if some tasks poll and others do not: else there is nothing to keep apart.
    pub(crate) fn is_mixed(&self) -> bool {
        let total: u32 = self.tally.cpus.iter().map(|counts| counts.load()).sum();
        (1..total).contains(&self.tally.polling)
    }

    /// Moves tasks until the rules ask for no move, and returns the moves. No task moves if none
    /// polls or none computes.
    pub(crate) fn settle(&mut self, rules: Rules) -> Vec<PlannedMove> {
        let mut planned: Vec<PlannedMove> = Vec::new();
        if !self.is_mixed() {
            return planned;
        }
        while let Some(next) = self.next_move(rules) {
            for (from, to, class, reason) in task_moves(next) {
                let Some(task) = self.first_movable(from, to, class) else {
                    return planned;
                };
                self.tasks_on[from].retain(|other| *other != task);
                self.tasks_on[to].push(task);
                self.tally.shift(from, to, class);
                match planned.iter_mut().find(|planned| planned.task == task) {
                    // A task that moves again keeps its first CPU and gets its last one.
                    Some(earlier) => (earlier.to, earlier.reason) = (to, reason),
                    None => planned.push(PlannedMove {
                        task,
                        from,
                        to,
                        reason,
                    }),
                }
            }
        }
        planned.retain(|planned| planned.from != planned.to);
        planned
    }

    fn next_move(&self, rules: Rules) -> Option<Move> {
        let decider = Decider {
            tally: &self.tally,
            rules,
            threshold: THRESHOLD,
            movable: self,
        };
        decider.next_move()
    }

    fn first_movable(&self, from: CpuIndex, to: CpuIndex, class: Class) -> Option<usize> {
        let to = self.map.id(to);
        let is_movable = |task: &&usize| {
            let task = &self.tasks[**task];
            task.class == class && task.stays.is_none() && task.allowed.contains(&to)
        };
        self.tasks_on[from].iter().find(is_movable).copied()
    }
}

impl Movable for ActiveTaskMap<'_> {
    fn may_move(&self, from: CpuIndex, to: CpuIndex, class: Class) -> bool {
        self.first_movable(from, to, class).is_some()
    }
}

fn task_moves(next: Move) -> Vec<(CpuIndex, CpuIndex, Class, MoveReason)> {
    match next {
        Move::Steal(steal) => vec![(steal.from, steal.to, steal.class, MoveReason::Load)],
        Move::Swap(swap) => {
            let reason = match swap.reason {
                SwapReason::Scatter => MoveReason::Scatter,
                SwapReason::Colocate => MoveReason::Colocate,
            };
            let compute = |back| (back, swap.from, Class::Compute, MoveReason::Room);
            let compute = swap.back.map(compute);
            let polling = (swap.from, swap.to, Class::Polling, reason);
            [Some(polling), compute].into_iter().flatten().collect()
        }
    }
}

#[cfg(test)]
mod tests;
