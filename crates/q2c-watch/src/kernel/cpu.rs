//! The CPU that polling threads, the machine and this process used between two readings.

use q2c_capture::kernel_hybrid::ThreadPollState;
use q2c_host::Roots;
use q2c_host::cpu_time::{CpuTimes, TaskTimes, tasks};
use q2c_model::Nanos;
use std::collections::BTreeMap;

#[derive(Clone)]
pub(crate) struct CpuReading {
    /// By thread id: the counters of the thread's polls, and the CPU that it has used.
    threads: BTreeMap<u32, (ThreadPollState, Nanos)>,
    /// Counters of all CPUs; `None` when they cannot be read.
    machine: Option<CpuTimes>,
    own: Nanos,
}

pub(crate) struct CpuUsage {
    /// Number of threads that exist in both readings and polled between them.
    pub threads: u64,
    /// CPU of those threads, percent of one CPU each; `None` when there are none.
    pub pct: Option<f64>,
    pub busy: Option<f64>,
    pub own_pct: f64,
}

impl CpuReading {
    /// Reads the counters now. Threads that have ended are left out.
    pub(crate) fn read(roots: &Roots, threads: &BTreeMap<u32, ThreadPollState>) -> CpuReading {
        let thread = |(&tid, &polling): (&u32, &ThreadPollState)| {
            // `/proc/TID` will not do: some of its files are about the whole process.
            let task = TaskTimes::read(&roots.proc(&format!("{tid}/task/{tid}")))?;
            Some((tid, (polling, task.cpu)))
        };
        CpuReading {
            threads: threads.iter().filter_map(thread).collect(),
            machine: CpuTimes::read(roots).ok(),
            own: own_cpu(roots),
        }
    }

    /// The CPU used since `earlier`, which was read `length_s` seconds before.
    pub(crate) fn since(&self, earlier: &CpuReading, length_s: f64) -> CpuUsage {
        let percent = |ns: u64| ns as f64 / 1e9 / length_s.max(f64::MIN_POSITIVE) * 100.0;
        let used = |(tid, (polling, now)): (&u32, &(ThreadPollState, Nanos))| {
            let (polled, before) = earlier.threads.get(tid)?;
            (polled != polling).then(|| (*now - *before).0)
        };
        let used_ns: Vec<u64> = self.threads.iter().filter_map(used).collect();
        let busy = self.machine.as_ref().zip(earlier.machine.as_ref());
        CpuUsage {
            threads: used_ns.len() as u64,
            pct: (!used_ns.is_empty())
                .then(|| percent(used_ns.iter().sum()) / used_ns.len() as f64),
            busy: busy.and_then(|(now, before)| now.busy_since(before).cpus_busy()),
            own_pct: percent((self.own - earlier.own).0),
        }
    }
}

/// The CPU that all threads of this process have used together; 0 when it cannot be read.
pub fn own_cpu(roots: &Roots) -> Nanos {
    let tasks = tasks(roots).unwrap_or_default();
    tasks.iter().map(|task| task.cpu).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_at_both_ends_that_polled_between_count() {
        let reading = |threads: &[(u32, u64, u64)], own_ms: u64| CpuReading {
            threads: threads
                .iter()
                .map(|&(tid, polls, ms)| (tid, ([polls, 1, 2, 0], Nanos::from_millis(ms))))
                .collect(),
            machine: None,
            own: Nanos::from_millis(own_ms),
        };
        // Thread 6 polled before the first reading and only computes since.
        let before = reading(&[(6, 3, 20), (7, 5, 100), (8, 9, 50)], 10);
        let used = [(6, 3, 950), (7, 40, 900), (9, 70, 5_000), (8, 10, 450)];
        let after = reading(&used, 30);
        let used = after.since(&before, 1.0);
        assert_eq!((used.threads, used.pct, used.busy), (2, Some(60.0), None));
        assert_eq!(used.own_pct, 2.0);
        assert_eq!(before.since(&reading(&[], 0), 1.0).pct, None);
    }

    /// A thread that is not the first of its process: the CPU is that of this thread alone.
    #[test]
    fn cpu_of_one_thread() {
        let roots = Roots::live();
        let idle = std::thread::spawn(move || {
            let link = std::fs::read_link("/proc/thread-self").expect("procfs");
            let name = link.file_name().expect("PID/task/TID").to_string_lossy();
            let tid = name.parse().expect("a number");
            let threads = BTreeMap::from([(tid, [0; 4])]);
            (std::process::id() != tid)
                .then(|| CpuReading::read(&roots, &threads).threads[&tid].1)
                .expect("tests run in threads of their own")
        });
        let used = idle.join().expect("it reads");
        assert!(used < Nanos::from_millis(50), "{used} for a few reads");
    }
}
