use super::{GOOD, find};
use crate::tree::SysProcTree;
use CheckVerdict::{Invalidates, Pass, Warn};
use q2c_host::doctor::{Ability, DoctorFacts, MachineAbilities, MakerAbility, run, sort_by_use};
use q2c_result::doctor::{Ready, Use};
use q2c_result::{Check, CheckVerdict, DoctorReport};

/// The files that root sees on a machine on which every ability works.
const ABLE: &str = "
    proc/self/status = Uid: 0 0 0 0\\nCapEff: 000001ffffffffff
    proc/self/mountinfo = 22 1 0:20 / /sys rw,nosuid shared:1 - sysfs sysfs rw
    proc/modules = nvme
    sys/kernel/btf/vmlinux = types
    sys/kernel/tracing/instances/
    dev/ublk-control = device
    boot/config-6.13.0 = CONFIG_BLK_DEV_UBLK=m
";

fn lacks(why: &str) -> Ability {
    Err(why.to_owned())
}

fn able() -> MachineAbilities {
    let maker = |fs: &str| MakerAbility {
        fs: fs.to_owned(),
        package: format!("{fs}-tools"),
        ability: Ok(()),
    };
    MachineAbilities {
        bpf: Ok(()),
        scx: Ok(()),
        ramdisk_module: Ok(()),
        ublk: Ok(()),
        spdk: Ok(()),
        makers: ["ext4", "xfs", "btrfs", "f2fs"].map(maker).to_vec(),
    }
}

fn sorted_report(tree: &SysProcTree, abilities: MachineAbilities) -> DoctorReport {
    let roots = tree.roots();
    let mut facts = DoctorFacts::new(&roots, None);
    facts.abilities = Some(abilities);
    sort_by_use(run(&facts))
}

fn machine(changes: &str) -> SysProcTree {
    let tree = SysProcTree::new(GOOD);
    tree.add(ABLE);
    tree.add(changes);
    tree
}

fn state(report: &DoctorReport, of: Use) -> (Ready, String) {
    let state = report.uses.iter().find(|state| state.of == of).unwrap();
    (state.ready, state.by.join(" "))
}

fn outcome<'a>(report: &'a DoctorReport, id: &str) -> (CheckVerdict, Option<&'a str>, &'a Check) {
    let check = find(&report.checks, id);
    (check.verdict, check.fix.as_deref(), check)
}

const USER: &str = "proc/self/status = Uid: 1000 1000 1000 1000\\nCapEff: 0000000000000000";

#[test]
fn a_machine_that_can_do_all_is_ready_for_all() {
    let report = sorted_report(&machine(""), able());
    for state in &report.uses {
        // The kernel of the good machine has no hybrid polling of its own any more.
        let wanted = match state.of {
            Use::KernelPolling => Ready::NotReady,
            Use::Tune | Use::Bench => Ready::Limited,
            _ => Ready::Ready,
        };
        assert_eq!(state.ready, wanted, "{state:?}");
        assert!(wanted == Ready::Ready || state.by == ["hybrid-kernel"]);
    }
    let ids =
        "bpf btf tracefs scx moving ublk ramdisk-module mounting mkfs-ext4 spdk-program settings";
    for id in ids.split(' ') {
        assert_eq!(outcome(&report, id).0, Pass, "{id}");
    }
}

#[test]
fn every_check_has_a_use_and_stands_under_it() {
    let report = sorted_report(&machine(""), able());
    let order: Vec<Use> = report.uses.iter().map(|state| state.of).collect();
    let place = |check: &Check| {
        order
            .iter()
            .position(|used| *used == check.uses[0])
            .unwrap()
    };
    assert!(report.checks.iter().map(place).is_sorted());
}

