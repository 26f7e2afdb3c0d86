use super::{GOOD, QUEUE, find, good_target, report};
use crate::tree::SysProcTree;
use q2c_host::Roots;
use q2c_host::doctor::{DoctorFacts, FixPlan, plan};
use q2c_host::restore::{Guard, Owner, UndoOutcome, restore_all};
use q2c_result::doctor::{ChangeState, LeftReason, RefusedReason, SettingChange};
use q2c_result::{CheckVerdict, Target};
use std::fs;
use std::path::PathBuf;

/// A scheduler with a setting of its own, and settings that are not as they should be.
const BAD: &str = "
    sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave
    sys/devices/system/cpu/cpu1/cpufreq/scaling_governor = powersave
    sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference = balance_performance
    sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference = performance
    sys/devices/pci0/nvme0/nvme0n1/queue/scheduler = none [mq-deadline]
    sys/devices/pci0/nvme0/nvme0n1/queue/iosched/read_expire = 333
    sys/devices/pci0/nvme0/nvme0n1/queue/nr_requests = 77
    sys/devices/pci0/nvme0/nvme0n1/queue/nomerges = 0
    sys/devices/pci0/nvme0/nvme0n1/queue/io_poll = 0
";

fn bad() -> (SysProcTree, Target) {
    let tree = SysProcTree::new(GOOD);
    tree.add(BAD);
    let mut target = good_target();
    target.device.as_mut().unwrap().scheduler = Some("mq-deadline".to_owned());
    (tree, target)
}

fn plan_fixes(tree: &SysProcTree, target: Option<&Target>) -> FixPlan {
    plan(&DoctorFacts::new(&tree.roots(), target))
}

fn guard(tree: &SysProcTree) -> Guard {
    Guard::new(&Roots::live(), &tree.path("journal")).unwrap()
}

fn value(tree: &SysProcTree, path: &str) -> String {
    let text = fs::read_to_string(tree.path(path)).unwrap();
    text.trim().to_owned()
}

/// The check, the file's name, and both values of each change.
fn shown(changes: &[SettingChange]) -> Vec<String> {
    let describe = |change: &SettingChange| {
        let file = change.file.rsplit('/').next().unwrap();
        format!("{} {file} {}>{}", change.check, change.old, change.new)
    };
    changes.iter().map(describe).collect()
}

#[test]
fn nothing_is_changed_on_a_good_machine() {
    let plan = plan_fixes(&SysProcTree::new(GOOD), Some(&good_target()));
    assert_eq!(plan.preview(), []);
    assert_eq!(plan.left, []);
}

#[test]
fn what_was_found_wanting_is_changed_and_nothing_else() {
    let (tree, target) = bad();
    let changes = plan_fixes(&tree, Some(&target)).preview();
    let wanted = [
        "governor scaling_governor powersave>performance",
        "governor scaling_governor powersave>performance",
        "energy-preference energy_performance_preference balance_performance>performance",
        "scheduler scheduler mq-deadline>none",
        "nomerges nomerges 0>2",
    ];
    assert_eq!(shown(&changes), wanted);
    assert!(changes.iter().all(|c| c.state == ChangeState::Planned));
    assert_eq!(value(&tree, &format!("{QUEUE}/nomerges")), "0");
    let machine = plan_fixes(&tree, None).preview();
    assert_eq!(shown(&machine), wanted[..3], "without a target");
}

#[test]
fn a_part_of_the_plan() {
    let (tree, target) = bad();
    let only = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        plan_fixes(&tree, Some(&target)).for_checks(&names)
    };
    let chosen = only(&["nomerges", "poll-queues"]).unwrap();
    assert_eq!(shown(&chosen.preview()), ["nomerges nomerges 0>2"]);
    assert_eq!(chosen.left.len(), 1);
    assert_eq!(only(&["nomerges", "nothing"]).unwrap_err(), "nothing");
    assert_eq!(only(&[]).unwrap().preview().len(), 5);
}

#[test]
fn what_no_setting_mends_is_told_with_the_reason() {
    let (tree, target) = bad();
    tree.add("proc/88/comm = irqbalance\n proc/meminfo = HugePages_Total: 0");
    tree.add("proc/interrupts =  CPU0 CPU1\\n 37: 0 6 MSI 1-edge nvme0q1");
    let plan = plan_fixes(&tree, Some(&target));
    let left = plan.left.iter().map(|left| (left.check.as_str(), left.why));
    let wanted = [
        ("hugepages", LeftReason::Others),
        ("irq-cpus", LeftReason::OneLine),
        ("irqbalance", LeftReason::Program),
        ("poll-queues", LeftReason::Boot),
        ("nvme-queues", LeftReason::Others),
    ];
    assert!(left.eq(wanted), "{:?}", plan.left);
}

