//! What claims need of the machine, beside what it has.

use crate::file::Needs;
use q2c_bench::media::Media;
use q2c_engine::World;
use q2c_host::kernel_version::kernel_version;
use q2c_host::topology::AllowedCpus;
use q2c_host::{Roots, machine};
use q2c_result::Machine;
use q2c_result::reproduce::{Need, NeedKind};
use q2c_workbench::workbench::Workbench;
use std::fs;
use std::process::Command;

const MODULES: [&str; 2] = ["ramdisk_mq", "null_blk"];

/// What the machine has, as far as claims ask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Present {
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Facts of the machine.
    pub machine: Machine,
    /// Whether io_uring can poll the target's device; `None` without a target.
    pub poll_queues: Option<bool>,
    /// Hardware queues of the target's device; `None` where it has none or they are not known.
    pub hw_queues: Option<u32>,
    /// Why SPDK cannot be used; `None` where it can.
    pub no_spdk: Option<String>,
    /// Names of modules that are loaded or can be loaded.
    pub modules: Vec<String>,
    /// File systems of the kernel.
    pub file_systems: Vec<String>,
}

impl Present {
    /// What this machine has, of which `cpus` CPUs are in use.
    pub fn here(cpus: usize, place: Option<(&Workbench, &Media)>) -> Self {
        let roots = Roots::live();
        let device = place.and_then(|(place, _)| place.target.device.as_ref());
        Present {
            cpus: AllowedCpus::read().map_or(cpus, |allowed| allowed.count().min(cpus)) as u32,
            machine: place
                .map_or_else(|| machine::read(&roots), |(place, _)| place.machine.clone()),
            poll_queues: place.map(|(place, _)| place.polling.is_ok()),
            hw_queues: device.and_then(|device| hw_queues(&roots, &device.name)),
            no_spdk: match place.map(|(_, media)| &media.spdk) {
                Some(Ok(_)) => None,
                Some(Err(reason)) => Some(reason.clone()),
                None => Some("no target".to_owned()),
            },
            modules: MODULES
                .iter()
                .filter(|name| has_module(&roots, name))
                .map(|&name| name.to_owned())
                .collect(),
            file_systems: file_systems(&roots),
        }
    }

    /// What a simulated machine has: `cpus` CPUs and no kernel.
    pub fn simulated(world: &World, cpus: usize) -> Self {
        Present {
            cpus: cpus as u32,
            machine: machine::simulated(world.machine(), world.cpus()),
            poll_queues: Some(false),
            no_spdk: Some("the machine is simulated".to_owned()),
            ..Present::default()
        }
    }

    /// All needs of a claim, those of its experiment first.
    pub(crate) fn meets(&self, experiment: &Needs, claim: &Needs) -> Vec<Need> {
        let needs = experiment.and(claim);
        let mut checked_needs: Vec<Need> = self.counts(&needs);
        checked_needs.extend(self.kernel(&needs));
        checked_needs.extend(needs.poll_queues.then(|| self.poll_queues()));
        checked_needs.extend(needs.module.as_ref().map(|module| self.module(module)));
        checked_needs.extend(needs.file_systems.iter().map(|fs| self.file_system(fs)));
        checked_needs.extend(needs.spdk.then(|| self.spdk()));
        checked_needs.extend(needs.devices.as_ref().map(|devices| Need {
            kind: NeedKind::Device,
            needed: devices.clone(),
            present: "not among what an experiment can make or take here".to_owned(),
            met: false,
        }));
        checked_needs
    }

    fn counts(&self, needs: &Needs) -> Vec<Need> {
        let (machine, cpus) = (&self.machine, Some(self.cpus));
        let counts = [
            (NeedKind::Cpus, needs.cpus, cpus),
            (
                NeedKind::ThreadsPerCore,
                needs.threads_per_core,
                machine.threads_per_core,
            ),
            (NeedKind::NumaNodes, needs.numa_nodes, machine.numa_nodes),
            (NeedKind::HwQueues, needs.hw_queues, self.hw_queues),
        ];
        let need = |(kind, needed, present): (NeedKind, Option<u32>, Option<u32>)| {
            let needed = needed?;
            Some(Need {
                kind,
                needed: needed.to_string(),
                present: known(present),
                met: present.is_some_and(|present| present >= needed),
            })
        };
        counts.into_iter().filter_map(need).collect()
    }

    fn kernel(&self, needs: &Needs) -> Option<Need> {
        let bound = needs.kernel?;
        let (major, minor) = bound.version;
        let relation = if bound.below { "below" } else { "from" };
        let version = kernel_version(&self.machine.kernel);
        Some(Need {
            kind: NeedKind::Kernel,
            needed: format!("{relation} {major}.{minor}"),
            present: self.machine.kernel.clone(),
            met: version.is_some_and(|version| (version < bound.version) == bound.below),
        })
    }

    fn poll_queues(&self) -> Need {
        let present = match self.poll_queues {
            Some(true) => "yes",
            Some(false) => "no",
            None => "no target",
        };
        Need {
            kind: NeedKind::PollQueues,
            needed: "yes".to_owned(),
            present: present.to_owned(),
            met: self.poll_queues == Some(true),
        }
    }

