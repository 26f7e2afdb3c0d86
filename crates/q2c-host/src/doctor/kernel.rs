//! Checks of the kernel: its version, its build options, its command line and its limits.

use super::facts::{DoctorFacts, RingProbe};
use super::finding::{Finding, Remedy};
use crate::attr;
use crate::kernel_version::{DEFER_TASKRUN, HYBRID_IOPOLL, HybridSupport, IO_URING};
use itertools::Itertools;
use q2c_result::doctor::LeftReason;

/// Checks if rings can be made. A sysctl may forbid io_uring. A container's filter may refuse it,
/// which only a try shows.
pub(super) fn io_uring(facts: &DoctorFacts) -> Option<Finding> {
    const NO_URING: &str =
        "no io_uring method can run: interrupt, poll, hybrid and sqpoll on io_uring are left out";
    const URING: &[&str] = &["io_uring", "io_uring_cmd"];
    let by_sysctl = facts.manual_remedy("0", "/proc/sys/kernel/io_uring_disabled");
    let sysctl = facts.proc("sys/kernel/io_uring_disabled");
    let shown = sysctl.as_deref().map_or("no sysctl".to_owned(), |value| {
        format!("io_uring_disabled={value}")
    });
    Some(match (&facts.ring, sysctl.as_deref()) {
        (Some(RingProbe::Works), _) => Finding::pass(
            format!("a ring came up ({shown})"),
            "io_uring methods can run",
        ),
        (Some(RingProbe::Refused(why)), Some("1" | "2")) => {
            Finding::invalidates(URING, format!("{why} ({shown})"), NO_URING).mend(by_sysctl)
        }
        (Some(RingProbe::Refused(why)), _) => {
            let finding =
                format!("setting up a ring failed: {why} ({shown}); a container's filter?");
            Finding::invalidates(URING, finding, NO_URING)
        }
        (None, Some("2")) => Finding::invalidates(URING, shown, NO_URING).mend(by_sysctl),
        (None, Some("1")) => Finding::unknown(
            format!("{shown}: members of the group io_uring_group and root only"),
            "whether this process may set up a ring was not tried",
        )
        .mend(by_sysctl),
        (None, Some("0")) => {
            Finding::pass(shown, "the kernel allows io_uring; a ring was not tried")
        }
        (None, _) if facts.version() >= IO_URING => {
            let means = "the kernel is new enough for io_uring; a ring was not tried";
            Finding::unknown(shown, means)
        }
        (None, _) => Finding::invalidates(URING, facts.release(), NO_URING),
    })
}

/// The limit of locked memory. Registered buffers, and rings before Linux 5.12, count against it.
pub(super) fn memlock(facts: &DoctorFacts) -> Option<Finding> {
    /// Enough for 1024 buffers of 64 KiB.
    const ENOUGH_BYTES: u64 = 64 << 20;
    let limits = facts.proc("self/limits")?;
    let limit = attr::field(&limits, "Max locked memory")?;
    let soft = limit.split_whitespace().next()?;
    if soft == "unlimited" || soft.parse::<u64>().ok()? >= ENOUGH_BYTES {
        let finding = format!("locked memory: {soft}");
        return Some(Finding::pass(finding, "buffers can be registered"));
    }
    let line = if facts.is_root {
        "ulimit -l unlimited"
    } else {
        "sudo prlimit --pid $$ --memlock=unlimited:unlimited"
    };
    let finding = Finding::warn(
        format!("locked memory: {soft} bytes"),
        "without CAP_IPC_LOCK, registered buffers fail at high depth; runs then use plain ones and say so",
    );
    Some(finding.mend(Remedy::Line(LeftReason::Program, line.to_owned())))
}

pub(super) fn hybrid_kernel(facts: &DoctorFacts) -> Option<Finding> {
    let release = facts.release();
    if facts.version() == (0, 0) {
        return Some(Finding::unknown(release, "whether it exists is not known"));
    }
    Some(match HybridSupport::in_version(facts.version()) {
        HybridSupport::Works => {
            Finding::pass(release, "it exists (io_poll_delay with polled preadv2)")
        }
        HybridSupport::NotYet => {
            let means = "it needs Linux 4.10 to 5.18: this one is too old";
            Finding::invalidates(&["hybrid-kernel"], release, means)
        }
        HybridSupport::Unreached | HybridSupport::Removed => Finding::invalidates(
            &["hybrid-kernel", "hipri"],
            release,
            "it needs Linux 4.10 to 5.18: since 5.19 synchronous direct I/O ignores RWF_HIPRI, and \
             io_poll_delay is inert; use hybrid on io_uring",
        ),
    })
}

