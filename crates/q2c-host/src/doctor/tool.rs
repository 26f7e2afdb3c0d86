//! What q2c itself stands on.

use super::scene::{Finding, Scene, write_line};
use crate::machine;
use crate::restore;

/// A clock read by a system call or an emulated device costs as much as a fast I/O.
pub(super) fn clock(scene: &Scene) -> Option<Finding> {
    const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(clock) = &scene.machine.clocksource else {
        return Some(Finding::unknown(
            "the kernel does not tell",
            "what a time stamp costs is not known",
        ));
    };
    let fast = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "timebase",
        "riscv_clocksource",
    ];
    if fast.contains(&clock.as_str()) {
        return Some(Finding::pass(
            clock.as_str(),
            "time stamps are read without a system call",
        ));
    }
    let slow = Finding::warn(
        clock.as_str(),
        "every time stamp is a system call and a slow read (about 1 us): IOPS fall and latencies grow",
    );
    let available = machine::clocksource(scene.roots, "available").unwrap_or_default();
    Some(match available.split(' ').any(|c| c == "tsc") {
        true => slow.fix(write_line("tsc", CURRENT)),
        false => slow,
    })
}

/// Only an invariant TSC measures time.
pub(super) fn tsc(scene: &Scene) -> Option<Finding> {
    Some(match scene.machine.tsc_invariant? {
        true => Finding::pass(
            "invariant",
            "the TSC measures time on every CPU and in every idle state",
        ),
        false => Finding::warn(
            "not invariant",
            "the TSC changes its rate or stops in idle states: time stamps come from the kernel's clock instead",
        ),
    })
}

/// Settings that a killed run left.
pub(super) fn restore_pending(scene: &Scene) -> Option<Finding> {
    let dir = scene.journal.as_ref()?;
    Some(match restore::pending(scene.roots, dir) {
        Err(e) => Finding::unknown(
            e.to_string(),
            "whether a killed run left settings changed is not known",
        ),
        Ok(left) if left.is_empty() => {
            Finding::pass("nothing left", "no killed run left a setting changed")
        }
        Ok(left) => {
            let names: Vec<String> = left
                .iter()
                .map(|(c, _)| c.object.display().to_string())
                .collect();
            Finding::warn(
                format!("changed by a killed run: {}", names.join(", ")),
                "the machine is not as its owner set it",
            )
            .fix("q2c restore")
        }
    })
}
