//! How fast a task runs where it is: time sharing of a logical CPU, and sharing of a core's
//! pipeline, kept apart.
//!
//! n tasks of a logical CPU get an n-th of its time each. While a task runs, its core's other
//! logical CPUs run their own tasks in turn, and each kind of neighbour has its effect for its
//! share of that time. The turns of two CPUs are independent of each other.

use crate::predictor::Class;
use crate::rules::{RunQueueCounts, Tally};
use q2c_result::place::Speeds;

/// Percent less time that C tasks need beside P tasks than beside C tasks (published mean).
pub(crate) const SCATTER_OVER_BUNCH_PCT: f64 = 17.0;

/// Assumed speed of a C task beside a C task, as a share of that alone: a core with two busy
/// logical CPUs does a quarter more. It matters only where CPUs are idle.
pub(crate) const COMPUTE_BESIDE_COMPUTE: f64 = 0.625;

/// Speeds that follow from the published bunch and scatter figures. A neighbour slows no P task:
/// the published runs saw no difference above 2.34 %.
pub fn published() -> Speeds {
    let ratio = 1.0 / (1.0 - SCATTER_OVER_BUNCH_PCT / 100.0);
    Speeds {
        compute_beside_compute: COMPUTE_BESIDE_COMPUTE,
        compute_beside_polling: COMPUTE_BESIDE_COMPUTE * ratio,
        polling_beside_compute: 1.0,
        polling_beside_polling: 1.0,
    }
}

/// No task is slowed by a neighbour: only time sharing is left.
#[cfg(test)]
pub(crate) const NO_SHARED_PIPELINE: Speeds = Speeds {
    compute_beside_compute: 1.0,
    compute_beside_polling: 1.0,
    polling_beside_compute: 1.0,
    polling_beside_polling: 1.0,
};

fn speed_beside(speeds: &Speeds, own: Class, neighbour: Class) -> f64 {
    match (own, neighbour) {
        (Class::Compute, Class::Compute) => speeds.compute_beside_compute,
        (Class::Compute, Class::Polling) => speeds.compute_beside_polling,
        (Class::Polling, Class::Compute) => speeds.polling_beside_compute,
        (Class::Polling, Class::Polling) => speeds.polling_beside_polling,
    }
}

fn effect(speeds: &Speeds, own: Class, neighbour: RunQueueCounts) -> f64 {
    if neighbour.load() == 0 {
        return 1.0;
    }
    let share = |class| f64::from(neighbour.count(class)) / f64::from(neighbour.load());
    let part = |class| share(class) * speed_beside(speeds, own, class);
    part(Class::Compute) + part(Class::Polling)
}

/// Speed of a task while it runs on `cpu`, 0 to 1: neighbours' effects on the core multiply.
pub(crate) fn while_running(speeds: &Speeds, tally: &Tally<'_>, cpu: usize, class: Class) -> f64 {
    let map = tally.map;
    let core = map.cpus_of(map.core_of(cpu)).iter();
    let others = core.filter(|other| **other != cpu);
    let effect = |&other: &usize| effect(speeds, class, tally.cpus[other]);
    others.map(effect).product()
}

/// Mean run time of the C tasks / run time alone, when all tasks stay; `None` without C tasks.
pub(crate) fn c_slowdown(speeds: &Speeds, tally: &Tally<'_>) -> Option<f64> {
    let (mut tasks, mut time) = (0.0, 0.0);
    let cpus = tally.cpus.iter().enumerate();
    for (cpu, counts) in cpus.filter(|(_, counts)| counts.compute > 0) {
        let speed = while_running(speeds, tally, cpu, Class::Compute);
        tasks += f64::from(counts.compute);
        time += f64::from(counts.compute) * f64::from(counts.load()) / speed;
    }
    (tasks > 0.0).then(|| time / tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::SmtMap;

    const SPEEDS: Speeds = Speeds {
        compute_beside_compute: 0.5,
        compute_beside_polling: 0.8,
        polling_beside_compute: 0.9,
        polling_beside_polling: 1.0,
    };

    fn slowdown(queues: &[(u32, u32)]) -> f64 {
        let map = SmtMap::regular(queues.len() / 2, 2, 1);
        let counts = queues
            .iter()
            .map(|&(compute, polling)| RunQueueCounts { compute, polling });
        let counts: Vec<RunQueueCounts> = counts.collect();
        c_slowdown(&SPEEDS, &Tally::from_counts(&map, &counts)).expect("C tasks")
    }

    #[test]
    fn time_sharing_and_pipeline_sharing_multiply() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(slowdown(&[(1, 0), (0, 0)]), 1.0);
        close(slowdown(&[(1, 0), (1, 0)]), 1.0 / 0.5);
        close(slowdown(&[(1, 0), (0, 1)]), 1.0 / 0.8);
        close(slowdown(&[(1, 1), (0, 0)]), 2.0);
        // Colocate and spread on one core: 2 / 0.8, and 2 over the mean of 0.5 and 0.8.
        close(slowdown(&[(2, 0), (0, 2)]), 2.5);
        close(slowdown(&[(1, 1), (1, 1)]), 2.0 / 0.65);
        // Two C tasks share a CPU and take 2 / 0.5 each; the third one beside them takes 1 / 0.5.
        close(slowdown(&[(2, 0), (1, 0)]), (2.0 * 4.0 + 2.0) / 3.0);
    }

    #[test]
    fn the_published_ratio_is_a_reduction_by_17_percent() {
        let speeds = published();
        let reduced = speeds.compute_beside_compute / speeds.compute_beside_polling;
        assert!((reduced - 0.83).abs() < 1e-12);
    }
}
