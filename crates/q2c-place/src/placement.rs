//! Fixed placements: the named ones, and the best and worst of all.

use crate::map::{CpuIndex, SmtMap};
use crate::predictor::Class;
use crate::rules::{RunQueueCounts, Tally};
use crate::speed;
use q2c_result::place::{PolicyName, Speeds};

/// A placement with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// P tasks on both threads of as few cores as possible.
    Bunch,
    /// P tasks even over the cores, and on each wherever there are fewest tasks.
    Scatter,
    /// P tasks even over the cores, on the first logical CPU of each.
    Colocate,
    /// P tasks even over all logical CPUs.
    Spread,
}

impl Placement {
    /// The placement of this name; `None` for policies that move tasks.
    #[must_use]
    pub(crate) fn from_policy(policy: PolicyName) -> Option<Placement> {
        Some(match policy {
            PolicyName::Bunch => Placement::Bunch,
            PolicyName::Scatter => Placement::Scatter,
            PolicyName::Colocate => Placement::Colocate,
            PolicyName::Spread => Placement::Spread,
            _ => return None,
        })
    }

    /// The CPU of each P task and of each C task. C tasks fill up the least loaded CPUs.
    #[must_use]
    pub(crate) fn place_tasks(self, map: &SmtMap, compute: u32, polling: u32) -> TaskPlacement {
        let room = (compute + polling).div_ceil(map.cpus().max(1) as u32);
        let mut tally = Tally::new(map);
        let mut place = |class, cpu: Option<CpuIndex>| {
            let cpu = cpu.unwrap_or_else(|| least_loaded(&tally));
            tally.add(cpu, class);
            cpu
        };
        let nth = |nth: u32| self.cpu_of(map, nth as usize, room as usize);
        TaskPlacement {
            polling: (0..polling)
                .map(|n| place(Class::Polling, Some(nth(n))))
                .collect(),
            compute: (0..compute).map(|_| place(Class::Compute, None)).collect(),
        }
    }

    fn cpu_of(self, map: &SmtMap, nth: usize, room: usize) -> CpuIndex {
        let cores = map.cores();
        let of_core = |core: usize, side: usize| {
            let cpus = map.cpus_of(core % cores);
            cpus[side % cpus.len()]
        };
        match self {
            Placement::Bunch => bunched(map, nth, room),
            Placement::Colocate => of_core(nth % cores, 0),
            Placement::Scatter | Placement::Spread => of_core(nth % cores, nth / cores),
        }
    }
}

fn bunched(map: &SmtMap, nth: usize, room: usize) -> CpuIndex {
    let mut before = 0;
    for core in (0..map.cores()).cycle() {
        let cpus = map.cpus_of(core);
        if nth < before + room * cpus.len() {
            return cpus[(nth - before) % cpus.len()];
        }
        before += room * cpus.len();
    }
    0
}

fn least_loaded(tally: &Tally<'_>) -> CpuIndex {
    let map = tally.map();
    let load = |cpu: &CpuIndex| {
        (
            tally.counts_on(*cpu).load(),
            tally.load_of(map.core_of(*cpu)),
        )
    };
    (0..map.cpus()).min_by_key(load).unwrap_or(0)
}

/// The CPUs of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskPlacement {
    /// Of the C tasks.
    pub compute: Vec<CpuIndex>,
    /// Of the P tasks.
    pub polling: Vec<CpuIndex>,
}

impl TaskPlacement {
    /// The run queues.
    #[cfg(test)]
    #[must_use]
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
    /// Likewise.
    pub worst: (Vec<RunQueueCounts>, f64),
}

const MOST_PLACEMENTS: usize = 25_000;

/// Tries all placements whose loads differ by one task at most, each but once where cores or
/// threads could change places. `None`: too many, or no C tasks.
#[must_use]
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
        base: tasks / cpus,
        tried: 0,
        queues: Vec::with_capacity(map.cpus()),
        found: None,
    };
    let whole = search.place(UnplacedTasks {
        larger: tasks % cpus,
        polling,
    });
    search.found.filter(|_| whole)
}

#[derive(Clone, Copy)]
struct UnplacedTasks {
    larger: u32,
    polling: u32,
}

struct PlacementSearch<'a> {
    map: &'a SmtMap,
    speeds: &'a Speeds,
    base: u32,
    tried: usize,
    queues: Vec<RunQueueCounts>,
    found: Option<Extremes>,
}

impl PlacementSearch<'_> {
    fn place(&mut self, left: UnplacedTasks) -> bool {
        if !self.in_order() {
            return true;
        }
        let next = self.queues.len();
        if next == self.map.cpus() {
            return self.take(left);
        }
        for more in 0..=1.min(left.larger) {
            let load = self.base + more;
            for polling in 0..=load.min(left.polling) {
                self.queues.push(RunQueueCounts {
                    compute: load - polling,
                    polling,
                });
                let went = self.place(UnplacedTasks {
                    larger: left.larger - more,
                    polling: left.polling - polling,
                });
                self.queues.pop();
                if !went {
                    return false;
                }
            }
        }
        true
    }

    /// The first of their permutations: queues of a core in ascending order, and cores as well.
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
        let before = self.map.cpus_of(core - 1);
        before.len() != core_cpus.len()
            || self.map.cache_of(core - 1) != self.map.cache_of(core)
            || before
                .iter()
                .map(|cpu| self.queues[*cpu])
                .le(core_cpus.iter().map(|cpu| self.queues[*cpu]))
    }

    fn take(&mut self, left: UnplacedTasks) -> bool {
        self.tried += 1;
        if left.larger > 0 || left.polling > 0 {
            return self.tried < MOST_PLACEMENTS;
        }
        let tally = Tally::from_counts(self.map, &self.queues);
        let Some(time) = speed::c_slowdown(self.speeds, &tally) else {
            return true;
        };
        match &mut self.found {
            Some(extremes) if time < extremes.best.1 => extremes.best = (self.queues.clone(), time),
            Some(extremes) if time > extremes.worst.1 => {
                extremes.worst = (self.queues.clone(), time)
            }
            Some(_) => {}
            None => {
                let this = (self.queues.clone(), time);
                let (best, worst) = (this.clone(), this);
                self.found = Some(Extremes { best, worst });
            }
        }
        self.tried < MOST_PLACEMENTS
    }
}

#[cfg(test)]
mod tests;
