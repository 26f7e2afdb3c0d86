use super::cases::tree_with;
use super::{find, good_target, report};
use CheckVerdict::{Pass, Unknown, Warn};
use q2c_result::CheckVerdict;

pub(crate) const CASES: &str = "
    proc/sys/kernel/io_uring_disabled = 2 ; io-uring ; Invalidates ; io_uring_disabled=2 ; echo 0 > /proc/sys/kernel/io_uring_disabled
    proc/sys/kernel/io_uring_disabled = 1 ; io-uring ; Unknown ; io_uring_group ; echo 0 >
    proc/self/limits = Max locked memory         65536            65536            bytes ; memlock ; Warn ; 65536 bytes ; ulimit -l unlimited
    proc/sys/kernel/osrelease = 6.13.0 ; hybrid-kernel ; Invalidates ; 6.13.0 ; -
    proc/sys/kernel/osrelease = 5.18.19 ; hybrid-kernel ; Pass ; 5.18 ; -
    proc/sys/kernel/osrelease = 5.19.0 ; hybrid-kernel ; Invalidates ; 5.19 ; -
    proc/sys/kernel/osrelease = 4.10.0 ; hybrid-kernel ; Pass ; 4.10 ; -
    proc/sys/kernel/osrelease = 4.9.0 ; hybrid-kernel ; Invalidates ; 4.9 ; -
    proc/sys/kernel/osrelease = strange ; hybrid-kernel ; Unknown ; strange ; -
    proc/sys/kernel/osrelease = 6.12.74 ; hybrid-uring ; Invalidates ; 6.12 ; -
    proc/sys/kernel/osrelease = strange ; hybrid-uring ; Unknown ; strange ; -
    proc/sys/kernel/osrelease = 5.10.0 ; defer-taskrun ; Warn ; 5.10 ; -
    proc/sys/kernel/osrelease = 6.1.0 ; defer-taskrun ; Pass ; 6.1 ; -
    proc/sys/kernel/osrelease = strange ; defer-taskrun ; Unknown ; strange ; -
    sys/devices/system/cpu/vulnerabilities/spectre = Mitigation: Retpolines ; mitigations ; Pass ; in force: spectre ; -
    - sys/devices/system/cpu/vulnerabilities ; mitigations ; Unknown ; does not tell ; -
    boot/config-6.13.0 = CONFIG_KASAN=y ; debug-options ; Invalidates ; KASAN ; -
    boot/config-6.13.0 = CONFIG_PROVE_LOCKING=y\\nCONFIG_LOCK_STAT=y ; debug-options ; Invalidates ; PROVE_LOCKING ; -
    boot/config-6.13.0 = CONFIG_LOCK_STAT=y ; debug-options ; Warn ; LOCK_STAT ; -
    - boot ; debug-options ; Unknown ; config.gz ; -
    boot/config-6.13.0 = CONFIG_HZ=1000\\nCONFIG_HZ_PERIODIC=y ; tick ; Warn ; HZ=1000, periodic ; -
    - boot ; tick ; Unknown ; config.gz ; -
    boot/config-6.13.0 = CONFIG_HZ=100 ; irq-time ; Warn ; no IRQ_TIME_ACCOUNTING ; -
    - boot ; irq-time ; Unknown ; config.gz ; -
    sys/kernel/debug/sched/preempt = none voluntary (full) ; preempt ; Warn ; full ; -
    sys/kernel/debug/sched/preempt = PREEMPT_RT ; preempt ; Warn ; PREEMPT_RT ; -
    - sys/kernel/debug/sched ; preempt ; Unknown ; does not tell ; -
    proc/cmdline = mitigations=off nosmt quiet ; command-line ; Pass ; mitigations=off nosmt ; -
    proc/cmdline = idle=poll ; command-line ; Warn ; idle=poll ; -
    proc/sys/fs/aio-nr = 40000 ; aio-limit ; Warn ; 40000 of 65536 ; > /proc/sys/fs/aio-max-nr
    proc/meminfo = HugePages_Total:       0 ; hugepages ; Invalidates ; 0 huge pages ; nr_hugepages
";

#[test]
fn a_model_that_can_change_is_the_one_booted_or_built() {
    let tree = tree_with("proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Fri");
    std::fs::remove_dir_all(tree.path("sys/kernel/debug/sched")).unwrap();
    let preempt_check = || {
        let checks = report(&tree, &good_target(), None);
        let check = find(&checks, "preempt");
        (check.verdict, check.found.clone())
    };
    assert_eq!(preempt_check(), (Unknown, "PREEMPT_DYNAMIC".into()));
    tree.add("boot/config-6.13.0 = CONFIG_PREEMPT_VOLUNTARY=y");
    assert_eq!(preempt_check(), (Pass, "voluntary".into()));
    tree.add("proc/cmdline = preempt=full quiet");
    assert_eq!(preempt_check(), (Warn, "full".into()));
}
