//! Kernel threads that work for this process's rings. Their CPU time is not in the CPU time of any
//! job's thread.
//!
//! Since Linux 5.12 they are threads of the process and stand in `/proc/self/task`. `iou-sqp-TID`
//! polls the submission queue of a ring that thread TID set up with SQPOLL. `iou-wrk-TID` is a
//! worker that runs those requests of thread TID that would block. Before 5.12 they were separate
//! kernel threads and cannot be assigned to a process.

use super::task::{TaskTimes, tasks};
use crate::Roots;

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
    use std::fs;
    use std::path::Path;

    fn thread(dir: &Path, tid: u32, comm: &str, cpu: u64) {
        let task = dir.join(format!("proc/self/task/{tid}"));
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("schedstat"), format!("{cpu} 0 1\n")).unwrap();
        let switches = "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t0\n";
        fs::write(task.join("status"), format!("Name:\t{comm}\n{switches}")).unwrap();
    }

    #[test]
    fn helpers_among_threads() {
        let dir = tempfile::tempdir().unwrap();
        let made = [
            (11, "q2c"),
            (12, "iou-sqp-11"),
            (13, "iou-wrk-11"),
            (14, "iou-wrk-"),
            (15, "iou-other"),
        ];
        for (tid, comm) in made {
            thread(dir.path(), tid, comm, u64::from(tid) * 1_000);
        }
        let helper_threads = helpers(&Roots::under(dir.path())).unwrap();
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
        assert!(helpers(&Roots::under(&dir.path().join("none"))).is_err());
    }
    #[test]
    fn this_process_can_be_asked() {
        assert_eq!(helpers(&Roots::live()).unwrap(), []);
    }
}