#[test]
fn a_recording_needs_bpf_or_tracefs() {
    let without_bpf = || MachineAbilities {
        bpf: lacks("failed to load a BPF program: forbidden"),
        ..able()
    };
    let report = sorted_report(&machine(""), without_bpf());
    let (verdict, fix, check) = outcome(&report, "bpf");
    assert_eq!(verdict, Invalidates);
    assert_eq!(fix, None, "root has no better user");
    assert!(check.found.contains("forbidden"));
    assert_eq!(state(&report, Use::Capture), (Ready::Limited, "bpf".into()));
    let tree = machine("");
    std::fs::remove_dir(tree.path("sys/kernel/tracing/instances")).unwrap();
    let report = sorted_report(&tree, without_bpf());
    assert_eq!(outcome(&report, "tracefs").0, Pass, "root mounts it");
    assert_eq!(state(&report, Use::Capture), (Ready::Limited, "bpf".into()));
    std::fs::remove_dir(tree.path("sys/kernel/tracing")).unwrap();
    let report = sorted_report(&tree, without_bpf());
    assert_eq!(outcome(&report, "tracefs").0, Invalidates);
    assert_eq!(state(&report, Use::Capture).0, Ready::NotReady);
    let tree = machine(USER);
    std::fs::remove_dir(tree.path("sys/kernel/tracing/instances")).unwrap();
    let report = sorted_report(&tree, without_bpf());
    let mount = "sudo mount -t tracefs none /sys/kernel/tracing";
    let (verdict, fix, _) = outcome(&report, "tracefs");
    assert_eq!((verdict, fix), (Invalidates, Some(mount)));
    let tree = machine(USER);
    let report = sorted_report(&tree, without_bpf());
    assert_eq!(outcome(&report, "bpf").1, Some("sudo q2c doctor"));
    std::fs::remove_file(tree.path("sys/kernel/btf/vmlinux")).unwrap();
    let report = sorted_report(&tree, without_bpf());
    let (verdict, fix, check) = outcome(&report, "btf");
    assert_eq!((verdict, fix), (Invalidates, None));
    assert!(check.means.contains("CONFIG_DEBUG_INFO_BTF"));
}

#[test]
fn a_ram_device_is_made_by_the_module_or_by_ublk() {
    let without_ublk = |module: bool| MachineAbilities {
        ublk: lacks("expected /dev/ublk-control, found none"),
        ramdisk_module: module.then_some(()).ok_or("no module".to_owned()),
        ..able()
    };
    let tree = machine("");
    std::fs::remove_file(tree.path("dev/ublk-control")).unwrap();
    let report = sorted_report(&tree, without_ublk(true));
    assert_eq!(outcome(&report, "ublk").1, Some("modprobe ublk_drv"));
    assert_eq!(state(&report, Use::RamDevices).0, Ready::Limited);
    let report = sorted_report(&tree, without_ublk(false));
    assert_eq!(state(&report, Use::RamDevices).0, Ready::NotReady);
    // Built without ublk: there is no module to load.
    tree.add("boot/config-6.13.0 = CONFIG_HZ=250");
    assert_eq!(
        outcome(&sorted_report(&tree, without_ublk(true)), "ublk").1,
        None
    );
}

#[test]
fn a_file_system_needs_its_program_and_a_mount() {
    let mut abilities = able();
    abilities.makers[1].ability = lacks("mkfs.xfs is not installed");
    let report = sorted_report(&machine(""), abilities.clone());
    let (verdict, fix, check) = outcome(&report, "mkfs-xfs");
    assert_eq!(verdict, Invalidates);
    assert_eq!(fix, Some("apt-get install xfs-tools"));
    assert_eq!(check.columns, ["xfs"]);
    let fs = state(&report, Use::FileSystems);
    assert_eq!(fs, (Ready::Limited, "mkfs-xfs".into()));
    let report = sorted_report(&machine(USER), abilities);
    let fs = state(&report, Use::FileSystems);
    assert_eq!(fs, (Ready::NotReady, "mounting".into()));
    assert_eq!(outcome(&report, "mounting").1, Some("sudo q2c fs bench"));
}

#[test]
fn spdk_and_placement() {
    let abilities = MachineAbilities {
        spdk: lacks("spdk_nvme_perf is not on PATH"),
        scx: lacks("this kernel has no sched_ext"),
        ..able()
    };
    let report = sorted_report(&machine("proc/meminfo = HugePages_Total: 0"), abilities);
    let spdk = state(&report, Use::Spdk);
    assert_eq!(spdk.0, Ready::NotReady);
    assert_eq!(spdk.1, "spdk-program hugepages");
    let place = state(&report, Use::Placement);
    assert_eq!(place, (Ready::Limited, "scx".into()));
    let (verdict, fix, _) = outcome(&report, "moving");
    assert_eq!((verdict, fix), (Pass, None));
}

#[test]
fn who_may_change_settings() {
    let outcome_after = |changes: &str| {
        let report = sorted_report(&machine(changes), able());
        let (verdict, fix, check) = outcome(&report, "settings");
        (verdict, fix.map(str::to_owned), check.found.clone())
    };
    assert_eq!(outcome_after(""), (Pass, None, "root".into()));
    let (verdict, fix, _) = outcome_after(USER);
    assert_eq!(verdict, Warn);
    assert_eq!(fix.as_deref(), Some("sudo q2c doctor --fix"));
    let read_only =
        outcome_after("proc/self/mountinfo = 22 1 0:20 / /sys ro,nosuid - sysfs sysfs ro");
    let expected = "root, and /sys is mounted read-only".to_owned();
    assert_eq!(read_only, (Warn, None, expected));
}