pub(super) fn hybrid_uring(facts: &DoctorFacts) -> Option<Finding> {
    let release = facts.release();
    Some(match facts.version() {
        (0, 0) => Finding::unknown(release, "whether it exists is not known"),
        version if version >= HYBRID_IOPOLL => {
            Finding::pass(release, "it exists (IORING_SETUP_HYBRID_IOPOLL)")
        }
        _ => Finding::invalidates(&["hybrid-uring"], release, "it needs Linux 6.13"),
    })
}

pub(super) fn defer_taskrun(facts: &DoctorFacts) -> Option<Finding> {
    if facts.version() == (0, 0) {
        let means = "whether completions can be deferred is not known";
        return Some(Finding::unknown(facts.release(), means));
    }
    Some(Finding::pass_or_warn(
        facts.version() >= DEFER_TASKRUN,
        facts.release(),
        "completions do not wake a sleeping thread (DEFER_TASKRUN)",
        "without DEFER_TASKRUN (6.1) a completion wakes the sleeper: hybrid polling gives more switches and \
         sleeps cut short",
    ))
}

/// The mitigations in force. They make system calls and context switches slower, which costs
/// interrupts more than polling.
pub(super) fn mitigations(facts: &DoctorFacts) -> Option<Finding> {
    let mut states = facts.other_facts("vulnerability ").peekable();
    let is_told = states.peek().is_some();
    let active = states.filter(|(_, state)| state.starts_with("Mitigation"));
    let active = active.map(|(name, _)| name).join(", ");
    Some(if !is_told {
        Finding::unknown("the kernel does not tell", "results name no mitigations")
    } else if active.is_empty() {
        let means = "system calls cost what the processor asks";
        Finding::pass("no mitigation in force", means)
    } else {
        Finding::pass(
            format!("in force: {active}"),
            "system calls and switches cost more; compare only with machines that have the same ones",
        )
    })
}

/// Build options that check every memory access or lock. They multiply the cost of an I/O.
const HEAVY_CHECKS: &str =
    "KASAN KCSAN KMSAN PROVE_LOCKING DEBUG_OBJECTS DEBUG_KMEMLEAK SLUB_DEBUG_ON";
/// Build options that make locks slower.
const LIGHT_CHECKS: &str =
    "LOCK_STAT DEBUG_SPINLOCK DEBUG_MUTEXES DEBUG_PREEMPT DEBUG_ATOMIC_SLEEP";

fn no_config(means: &str) -> Option<Finding> {
    const NO_CONFIG: &str = "the kernel keeps no copy of its options (/proc/config.gz), and none lies in /boot or /lib/modules";
    Some(Finding::unknown(NO_CONFIG, means))
}

pub(super) fn debug(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return no_config("whether it checks itself at every I/O cannot be told");
    };
    let options_in = |names: &str| {
        let set = names.split(' ').filter(|name| config.has(name)).join(", ");
        (!set.is_empty()).then_some(set)
    };
    Some(if let Some(heavy) = options_in(HEAVY_CHECKS) {
        Finding::invalidates(
            &["iops", "latency", "cpu", "kiops-per-core"],
            heavy,
            "the kernel checks itself at every access or lock: no number compares with another kernel's",
        )
    } else if let Some(light) = options_in(LIGHT_CHECKS) {
        Finding::warn(light, "locks cost more than in other kernels")
    } else {
        let means = "I/O costs what it costs elsewhere";
        Finding::pass("no debug option that costs", means)
    })
}

pub(super) fn tick(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return no_config("how often the tick interrupts a busy CPU is not known");
    };
    let periodic = config.has("HZ_PERIODIC");
    let hz = config.value("HZ").unwrap_or("not told");
    Some(Finding::pass_or_warn(
        !periodic,
        format!("HZ={hz}{}", if periodic { ", periodic" } else { "" }),
        "a busy CPU is interrupted so often per second, an idle one is not",
        "idle CPUs are woken at every tick: idle states and accounting differ from other kernels",
    ))
}

