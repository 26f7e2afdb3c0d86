//! Idle states and the counting of idle time.

use super::scene::{Finding, Scene};

/// Exit latencies up to this are small beside the fastest device's time, in microseconds.
const SHALLOW: u64 = 10;

/// Deep states lengthen every wake-up: they punish interrupts and sleeps, never polling.
pub(super) fn states(scene: &Scene) -> Option<Finding> {
    let states = &scene.machine.idle_states;
    let Some((deepest, latency)) = states.iter().max_by_key(|(_, latency)| *latency) else {
        return Some(Finding::unknown(
            "no cpuidle states",
            "how deep an idle CPU sleeps is set elsewhere and cannot be told",
        ));
    };
    let found = format!("deepest state {deepest}, {latency} us to leave it");
    Some(match *latency <= SHALLOW {
        true => Finding::pass(found, "waking up costs little"),
        false => Finding::warn(
            found,
            "a sleeping CPU wakes late: interrupts and hybrid polling look worse than on a busy machine",
        ).fix(format!("cpupower idle-set --disable-by-latency {SHALLOW}")),
    })
}

/// Which counter the CPU accounting can trust.
pub(super) fn accounting(scene: &Scene) -> Option<Finding> {
    if scene.command_line("nohz").is_some_and(|v| v == "off") {
        return Some(Finding::invalidates(
            "nohz=off on the kernel command line",
            "idle time in /proc/stat is counted by ticks: work between ticks is missed, and KIOPS/core is wrong",
        ).fix("remove nohz=off from the kernel command line and reboot"));
    }
    let driver = scene.machine.idle_driver.as_deref().unwrap_or("none");
    Some(Finding::pass(
        format!("tickless idle, cpuidle driver {driver}"),
        "busy CPU comes from /proc/stat idle, exact to 10 ms per CPU and window",
    ))
}
