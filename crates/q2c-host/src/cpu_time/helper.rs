//! Kernel threads that work for this process's rings. Their CPU time is not in the CPU time of any
//! job's thread.
//!
//! Since Linux 5.12 they are threads of the process and stand in `/proc/self/task`. `iou-sqp-TID`
//! polls the submission queue of a ring that thread TID set up with SQPOLL. `iou-wrk-TID` is a
//! worker that runs those requests of thread TID that would block. Before 5.12 they were separate
//! kernel threads and cannot be assigned to a process.

use super::task::{TaskTimes, tasks};
use crate::{Roots, attr};
use q2c_model::{CpuId, Nanos};

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
///
/// # Errors
/// The folder of threads cannot be listed.
pub fn helpers(roots: &Roots) -> std::io::Result<Vec<Helper>> {
    let all = tasks(roots)?;
    Ok(all.into_iter().filter_map(helper).collect())
}

fn helper(times: TaskTimes) -> Option<Helper> {
    let of = |prefix, kind| Some((times.comm.strip_prefix(prefix)?.parse().ok(), kind));
    let (owner, kind) =
        of("iou-sqp-", HelperKind::Submission).or_else(|| of("iou-wrk-", HelperKind::Worker))?;
    Some(Helper { kind, owner, times })
}

/// The submission thread of an SQPOLL ring, as the ring's file in `/proc/self/fdinfo` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingThread {
    /// The ring's file descriptor.
    pub fd: u32,
    /// Id of the thread that polls the ring's submission queue. Rings that share a thread have the
    /// same id here.
    pub tid: u32,
    /// The CPU that the thread is on; `None` if the kernel does not tell.
    pub cpu: Option<CpuId>,
    /// Time that the thread has run, counted in microseconds; `None` on kernels that do not tell
    /// (before 6.12).
    pub total: Option<Nanos>,
    /// The part of `total` in which the thread submitted or reaped; `None` where `total` is `None`.
    pub work: Option<Nanos>,
}

/// The SQPOLL rings of this process, in order of file descriptors. Rings without a submission
/// thread and other files are left out. The list is empty on kernels that print no `SqThread`.
///
/// # Errors
/// The folder of descriptors cannot be listed.
pub fn ring_threads(roots: &Roots) -> std::io::Result<Vec<RingThread>> {
    let dir = roots.proc("self/fdinfo");
    std::fs::read_dir(&dir)?;
    let files = attr::entries(&dir);
    let read = |path: &std::path::PathBuf| {
        let fd = attr::name(path).parse().ok()?;
        ring_thread(fd, &attr::text(path)?)
    };
    Ok(files.iter().filter_map(read).collect())
}

fn ring_thread(fd: u32, text: &str) -> Option<RingThread> {
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
    };
    // The kernel prints -1 for none, which is no u32.
    let number = |name| field(name)?.parse::<u32>().ok();
    let micros = |name| field(name)?.parse().ok().map(Nanos::from_micros);
    Some(RingThread {
        fd,
        tid: number("SqThread")?,
        cpu: number("SqThreadCpu").map(CpuId),
        total: micros("SqTotalTime"),
        work: micros("SqWorkTime"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Makes the folder of a thread with this name and these nanoseconds on the CPU.
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
        let found = helpers(&Roots::under(dir.path())).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|h| (h.kind, h.owner, h.times.tid, h.times.cpu.0))
            .collect();
        let expected = [
            (HelperKind::Submission, Some(11), 12, 12_000),
            (HelperKind::Worker, Some(11), 13, 13_000),
            (HelperKind::Worker, None, 14, 14_000),
        ];
        assert_eq!(told, expected);
        assert!(helpers(&Roots::under(&dir.path().join("none"))).is_err());
    }

    /// The first lines of a ring's file as Linux 6.18 prints them.
    const RING: &str = "pos:\t0\nflags:\t02000002\nSqMask:\t0x7\nSqHead:\t0\nCqTail:\t0\nSqThread:\t11326\n\
                        SqThreadCpu:\t1\nSqTotalTime:\t2100\nSqWorkTime:\t1900\nUserFiles:\t0\n";

    #[test]
    fn rings_by_age_of_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let fdinfo = dir.path().join("proc/self/fdinfo");
        fs::create_dir_all(&fdinfo).unwrap();
        // 6.1 has no times; -1 is a ring without a thread; 5 is no ring.
        let old: String = RING
            .lines()
            .filter(|l| !l.contains("Time"))
            .fold(String::new(), |t, l| t + l + "\n");
        let plain = RING.replace("11326", "-1").replace("Cpu:\t1", "Cpu:\t-1");
        for (fd, text) in [
            ("3", RING),
            ("4", old.as_str()),
            ("5", "pos:\t0\n"),
            ("10", plain.as_str()),
        ] {
            fs::write(fdinfo.join(fd), text).unwrap();
        }
        let found = ring_threads(&Roots::under(dir.path())).unwrap();
        let new = RingThread {
            fd: 3,
            tid: 11_326,
            cpu: Some(CpuId(1)),
            total: Some(Nanos::from_micros(2_100)),
            work: Some(Nanos::from_micros(1_900)),
        };
        let old = RingThread {
            fd: 4,
            total: None,
            work: None,
            ..new
        };
        assert_eq!(found, [new, old]);
    }

    #[test]
    fn this_process_can_be_asked() {
        assert_eq!(helpers(&Roots::live()).unwrap(), []);
        assert_eq!(ring_threads(&Roots::live()).unwrap(), []);
    }
}
