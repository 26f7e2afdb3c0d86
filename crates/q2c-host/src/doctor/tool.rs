//! Checks of what q2c itself needs: clocks, its own cost, settings that an earlier run left
//! changed.

use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::Remedy;
use crate::machine;
use crate::restore;
use q2c_result::doctor::WhyLeft;

pub(super) fn clock(facts: &DoctorFacts) -> Option<Finding> {
    const CURRENT: &str = "devices/system/clocksource/clocksource0/current_clocksource";
    let Some(clock) = &facts.machine.clocksource else {
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
    let available = machine::clocksource(facts.roots, "available").unwrap_or_default();
    Some(if available.split(' ').any(|c| c == "tsc") {
        slow.mend(facts.set_sys("tsc", CURRENT))
    } else {
        slow
    })
}

pub(super) fn tsc(facts: &DoctorFacts) -> Option<Finding> {
    Some(if facts.machine.tsc_invariant? {
        Finding::pass(
            "invariant",
            "the TSC measures time on every CPU and in every idle state",
        )
    } else {
        Finding::warn(
            "not invariant",
            "the TSC changes its rate or stops in idle states: time stamps come from the kernel's clock instead",
        )
    })
}

pub(super) fn clock_cost(facts: &DoctorFacts) -> Option<Finding> {
    /// Nanoseconds per stamp. A loop at depth 1 takes three per I/O, together 1 % of an I/O of 10
    /// us.
    const CHEAP: f64 = 33.0;
    let ns = facts.costs?.clock_ns;
    let stamp_cost = format!("{ns:.0} ns per time stamp");
    Some(if ns <= CHEAP {
        Finding::pass(
            stamp_cost,
            "three stamps are below 1 % of the fastest device's I/O",
        )
    } else {
        Finding::warn(
            stamp_cost,
            "three stamps per I/O show in IOPS and CPU of fast devices",
        )
    })
}

pub(super) fn empty_loop(facts: &DoctorFacts) -> Option<Finding> {
    /// The engine's budget, nanoseconds per I/O with recording on.
    const BUDGET: f64 = 40.0;
    let ns = facts.costs?.empty_loop_ns;
    let rate = 1e3 / ns.max(f64::MIN_POSITIVE);
    let loop_cost = format!("{ns:.0} ns of CPU per empty I/O, {rate:.1} M/s per core");
    Some(if ns <= BUDGET {
        Finding::pass(loop_cost, "no device in use is limited by it")
    } else {
        Finding::warn(
            loop_cost,
            "the tool costs more than it should: a slow or busy CPU, or a build for debugging",
        )
    })
}

pub(super) fn restore_pending(facts: &DoctorFacts) -> Option<Finding> {
    const SHOWN: usize = 3;
    let dir = facts.journal.as_ref()?;
    Some(match restore::pending(facts.roots, dir) {
        Err(e) => Finding::unknown(
            e.to_string(),
            "whether a killed run left settings changed is not known",
        ),
        Ok(left) if left.changes.is_empty() && left.faults.is_empty() => {
            Finding::pass("nothing left", "no killed run left a setting changed")
        }
        Ok(left) if left.changes.is_empty() => {
            let lines = left.faults.iter().map(ToString::to_string);
            Finding::unknown(
                format!("damaged journal: {}", lines.collect::<Vec<_>>().join(", ")),
                "whether a killed run left settings changed is not known",
            )
        }
        Ok(left) => {
            // What the owner itself changed comes first.
            let mut changes = left.changes;
            changes.sort_by_key(|(change, _)| change.follows.is_some());
            let files = changes.iter().map(|(c, _)| c.file.display());
            let named: Vec<String> = files.take(SHOWN).map(|file| file.to_string()).collect();
            let more = match changes.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named = named.join(", ");
            Finding::warn(
                format!("changed by `doctor --fix` or a killed run: {named}{more}"),
                "the machine is not as its owner set it",
            )
            .mend(Remedy::Line(WhyLeft::Program, "q2c restore".to_owned()))
        }
    })
}
