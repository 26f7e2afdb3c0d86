//! The needs of claims, compared with what the machine has.

use crate::file::{KernelBound, Needs, SettingCheck};
use itertools::Itertools;
use q2c_bench::media::Media;
use q2c_engine::World;
use q2c_host::doctor::{self, DoctorFacts};
use q2c_host::kernel_version::kernel_version;
use q2c_host::topology::AllowedCpus;
use q2c_host::{Roots, machine};
use q2c_result::fs::FileSystem;
use q2c_result::reproduce::{Need, NeedKind};
use q2c_result::{CheckVerdict, Machine, Target};
use q2c_workbench::workbench::Workbench;
use std::collections::BTreeMap;
use std::fs;

const MODULES: [&str; 2] = ["ramdisk_mq", "null_blk"];
/// The checks of `q2c doctor` that an experiment may demand.
pub(crate) const SETTINGS: [&str; 4] = ["governor", "boost", "irq-cpus", "scheduler"];
/// Those of them that look at the target.
pub(crate) const TARGET_SETTINGS: [&str; 2] = ["irq-cpus", "scheduler"];

/// The features of the machine and of the target that claims may need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Facts of the machine.
    pub machine: Machine,
    /// True if io_uring can poll the target's device; `None` without a target.
    pub poll_queues: Option<bool>,
    /// Hardware queues of the target's device; `None` if it has none or they are unknown.
    pub hw_queues: Option<u32>,
    /// Why SPDK cannot be used; `None` if it can.
    pub no_spdk: Option<String>,
    /// Names of modules that are loaded or can be loaded.
    pub modules: Vec<String>,
    /// File systems that the kernel supports and that can be created here.
    pub file_systems: Vec<String>,
    /// The settings that an experiment may demand, by the names of their checks: the finding of
    /// `q2c doctor`, and true if it passed. A check that does not apply here is missing.
    pub settings: BTreeMap<String, (String, bool)>,
}

impl Features {
    /// The features of this machine and of an open target; at most `cpus` CPUs count.
    pub fn read(cpus: usize, target: Option<(&Workbench, &Media)>) -> Self {
        let roots = Roots::live();
        let device = target.and_then(|(bench, _)| bench.target.device.as_ref());
        let modules = MODULES.into_iter().filter(|name| has_module(&roots, name));
        Features {
            cpus: AllowedCpus::read().map_or(cpus, |allowed| allowed.count().min(cpus)) as u32,
            machine: target.map_or_else(|| machine::read(&roots), |(b, _)| b.machine.clone()),
            poll_queues: target.map(|(bench, _)| bench.polling.is_ok()),
            hw_queues: device.and_then(|device| hw_queues(&roots, &device.name)),
            no_spdk: match target.map(|(_, media)| &media.spdk) {
                Some(Ok(_)) => None,
                Some(Err(reason)) => Some(reason.clone()),
                None => Some("no target".to_owned()),
            },
            modules: modules.map(str::to_owned).collect(),
            file_systems: file_systems(&roots),
            settings: settings(&roots, target.map(|(bench, _)| &bench.target)),
        }
    }

    /// The features of a simulated machine: `cpus` CPUs and no kernel.
    pub fn simulated(world: &World, cpus: usize) -> Self {
        Features {
            cpus: cpus as u32,
            machine: machine::simulated(world.machine(), world.cpus()),
            poll_queues: Some(false),
            no_spdk: Some("the machine is simulated".to_owned()),
            ..Features::default()
        }
    }

