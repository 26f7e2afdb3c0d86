//! Chooses the CPU of each thread of each job.

use q2c_model::CpuId;
use q2c_result::reproduce::CpuUse;

/// The demand of a job in a phase: its threads, and the number of CPUs that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuDemand {
    pub threads: u32,
    pub cpus: u32,
}

/// The CPUs of each job's threads. A `None` in `demands` is a resting job. Jobs take CPUs in turn.
/// If there are too few, the first job keeps its own, and the others share the rest.
pub(crate) fn assign_cpus(demands: &[Option<CpuDemand>], cpus: &[CpuId]) -> Vec<Vec<CpuId>> {
    let mut taken = 0;
    let mut first = 0;
    let place = |demand: &Option<CpuDemand>| {
        let Some(demand) = demand else {
            return Vec::new();
        };
        let wanted = demand.cpus as usize;
        let fits = taken + wanted <= cpus.len();
        let rest = cpus.get(first..).filter(|rest| !rest.is_empty() && !fits);
        let (pool, from) = match rest {
            Some(rest) => (rest, taken - first),
            None => (cpus, taken),
        };
        let slot = |thread: usize| pool[(from + thread % wanted) % pool.len()];
        let threads = (0..demand.threads as usize).map(slot).collect();
        if taken == 0 {
            first = wanted.min(cpus.len());
        }
        taken += wanted;
        threads
    };
    demands.iter().map(place).collect()
}

pub(crate) fn cpus_needed(demands: &[Option<CpuDemand>], present: u32) -> CpuUse {
    CpuUse {
        needed: demands.iter().flatten().map(|demand| demand.cpus).sum(),
        present,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(threads: u32, cpus: u32) -> Option<CpuDemand> {
        Some(CpuDemand { threads, cpus })
    }

    fn numbers(placed: &[Vec<CpuId>]) -> Vec<Vec<u32>> {
        placed
            .iter()
            .map(|cpus| cpus.iter().map(|cpu| cpu.0).collect())
            .collect()
    }

    #[test]
    fn each_job_has_its_cpus_where_there_are_enough() {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let cpus_by_job = assign_cpus(&[demand(1, 1), None, demand(4, 4), demand(2, 1)], &cpus);
        let wanted = vec![vec![0], vec![], vec![1, 2, 3, 4], vec![5, 5]];
        assert_eq!(numbers(&cpus_by_job), wanted);
    }

    #[test]
    fn the_first_job_keeps_its_cpu_where_there_are_too_few() {
        let cpus = [CpuId(1), CpuId(0)];
        let cpus_by_job = assign_cpus(&[demand(1, 1), demand(4, 4)], &cpus);
        assert_eq!(numbers(&cpus_by_job), [vec![1], vec![0, 0, 0, 0]]);
        let cpus_by_job = assign_cpus(&[demand(3, 3), demand(1, 1)], &cpus);
        assert_eq!(numbers(&cpus_by_job), [vec![1, 0, 1], vec![0]]);
        let cpus_by_job = assign_cpus(&[demand(1, 1), demand(1, 1)], &cpus[..1]);
        assert_eq!(numbers(&cpus_by_job), [vec![1], vec![1]]);
    }

    #[test]
    fn the_jobs_of_a_phase_are_counted() {
        let cpu_use = cpus_needed(&[demand(1, 1), None, demand(8, 4)], 2);
        assert_eq!((cpu_use.needed, cpu_use.present), (5, 2));
    }
}
