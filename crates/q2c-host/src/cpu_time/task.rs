//! CPU time and context switches of threads, from `/proc/PID/task`.
//!
//! Some of them are kernel threads that work for this process's rings; their CPU time is in that of
//! no job's thread. Since Linux 5.12 they are threads of the process, listed in `/proc/self/task`.
//! `iou-sqp-TID` polls the submission queue of a ring that thread TID set up with SQPOLL.
//! `iou-wrk-TID` runs requests of thread TID that would block. Before 5.12 they were separate
//! kernel threads and cannot be assigned to a process.

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
    /// True if the kernel keeps no schedstat. Then `cpu` is in steps of 10 ms (from `stat`), and
    /// `run_delay` is unknown and 0.
    pub coarse: bool,
}

/// All threads of this process, in ascending order of their ids. A thread that ends while it is
/// read is left out.
pub fn tasks(roots: &Roots) -> std::io::Result<Vec<TaskTimes>> {
    read_tasks(roots, "self")
}

/// All threads of the process `pid`, in the same way as [`tasks`].
pub fn tasks_of(roots: &Roots, pid: u32) -> std::io::Result<Vec<TaskTimes>> {
    read_tasks(roots, &pid.to_string())
}

fn read_tasks(roots: &Roots, process: &str) -> std::io::Result<Vec<TaskTimes>> {
    let dir = roots.proc(&format!("{process}/task"));
    fs::read_dir(&dir)?;
    let tasks = attr::entries(&dir);
    Ok(tasks.iter().filter_map(|t| TaskTimes::read(t)).collect())
}

impl TaskTimes {
    /// Reads a thread's folder: `status`, and `schedstat` (nanoseconds) or else `stat` (10 ms).
    /// `None` when the thread is gone.
    pub fn read(dir: &Path) -> Option<TaskTimes> {
        let status = fs::read_to_string(dir.join("status")).ok()?;
        let switches = |name: &str| attr::field(&status, name)?.parse().ok();
        let (cpu, run_delay, coarse) = match schedstat(dir) {
            Some((cpu, delay)) => (cpu, delay, false),
            None => {
                let [user, system, _] = stat_times(dir)?;
                (user + system, Nanos::ZERO, true)
            }
        };
        Some(TaskTimes {
            tid: attr::name(dir).parse().ok()?,
            comm: attr::field(&status, "Name:")?.to_owned(),
            cpu,
            run_delay,
            voluntary: switches("voluntary_ctxt_switches:")?,
            involuntary: switches("nonvoluntary_ctxt_switches:")?,
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

/// User time, system time, and user time of the children it waited for, from `stat` of a thread or
/// a process. They are fields 12 to 14 after the name, which ends at the last bracket and may hold
/// any characters. A process's times include all its threads, ended ones too.
pub(super) fn stat_times(dir: &Path) -> Option<[Nanos; 3]> {
    let text = attr::text(&dir.join("stat"))?;
    let after_name = text.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut time = || Some(Nanos(fields.next()?.parse::<u64>().ok()? * STAT_UNIT.0));
    Some([time()?, time()?, time()?])
}

/// The work of a helper thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperKind {
    /// It polls a submission queue (SQPOLL).
    Submission,
    /// It runs requests that would block (io-wq).
    Worker,
}

/// A kernel thread that works for one of this process's rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// The helper's work.
    pub kind: HelperKind,
    /// The id of the thread that the helper works for, from the helper's name; `None` if the name
    /// ends without one.
    pub owner: Option<u32>,
    /// The helper's counters. For a polling thread that never leaves its CPU they lag by up to a
    /// tick: for its exact time, read the CPU clock of its id.
    pub times: TaskTimes,
}

/// The helper threads of this process, in ascending order of their ids.
pub fn helpers(roots: &Roots) -> std::io::Result<Vec<Helper>> {
    Ok(tasks(roots)?.into_iter().filter_map(helper).collect())
}

fn helper(times: TaskTimes) -> Option<Helper> {
    let owner_and_kind = |prefix, kind| Some((times.comm.strip_prefix(prefix)?.parse().ok(), kind));
    let (owner, kind) = owner_and_kind("iou-sqp-", HelperKind::Submission)
        .or_else(|| owner_and_kind("iou-wrk-", HelperKind::Worker))?;
    Some(Helper { kind, owner, times })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;
    use std::time::Duration;

    #[test]
    fn a_made_thread() {
        let tree = SysProcTree::new("proc/self/task/77/schedstat = 1234567 89 10");
        tree.add(
            r"proc/self/task/77/status = Name:	q2c lane 0\nvoluntary_ctxt_switches:	5\nnonvoluntary_ctxt_switches:	2",
        );
        let roots = tree.roots();
        let threads = tasks(&roots).unwrap();
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
        let read = |tid: u32| TaskTimes::read(&roots.proc(&format!("self/task/{tid}")));
        assert_eq!(read(77), Some(expected));
        assert_eq!(read(78), None);
        // Without schedstat the counts of stat are used: utime 250, stime 3.
        fs::remove_file(tree.path("proc/self/task/77/schedstat")).unwrap();
        let stat = "77 (q2c) lane (0) S 1 2 3 4 5 6 7 8 9 10 250 3 14 15 20 0";
        tree.add(&format!("proc/self/task/77/stat = {stat}"));
        let coarse = read(77).unwrap();
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
        // A thread that is preempted on its way to sleep counts as switched against its will.
        assert!(used.voluntary + used.involuntary >= 20, "{used:?}");
        assert!(used.voluntary >= 10, "{used:?}");
        assert!(used.cpu < Nanos::from_millis(500));
    }

    #[test]
    fn helpers_among_threads() {
        let tree = SysProcTree::new("");
        let made = [
            (11, "q2c"),
            (12, "iou-sqp-11"),
            (13, "iou-wrk-11"),
            (14, "iou-wrk-"),
            (15, "iou-other"),
        ];
        for (tid, comm) in made {
            tree.add(&format!(
                r"proc/self/task/{tid}/schedstat = {tid}000 0 1
                proc/self/task/{tid}/status = Name:	{comm}\nvoluntary_ctxt_switches:	1\nnonvoluntary_ctxt_switches:	0"
            ));
        }
        let helper_threads = helpers(&tree.roots()).unwrap();
        let rows: Vec<_> = helper_threads
            .iter()
            .map(|h| (h.kind, h.owner, h.times.tid, h.times.cpu.0))
            .collect();
        let expected = [
            (HelperKind::Submission, Some(11), 12, 12_000),
            (HelperKind::Worker, Some(11), 13, 13_000),
            (HelperKind::Worker, None, 14, 14_000),
        ];
        assert_eq!(rows, expected);
        assert!(helpers(&Roots::under(&tree.path("none"))).is_err());
    }

    #[test]
    fn this_process_can_be_asked() {
        assert_eq!(helpers(&Roots::live()).unwrap(), []);
    }
}
