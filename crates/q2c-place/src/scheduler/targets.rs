//! The CPUs that every active task should have.
//!
//! A P task gets the one CPU where the rules put it. C tasks get all CPUs on which there is room
//! for them beside the P tasks, and the kernel balances them there: it does that well.

use crate::map::{CpuIndex, SmtMap};
use crate::predictor::Class;
use crate::rules::{Rules, Tally};
use crate::scheduler::observe::ActiveTask;
use crate::scheduler::plan::ActiveTaskMap;
use q2c_host::restore::TaskId;
use q2c_model::CpuId;

/// The CPUs of the tasks that may be moved; empty where no task polls or none computes.
pub(crate) fn targets(
    map: &SmtMap,
    tasks: &[ActiveTask],
    rules: Rules,
) -> Vec<(TaskId, Vec<CpuId>)> {
    let mut places = ActiveTaskMap::from_tasks(map, tasks);
    if !places.is_mixed() {
        return Vec::new();
    }
    places.settle(rules);
    let room = cpus_with_room(map, tasks, &places);
    let mut targets = Vec::new();
    for (cpu, task) in tasks_by_cpu(tasks, &places).filter(|(_, task)| task.stays.is_none()) {
        let cpus = match task.class {
            Class::Polling => vec![map.id(cpu)],
            Class::Compute => usable_or_all(&task.allowed, &room),
        };
        targets.push((task.id(), cpus));
    }
    targets.sort();
    targets
}

fn tasks_by_cpu<'a>(
    tasks: &'a [ActiveTask],
    places: &'a ActiveTaskMap<'_>,
) -> impl Iterator<Item = (CpuIndex, &'a ActiveTask)> {
    let queues = places.tasks_on.iter().enumerate();
    queues.flat_map(move |(cpu, queue)| queue.iter().map(move |task| (cpu, &tasks[*task])))
}

fn usable_or_all(allowed: &[CpuId], room: &[CpuId]) -> Vec<CpuId> {
    let mut usable = allowed.to_vec();
    usable.retain(|cpu| room.contains(cpu));
    if usable.is_empty() {
        allowed.to_vec()
    } else {
        usable
    }
}

/// Movable C tasks are dealt out to the least loaded CPUs, those without P tasks first; CPUs that
/// get one or stay empty have room. The CPUs on which these C tasks are at the moment have no
/// influence, so the answer is steady.
fn cpus_with_room(map: &SmtMap, tasks: &[ActiveTask], places: &ActiveTaskMap<'_>) -> Vec<CpuId> {
    let mut tally = Tally::new(map);
    let mut movable: Vec<&ActiveTask> = Vec::new();
    for (cpu, task) in tasks_by_cpu(tasks, places) {
        match (task.class, task.stays) {
            (Class::Compute, None) => movable.push(task),
            (class, _) => tally.add(cpu, class),
        }
    }
    let mut has_new_task = vec![false; map.cpus()];
    for task in movable {
        if let Some(cpu) = least_loaded(map, &tally, &task.allowed) {
            tally.add(cpu, Class::Compute);
            has_new_task[cpu] = true;
        }
    }
    // A C task that must stay beside P tasks is no reason to send others there.
    let has_room = |cpu: &CpuIndex| has_new_task[*cpu] || tally.cpus[*cpu].load() == 0;
    let cpus = (0..map.cpus()).filter(has_room);
    let mut room: Vec<CpuId> = cpus.map(|cpu| map.id(cpu)).collect();
    room.sort();
    room
}

fn least_loaded(map: &SmtMap, tally: &Tally<'_>, allowed: &[CpuId]) -> Option<CpuIndex> {
    let cpus = (0..map.cpus()).filter(|cpu| allowed.contains(&map.id(*cpu)));
    cpus.min_by_key(|&cpu| {
        let counts = tally.cpus[cpu];
        let core = tally.load_of_core[map.core_of(cpu)];
        (counts.load(), counts.polling, core, cpu)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::fixtures::active;
    use q2c_host::tasks::list;

    fn target_cpus(cores: &[&str], stay: &[usize]) -> Vec<String> {
        let map = SmtMap::regular(cores.len(), 2, 1);
        let tasks = active(cores, stay);
        let chosen = targets(&map, &tasks, Rules::Proposed);
        chosen.iter().map(|(_, cpus)| list(cpus)).collect()
    }

    #[test]
    fn polling_tasks_get_a_cpu_and_compute_tasks_the_rest() {
        // A bunch: one P task goes to the other core, and C tasks get the other side of both.
        let cpus = target_cpus(&["P|P", "C|C"], &[]);
        let (polling, compute) = cpus.split_at(2);
        assert!(compute.iter().all(|cpus| *cpus == compute[0]), "{cpus:?}");
        assert_eq!(polling, ["0", "2"]);
        assert_eq!(compute[0], "1,3");
    }

    #[test]
    fn many_compute_tasks_may_also_use_the_cpus_of_polling_tasks() {
        let cpus = target_cpus(&["P|CCCC", "CCCC|CCCC"], &[]);
        assert_eq!(cpus[0], "0");
        assert!(cpus[1..].iter().all(|cpus| cpus == "0-3"), "{cpus:?}");
    }

    #[test]
    fn pinned_tasks_have_no_target_and_room_is_left_around_them() {
        // The P task on CPU 0 is pinned: C tasks keep away from it.
        assert_eq!(target_cpus(&["PC|", "C|"], &[0]), ["1-3", "1-3"]);
        assert_eq!(target_cpus(&["P|P", "|"], &[]), Vec::<String>::new());
        // The pinned C task shares CPU 0 with a P task; the other C tasks do not come there.
        let expected = ["0", "1-3", "1-3", "1-3"];
        assert_eq!(target_cpus(&["CP|C", "C|C"], &[0]), expected);
    }
}