    fn module(&self, module: &String) -> Need {
        let met = self.modules.contains(module);
        Need {
            kind: NeedKind::Module,
            needed: module.clone(),
            present: if met { "there" } else { "not there" }.to_owned(),
            met,
        }
    }

    fn file_system(&self, fs: &String) -> Need {
        Need {
            kind: NeedKind::FileSystem,
            needed: fs.clone(),
            present: self.file_systems.join(", "),
            met: self.file_systems.contains(fs),
        }
    }

    fn spdk(&self) -> Need {
        let reason = self.no_spdk.clone();
        Need {
            kind: NeedKind::Spdk,
            needed: "spdk_nvme_perf and a controller for it".to_owned(),
            met: reason.is_none(),
            present: reason.unwrap_or_else(|| "there".to_owned()),
        }
    }
}

fn known(count: Option<u32>) -> String {
    count.map_or_else(|| "not known".to_owned(), |count| count.to_string())
}

impl Needs {
    /// These needs and those of `other`, which go first where both say something.
    pub(crate) fn and(&self, other: &Needs) -> Needs {
        let mut file_systems = self.file_systems.clone();
        for fs in &other.file_systems {
            if !file_systems.contains(fs) {
                file_systems.push(fs.clone());
            }
        }
        Needs {
            cpus: other.cpus.or(self.cpus),
            threads_per_core: other.threads_per_core.or(self.threads_per_core),
            numa_nodes: other.numa_nodes.or(self.numa_nodes),
            kernel: other.kernel.or(self.kernel),
            poll_queues: self.poll_queues || other.poll_queues,
            hw_queues: other.hw_queues.or(self.hw_queues),
            module: other.module.clone().or_else(|| self.module.clone()),
            file_systems,
            spdk: self.spdk || other.spdk,
            devices: other.devices.clone().or_else(|| self.devices.clone()),
        }
    }
}

fn hw_queues(roots: &Roots, disk: &str) -> Option<u32> {
    let queues = fs::read_dir(roots.sys(&format!("block/{disk}/mq"))).ok()?;
    Some(queues.count() as u32)
}

fn has_module(roots: &Roots, name: &str) -> bool {
    let loaded = roots.sys(&format!("module/{name}")).exists();
    let known = || Command::new("modprobe").args(["-n", "-q", name]).output();
    loaded || known().is_ok_and(|tried| tried.status.success())
}

/// The file systems that the kernel has and that something can make here.
fn file_systems(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc("filesystems")).unwrap_or_default();
    let names = text.lines().filter_map(|line| line.split('\t').next_back());
    let made = |name: &str| {
        let program = format!("mkfs.{name}");
        ["/sbin", "/usr/sbin", "/bin", "/usr/bin"]
            .iter()
            .any(|folder| fs::metadata(format!("{folder}/{program}")).is_ok())
    };
    names.filter(|name| made(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::KernelBound;

    fn present() -> Present {
        Present {
            cpus: 2,
            machine: Machine {
                kernel: "6.18.5-x".to_owned(),
                threads_per_core: Some(1),
                numa_nodes: Some(1),
                ..Machine::default()
            },
            poll_queues: Some(false),
            hw_queues: Some(4),
            no_spdk: Some("there is no spdk_nvme_perf".to_owned()),
            modules: vec!["loop".to_owned()],
            file_systems: vec!["ext4".to_owned()],
        }
    }

    fn only(change: impl FnOnce(&mut Needs)) -> Need {
        let mut needs = Needs::default();
        change(&mut needs);
        present().meets(&Needs::default(), &needs).remove(0)
    }

    #[test]
    fn needs_are_told_with_what_there_is() {
        let kernel = |below, major, minor| {
            only(|needs| {
                needs.kernel = Some(KernelBound {
                    below,
                    version: (major, minor),
                });
            })
        };
        for (need, has, met) in [
            (only(|n| n.cpus = Some(2)), "2", true),
            (only(|n| n.cpus = Some(120)), "2", false),
            (only(|n| n.threads_per_core = Some(2)), "1", false),
            (kernel(true, 5, 0), "6.18.5-x", false),
            (kernel(false, 5, 0), "6.18.5-x", true),
            (only(|n| n.hw_queues = Some(4)), "4", true),
            (
                only(|n| n.module = Some("ramdisk_mq".to_owned())),
                "not there",
                false,
            ),
            (
                only(|n| n.file_systems = vec!["f2fs".to_owned()]),
                "ext4",
                false,
            ),
            (only(|n| n.poll_queues = true), "no", false),
            (only(|n| n.spdk = true), "there is no spdk_nvme_perf", false),
        ] {
            assert_eq!((need.present.as_str(), need.met), (has, met), "{need:?}");
        }
    }

    #[test]
    fn a_claim_may_need_more_than_its_experiment() {
        let experiment = Needs {
            cpus: Some(2),
            spdk: true,
            ..Needs::default()
        };
        let claim = Needs {
            cpus: Some(9),
            ..Needs::default()
        };
        let needs = present().meets(&experiment, &claim);
        let kinds: Vec<NeedKind> = needs.iter().map(|need| need.kind).collect();
        assert_eq!(kinds, [NeedKind::Cpus, NeedKind::Spdk]);
        assert_eq!(needs[0].needed, "9");
    }
}