    /// All needs of a claim, those of its experiment first.
    pub(crate) fn check(&self, experiment: &Needs, claim: &Needs) -> Vec<Need> {
        let needs = experiment.merged_with(claim);
        let machine = &self.machine;
        let mut checked = Vec::new();
        let mut add = |kind, needed: &dyn ToString, present: &dyn ToString, met| {
            let (needed, present) = (needed.to_string(), present.to_string());
            checked.push(Need {
                kind,
                needed,
                present,
                met,
            });
        };
        for (kind, needed, present) in [
            (NeedKind::Cpus, needs.cpus, Some(self.cpus)),
            (
                NeedKind::ThreadsPerCore,
                needs.threads_per_core,
                machine.threads_per_core,
            ),
            (NeedKind::NumaNodes, needs.numa_nodes, machine.numa_nodes),
            (NeedKind::HwQueues, needs.hw_queues, self.hw_queues),
        ] {
            if let Some(needed) = needed {
                let known = present.map_or("not known".to_owned(), |count| count.to_string());
                let met = present.is_some_and(|present| present >= needed);
                add(kind, &needed, &known, met);
            }
        }
        if let Some(KernelBound { below, version }) = needs.kernel {
            let bound = if below { "below" } else { "from" };
            let needed = format!("{bound} {}.{}", version.0, version.1);
            let kernel = kernel_version(&machine.kernel);
            let met = kernel.is_some_and(|kernel| (kernel < version) == below);
            add(NeedKind::Kernel, &needed, &machine.kernel, met);
        }
        if needs.poll_queues {
            let present = self.poll_queues.map(|has| if has { "yes" } else { "no" });
            let present = present.unwrap_or("no target");
            let met = self.poll_queues == Some(true);
            add(NeedKind::PollQueues, &"yes", &present, met);
        }
        if let Some(module) = &needs.module {
            let met = self.modules.contains(module);
            let present = if met { "there" } else { "not there" };
            add(NeedKind::Module, module, &present, met);
        }
        for fs in &needs.file_systems {
            let (present, met) = (self.file_systems.join(", "), self.file_systems.contains(fs));
            add(NeedKind::FileSystem, fs, &present, met);
        }
        for SettingCheck(name) in &needs.settings {
            let checked = self.settings.get(name);
            let present = checked.map_or("it does not apply here", |(state, _)| state);
            let met = checked.is_some_and(|(_, passed)| *passed);
            add(NeedKind::Setting, name, &present, met);
        }
        if needs.spdk {
            let needed = "spdk_nvme_perf and a controller for it";
            let present = self.no_spdk.as_deref().unwrap_or("there");
            add(NeedKind::Spdk, &needed, &present, self.no_spdk.is_none());
        }
        if let Some(reason) = &needs.no_machine {
            add(NeedKind::NoMachine, reason, &"none", false);
        }
        checked
    }
}

impl Needs {
    /// Joins these needs with those of `other`, which win if both state a value.
    pub(crate) fn merged_with(&self, other: &Needs) -> Needs {
        let file_systems = self.file_systems.iter().chain(&other.file_systems);
        let settings = self.settings.iter().chain(&other.settings);
        Needs {
            cpus: other.cpus.or(self.cpus),
            threads_per_core: other.threads_per_core.or(self.threads_per_core),
            numa_nodes: other.numa_nodes.or(self.numa_nodes),
            kernel: other.kernel.or(self.kernel),
            poll_queues: self.poll_queues || other.poll_queues,
            hw_queues: other.hw_queues.or(self.hw_queues),
            module: other.module.clone().or_else(|| self.module.clone()),
            file_systems: file_systems.unique().cloned().collect(),
            settings: settings.unique().cloned().collect(),
            spdk: self.spdk || other.spdk,
            no_machine: other.no_machine.clone().or_else(|| self.no_machine.clone()),
        }
    }
}

fn hw_queues(roots: &Roots, disk: &str) -> Option<u32> {
    let queues = fs::read_dir(roots.sys(&format!("block/{disk}/mq"))).ok()?;
    Some(queues.count() as u32)
}

/// True if the module is loaded or installed for this kernel. A `modprobe` of busybox cannot tell.
fn has_module(roots: &Roots, name: &str) -> bool {
    let list = |release: String| roots.modules.join(release.trim()).join("modules.dep");
    let release = fs::read_to_string(roots.proc("sys/kernel/osrelease"));
    let list = release.and_then(|release| fs::read_to_string(list(release)));
    let is_module = |line: &str| {
        let path = line.split(':').next().unwrap_or("");
        let file = path.rsplit('/').next().unwrap_or("");
        file.split('.').next() == Some(name)
    };
    roots.sys(&format!("module/{name}")).exists()
        || list.is_ok_and(|list| list.lines().any(is_module))
}

