//! What the threads of this process used, from `/proc/self/task`.

use crate::{Roots, attr};
use q2c_model::Nanos;
use std::fs;
use std::path::Path;

/// One thread's counters since it started, or their difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub comm: String,
    /// Time on a CPU. Of a thread that is running at the moment it lags by up to one tick (1 to 10 ms).
    pub cpu: Nanos,
    /// Time runnable but waiting for a CPU.
    pub run_delay: Nanos,
    /// Times it gave the CPU away by itself: it slept or waited.
    pub voluntary: u64,
    /// Times the CPU was taken from it.
    pub involuntary: u64,
}

/// All threads of this process, by id. A thread that ends while it is read is left out.
///
/// # Errors
/// The folder cannot be listed.
pub fn tasks(roots: &Roots) -> std::io::Result<Vec<TaskTimes>> {
    let dir = roots.proc("self/task");
    fs::read_dir(&dir)?;
    Ok(attr::entries(&dir)
        .iter()
        .filter_map(|t| TaskTimes::read(t))
        .collect())
}

impl TaskTimes {
    /// Reads `status` and `schedstat` of a thread's folder; `None` when it is gone, or the kernel keeps no schedstat.
    #[must_use]
    pub fn read(dir: &Path) -> Option<TaskTimes> {
        let status = fs::read_to_string(dir.join("status")).ok()?;
        let schedstat = fs::read_to_string(dir.join("schedstat")).ok()?;
        let mut times = schedstat.split_whitespace().map(str::parse);
        let field = |name: &str| {
            status
                .lines()
                .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))
        };
        Some(TaskTimes {
            tid: attr::name(dir).parse().ok()?,
            comm: field("Name")?.trim().to_owned(),
            cpu: Nanos(times.next()?.ok()?),
            run_delay: Nanos(times.next()?.ok()?),
            voluntary: field("voluntary_ctxt_switches")?.trim().parse().ok()?,
            involuntary: field("nonvoluntary_ctxt_switches")?.trim().parse().ok()?,
        })
    }

    /// What the thread used between `earlier` and this reading.
    #[must_use]
    pub fn since(&self, earlier: &TaskTimes) -> TaskTimes {
        TaskTimes {
            cpu: self.cpu - earlier.cpu,
            run_delay: self.run_delay - earlier.run_delay,
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_made_thread() {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("proc/self/task/77");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("schedstat"), "1234567 89 10\n").unwrap();
        let status =
            "Name:\tq2c lane 0\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        fs::write(task.join("status"), status).unwrap();
        let found = tasks(&Roots::under(dir.path())).unwrap();
        let expected = TaskTimes {
            tid: 77,
            comm: "q2c lane 0".into(),
            cpu: Nanos(1_234_567),
            run_delay: Nanos(89),
            voluntary: 5,
            involuntary: 2,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn sleeping_counts_as_voluntary_switches() {
        let own = std::path::PathBuf::from("/proc/thread-self");
        let tid = attr::name(&fs::canonicalize(own).unwrap());
        let dir = Path::new("/proc/self/task").join(tid);
        let before = TaskTimes::read(&dir).unwrap();
        (0..20).for_each(|_| std::thread::sleep(Duration::from_micros(200)));
        let used = TaskTimes::read(&dir).unwrap().since(&before);
        assert!(used.voluntary >= 20, "{used:?}");
        assert!(used.cpu < Nanos::from_millis(500));
    }
}
