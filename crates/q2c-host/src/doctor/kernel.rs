use super::facts::{DoctorFacts, RingProbe};
use super::finding::Finding;
use super::remedy::Remedy;
use crate::kernel_version::{DEFER_TASKRUN, HYBRID_IOPOLL, HybridSupport, IO_URING};
use q2c_result::doctor::WhyLeft;

/// Whether rings can be made. A sysctl may forbid io_uring, or a container's filter may refuse it,
/// which only a try shows.
pub(super) fn io_uring(facts: &DoctorFacts) -> Option<Finding> {
    const GONE: &str =
        "no io_uring method can run: interrupt, poll, hybrid and sqpoll on io_uring are left out";
    const URING: &[&str] = &["io_uring", "io_uring_cmd"];
    const SYSCTL: &str = "/proc/sys/kernel/io_uring_disabled";
    let sysctl = facts.proc("sys/kernel/io_uring_disabled");
    let shown = match &sysctl {
        Some(value) => format!("io_uring_disabled={value}"),
        None => "no sysctl".to_owned(),
    };
    let forbidden =
        |cause| Finding::invalidates(URING, cause, GONE).mend(facts.by_hand("0", SYSCTL));
    Some(match (&facts.ring, sysctl.as_deref()) {
        (Some(RingProbe::Works), _) => Finding::pass(
            format!("a ring came up ({shown})"),
            "io_uring methods can run",
        ),
        (Some(RingProbe::Refused(why)), Some("1" | "2")) => forbidden(format!("{why} ({shown})")),
        (Some(RingProbe::Refused(why)), _) => Finding::invalidates(
            URING,
            format!("setting up a ring failed: {why} ({shown}); a container's filter?"),
            GONE,
        ),
        (None, Some("2")) => forbidden(shown),
        (None, Some("1")) => Finding::unknown(
            format!("{shown}: members of the group io_uring_group and root only"),
            "whether this process may set up a ring was not tried",
        )
        .mend(facts.by_hand("0", SYSCTL)),
        (None, Some("0")) => {
            Finding::pass(shown, "the kernel allows io_uring; a ring was not tried")
        }
        (None, _) if facts.version() >= IO_URING => Finding::unknown(
            shown,
            "the kernel is new enough for io_uring; a ring was not tried",
        ),
        (None, _) => Finding::invalidates(URING, format!("kernel {}", facts.machine.kernel), GONE),
    })
}

/// The limit of locked memory. Registered buffers, and rings before Linux 5.12, count against it.
pub(super) fn memlock(facts: &DoctorFacts) -> Option<Finding> {
    /// Enough for 1024 buffers of 64 KiB.
    const ENOUGH: u64 = 64 << 20;
    let limits = facts.proc("self/limits")?;
    let mut lines = limits.lines();
    let line = lines.find_map(|l| l.strip_prefix("Max locked memory"))?;
    let soft = line.split_whitespace().next()?.to_owned();
    let bytes: u64 = match soft.as_str() {
        "unlimited" => u64::MAX,
        number => number.parse().ok()?,
    };
    Some(if bytes >= ENOUGH {
        Finding::pass(
            format!("locked memory: {soft}"),
            "buffers can be registered",
        )
    } else {
        Finding::warn(
            format!("locked memory: {soft} bytes"),
            "without CAP_IPC_LOCK, registered buffers fail at high depth; runs then use plain ones and say so",
        )
        .mend(Remedy::Line(
            WhyLeft::Program,
            if facts.root {
                "ulimit -l unlimited".to_owned()
            } else {
                "sudo prlimit --pid $$ --memlock=unlimited:unlimited".to_owned()
            },
        ))
    })
}

pub(super) fn hybrid_kernel(facts: &DoctorFacts) -> Option<Finding> {
    let release = format!("kernel {}", facts.machine.kernel);
    if facts.version() == (0, 0) {
        let means = "whether it exists is not known";
        return Some(Finding::unknown(release, means));
    }
    Some(match HybridSupport::in_version(facts.version()) {
        HybridSupport::Works => {
            Finding::pass(release, "it exists (io_poll_delay with polled preadv2)")
        }
        HybridSupport::NotYet => Finding::invalidates(
            &["hybrid-kernel"],
            release,
            "it needs Linux 4.10 to 5.18: this one is too old",
        ),
        HybridSupport::Unreached | HybridSupport::Removed => Finding::invalidates(
            &["hybrid-kernel", "hipri"],
            release,
            "it needs Linux 4.10 to 5.18: since 5.19 synchronous direct I/O ignores RWF_HIPRI, and \
             io_poll_delay is inert; use hybrid on io_uring",
        ),
    })
}

pub(super) fn hybrid_uring(facts: &DoctorFacts) -> Option<Finding> {
    let release = format!("kernel {}", facts.machine.kernel);
    Some(match facts.version() {
        (0, 0) => Finding::unknown(release, "whether it exists is not known"),
        version if version >= HYBRID_IOPOLL => {
            Finding::pass(release, "it exists (IORING_SETUP_HYBRID_IOPOLL)")
        }
        _ => Finding::invalidates(&["hybrid-uring"], release, "it needs Linux 6.13"),
    })
}

pub(super) fn defer_taskrun(facts: &DoctorFacts) -> Option<Finding> {
    let release = format!("kernel {}", facts.machine.kernel);
    Some(match facts.version() {
        (0, 0) => Finding::unknown(release, "whether completions can be deferred is not known"),
        version if version >= DEFER_TASKRUN => Finding::pass(
            release,
            "completions do not wake a sleeping thread (DEFER_TASKRUN)",
        ),
        _ => Finding::warn(
            release,
            "without DEFER_TASKRUN (6.1) a completion wakes the sleeper: hybrid polling gives more switches and \
             sleeps cut short",
        ),
    })
}

/// The mitigations in force. They make system calls and context switches slower, which costs
/// interrupts more than polling.
pub(super) fn mitigations(facts: &DoctorFacts) -> Option<Finding> {
    let known: Vec<_> = facts
        .machine
        .other
        .iter()
        .filter_map(|(k, v)| Some((k.strip_prefix("vulnerability ")?, v)))
        .collect();
    if known.is_empty() {
        return Some(Finding::unknown(
            "the kernel does not tell",
            "results name no mitigations",
        ));
    }
    let active = known.iter().filter(|(_, v)| v.starts_with("Mitigation"));
    let active: Vec<&str> = active.map(|(k, _)| *k).collect();
    Some(if active.is_empty() {
        Finding::pass(
            "no mitigation in force",
            "system calls cost what the processor asks",
        )
    } else {
        Finding::pass(
            format!("in force: {}", active.join(", ")),
            "system calls and switches cost more; compare only with machines that have the same ones",
        )
    })
}