pub(super) fn irq_time(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return no_config("whether interrupt time is measured or sampled is not known");
    };
    let exact = ["IRQ_TIME_ACCOUNTING", "VIRT_CPU_ACCOUNTING_NATIVE"];
    let option = exact.into_iter().find(|option| config.has(option));
    Some(Finding::pass_or_warn(
        option.is_some(),
        option.unwrap_or("no IRQ_TIME_ACCOUNTING"),
        "time in interrupts and softirqs is measured by the clock",
        "time in interrupts and softirqs is sampled by the tick, an estimate, and counts as the thread's that it hit",
    ))
}

pub(super) fn preempt(facts: &DoctorFacts) -> Option<Finding> {
    let Some(model) = preemption_model(facts) else {
        let means = "which preemption model is in force is not known";
        return Some(Finding::unknown("the kernel does not tell", means));
    };
    Some(match model.as_str() {
        "none" | "voluntary" | "lazy" | "none or voluntary" => {
            Finding::pass(model, "system calls are seldom cut short")
        }
        "full" | "PREEMPT" => Finding::warn(
            model,
            "system calls can be cut short at any point: more switches, other tails; compare only with the same model",
        ),
        "PREEMPT_RT" => Finding::warn(
            model,
            "interrupt handlers are threads and locks sleep: interrupt columns compare only with the same model",
        ),
        other => Finding::unknown(other, "which model is in force shows debugfs alone")
            .mend(facts.show_debugfs()),
    })
}

/// The preemption model in force. A kernel that can change it (PREEMPT_DYNAMIC) may show no
/// debugfs: then it is the model on the command line, or else the built-in one. A later change by
/// root is not seen.
fn preemption_model(facts: &DoctorFacts) -> Option<String> {
    let machine_model = facts.machine.preempt.clone()?;
    if machine_model != "PREEMPT_DYNAMIC" {
        return Some(machine_model);
    }
    let built_in = || {
        let config = facts.config.as_ref()?;
        let options = [
            ("PREEMPT_NONE", "none"),
            ("PREEMPT_VOLUNTARY", "voluntary"),
            ("PREEMPT_LAZY", "lazy"),
            ("PREEMPT", "full"),
        ];
        let (_, model) = options.into_iter().find(|(name, _)| config.has(name))?;
        Some(model.to_owned())
    };
    let chosen = facts.command_line("preempt").or_else(built_in);
    Some(chosen.unwrap_or(machine_model))
}

pub(super) fn command_line(facts: &DoctorFacts) -> Option<Finding> {
    let item = |(key, value): (&str, &str)| {
        let equals = if value.is_empty() { "" } else { "=" };
        format!("{key}{equals}{value}")
    };
    let mut items = facts.other_facts("command line ").map(item).join(" ");
    if items.is_empty() {
        items.push_str("nothing that changes what is measured");
    }
    Some(Finding::pass_or_warn(
        facts.command_line("idle").as_deref() != Some("poll"),
        items,
        "on record; compare only with machines that were told the same",
        "idle CPUs spin and never sleep: interrupts look faster than elsewhere, siblings are slowed",
    ))
}

pub(super) fn hugepages(facts: &DoctorFacts) -> Option<Finding> {
    let text = facts.proc("meminfo")?;
    let number: u64 = attr::field(&text, "HugePages_Total:")?.parse().ok()?;
    let reserved_pages = format!("{number} huge pages set aside");
    Some(if number > 0 {
        Finding::pass(reserved_pages, "SPDK can take its memory from them")
    } else {
        let means = "SPDK cannot run without huge pages; nothing else needs them";
        Finding::invalidates(&["spdk"], reserved_pages, means)
            .mend(facts.manual_remedy("1024", "/proc/sys/vm/nr_hugepages"))
    })
}

pub(super) fn aio(facts: &DoctorFacts) -> Option<Finding> {
    /// Free libaio requests: twice those of 128 jobs at depth 128.
    const ENOUGH_REQUESTS: u64 = 32_768;
    let number = |name: &str| facts.proc(&format!("sys/fs/{name}"))?.parse::<u64>().ok();
    let (reserved, limit) = (number("aio-nr")?, number("aio-max-nr")?);
    let finding = Finding::pass_or_warn(
        limit.saturating_sub(reserved) >= ENOUGH_REQUESTS,
        format!("{reserved} of {limit} libaio requests are set aside"),
        "libaio jobs find room",
        "libaio jobs at high depth are refused (EAGAIN at set-up)",
    );
    Some(finding.mend(facts.set_proc("1048576", "sys/fs/aio-max-nr")))
}
