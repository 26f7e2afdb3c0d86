use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::Remedy;
use crate::attr;
use crate::kernel_version::IOPOLL_REFUSED;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Columns of results that need poll queues.
pub(super) const POLLED: &[&str] = &["iopoll", "hybrid-uring", "hybrid-kernel", "hipri"];

pub(super) fn poll_queues(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("io_poll")?;
    if value == "1" {
        return Some(Finding::pass(
            format!("{disk}: io_poll=1"),
            "requests can be polled in the kernel",
        ));
    }
    let means = match facts.version() {
        v if v >= IOPOLL_REFUSED => {
            "IOPOLL fails with EOPNOTSUPP: poll and hybrid spin on the completion ring, and the device \
                              still interrupts; results say so"
        }
        _ => {
            "IOPOLL may be accepted and served by interrupts: poll and hybrid spin on the completion ring, and \
              the device still interrupts; results say so"
        }
    };
    let finding = Finding::invalidates(
        POLLED,
        format!("{disk}: io_poll={value}, no poll queues"),
        means,
    );
    Some(match driver_option(disk) {
        Some(option) => finding.mend(Remedy::boot(option)),
        None => finding,
    })
}

/// The line that tells a disk's driver to make poll queues. It takes effect when the driver is
/// loaded again, or at the next boot.
fn driver_option(disk: &str) -> Option<&'static str> {
    let lines = [
        (
            "nvme",
            "nvme.poll_queues=2 on the kernel command line, or options nvme poll_queues=2 in /etc/modprobe.d",
        ),
        (
            "vd",
            "virtio_blk.poll_queues=1 on the kernel command line; the device needs at least two queues",
        ),
        ("nullb", "modprobe null_blk poll_queues=2"),
    ];
    let line = lines.iter().find(|(prefix, _)| disk.starts_with(prefix));
    line.map(|(_, line)| *line)
}

pub(super) fn scheduler(facts: &DoctorFacts) -> Option<Finding> {
    let disk = &facts.target_disk.as_ref()?.disk.name;
    let scheduler = |t: &q2c_result::Target| t.device.as_ref()?.scheduler.clone();
    let Some(name) = facts.target.and_then(scheduler) else {
        return Some(Finding::unknown(
            format!("{disk}: not told"),
            "which scheduler is in force is not known",
        ));
    };
    Some(match name.as_str() {
        "none" => Finding::pass(format!("{disk}: none"), "requests go straight to the hardware queues"),
        other => Finding::warn(
            format!("{disk}: {other}"),
            "every request passes a scheduler: more CPU per I/O, a shared lock, and no polled bypass",
        ).mend(facts.set_queue("none", "scheduler")),
    })
}

pub(super) fn nomerges(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("nomerges")?;
    let setting = format!("{disk}: nomerges={value}");
    Some(match value.as_str() {
        "2" => Finding::pass(setting, "no merging: the device sees each request as submitted"),
        _ => Finding::warn(
            setting,
            "requests may be merged: the device's count can be below ours, and looking for merges costs CPU",
        ).mend(facts.set_queue("2", "nomerges")),
    })
}

/// Whether requests of the device are counted. A kernel without the switch counts them.
pub(super) fn requests_are_counted(facts: &DoctorFacts) -> bool {
    facts.queue("iostats").is_none_or(|(_, value)| value == "1")
}

pub(super) fn iostats(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("iostats")?;
    Some(match value.as_str() {
        "1" => Finding::pass(
            format!("{disk}: iostats=1"),
            "the device's own request count can be compared with ours, for about 1 % of a fast device's CPU",
        ),
        _ => Finding::warn(
            format!("{disk}: iostats={value}"),
            "the device counts no requests: that I/O reached it cannot be proved",
        )
        .mend(facts.set_queue("1", "iostats")),
    })
}

pub(super) fn write_throttling(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("wbt_lat_usec")?;
    Some(match value.as_str() {
        "0" => Finding::pass(format!("{disk}: off"), "writes are not throttled"),
        us => Finding::warn(
            format!("{disk}: wbt_lat_usec={us}"),
            "background writes are held back while reads are slow, and request statistics run all the time",
        ).mend(facts.set_queue("0", "wbt_lat_usec")),
    })
}

pub(super) fn nr_requests(facts: &DoctorFacts) -> Option<Finding> {
    /// The smallest number with which a queue does not run empty in q2c's sweeps.
    const FEW: u64 = 64;
    let (disk, value) = facts.queue("nr_requests")?;
    let setting = format!("{disk}: nr_requests={value}");
    let Ok(number) = value.parse::<u64>() else {
        return Some(Finding::unknown(
            setting,
            "how many requests a queue takes is not known",
        ));
    };
    Some(if number >= FEW {
        Finding::pass(setting, "enough requests per hardware queue")
    } else {
        Finding::warn(
            setting,
            "jobs wait for a free request at high depth: time between queued and got-request grows, the device idles",
        ).mend(facts.set_queue("256", "nr_requests"))
    })
}

pub(super) fn read_ahead(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("read_ahead_kb")?;
    Some(Finding::pass(
        format!("{disk}: read_ahead_kb={value}"),
        "direct I/O is not touched by it; buffered readers fetch up to so much more than they ask for",
    ))
}

pub(super) fn hardware_queues(facts: &DoctorFacts) -> Option<Finding> {
    let disk = &facts.target_disk.as_ref()?.disk;
    let queues = attr::entries(&disk.dir.join("mq"));
    let cpus = facts.online().len();
    let (name, counted, types) = (&disk.name, counted(&queues), types(facts, &queues));
    let queue_summary = format!("{name}: {counted}{types}");
    Some(match queues.len() {
        0 => Finding::warn(
            format!("{name}: none, it takes bios"),
            "no tags, no scheduler, no polling: jobs meet in the driver's own locks",
        ),
        1 if cpus > 1 => Finding::warn(
            queue_summary,
            "all CPUs share one queue and its tags, and the kernel picks a scheduler for it unless told otherwise",
        ),
        n if n < cpus => Finding::pass(
            queue_summary,
            "CPUs share queues: jobs on CPUs of one queue share its tags",
        ),
        _ => Finding::pass(queue_summary, "every CPU has a queue of its own"),
    })
}

/// The queues and their tags in words, as `4 queues, 1023 tags each`. If the driver made fewer than
/// a sweep asked for, it shows here.
fn counted(queues: &[PathBuf]) -> String {
    let tags = queues.iter().filter_map(|q| attr::text(&q.join("nr_tags")));
    let mut tags: Vec<String> = tags.collect();
    tags.dedup();
    let queues = match queues.len() {
        1 => "1 queue".to_owned(),
        n => format!("{n} queues"),
    };
    if tags.is_empty() {
        queues
    } else {
        format!("{queues}, {} tags each", tags.join(" or "))
    }
}

/// The number of queues of each type, in words, from debugfs (root only); empty where debugfs
/// cannot be read.
fn types(facts: &DoctorFacts, queues: &[PathBuf]) -> String {
    let Some(target_disk) = &facts.target_disk else {
        return String::new();
    };
    let kind = |queue: &PathBuf| {
        let (disk, number) = (&target_disk.disk.name, attr::name(queue));
        facts.sys(&format!("kernel/debug/block/{disk}/hctx{number}/type"))
    };
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for kind in queues.iter().filter_map(kind) {
        *kinds.entry(kind).or_insert(0) += 1;
    }
    if kinds.is_empty() {
        String::new()
    } else {
        let counts = kinds.iter().map(|(kind, n)| format!("{n} {kind}"));
        format!(" ({})", counts.collect::<Vec<_>>().join(", "))
    }
}
