use super::cases::{tree_with, verdict};
use super::good_target;
use CheckVerdict::{Pass, Warn};
use q2c_result::CheckVerdict;

pub(crate) const CASES: &str = "
    sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave ; governor ; Warn ; powersave ; echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
    - sys/devices/system/cpu/cpu0/cpufreq ; governor ; Unknown ; no cpufreq driver ; -
    sys/devices/system/cpu/intel_pstate/no_turbo = 0 ; boost ; Warn ; boost is on ; echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0-1 ; smt ; Warn ; 2 threads per core ; echo off > /sys/devices/system/cpu/smt/control
    - sys/devices/system/cpu/cpu0/topology ; smt ; Unknown ; does not tell ; -
    sys/devices/system/cpu/isolated = 1 ; isolated ; Warn ; isolcpus: 1; nohz_full: none ; -
    proc/loadavg = 1.50 0.1 0.1 2/100 5 ; load ; Warn ; 1.50 ; -
    # Steal is 200 of 10 000 counts; the 500 guest counts are part of the user counts.
    proc/stat = cpu  600 0 200 9000 0 0 0 200 500 0 ; steal ; Warn ; 2.00 % ; -
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 133 ; idle-states ; Warn ; C1, 133 us ; cpupower idle-set --disable-by-latency 10
    - sys/devices/system/cpu/cpu0/cpuidle ; idle-states ; Unknown ; no cpuidle states ; -
    proc/cmdline = nohz=off ; idle-accounting ; Invalidates ; nohz=off ; remove nohz=off
    PREFERENCE = balance_performance ; energy-preference ; Warn ; balance_performance ; tee /sys/devices
    PREFERENCE = 0 ; energy-preference ; Pass ; 0 ; -
    sys/devices/system/cpu/cpuidle/current_governor = haltpoll ; idle-governor ; Warn ; haltpoll ; echo 0 >
    sys/devices/system/cpu/cpuidle/current_governor = ladder ; idle-governor ; Warn ; ladder ; -
    - sys/devices/system/cpu/cpuidle/current_governor ; idle-governor ; Unknown ; no cpuidle governor ; -
    sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count = 7 ; throttling ; Warn ; boot: 7 ; -
    - sys/devices/system/cpu/cpu0/thermal_throttle ; throttling ; Unknown ; counts none ; -
";

#[test]
fn a_clock_that_cannot_move_needs_no_governor() {
    let fixed = "sys/devices/system/cpu/online = 0
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = schedutil
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq = 2400000
                 sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq = 2400000";
    assert_eq!(verdict(&tree_with(fixed), &good_target(), "governor"), Pass);
    let free = tree_with(&fixed.replace("max_freq = 2400000", "max_freq = 3600000"));
    assert_eq!(verdict(&free, &good_target(), "governor"), Warn);
    // If one CPU shows no limits, the frequency of all is not known to be fixed.
    let unsure = tree_with(&fixed.replace("online = 0", "online = 0-1"));
    assert_eq!(verdict(&unsure, &good_target(), "governor"), Warn);
}

#[test]
fn idle_states_that_are_off_do_not_count() {
    let deep = "sys/devices/system/cpu/online = 0
                sys/devices/system/cpu/cpu0/cpuidle/state1/name = C6
                sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 133
                sys/devices/system/cpu/cpu0/cpuidle/state1/disable = 1";
    assert_eq!(
        verdict(&tree_with(deep), &good_target(), "idle-states"),
        Pass
    );
    let open = tree_with(&deep.replace("disable = 1", "disable = 0"));
    assert_eq!(verdict(&open, &good_target(), "idle-states"), Warn);
    // The deepest state is off on one CPU only.
    let half = tree_with(&deep.replace("online = 0", "online = 0-1"));
    assert_eq!(verdict(&half, &good_target(), "idle-states"), Warn);
}

#[test]
fn haltpoll_that_does_not_spin() {
    let tree = tree_with(
        "sys/devices/system/cpu/cpuidle/current_governor = haltpoll
         sys/module/haltpoll/parameters/guest_halt_poll_ns = 0",
    );
    assert_eq!(verdict(&tree, &good_target(), "idle-governor"), Pass);
}
