//! Checks of what q2c needs apart from measuring: for recording, placement, RAM devices, file
//! systems, SPDK. Each part of q2c knows its own needs, so the caller asks these parts and passes
//! their answers as [`MachineAbilities`].

use super::facts::DoctorFacts;
use super::finding::Finding;
use crate::attr;
use crate::capabilities::{SYS_ADMIN, SYS_NICE, has};
use std::io::ErrorKind::PermissionDenied;

/// The answer of a part of q2c: that it can work on this machine, or why not.
pub type Ability = Result<(), String>;

/// The answers of the parts of q2c about this machine.
#[derive(Clone, Debug)]
pub struct MachineAbilities {
    /// The ability to load BPF programs; a load was tried.
    pub bpf: Ability,
    /// The ability to run the placement as a scheduler in the kernel (sched_ext).
    pub scx: Ability,
    /// The ability to make RAM devices by the module `ramdisk_mq`.
    pub ramdisk_module: Ability,
    /// The ability to make RAM devices by ublk.
    pub ublk: Ability,
    /// The ability to run SPDK's own tool: it was found.
    pub spdk: Ability,
    /// The programs that make file systems, one entry per file system.
    pub makers: Vec<MakerAbility>,
}

/// The ability to make a file system.
#[derive(Clone, Debug)]
pub struct MakerAbility {
    /// The file system: `ext4`, `xfs`, `btrfs`, `f2fs`.
    pub fs: String,
    /// Debian package that contains the program.
    pub package: String,
    /// The ability to run that program: it is installed.
    pub ability: Ability,
}

/// A pass that finds `able`; or the reason why not, which invalidates `column` and means `without`.
fn finding(ability: &Ability, able: &str, means: &str, column: &str, without: &str) -> Finding {
    match ability {
        Ok(()) => Finding::pass(able, means),
        Err(reason) => Finding::invalidates(&[column], reason.as_str(), without),
    }
}

pub(super) fn bpf(facts: &DoctorFacts) -> Option<Finding> {
    let result = finding(
        &facts.abilities.as_ref()?.bpf,
        "a BPF object was loaded",
        "I/Os are recorded with their hardware queues, tags and cgroups",
        "bpf",
        "recording goes by tracefs, if at all: at more cost, without hardware queues, tags and cgroups",
    );
    Some(result.mend(facts.as_root("q2c doctor")))
}

/// Checks that the kernel exports its types (BTF), by which probes find fields of structures.
pub(super) fn types(facts: &DoctorFacts) -> Option<Finding> {
    facts.abilities.as_ref()?;
    Some(if facts.roots.sys("kernel/btf/vmlinux").exists() {
        let means = "probes find the fields of this kernel's structures";
        Finding::pass("/sys/kernel/btf/vmlinux", means)
    } else {
        let means = "no probe can be loaded: it takes a kernel with CONFIG_DEBUG_INFO_BTF=y";
        Finding::invalidates(&["bpf"], "no /sys/kernel/btf/vmlinux", means)
    })
}

pub(super) fn tracefs(facts: &DoctorFacts) -> Option<Finding> {
    facts.abilities.as_ref()?;
    let mut is_denied = false;
    for place in ["kernel/tracing", "kernel/debug/tracing"] {
        match std::fs::metadata(facts.roots.sys(place).join("instances")) {
            Ok(_) => {
                let means = "I/Os can be recorded where BPF is refused";
                return Some(Finding::pass(format!("/sys/{place}"), means));
            }
            Err(error) => is_denied |= error.kind() == PermissionDenied,
        }
    }
    let lacking = |found| {
        let means = "where BPF is refused, nothing can be recorded";
        Finding::invalidates(&["tracefs"], found, means)
    };
    if is_denied {
        return Some(lacking("this user may not read it").mend(facts.as_root("q2c doctor")));
    }
    Some(if !facts.roots.sys("kernel/tracing").exists() {
        lacking("not mounted")
    } else if facts.is_root {
        let means = "a recording by tracefs mounts it for itself alone";
        Finding::pass("not mounted", means)
    } else {
        lacking("not mounted").mend(facts.command("mount -t tracefs none /sys/kernel/tracing"))
    })
}

