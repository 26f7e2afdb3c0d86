//! What claims need of the machine, beside what it has.

use crate::file::Needs;
use q2c_host::kernel_version::kernel_version;
use q2c_result::Machine;
use q2c_result::reproduce::{Need, NeedKind};

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
    /// All needs of a claim, those of its experiment first.
    #[must_use]
    pub fn meets(&self, experiment: &Needs, claim: &Needs) -> Vec<Need> {
        let merged = experiment.and(claim);
        let mut needs = Vec::new();
        let mut add = |kind, needed: String, present: String, met| {
            needs.push(Need {
                kind,
                needed,
                present,
                met,
            });
        };
        if let Some(cpus) = merged.cpus {
            add(
                NeedKind::Cpus,
                cpus.to_string(),
                self.cpus.to_string(),
                self.cpus >= cpus,
            );
        }
        let counts = [
            (
                NeedKind::ThreadsPerCore,
                merged.threads_per_core,
                self.machine.threads_per_core,
            ),
            (
                NeedKind::NumaNodes,
                merged.numa_nodes,
                self.machine.numa_nodes,
            ),
            (NeedKind::HwQueues, merged.hw_queues, self.hw_queues),
        ];
        for (kind, needed, present) in counts {
            if let Some(needed) = needed {
                let met = present.is_some_and(|present| present >= needed);
                add(kind, needed.to_string(), known(present), met);
            }
        }
        if let Some(bound) = merged.kernel {
            let (major, minor) = bound.version;
            let words = if bound.below { "below" } else { "from" };
            let version = kernel_version(&self.machine.kernel);
            let met = version.is_some_and(|v| (v < bound.version) == bound.below);
            let needed = format!("{words} {major}.{minor}");
            add(NeedKind::Kernel, needed, self.machine.kernel.clone(), met);
        }
        if merged.poll_queues {
            let present = match self.poll_queues {
                Some(true) => "yes",
                Some(false) => "no",
                None => "no target",
            };
            let met = self.poll_queues == Some(true);
            add(
                NeedKind::PollQueues,
                "yes".to_owned(),
                present.to_owned(),
                met,
            );
        }
        if let Some(module) = &merged.module {
            let met = self.modules.contains(module);
            let present = if met { "there" } else { "not there" };
            add(NeedKind::Module, module.clone(), present.to_owned(), met);
        }
        for fs in &merged.file_systems {
            let met = self.file_systems.contains(fs);
            let present = self.file_systems.join(", ");
            add(NeedKind::FileSystem, fs.clone(), present, met);
        }
        if merged.spdk {
            let why = self.no_spdk.clone();
            let met = why.is_none();
            add(
                NeedKind::Spdk,
                "spdk_nvme_perf and a controller for it".to_owned(),
                why.unwrap_or_else(|| "there".to_owned()),
                met,
            );
        }
        if let Some(devices) = &merged.devices {
            let present = "not among what an experiment can make or take here";
            add(NeedKind::Device, devices.clone(), present.to_owned(), false);
        }
        needs
    }
}

fn known(count: Option<u32>) -> String {
    count.map_or_else(|| "not known".to_owned(), |count| count.to_string())
}

impl Needs {
    /// These needs and those of `other`, which go first where both say something.
    #[must_use]
    pub fn and(&self, other: &Needs) -> Needs {
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

    #[test]
    fn needs_are_told_with_what_there_is() {
        let kernel = |below, major, minor| {
            Some(KernelBound {
                below,
                version: (major, minor),
            })
        };
        let none = Needs::default();
        let needs: [(Needs, &str, bool); 9] = [
            (
                Needs {
                    cpus: Some(2),
                    ..none.clone()
                },
                "2",
                true,
            ),
            (
                Needs {
                    cpus: Some(120),
                    ..none.clone()
                },
                "2",
                false,
            ),
            (
                Needs {
                    threads_per_core: Some(2),
                    ..none.clone()
                },
                "1",
                false,
            ),
            (
                Needs {
                    kernel: kernel(true, 5, 0),
                    ..none.clone()
                },
                "6.18.5-x",
                false,
            ),
            (
                Needs {
                    kernel: kernel(false, 5, 0),
                    ..none.clone()
                },
                "6.18.5-x",
                true,
            ),
            (
                Needs {
                    hw_queues: Some(4),
                    ..none.clone()
                },
                "4",
                true,
            ),
            (
                Needs {
                    module: Some("ramdisk_mq".to_owned()),
                    ..none.clone()
                },
                "not there",
                false,
            ),
            (
                Needs {
                    file_systems: vec!["f2fs".to_owned()],
                    ..none.clone()
                },
                "ext4",
                false,
            ),
            (
                Needs {
                    poll_queues: true,
                    ..none.clone()
                },
                "no",
                false,
            ),
        ];
        for (wanted, has, met) in needs {
            let found = present().meets(&none, &wanted).remove(0);
            assert_eq!(
                (found.present.as_str(), found.met),
                (has, met),
                "{wanted:?}"
            );
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
        let found = present().meets(&experiment, &claim);
        let kinds: Vec<NeedKind> = found.iter().map(|need| need.kind).collect();
        assert_eq!(kinds, [NeedKind::Cpus, NeedKind::Spdk]);
        assert_eq!(found[0].needed, "9");
    }
}
