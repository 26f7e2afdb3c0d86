//! The tasks of a simulation.

use crate::predictor::{Class, Predictor};
use q2c_model::stats::Rng;
use q2c_result::place::Phases;

/// The behaviour of a task over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Task {
    /// The task's work while it runs: computing or polling.
    pub class: Class,
    /// Work of a C task, which it repeats until every C task was done once; `None` without an end.
    pub work_s: Option<f64>,
    /// Times of running and of sleeping in turn; `None` when it never sleeps.
    pub phases: Option<Phases>,
}

impl Task {
    /// A C task with this much work, which never sleeps.
    pub(crate) fn compute(work_s: f64) -> Task {
        let work_s = Some(work_s);
        Task {
            work_s,
            ..Task::default()
        }
    }

    /// True for a task that only disturbs the others: it computes, and has no work to end.
    pub(crate) fn is_background(&self) -> bool {
        self.class == Class::Compute && self.work_s.is_none()
    }

    /// A P task that always polls.
    pub(crate) fn polling() -> Task {
        let class = Class::Polling;
        Task {
            class,
            ..Task::default()
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub task: Task,
    /// The task's CPU; while it sleeps, the CPU that it had.
    pub cpu: usize,
    /// When it wakes up; `None` while it can run.
    pub wakes_at_s: Option<f64>,
    pub run_left_s: f64,
    pub predictor: Predictor,
    pub ran_in_window: bool,
    pub done_s: f64,
    pub began_s: f64,
    pub first_run_s: Option<f64>,
    /// Work that it still has to repeat because of a cold cache.
    pub refill_s: f64,
}

impl Running {
    pub(crate) fn new(task: Task, rng: &mut Rng) -> Self {
        let mut running = Running {
            task,
            ..Running::default()
        };
        running.draw_run(rng);
        running
    }

    pub(crate) fn draw_run(&mut self, rng: &mut Rng) {
        let phases = self.task.phases;
        self.run_left_s = phases.map_or(f64::INFINITY, |phases| exponential(phases.runs_s, rng));
    }

    /// True if the task sleeps when the simulation begins: as probable as at any other moment.
    pub(crate) fn draw_asleep(&self, rng: &mut Rng) -> bool {
        let share = |phases: Phases| phases.sleeps_s / (phases.runs_s + phases.sleeps_s);
        self.task
            .phases
            .is_some_and(|phases| rng.unit() < share(phases))
    }

    pub(crate) fn draw_sleep(&self, rng: &mut Rng) -> f64 {
        let phases = self.task.phases;
        phases.map_or(0.0, |phases| exponential(phases.sleeps_s, rng))
    }
}

fn exponential(mean: f64, rng: &mut Rng) -> f64 {
    -mean * (1.0 - rng.unit()).ln()
}
