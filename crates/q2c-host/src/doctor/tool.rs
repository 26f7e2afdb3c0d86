//! Checks of what q2c itself needs: clocks, its own cost, settings that an earlier run left
//! changed.

use super::facts::DoctorFacts;
use super::finding::{Finding, Remedy};
use crate::machine;
use crate::restore;
use itertools::Itertools;
use q2c_result::doctor::LeftReason;

pub(super) fn clock(facts: &DoctorFacts) -> Option<Finding> {
    const CURRENT: &str = "devices/system/clocksource/clocksource0/current_clocksource";
    const FAST_CLOCKS: &str = "tsc kvm-clock hyperv_clocksource_tsc_page arch_sys_counter timebase \
        riscv_clocksource";
    let Some(clock) = facts.machine.clocksource.as_deref() else {
        let means = "what a time stamp costs is not known";
        return Some(Finding::unknown("the kernel does not tell", means));
    };
    let available = machine::clocksource(facts.roots, "available").unwrap_or_default();
    let has_tsc = available.split(' ').any(|c| c == "tsc");
    let finding = Finding::pass_or_warn(
        FAST_CLOCKS.split(' ').any(|fast| fast == clock),
        clock,
        "time stamps are read without a system call",
        "every time stamp is a system call and a slow read (about 1 us): IOPS fall and latencies grow",
    );
    Some(finding.mend(has_tsc.then(|| facts.set_sys("tsc", CURRENT))))
}

pub(super) fn tsc(facts: &DoctorFacts) -> Option<Finding> {
    let invariant = facts.machine.tsc_invariant?;
    let not = if invariant { "" } else { "not " };
    Some(Finding::pass_or_warn(
        invariant,
        format!("{not}invariant"),
        "the TSC measures time on every CPU and in every idle state",
        "the TSC changes its rate or stops in idle states: time stamps come from the kernel's clock instead",
    ))
}

pub(super) fn clock_cost(facts: &DoctorFacts) -> Option<Finding> {
    /// Nanoseconds per stamp. A loop at depth 1 takes three per I/O, together 1 % of an I/O of 10
    /// us.
    const CHEAP_NS: f64 = 33.0;
    let ns = facts.costs?.clock_ns;
    Some(Finding::pass_or_warn(
        ns <= CHEAP_NS,
        format!("{ns:.0} ns per time stamp"),
        "three stamps are below 1 % of the fastest device's I/O",
        "three stamps per I/O show in IOPS and CPU of fast devices",
    ))
}

pub(super) fn empty_loop(facts: &DoctorFacts) -> Option<Finding> {
    /// The engine's budget, nanoseconds per I/O with recording on.
    const BUDGET_NS: f64 = 40.0;
    let ns = facts.costs?.empty_loop_ns;
    let rate = 1e3 / ns.max(f64::MIN_POSITIVE);
    Some(Finding::pass_or_warn(
        ns <= BUDGET_NS,
        format!("{ns:.0} ns of CPU per empty I/O, {rate:.1} M/s per core"),
        "no device in use is limited by it",
        "the tool costs more than it should: a slow or busy CPU, or a build for debugging",
    ))
}

pub(super) fn restore_pending(facts: &DoctorFacts) -> Option<Finding> {
    const SHOWN_FILES: usize = 3;
    let unknown = |found| {
        let means = "whether a killed run left settings changed is not known";
        Some(Finding::unknown(found, means))
    };
    let pending = match restore::pending(facts.roots, facts.journal.as_ref()?) {
        Ok(pending) => pending,
        Err(e) => return unknown(e.to_string()),
    };
    if pending.changes.is_empty() {
        if pending.faults.is_empty() {
            let means = "no killed run left a setting changed";
            return Some(Finding::pass("nothing left", means));
        }
        let lines = pending.faults.iter().join(", ");
        return unknown(format!("damaged journal: {lines}"));
    }
    // Settings that q2c changed come before those that the kernel reset with them.
    let mut changes = pending.changes;
    changes.sort_by_key(|(change, _)| change.follows.is_some());
    let files = changes.iter().map(|(c, _)| c.file.display().to_string());
    let first_files = files.take(SHOWN_FILES).join(", ");
    let more = match changes.len().saturating_sub(SHOWN_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let finding = Finding::warn(
        format!("changed by `doctor --fix` or a killed run: {first_files}{more}"),
        "the machine is not as its owner set it",
    );
    Some(finding.mend(Remedy::Line(LeftReason::Program, "q2c restore".to_owned())))
}
