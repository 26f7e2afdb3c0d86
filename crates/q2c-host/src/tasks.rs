//! All threads of the machine: where they run, how they are scheduled, and which CPUs they may use.

mod cpuset;
mod family;

pub use crate::cpu_list::show as list;
pub use cpuset::{Cpusets, isolated};
pub use family::{Kin, ProcessFamily};

use crate::{Roots, cpu_list};
use q2c_model::CpuId;
use std::fs;

/// How the kernel schedules a thread (`SCHED_...` of include/uapi/linux/sched.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The fair class (`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`), or a BPF scheduler.
    Ordinary,
    /// `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`.
    RealTime,
}

/// A thread, as its `stat` in procfs tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Id of its process.
    pub pid: u32,
    /// Id of the parent process.
    pub parent: u32,
    /// Its name.
    pub comm: String,
    /// Whether it runs or waits for a CPU.
    pub runnable: bool,
    /// Whether it is a kernel thread that must stay on its CPUs (`PF_NO_SETAFFINITY`).
    pub bound: bool,
    /// Whether it is a kernel thread (`PF_KTHREAD`). Threads of io_uring are none.
    pub kernel: bool,
    /// Time on CPUs since its start, in units of 10 ms.
    pub ticks: u64,
    /// Start in clock ticks since boot; with the id it names the thread for all time.
    pub start_time: u64,
    /// The CPU that it was on last.
    pub cpu: CpuId,
    /// How it is scheduled.
    pub scheduling: Scheduling,
}

/// Flags of a thread (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// All threads of all processes, in no order. A thread that ends meanwhile is left out.
pub fn threads(roots: &Roots) -> Vec<Thread> {
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<u32>().ok();
    let entries = |path: &str| {
        let listed = fs::read_dir(roots.proc(path)).into_iter().flatten();
        listed.filter_map(move |entry| number(&entry.ok()?.file_name()))
    };
    let of_process = |pid: u32| {
        let tids = entries(&format!("{pid}/task"));
        tids.filter_map(move |tid| thread(roots, pid, tid))
    };
    entries("").flat_map(of_process).collect()
}

/// One thread; `None` when it is gone.
pub fn thread(roots: &Roots, pid: u32, tid: u32) -> Option<Thread> {
    let text = fs::read_to_string(roots.proc(&format!("{pid}/task/{tid}/stat"))).ok()?;
    parse(&text, pid, tid)
}

/// The name may hold blanks and brackets; it ends at the last bracket. Field 3, the state, is the
/// first behind it.
fn parse(text: &str, pid: u32, tid: u32) -> Option<Thread> {
    let (before, after) = text.rsplit_once(") ")?;
    let (_, comm) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let state = *fields.first()?;
    let flags = field(9)?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    Some(Thread {
        tid,
        pid,
        parent: field(4)? as u32,
        comm: comm.to_owned(),
        runnable: state == "R",
        bound: flags & PF_NO_SETAFFINITY != 0,
        kernel: flags & PF_KTHREAD != 0,
        ticks: field(14)? + field(15)?,
        start_time: field(22)?,
        cpu: CpuId(field(39)? as u32),
        scheduling: match field(41)? {
            1 | 2 | 6 => Scheduling::RealTime,
            _ => Scheduling::Ordinary,
        },
    })
}

/// The CPUs that a thread may run on; `None` when it is gone.
pub fn allowed(roots: &Roots, pid: u32, tid: u32) -> Option<Vec<CpuId>> {
    let text = fs::read_to_string(roots.proc(&format!("{pid}/task/{tid}/status"))).ok()?;
    let mut lines = text.lines();
    cpu_list::parse(lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a real machine (field 9 is 0x4208060, field 39 is 3, field 41 is 0), with another
    /// name.
    const STAT: &str = "17 (a) b (c) R 2 0 0 0 -1 69238880 0 0 0 0 12 30 0 0 20 0 1 0 57 0 0 \
        18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_line_of_stat() {
        let thread = parse(STAT, 16, 17).unwrap();
        let expected = Thread {
            tid: 17,
            pid: 16,
            parent: 2,
            comm: "a) b (c".into(),
            runnable: true,
            bound: true,
            kernel: true,
            ticks: 42,
            start_time: 57,
            cpu: CpuId(3),
            scheduling: Scheduling::Ordinary,
        };
        assert_eq!(thread, expected);
        let ended = STAT.replace(") R ", ") Z ");
        assert_eq!(parse(&ended, 16, 17), None);
        let fifo = STAT.replace(" 3 0 0 0 0", " 3 50 1 0 0");
        let fifo = parse(&fifo, 16, 17).unwrap();
        assert_eq!(fifo.scheduling, Scheduling::RealTime);
    }

    #[test]
    fn this_thread_is_among_all() {
        let roots = Roots::live();
        let all_threads = threads(&roots);
        let own_thread = all_threads
            .iter()
            .find(|thread| thread.pid == std::process::id());
        let own_thread = own_thread.expect("a thread of this process");
        assert!(!own_thread.kernel && own_thread.scheduling == Scheduling::Ordinary);
        let cpus = allowed(&roots, own_thread.pid, own_thread.tid).expect("its CPUs");
        assert!(cpus.contains(&own_thread.cpu), "{own_thread:?} {cpus:?}");
    }
}
