//! Who used how much CPU between two readings.

use q2c_host::Roots;
use q2c_host::cpu_time::{CpuTimes, TaskTimes, tasks};
use q2c_model::Nanos;
use std::collections::BTreeMap;

/// Counters at one moment.
#[derive(Clone)]
pub struct Cpu {
    /// By thread id: CPU used so far.
    threads: BTreeMap<u32, Nanos>,
    /// `None` when the machine does not tell.
    machine: Option<CpuTimes>,
    own: Nanos,
}

/// Between two of them.
pub struct Used {
    /// Threads that were there at both ends.
    pub threads: u64,
    /// Their CPU, percent of one CPU each.
    pub pct: Option<f64>,
    /// Busy CPUs of the machine.
    pub busy: Option<f64>,
    /// CPU of this process, percent of one CPU.
    pub own_pct: f64,
}

impl Cpu {
    /// Reads them; threads that have ended are left out.
    pub fn read(roots: &Roots, threads: &[u32]) -> Cpu {
        let used = |&tid: &u32| {
            let task = TaskTimes::read(&roots.proc(&tid.to_string()))?;
            Some((tid, task.cpu))
        };
        Cpu {
            threads: threads.iter().filter_map(used).collect(),
            machine: CpuTimes::read(roots).ok(),
            own: own(roots),
        }
    }

    /// What was used since `earlier`, `length_s` seconds ago.
    pub fn since(&self, earlier: &Cpu, length_s: f64) -> Used {
        let of = |ns: u64| ns as f64 / 1e9 / length_s.max(f64::MIN_POSITIVE) * 100.0;
        let both = self.threads.iter().filter_map(|(tid, now)| {
            let before = earlier.threads.get(tid)?;
            Some((*now - *before).0)
        });
        let both: Vec<u64> = both.collect();
        let busy = self.machine.as_ref().zip(earlier.machine.as_ref());
        Used {
            threads: both.len() as u64,
            pct: (!both.is_empty()).then(|| of(both.iter().sum()) / both.len() as f64),
            busy: busy.and_then(|(now, before)| now.busy_since(before).cpus_busy()),
            own_pct: of((self.own - earlier.own).0),
        }
    }
}

/// What all threads of this process used.
pub fn own(roots: &Roots) -> Nanos {
    let all = tasks(roots).unwrap_or_default();
    all.iter().map(|task| task.cpu).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_at_both_ends_count() {
        let at = |threads: &[(u32, u64)], own: u64| Cpu {
            threads: threads
                .iter()
                .map(|(tid, ms)| (*tid, Nanos::from_millis(*ms)))
                .collect(),
            machine: None,
            own: Nanos::from_millis(own),
        };
        let before = at(&[(7, 100), (8, 50)], 10);
        let after = at(&[(7, 900), (9, 5_000), (8, 450)], 30);
        let used = after.since(&before, 1.0);
        assert_eq!((used.threads, used.pct, used.busy), (2, Some(60.0), None));
        assert_eq!(used.own_pct, 2.0);
        assert_eq!(before.since(&at(&[], 0), 1.0).pct, None);
    }
}