/// Does what the kernel does at a change of scheduler: it sets another number of requests, and
/// resets or removes the scheduler's own setting.
fn as_the_kernel_does(tree: &SysProcTree, requests: &str, expire: Option<&str>) {
    fs::write(tree.path(&format!("{QUEUE}/nr_requests")), requests).unwrap();
    let read_expire = tree.path(&format!("{QUEUE}/iosched/read_expire"));
    match expire {
        Some(expire) => fs::write(read_expire, expire).unwrap(),
        None => fs::remove_file(read_expire).unwrap(),
    }
}

#[test]
fn everything_is_put_back_with_what_follows_it() {
    let (tree, target) = bad();
    let mut guard = guard(&tree);
    let changes = plan_fixes(&tree, Some(&target)).apply(&mut guard).unwrap();
    let changed = |c: &SettingChange| c.state == ChangeState::Changed;
    assert!(changes.iter().all(changed), "{changes:?}");
    assert_eq!(value(&tree, &format!("{QUEUE}/scheduler")), "none");
    // The state after the return of the scheduler: its setting has the kernel's own value. The
    // guard puts the scheduler back before it looks at what follows.
    as_the_kernel_does(&tree, "256", Some("500"));
    let ends = guard.undo();
    let good = |end: &UndoOutcome| matches!(end, UndoOutcome::Restored | UndoOutcome::AlreadyOld);
    assert!(ends.iter().all(|(_, end)| good(end)), "{ends:?}");
    for line in BAD.lines().filter(|line| line.contains(" = ")) {
        let (path, old) = line.trim().split_once(" = ").unwrap();
        let old = old.replace("none [mq-deadline]", "mq-deadline");
        assert_eq!(value(&tree, path), old, "{path}");
    }
    assert_eq!(journals(&tree).len(), 0);
}

