//! Fixed placements: the named ones, and the best and worst of all.

use crate::map::{CpuIndex, SmtMap};
use crate::predictor::Class;
use crate::rules::{RunQueueCounts, Tally};
use crate::speed;
use q2c_result::place::{PolicyName, Speeds};

/// The CPU of each P task and of each C task in a fixed placement; `None` for policies that move
/// tasks. C tasks fill up the least loaded CPUs.
pub(crate) fn place_tasks(
    policy: PolicyName,
    map: &SmtMap,
    compute: u32,
    polling: u32,
) -> Option<TaskPlacement> {
    let cores = map.cores();
    let tasks_per_cpu = (compute + polling).div_ceil(map.cpus().max(1) as u32) as usize;
    let cpu_on = |core: usize, thread: usize| {
        let cpus = map.cpus_of(core);
        cpus[thread % cpus.len()]
    };
    let cpu_of: &dyn Fn(usize) -> CpuIndex = match policy {
        // On both threads of as few cores as possible.
        PolicyName::Bunch => &|nth| bunch_cpu(map, nth, tasks_per_cpu),
        // Even over the cores, on the first logical CPU of each.
        PolicyName::Colocate => &|nth| cpu_on(nth % cores, 0),
        // Even over the cores and then over their logical CPUs.
        PolicyName::Scatter | PolicyName::Spread => &|nth| cpu_on(nth % cores, nth / cores),
        _ => return None,
    };
    let polling: Vec<CpuIndex> = (0..polling as usize).map(cpu_of).collect();
    let mut tally = Tally::new(map);
    for cpu in &polling {
        tally.add(*cpu, Class::Polling);
    }
    let place = |_| {
        let cpu = least_loaded(&tally);
        tally.add(cpu, Class::Compute);
        cpu
    };
    let compute = (0..compute).map(place).collect();
    Some(TaskPlacement { compute, polling })
}

fn bunch_cpu(map: &SmtMap, nth: usize, tasks_per_cpu: usize) -> CpuIndex {
    let mut tasks_before = 0;
    for core in (0..map.cores()).cycle() {
        let cpus = map.cpus_of(core);
        if nth < tasks_before + tasks_per_cpu * cpus.len() {
            return cpus[(nth - tasks_before) % cpus.len()];
        }
        tasks_before += tasks_per_cpu * cpus.len();
    }
    0
}

fn least_loaded(tally: &Tally<'_>) -> CpuIndex {
    let map = tally.map;
    let load = |&cpu: &CpuIndex| (tally.cpus[cpu].load(), tally.load_of_core[map.core_of(cpu)]);
    (0..map.cpus()).min_by_key(load).unwrap_or(0)
}

pub(crate) struct TaskPlacement {
    /// The CPU of each C task.
    pub compute: Vec<CpuIndex>,
    /// The CPU of each P task.
    pub polling: Vec<CpuIndex>,
}

impl TaskPlacement {
    pub(crate) fn tally<'a>(&self, map: &'a SmtMap) -> Tally<'a> {
        let mut tally = Tally::new(map);
        let mut add = |cpus: &[CpuIndex], class| cpus.iter().for_each(|cpu| tally.add(*cpu, class));
        add(&self.compute, Class::Compute);
        add(&self.polling, Class::Polling);
        tally
    }
}

/// The best and the worst placement for the C tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extremes {
    /// Run queues and mean slowdown of the C tasks.
    pub best: (Vec<RunQueueCounts>, f64),
    /// The same for the worst placement.
    pub worst: (Vec<RunQueueCounts>, f64),
}

const MAX_PLACEMENTS: usize = 25_000;

/// Tries all placements whose loads differ by at most one task. Placements that differ only by an
/// exchange of cores or threads are tried once. `None` if they are too many, or without C tasks.
pub(crate) fn extremes(
    map: &SmtMap,
    compute: u32,
    polling: u32,
    speeds: &Speeds,
) -> Option<Extremes> {
    let cpus = map.cpus() as u32;
    let tasks = compute + polling;
    if cpus == 0 || compute == 0 {
        return None;
    }
    let mut search = PlacementSearch {
        map,
        speeds,
        min_load: tasks / cpus,
        tried: 0,
        queues: Vec::with_capacity(map.cpus()),
        extremes: None,
    };
    let complete = search.place(tasks % cpus, polling);
    search.extremes.filter(|_| complete)
}

struct PlacementSearch<'a> {
    map: &'a SmtMap,
    speeds: &'a Speeds,
    min_load: u32,
    tried: usize,
    queues: Vec<RunQueueCounts>,
    extremes: Option<Extremes>,
}

impl PlacementSearch<'_> {
    /// Fills the remaining CPUs: `larger` of them get one task more, and `polling` tasks poll.
    /// Returns false when too many placements were tried.
    fn place(&mut self, larger: u32, polling: u32) -> bool {
        if !self.in_order() {
            return true;
        }
        let next = self.queues.len();
        if next == self.map.cpus() {
            return self.record_slowdown(larger == 0 && polling == 0);
        }
        for extra_task in 0..=1.min(larger) {
            let load = self.min_load + extra_task;
            for polling_here in 0..=load.min(polling) {
                self.queues.push(RunQueueCounts {
                    compute: load - polling_here,
                    polling: polling_here,
                });
                let goes_on = self.place(larger - extra_task, polling - polling_here);
                self.queues.pop();
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }

    /// True if queues ascend within each core, as do equal cores: no other permutation is tried.
    fn in_order(&self) -> bool {
        let Some(last) = self.queues.len().checked_sub(1) else {
            return true;
        };
        let core = self.map.core_of(last);
        let core_cpus = self.map.cpus_of(core);
        let in_core = core_cpus.contains(&last.wrapping_sub(1));
        if in_core && self.queues[last - 1] > self.queues[last] {
            return false;
        }
        if core_cpus.last() != Some(&last) || core == 0 {
            return true;
        }
        let previous_cpus = self.map.cpus_of(core - 1);
        let first = core_cpus[0];
        previous_cpus.len() != core_cpus.len()
            || self.map.cache_of(core - 1) != self.map.cache_of(core)
            || self.queues[first - previous_cpus.len()..first] <= self.queues[first..]
    }

    fn record_slowdown(&mut self, all_placed: bool) -> bool {
        self.tried += 1;
        let tally = || Tally::from_counts(self.map, &self.queues);
        let slowdown = || speed::c_slowdown(self.speeds, &tally());
        if let Some(time) = all_placed.then(slowdown).flatten() {
            let placement = || (self.queues.clone(), time);
            let extremes = self.extremes.get_or_insert_with(|| Extremes {
                best: placement(),
                worst: placement(),
            });
            if time < extremes.best.1 {
                extremes.best = placement();
            } else if time > extremes.worst.1 {
                extremes.worst = placement();
            }
        }
        self.tried < MAX_PLACEMENTS
    }
}

#[cfg(test)]
mod tests;
