//! All threads of the machine: where they run, how they are scheduled, and which CPUs they may use.

pub use crate::cpu_list::show as list;
use crate::{Roots, attr, cpu_list};
use q2c_model::CpuId;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How the kernel schedules a thread (`SCHED_...` of include/uapi/linux/sched.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The fair class (`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`), or a BPF scheduler.
    Ordinary,
    /// `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`.
    RealTime,
}

/// A thread, as its `stat` in procfs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Id of its process.
    pub pid: u32,
    /// Id of the parent process.
    pub parent: u32,
    /// Name of the thread.
    pub comm: String,
    /// True if it runs or waits for a CPU.
    pub runnable: bool,
    /// True if it is a kernel thread that must stay on its CPUs (`PF_NO_SETAFFINITY`).
    pub bound: bool,
    /// True if it is a kernel thread (`PF_KTHREAD`). Threads of io_uring are none.
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

/// All threads of all processes, in any order. A thread that ends meanwhile is left out.
pub fn threads(roots: &Roots) -> Vec<Thread> {
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<u32>().ok();
    let entries = |path: &str| {
        let listed = fs::read_dir(roots.proc(path)).into_iter().flatten();
        listed.filter_map(move |entry| number(&entry.ok()?.file_name()))
    };
    let threads_of = |pid: u32| {
        let tids = entries(&format!("{pid}/task"));
        tids.filter_map(move |tid| thread(roots, pid, tid))
    };
    entries("").flat_map(threads_of).collect()
}

/// One thread; `None` when it is gone.
pub fn thread(roots: &Roots, pid: u32, tid: u32) -> Option<Thread> {
    let text = fs::read_to_string(roots.proc(&format!("{pid}/task/{tid}/stat"))).ok()?;
    parse(&text, pid, tid)
}

/// Parses the text of `stat`. The name may hold spaces and brackets; it ends at the last bracket.
/// Field 3, the state, is the first after it.
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
    cpu_list::parse(attr::field(&text, "Cpus_allowed_list:")?)
}

/// CPUs by control group, read once for each group.
#[derive(Debug, Default)]
pub struct Cpusets(HashMap<PathBuf, Option<Vec<CpuId>>>);

impl Cpusets {
    /// The CPUs that the control group of a process allows; `None` where no group sets them.
    pub fn cpus_of_process(&mut self, roots: &Roots, pid: u32) -> Option<Vec<CpuId>> {
        let groups = fs::read_to_string(roots.proc(&format!("{pid}/cgroup"))).ok()?;
        let folder = cpuset_folder(roots, &groups)?;
        let read = || effective_cpus(&folder, &roots.sys("fs/cgroup"));
        self.0.entry(folder.clone()).or_insert_with(read).clone()
    }
}

/// The folder of the group that decides: that of the controller `cpuset` in version 1 where it is
/// mounted, else that of version 2, whose line names no controller.
fn cpuset_folder(roots: &Roots, groups: &str) -> Option<PathBuf> {
    let group = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let is_named = parts.next()?.split(',').any(|name| name == controller);
            let path = parts.next()?.trim_start_matches('/').to_owned();
            is_named.then_some(path)
        })
    };
    let version_1 = group("cpuset").map(|path| roots.sys("fs/cgroup/cpuset").join(path));
    let version_1 = version_1.filter(|folder| folder.exists());
    version_1.or_else(|| group("").map(|path| roots.sys("fs/cgroup").join(path)))
}

/// The effective CPUs of the nearest group that has the controller.
fn effective_cpus(folder: &Path, root: &Path) -> Option<Vec<CpuId>> {
    let names = ["cpus.effective", "effective_cpus", "cpus"];
    let groups = folder.ancestors().take_while(|g| g.starts_with(root));
    let mut files = groups.flat_map(|group| names.map(|name| group.join(format!("cpuset.{name}"))));
    files.find_map(|file| attr::cpus(&file))
}

/// The CPUs that the kernel keeps from tasks that are not placed there by hand (`isolcpus=`).
pub fn isolated(roots: &Roots) -> Vec<CpuId> {
    attr::cpus(&roots.sys("devices/system/cpu/isolated")).unwrap_or_default()
}

/// How a process is related to the first one of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kin {
    /// It is the first one, or descends from it.
    Member,
    /// It does not descend from it, or no longer: its parents have ended.
    Other,
    /// It had ended before it was asked for.
    Gone,
}

/// A process and its descendants. Each process is looked up once, so it should be asked for while
/// it lives.
#[derive(Clone, Debug)]
pub struct ProcessFamily {
    roots: Roots,
    first: u32,
    known: HashMap<u32, Kin>,
}