fn journals(tree: &SysProcTree) -> Vec<PathBuf> {
    fs::read_dir(tree.path("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect()
}

/// Gives the journal's owner another start time, as if its process had ended.
fn end_owner(tree: &SysProcTree) {
    let live = Owner::current(&Roots::live()).unwrap().start_time;
    let path = &journals(tree)[0];
    let text = fs::read_to_string(path).unwrap();
    let field = |start: u64| format!("\"start_time\":{start}");
    fs::write(path, text.replace(&field(live), &field(u64::MAX))).unwrap();
}

#[test]
fn changes_that_were_left_are_restored_later() {
    let (tree, target) = bad();
    let mut guard = guard(&tree);
    plan_fixes(&tree, Some(&target)).apply(&mut guard).unwrap();
    guard.leave_in_force();
    assert_eq!(value(&tree, &format!("{QUEUE}/nomerges")), "2");
    // The settings are not held any more, but for another change they must be restored first.
    as_the_kernel_does(&tree, "1023", None);
    end_owner(&tree);
    let pending = plan_fixes(&tree, Some(&target)).preview();
    assert!(pending.is_empty(), "{pending:?}");
    fs::write(tree.path(&format!("{QUEUE}/nomerges")), "1").unwrap();
    let mut second = self::guard(&tree);
    let again = plan_fixes(&tree, Some(&target)).apply(&mut second).unwrap();
    let reason = |change: &SettingChange| match &change.state {
        ChangeState::Refused { why, .. } => Some(*why),
        _ => None,
    };
    let reasons: Vec<_> = again.iter().map(reason).collect();
    assert_eq!(reasons, [Some(RefusedReason::Pending)]);
    drop(second);
    fs::write(tree.path(&format!("{QUEUE}/nomerges")), "2").unwrap();
    let report = restore_all(&Roots::live(), &tree.path("journal")).unwrap();
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(value(&tree, &format!("{QUEUE}/nr_requests")), "77");
    assert_eq!(value(&tree, &format!("{QUEUE}/nomerges")), "0");
    let governor = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    assert_eq!(value(&tree, governor), "powersave");
    assert_eq!(journals(&tree).len(), 0);
}

#[test]
fn what_follows_a_setting_of_somebody_else_is_left() {
    let (tree, target) = bad();
    let mut guard = guard(&tree);
    plan_fixes(&tree, Some(&target)).apply(&mut guard).unwrap();
    fs::write(tree.path(&format!("{QUEUE}/scheduler")), "kyber").unwrap();
    as_the_kernel_does(&tree, "512", None);
    let ends = guard.undo();
    let end_of = |name: &str| ends.iter().find(|(file, _)| file.ends_with(name)).unwrap();
    for name in ["scheduler", "nr_requests"] {
        assert!(matches!(&end_of(name).1, UndoOutcome::Foreign(present) if present == "kyber"));
    }
    assert_eq!(end_of("read_expire").1, UndoOutcome::Gone);
    assert_eq!(value(&tree, &format!("{QUEUE}/nr_requests")), "512");
    assert_eq!(value(&tree, &format!("{QUEUE}/nomerges")), "0");
}

#[test]
fn a_refused_setting_does_not_keep_the_others() {
    let (tree, target) = bad();
    // The kernel takes no value there, whoever writes it.
    let nomerges = tree.path(&format!("{QUEUE}/nomerges"));
    fs::remove_file(&nomerges).unwrap();
    std::os::unix::fs::symlink("/proc/version", &nomerges).unwrap();
    let mut guard = guard(&tree);
    let changes = plan_fixes(&tree, Some(&target)).apply(&mut guard).unwrap();
    let (last, others) = changes.split_last().unwrap();
    let ChangeState::Refused { why, error } = &last.state else {
        panic!("{last:?}")
    };
    // A user may not open it to write; root may, and the kernel refuses the value.
    let refused = [RefusedReason::Kernel, RefusedReason::Permission];
    assert!(refused.contains(why) && !error.is_empty(), "{last:?}");
    assert!(others.iter().all(|c| c.state == ChangeState::Changed));
}

#[test]
fn interrupts_of_one_cpu_are_spread() {
    let tree = SysProcTree::new(GOOD);
    tree.add(
        "proc/interrupts =  CPU0 CPU1\\n 36: 0 9 MSI 0-edge nvme0q1\\n 37: 0 6 MSI 1-edge nvme0q2
         sys/devices/pci0/nvme0/msi_irqs/36 = msix
         proc/irq/36/smp_affinity_list = 0-1
         proc/irq/37/smp_affinity_list = 0-1
         proc/irq/36/effective_affinity_list = 1
         proc/irq/37/effective_affinity_list = 1",
    );
    let target = good_target();
    let managed = |text: &str| {
        for irq in [36, 37] {
            tree.add(&format!("sys/kernel/debug/irq/irqs/{irq} = {text}"));
        }
        plan_fixes(&tree, Some(&target))
    };
    let plan = managed("IRQD_AFFINITY_MANAGED");
    assert_eq!(plan.preview(), []);
    assert_eq!(plan.left[0].why, LeftReason::Managed);
    let plan = managed("IRQD_ACTIVATED");
    let wanted = [
        "irq-cpus smp_affinity_list 0-1>0",
        "irq-cpus smp_affinity_list 0-1>1",
    ];
    assert_eq!(shown(&plan.preview()), wanted);
    let checks = report(&tree, &target, None);
    let check = find(&checks, "irq-cpus");
    let line = "echo 0 > /proc/irq/36/smp_affinity_list; echo 1 > /proc/irq/37/smp_affinity_list";
    assert_eq!(check.verdict, CheckVerdict::Warn);
    assert_eq!(check.fix.as_deref(), Some(line));
}

#[test]
fn deep_idle_states_are_switched_off_on_every_cpu() {
    let tree = SysProcTree::new(GOOD);
    for cpu in 0..2 {
        for (state, latency) in [(1, 2), (2, 133)] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
            tree.add(&format!(
                "{folder}/name = S{state}\n{folder}/latency = {latency}\n{folder}/disable = 0"
            ));
        }
    }
    let changes = plan_fixes(&tree, None).preview();
    let files: Vec<&str> = changes.iter().map(|c| c.file.as_str()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|file| file.ends_with("state2/disable")));
    let off = |c: &SettingChange| c.check == "idle-states" && c.new == "1";
    assert!(changes.iter().all(off));
}

#[test]
fn a_user_gets_lines_that_ask_for_root() {
    let (tree, target) = bad();
    tree.add("proc/self/status = Uid: 1000 1000 1000 1000");
    let checks = report(&tree, &target, None);
    let line = |id: &str| find(&checks, id).fix.clone().unwrap();
    let nomerges = "echo 2 | sudo tee /sys/block/nvme0n1/queue/nomerges";
    assert_eq!(line("nomerges"), nomerges);
    let governor =
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    assert_eq!(line("governor"), governor);
    tree.add("proc/self/limits = Max locked memory   65536    65536    bytes");
    let checks = report(&tree, &target, None);
    let memlock = find(&checks, "memlock").fix.clone().unwrap();
    assert!(memlock.starts_with("sudo prlimit"), "{memlock}");
    fs::remove_dir_all(tree.path("sys/kernel/debug")).unwrap();
    let checks = report(&tree, &target, None);
    let managed = find(&checks, "irq-managed").fix.clone();
    assert_eq!(managed.as_deref(), Some("sudo q2c doctor"));
    tree.add("proc/self/status = Uid: 0 0 0 0");
    let checks = report(&tree, &target, None);
    let managed = find(&checks, "irq-managed").fix.clone();
    let mount = "mount -t debugfs none /sys/kernel/debug";
    assert_eq!(managed.as_deref(), Some(mount));
}
