//! The Linux-like balancer: where tasks start and wake up, when CPUs balance, and what a balancer
//! that is blind to polling moves.
//!
//! It follows the kernel's fair class (`kernel/sched/fair.c`, Linux 6.x). A new task goes to the
//! idlest CPU of the idlest core. A task that wakes up goes to its old CPU if that is idle, else to
//! an idle core or CPU that shares the cache. A CPU balances each level (core, cache, machine)
//! every n ms, where n is the level's number of CPUs. While busy it balances 16 times less often;
//! when it runs out of tasks, at once.

use crate::map::{CpuIndex, Distance, SmtMap};
use crate::rules::Tally;
use q2c_model::stats::Rng;
use std::cmp::Reverse;

/// Seconds between two ticks of the kernel's timer: CONFIG_HZ=250.
const TICK_S: f64 = 0.004;
/// A busy CPU's interval between balancing is this many times longer (`busy_factor`).
const BUSY_FACTOR: f64 = 16.0;
pub(super) const LEVELS: [Distance; 3] = [Distance::Core, Distance::Cache, Distance::Machine];

pub(super) fn interval_s(map: &SmtMap, cpu: CpuIndex, level: Distance, busy: bool) -> f64 {
    map.cpus_within(cpu, level) as f64 * 1e-3 * if busy { BUSY_FACTOR } else { 1.0 }
}

/// The CPU's first tick after `time_s`. Ticks of the CPUs are spread evenly.
pub(super) fn tick_s(map: &SmtMap, cpu: CpuIndex, time_s: f64) -> f64 {
    let offset = cpu as f64 / map.cpus() as f64;
    ((time_s / TICK_S - offset).floor() + 1.0 + offset) * TICK_S
}

pub(super) fn first_cpu(tally: &Tally<'_>, rng: &mut Rng) -> CpuIndex {
    let map = tally.map;
    let per_cpu =
        |core: usize| (tally.load_of_core[core] as usize * 1024) / map.cpus_of(core).len();
    let core = random_least((0..map.cores()).collect(), per_cpu, rng);
    let load = |cpu: usize| tally.cpus[cpu].load() as usize;
    random_least(map.cpus_of(core).to_vec(), load, rng)
}

pub(super) fn cpu_for_woken_task(tally: &Tally<'_>, before: CpuIndex, rng: &mut Rng) -> CpuIndex {
    let map = tally.map;
    let idle = |cpu: &CpuIndex| tally.cpus[*cpu].load() == 0;
    if idle(&before) {
        return before;
    }
    let near = (0..map.cpus()).filter(|cpu| map.distance(before, *cpu) <= Distance::Cache);
    let idle: Vec<CpuIndex> = near.filter(idle).collect();
    if idle.is_empty() {
        return before;
    }
    let load = |cpu| tally.load_of_core[map.core_of(cpu)] as usize;
    random_least(idle, load, rng)
}

/// The value with the least key; on a tie, a random one of them.
fn random_least(mut values: Vec<usize>, key: impl Fn(usize) -> usize, rng: &mut Rng) -> usize {
    let least = values.iter().map(|value| key(*value)).min();
    values.retain(|value| Some(key(*value)) == least);
    let nth = rng.below(values.len().max(1) as u64) as usize;
    values.get(nth).copied().unwrap_or(0)
}

pub(super) fn busiest(
    tally: &Tally<'_>,
    to: CpuIndex,
    level: Distance,
    threshold: u32,
) -> Option<CpuIndex> {
    let map = tally.map;
    let load = |cpu: CpuIndex| tally.cpus[cpu].load();
    // The only task of a CPU runs; the kernel leaves it where it is.
    let fits =
        |&cpu: &CpuIndex| map.distance(to, cpu) == level && load(cpu) > load(to) && load(cpu) > 1;
    let group = |cpu: CpuIndex| match level {
        Distance::Core => load(cpu),
        Distance::Cache => tally.load_of_core[map.core_of(cpu)],
        Distance::Machine => tally.load_of_cache[map.cache_of(map.core_of(cpu))],
    };
    let sources = (0..map.cpus()).filter(fits);
    let from = sources.min_by_key(|&cpu| (Reverse(group(cpu)), Reverse(load(cpu)), cpu));
    from.filter(|&from| group(from) >= group(to) + threshold)
}