impl ProcessFamily {
    /// Most generations that are followed. Ids are used again, so a chain may never end.
    const MAX_GENERATIONS: usize = 64;

    /// The family of the process `first`.
    pub fn new(roots: &Roots, first: u32) -> Self {
        ProcessFamily {
            roots: roots.clone(),
            first,
            known: HashMap::from([(0, Kin::Other), (first, Kin::Member)]),
        }
    }

    /// How a process, or the process of a thread, is related to the first one.
    pub fn kin(&mut self, id: u32) -> Kin {
        if let Some(kin) = self.known.get(&id) {
            return *kin;
        }
        let kin = self.find_kin(id);
        self.known.insert(id, kin);
        kin
    }

    fn find_kin(&self, id: u32) -> Kin {
        let mut ancestor = id;
        for _ in 0..Self::MAX_GENERATIONS {
            let Some((process, parent)) = self.process_and_parent(ancestor) else {
                return Kin::Gone;
            };
            if process == self.first {
                return Kin::Member;
            }
            if let Some(kin) = self.known.get(&parent) {
                return *kin;
            }
            ancestor = parent;
        }
        Kin::Other
    }

    fn process_and_parent(&self, id: u32) -> Option<(u32, u32)> {
        let text = fs::read_to_string(self.roots.proc(&format!("{id}/status"))).ok()?;
        let field = |name: &str| attr::field(&text, name)?.parse().ok();
        Some((field("Tgid:")?, field("PPid:")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;

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
        let mut threads = all_threads.iter();
        let own_thread = threads.find(|thread| thread.pid == std::process::id());
        let own_thread = own_thread.expect("a thread of this process");
        assert!(!own_thread.kernel && own_thread.scheduling == Scheduling::Ordinary);
        let cpus = allowed(&roots, own_thread.pid, own_thread.tid).expect("its CPUs");
        assert!(cpus.contains(&own_thread.cpu), "{own_thread:?} {cpus:?}");
    }

    fn cpus(numbers: &[u32]) -> Option<Vec<CpuId>> {
        Some(numbers.iter().copied().map(CpuId).collect())
    }

    #[test]
    fn the_nearest_group_with_the_controller_decides() {
        let tree = SysProcTree::new(
            "proc/7/cgroup = 0::/a.slice/b.service
             sys/fs/cgroup/cpuset.cpus.effective = 0-7
             sys/fs/cgroup/a.slice/cpuset.cpus.effective = 2-3
             sys/fs/cgroup/a.slice/b.service/cgroup.procs = 7
             proc/8/cgroup = 0::/",
        );
        let (roots, mut sets) = (tree.roots(), Cpusets::default());
        let wanted = [cpus(&[2, 3]), cpus(&[0, 1, 2, 3, 4, 5, 6, 7]), None];
        let actual = [7, 8, 9].map(|pid| sets.cpus_of_process(&roots, pid));
        assert_eq!(actual, wanted);
    }

    #[test]
    fn version_1_has_a_folder_for_the_controller() {
        let tree = SysProcTree::new(
            r"proc/7/cgroup = 3:cpuset:/x\n0::/y
             sys/fs/cgroup/cpuset/x/cpuset.cpus = 1
             sys/fs/cgroup/cpuset/cpuset.cpus = 0-1",
        );
        let roots = tree.roots();
        assert_eq!(Cpusets::default().cpus_of_process(&roots, 7), cpus(&[1]));
        assert_eq!(isolated(&roots), []);
    }

    #[test]
    fn descendants_and_their_threads_are_told_from_others() {
        let tree = SysProcTree::new("");
        let roots = tree.roots();
        // The id, process id and parent's process id of each task.
        let processes = [
            "1 1 0", "10 10 1", "11 11 10", "12 12 11", "13 12 11", "20 20 1",
        ];
        for ids in processes.map(|line| line.split(' ').collect::<Vec<_>>()) {
            let status = format!(r"Name:	x\nTgid:	{}\nPPid:	{}", ids[1], ids[2]);
            tree.add(&format!("proc/{}/status = {status}", ids[0]));
        }
        let mut family = ProcessFamily::new(&roots, 10);
        assert_eq!([10, 11, 12, 13].map(|id| family.kin(id)), [Kin::Member; 4]);
        assert_eq!([0, 1, 20].map(|id| family.kin(id)), [Kin::Other; 3]);
        assert_eq!(family.kin(30), Kin::Gone);
        // A result is kept after the process has ended.
        fs::remove_dir_all(roots.proc("12")).unwrap();
        assert_eq!(family.kin(12), Kin::Member);
    }
}
