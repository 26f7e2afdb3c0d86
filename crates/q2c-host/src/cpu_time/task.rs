//! CPU time and context switches of threads, from `/proc/PID/task`.

use super::snapshot::STAT_UNIT;
use crate::{Roots, attr};
use q2c_model::Nanos;
use std::fs;
use std::path::Path;

/// One thread's counters since it started, or their difference over an interval
/// ([`TaskTimes::since`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// Thread id.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// Time on a CPU. For a thread that runs at the moment of reading it lags by up to one tick (1
    /// to 10 ms).
    pub cpu: Nanos,
    /// Time in which the thread could run but waited for a CPU.
    pub run_delay: Nanos,
    /// How often the thread gave up the CPU because it slept or waited.
    pub voluntary: u64,
    /// How often the CPU was taken from the thread.
    pub involuntary: u64,
    /// Whether `cpu` is in counts of 10 ms (from `stat`) and `run_delay` is unknown and 0, because
    /// the kernel keeps no schedstat.
    pub coarse: bool,
}

/// All threads of this process, in ascending order of their ids. A thread that ends while it is
/// read is left out.
pub fn tasks(roots: &Roots) -> std::io::Result<Vec<TaskTimes>> {
    listed(roots, "self")
}

/// All threads of the process `pid`, in the same way as [`tasks`].
pub fn tasks_of(roots: &Roots, pid: u32) -> std::io::Result<Vec<TaskTimes>> {
    listed(roots, &pid.to_string())
}

fn listed(roots: &Roots, process: &str) -> std::io::Result<Vec<TaskTimes>> {
    let dir = roots.proc(&format!("{process}/task"));
    fs::read_dir(&dir)?;
    let tasks = attr::entries(&dir);
    Ok(tasks.iter().filter_map(|t| TaskTimes::read(t)).collect())
}

impl TaskTimes {
    /// The counters of a thread of this process; `None` when the thread is gone.
    #[cfg(test)]
    pub(crate) fn read_task(roots: &Roots, tid: u32) -> Option<TaskTimes> {
        TaskTimes::read(&roots.proc(&format!("self/task/{tid}")))
    }

    /// Reads a thread's folder: `status`, and `schedstat` (nanoseconds) or else `stat` (10 ms).
    /// `None` when the thread is gone.
    pub fn read(dir: &Path) -> Option<TaskTimes> {
        let status = fs::read_to_string(dir.join("status")).ok()?;
        let field = |name: &str| {
            status
                .lines()
                .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))
        };
        let (cpu, run_delay, coarse) = match schedstat(dir) {
            Some((cpu, delay)) => (cpu, delay, false),
            None => (ticks(dir)?, Nanos::ZERO, true),
        };
        Some(TaskTimes {
            tid: attr::name(dir).parse().ok()?,
            comm: field("Name")?.trim().to_owned(),
            cpu,
            run_delay,
            voluntary: field("voluntary_ctxt_switches")?.trim().parse().ok()?,
            involuntary: field("nonvoluntary_ctxt_switches")?.trim().parse().ok()?,
            coarse,
        })
    }

    /// The difference between this reading and an `earlier` one of the same thread.
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

/// Time on a CPU, and time waiting for one.
fn schedstat(dir: &Path) -> Option<(Nanos, Nanos)> {
    let text = attr::text(&dir.join("schedstat"))?;
    let mut times = text.split_whitespace().map(|t| t.parse().map(Nanos));
    Some((times.next()?.ok()?, times.next()?.ok()?))
}

fn ticks(dir: &Path) -> Option<Nanos> {
    let [user, system, _] = user_and_system(dir)?;
    Some(Nanos(user.0 + system.0))
}

/// User and system time in the file `stat` of a thread's or a process's folder, and the user time
/// of the process's children that it has waited for: the 12th to 14th field after the name. The
/// name ends at the last bracket and may hold any characters. Those of a process count all of its
/// threads, ended ones too.
pub(super) fn user_and_system(dir: &Path) -> Option<[Nanos; 3]> {
    let text = attr::text(&dir.join("stat"))?;
    let behind = text.rsplit_once(')')?.1;
    let mut fields = behind.split_whitespace().skip(11);
    let mut time = || Some(Nanos(fields.next()?.parse::<u64>().ok()? * STAT_UNIT.0));
    Some([time()?, time()?, time()?])
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
        let threads = tasks(&Roots::under(dir.path())).unwrap();
        let expected = TaskTimes {
            tid: 77,
            comm: "q2c lane 0".into(),
            cpu: Nanos(1_234_567),
            run_delay: Nanos(89),
            voluntary: 5,
            involuntary: 2,
            coarse: false,
        };
        assert_eq!(threads, std::slice::from_ref(&expected));
        assert_eq!(
            TaskTimes::read_task(&Roots::under(dir.path()), 77),
            Some(expected)
        );
        assert_eq!(TaskTimes::read_task(&Roots::under(dir.path()), 78), None);
        // Without schedstat the counts of stat are used: utime 250, stime 3.
        fs::remove_file(task.join("schedstat")).unwrap();
        let stat = "77 (q2c) lane (0) S 1 2 3 4 5 6 7 8 9 10 250 3 14 15 20 0";
        fs::write(task.join("stat"), stat).unwrap();
        let coarse = TaskTimes::read_task(&Roots::under(dir.path()), 77).unwrap();
        assert_eq!(coarse.cpu, Nanos::from_millis(2_530));
        assert!(coarse.coarse);
    }

    #[test]
    fn sleeping_counts_as_voluntary_switches() {
        let tid = attr::name(&fs::canonicalize("/proc/thread-self").unwrap());
        let dir = Path::new("/proc/self/task").join(tid);
        let before = TaskTimes::read(&dir).unwrap();
        (0..20).for_each(|_| std::thread::sleep(Duration::from_micros(200)));
        let used = TaskTimes::read(&dir).unwrap().since(&before);
        assert!(used.voluntary >= 20, "{used:?}");
        assert!(used.cpu < Nanos::from_millis(500));
    }
}
