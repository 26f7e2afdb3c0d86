use super::facts::DoctorFacts;
use super::finding::Finding;
use crate::kernel_config::KernelConfig;

/// Build options that check every memory access or lock. They multiply the cost of an I/O.
const HEAVY: [&str; 7] = [
    "KASAN",
    "KCSAN",
    "KMSAN",
    "PROVE_LOCKING",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "SLUB_DEBUG_ON",
];
/// Build options that make locks slower.
const LIGHT: [&str; 5] = [
    "LOCK_STAT",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_PREEMPT",
    "DEBUG_ATOMIC_SLEEP",
];

const NO_CONFIG: &str = "the kernel keeps no copy of its options (/proc/config.gz), and none lies in /boot or /lib/modules";

pub(super) fn debug(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return Some(Finding::unknown(
            NO_CONFIG,
            "whether it checks itself at every I/O cannot be told",
        ));
    };
    let on = |names: &[&str]| {
        let on: Vec<&str> = names.iter().copied().filter(|n| config.has(n)).collect();
        (!on.is_empty()).then(|| on.join(", "))
    };
    Some(match (on(&HEAVY), on(&LIGHT)) {
        (Some(heavy), _) => Finding::invalidates(
            &["iops", "latency", "cpu", "kiops-per-core"],
            heavy,
            "the kernel checks itself at every access or lock: no number compares with another kernel's",
        ),
        (None, Some(light)) => Finding::warn(light, "locks cost more than in other kernels"),
        (None, None) => Finding::pass(
            "no debug option that costs",
            "I/O costs what it costs elsewhere",
        ),
    })
}

pub(super) fn tick(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return Some(Finding::unknown(
            NO_CONFIG,
            "how often the tick interrupts a busy CPU is not known",
        ));
    };
    let hz = config.value("HZ").unwrap_or("not told");
    let tick_rate = format!("HZ={hz}");
    Some(if config.has("HZ_PERIODIC") {
        Finding::warn(
            format!("{tick_rate}, periodic"),
            "idle CPUs are woken at every tick: idle states and accounting differ from other kernels",
        )
    } else {
        Finding::pass(
            tick_rate,
            "a busy CPU is interrupted so often per second, an idle one is not",
        )
    })
}

pub(super) fn irq_time(facts: &DoctorFacts) -> Option<Finding> {
    let Some(config) = &facts.config else {
        return Some(Finding::unknown(
            NO_CONFIG,
            "whether interrupt time is measured or sampled is not known",
        ));
    };
    let exact = ["IRQ_TIME_ACCOUNTING", "VIRT_CPU_ACCOUNTING_NATIVE"];
    Some(match exact.into_iter().find(|option| config.has(option)) {
        Some(option) => Finding::pass(
            option,
            "time in interrupts and softirqs is measured by the clock",
        ),
        None => Finding::warn(
            "no IRQ_TIME_ACCOUNTING",
            "time in interrupts and softirqs is sampled by the tick, an estimate, and counts as the thread's that it hit",
        ),
    })
}

pub(super) fn preempt(facts: &DoctorFacts) -> Option<Finding> {
    let Some(model) = model(facts) else {
        return Some(Finding::unknown(
            "the kernel does not tell",
            "which preemption model is in force is not known",
        ));
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

/// The preemption model in force. For a kernel that can change it (PREEMPT_DYNAMIC) and shows no
/// debugfs, it is the one on the command line, or else the one the kernel was built with; a later
/// change by root is not seen.
fn model(facts: &DoctorFacts) -> Option<String> {
    let machine_model = facts.machine.preempt.clone()?;
    if machine_model != "PREEMPT_DYNAMIC" {
        return Some(machine_model);
    }
    let built = |config: &KernelConfig| {
        let options = [
            ("PREEMPT_NONE", "none"),
            ("PREEMPT_VOLUNTARY", "voluntary"),
            ("PREEMPT_LAZY", "lazy"),
            ("PREEMPT", "full"),
        ];
        let (_, model) = options.into_iter().find(|(name, _)| config.has(name))?;
        Some(model.to_owned())
    };
    let booted = facts.command_line("preempt");
    let built = || facts.config.as_ref().and_then(built);
    Some(booted.or_else(built).unwrap_or(machine_model))
}

pub(super) fn command_line(facts: &DoctorFacts) -> Option<Finding> {
    let items = facts.machine.other.iter().filter_map(|(key, value)| {
        let key = key.strip_prefix("command line ")?;
        Some(if value.is_empty() {
            key.to_owned()
        } else {
            format!("{key}={value}")
        })
    });
    let items: Vec<String> = items.collect();
    let options = if items.is_empty() {
        "nothing that changes what is measured".to_owned()
    } else {
        items.join(" ")
    };
    Some(match facts.command_line("idle").as_deref() {
        Some("poll") => Finding::warn(
            options,
            "idle CPUs spin and never sleep: interrupts look faster than elsewhere, siblings are slowed",
        ),
        _ => Finding::pass(
            options,
            "on record; compare only with machines that were told the same",
        ),
    })
}

pub(super) fn hugepages(facts: &DoctorFacts) -> Option<Finding> {
    let text = facts.proc("meminfo")?;
    let mut lines = text.lines();
    let line = lines.find_map(|l| l.strip_prefix("HugePages_Total:"))?;
    let number: u64 = line.trim().parse().ok()?;
    let reserved_pages = format!("{number} huge pages set aside");
    Some(match number {
        0 => Finding::invalidates(
            &["spdk"],
            reserved_pages,
            "SPDK cannot run without huge pages; nothing else needs them",
        )
        .mend(facts.by_hand("1024", "/proc/sys/vm/nr_hugepages")),
        _ => Finding::pass(reserved_pages, "SPDK can take its memory from them"),
    })
}

pub(super) fn aio(facts: &DoctorFacts) -> Option<Finding> {
    /// Requests of 128 jobs at depth 128, twice.
    const ENOUGH: u64 = 32_768;
    let number = |name: &str| facts.proc(&format!("sys/fs/{name}"))?.parse::<u64>().ok();
    let (used, limit) = (number("aio-nr")?, number("aio-max-nr")?);
    let usage = format!("{used} of {limit} libaio requests are set aside");
    Some(if limit.saturating_sub(used) >= ENOUGH {
        Finding::pass(usage, "libaio jobs find room")
    } else {
        Finding::warn(
            usage,
            "libaio jobs at high depth are refused (EAGAIN at set-up)",
        )
        .mend(facts.set_proc("1048576", "sys/fs/aio-max-nr"))
    })
}