fn settings(roots: &Roots, target: Option<&Target>) -> BTreeMap<String, (String, bool)> {
    let facts = DoctorFacts::new(roots, target);
    let checked = SETTINGS.into_iter().filter_map(|name| {
        let (verdict, state) = doctor::check(name, &facts)?;
        Some((name.to_owned(), (state, verdict == CheckVerdict::Pass)))
    });
    checked.collect()
}

/// File systems that the kernel supports, or has a module for, and for which a `mkfs` exists.
fn file_systems(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc("filesystems")).unwrap_or_default();
    let supported = text.lines().filter_map(|line| line.split('\t').next_back());
    let names = FileSystem::ALL.map(FileSystem::name).into_iter();
    let names = supported
        .chain(names.filter(|name| has_module(roots, name)))
        .unique();
    let has_mkfs = |name: &str| {
        let mut folders = ["/sbin", "/usr/sbin", "/bin", "/usr/bin"].iter();
        folders.any(|folder| fs::metadata(format!("{folder}/mkfs.{name}")).is_ok())
    };
    names.filter(|n| has_mkfs(n)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> Features {
        Features {
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
            settings: BTreeMap::from([("boost".to_owned(), ("boost is on".to_owned(), false))]),
        }
    }

    fn need(change: impl FnOnce(&mut Needs)) -> Need {
        let mut needs = Needs::default();
        change(&mut needs);
        features().check(&Needs::default(), &needs).remove(0)
    }

    #[test]
    fn needs_are_told_with_what_there_is() {
        let kernel = |bound: &str| {
            let bound = KernelBound::try_from(bound.to_owned()).unwrap();
            need(|needs| needs.kernel = Some(bound))
        };
        let module = Some("ramdisk_mq".to_owned());
        let setting = |name: &str| vec![SettingCheck::try_from(name.to_owned()).unwrap()];
        assert!(SettingCheck::try_from("turbo".to_owned()).is_err());
        for (need, has, met) in [
            (need(|n| n.cpus = Some(2)), "2", true),
            (need(|n| n.cpus = Some(120)), "2", false),
            (need(|n| n.threads_per_core = Some(2)), "1", false),
            (kernel("< 5.0"), "6.18.5-x", false),
            (kernel(">= 5.0"), "6.18.5-x", true),
            (need(|n| n.hw_queues = Some(4)), "4", true),
            (need(|n| n.module = module), "not there", false),
            (
                need(|n| n.file_systems = vec!["f2fs".into()]),
                "ext4",
                false,
            ),
            (need(|n| n.poll_queues = true), "no", false),
            (
                need(|n| n.settings = setting("boost")),
                "boost is on",
                false,
            ),
            (
                need(|n| n.settings = setting("governor")),
                "it does not apply here",
                false,
            ),
            (need(|n| n.spdk = true), "there is no spdk_nvme_perf", false),
        ] {
            assert_eq!((need.present.as_str(), need.met), (has, met), "{need:?}");
        }
    }

    #[test]
    fn a_module_is_there_if_it_is_loaded_or_installed_for_this_kernel() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        let modules = "extra/ramdisk_mq.ko:\nkernel/fs/f2fs/f2fs.ko.xz: kernel/lib/lz4.ko.xz\n";
        for (file, text) in [
            ("proc/sys/kernel/osrelease", "6.1.0-9\n"),
            ("lib/modules/6.1.0-9/modules.dep", modules),
            ("lib/modules/6.1.0-8/modules.dep", "kernel/fs/xfs/xfs.ko:\n"),
            ("sys/module/null_blk/refcnt", "0"),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let names = ["ramdisk_mq", "f2fs", "null_blk", "xfs", "lz4", "f2"];
        let has = names.map(|name| has_module(&roots, name));
        assert_eq!(has, [true, true, true, false, false, false]);
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
        let needs = features().check(&experiment, &claim);
        let kinds: Vec<NeedKind> = needs.iter().map(|need| need.kind).collect();
        assert_eq!(kinds, [NeedKind::Cpus, NeedKind::Spdk]);
        assert_eq!(needs[0].needed, "9");
    }
}