pub(super) fn scx(facts: &DoctorFacts) -> Option<Finding> {
    Some(finding(
        &facts.abilities.as_ref()?.scx,
        "sched_ext is there and free",
        "the placement can be done by the kernel's scheduler (--mode scx)",
        "scx",
        "tasks are placed by their affinity alone (--mode affinity)",
    ))
}

pub(super) fn moving(facts: &DoctorFacts) -> Option<Finding> {
    facts.abilities.as_ref()?;
    Some(if has(&facts.proc("self/status")?, SYS_NICE) {
        Finding::pass("CAP_SYS_NICE", "tasks of all users can be placed")
    } else {
        Finding::warn("no CAP_SYS_NICE", "only this user's tasks can be placed")
            .mend(facts.as_root("q2c place start"))
    })
}

pub(super) fn mounting(facts: &DoctorFacts) -> Option<Finding> {
    facts.abilities.as_ref()?;
    Some(if has(&facts.proc("self/status")?, SYS_ADMIN) {
        Finding::pass("CAP_SYS_ADMIN", "file systems can be mounted for a run")
    } else {
        let means = "no file system can be mounted for a run";
        Finding::invalidates(&["fs"], "no CAP_SYS_ADMIN", means).mend(facts.as_root("q2c fs bench"))
    })
}

pub(super) fn maker(facts: &DoctorFacts, fs: &str) -> Option<Finding> {
    let mut makers = facts.abilities.as_ref()?.makers.iter();
    let maker = makers.find(|maker| maker.fs == fs)?;
    let result = finding(
        &maker.ability,
        "its program is installed",
        "the file system can be made for a run",
        fs,
        "the file system cannot be made for a run",
    );
    Some(result.mend(facts.command(&format!("apt-get install {}", maker.package))))
}

pub(super) fn ramdisk_module(facts: &DoctorFacts) -> Option<Finding> {
    Some(finding(
        &facts.abilities.as_ref()?.ramdisk_module,
        "the module ramdisk_mq can be loaded",
        "RAM devices with poll queues and service times",
        "ramdisk_mq",
        "RAM devices are made by ublk, if at all: without poll queues",
    ))
}

pub(super) fn ublk(facts: &DoctorFacts) -> Option<Finding> {
    let result = finding(
        &facts.abilities.as_ref()?.ublk,
        "a ublk that fits",
        "RAM devices with any service times",
        "ublk",
        "RAM devices are made by the module, if at all: with constant service times only",
    );
    if facts.roots.dev.join("ublk-control").exists() {
        return Some(result.mend(facts.as_root("q2c ramdisk create")));
    }
    let config = facts.config.as_ref();
    let is_module = config.is_none_or(|config| config.value("BLK_DEV_UBLK") == Some("m"));
    let loads = is_module && facts.roots.proc("modules").exists();
    Some(result.mend(loads.then(|| facts.command("modprobe ublk_drv"))))
}

pub(super) fn spdk(facts: &DoctorFacts) -> Option<Finding> {
    Some(finding(
        &facts.abilities.as_ref()?.spdk,
        "spdk_nvme_perf was found",
        "SPDK can be compared, on a drive that is bound to its driver",
        "spdk",
        "SPDK is left out of comparisons",
    ))
}

pub(super) fn settings(facts: &DoctorFacts) -> Option<Finding> {
    facts.abilities.as_ref()?;
    let root = facts.is_root;
    let user = if root { "root" } else { "a user without root" };
    Some(if is_read_only(facts) {
        let finding = format!("{user}, and /sys is mounted read-only");
        let means = "no setting can be changed from here: run q2c outside of this container";
        Finding::warn(finding, means)
    } else {
        Finding::pass_or_warn(
            root,
            user,
            "settings can be changed for a time (--fix)",
            "few settings can be changed by this user",
        )
        .mend(facts.as_root("q2c doctor --fix"))
    })
}

/// True if sysfs is mounted read-only. The fields of a line are: id, parent, device number, root,
/// mount point, options.
fn is_read_only(facts: &DoctorFacts) -> bool {
    let table = attr::text(&facts.roots.proc("self/mountinfo")).unwrap_or_default();
    let mut of_sysfs = table.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(4);
        (fields.next()? == "/sys").then(|| fields.next())?
    });
    // Of two mounts at one place the later one counts.
    let options = of_sysfs.next_back().unwrap_or_default();
    options.split(',').any(|option| option == "ro")
}
