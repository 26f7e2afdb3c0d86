use crate::{Roots, attr, cpu_list};
use q2c_model::CpuId;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// CPUs by control group, read once for each group.
#[derive(Debug, Default)]
pub struct Cpusets(HashMap<PathBuf, Option<Vec<CpuId>>>);

impl Cpusets {
    /// The CPUs that the control group of a process allows; `None` where no group says so.
    pub fn cpus_of_process(&mut self, roots: &Roots, pid: u32) -> Option<Vec<CpuId>> {
        let groups = fs::read_to_string(roots.proc(&format!("{pid}/cgroup"))).ok()?;
        let folder = folder(roots, &groups)?;
        let read = || effective(&folder, &roots.sys("fs/cgroup"));
        self.0.entry(folder.clone()).or_insert_with(read).clone()
    }
}

/// The folder of the group that decides: that of the controller `cpuset` in version 1 where it is
/// mounted, else that of version 2.
fn folder(roots: &Roots, groups: &str) -> Option<PathBuf> {
    let group = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let named = parts.next()?.split(',').any(|one| one == controller);
            let path = parts.next()?.trim_start_matches('/').to_owned();
            named.then_some(path)
        })
    };
    let first = group("cpuset").map(|path| roots.sys("fs/cgroup/cpuset").join(path));
    let first = first.filter(|folder| folder.exists());
    first.or_else(|| group("").map(|path| roots.sys("fs/cgroup").join(path)))
}

/// The effective CPUs of the nearest group that has the controller.
fn effective(folder: &Path, root: &Path) -> Option<Vec<CpuId>> {
    let names = [
        "cpuset.cpus.effective",
        "cpuset.effective_cpus",
        "cpuset.cpus",
    ];
    let groups = folder
        .ancestors()
        .take_while(|group| group.starts_with(root));
    let mut files = groups.flat_map(|group| names.map(|name| group.join(name)));
    files.find_map(|file| cpu_list::parse(&attr::text(&file)?))
}

/// The CPUs that the kernel keeps from tasks that are not placed there by hand (`isolcpus=`).
pub fn isolated(roots: &Roots) -> Vec<CpuId> {
    let text = attr::text(&roots.sys("devices/system/cpu/isolated")).unwrap_or_default();
    cpu_list::parse(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::under(dir.path());
        (dir, roots)
    }

    fn cpus(numbers: &[u32]) -> Option<Vec<CpuId>> {
        Some(numbers.iter().copied().map(CpuId).collect())
    }

    #[test]
    fn the_nearest_group_with_the_controller_decides() {
        let (_dir, roots) = made(&[
            ("proc/7/cgroup", "0::/a.slice/b.service\n"),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n"),
            ("sys/fs/cgroup/a.slice/cpuset.cpus.effective", "2-3\n"),
            ("sys/fs/cgroup/a.slice/b.service/cgroup.procs", "7\n"),
            ("proc/8/cgroup", "0::/\n"),
        ]);
        let mut sets = Cpusets::default();
        assert_eq!(sets.cpus_of_process(&roots, 7), cpus(&[2, 3]));
        assert_eq!(
            sets.cpus_of_process(&roots, 8),
            cpus(&[0, 1, 2, 3, 4, 5, 6, 7])
        );
        assert_eq!(sets.cpus_of_process(&roots, 9), None);
    }

    #[test]
    fn version_1_has_a_folder_for_the_controller() {
        let (_dir, roots) = made(&[
            ("proc/7/cgroup", "3:cpuset:/x\n0::/y\n"),
            ("sys/fs/cgroup/cpuset/x/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n"),
        ]);
        assert_eq!(Cpusets::default().cpus_of_process(&roots, 7), cpus(&[1]));
        assert_eq!(isolated(&roots), []);
    }
}
