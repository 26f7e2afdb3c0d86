//! Checks of the queues of the target's disk, and of the settings of the NVMe driver and the drive.
//! The NVMe checks are left out where the disk is no NVMe namespace.

use super::facts::DoctorFacts;
use super::finding::{Finding, Remedy, RemedySetting};
use crate::attr;
use crate::kernel_version::IOPOLL_REFUSED;
use itertools::Itertools;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Columns of results that need poll queues.
pub(super) const POLL_COLUMNS: &[&str] = &["iopoll", "hybrid-uring", "hybrid-kernel", "hipri"];

pub(super) fn poll_queues(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("io_poll")?;
    if value == "1" {
        let means = "requests can be polled in the kernel";
        return Some(Finding::pass(format!("{disk}: io_poll=1"), means));
    }
    let means = if facts.version() >= IOPOLL_REFUSED {
        "IOPOLL fails with EOPNOTSUPP: poll and hybrid spin on the completion ring, and the device \
         still interrupts; results say so"
    } else {
        "IOPOLL may be accepted and served by interrupts: poll and hybrid spin on the completion ring, and \
         the device still interrupts; results say so"
    };
    let finding = format!("{disk}: io_poll={value}, no poll queues");
    let remedy = driver_option(disk).map(Remedy::boot);
    Some(Finding::invalidates(POLL_COLUMNS, finding, means).mend(remedy))
}

/// The line that tells a disk's driver to make poll queues. It takes effect when the driver is
/// loaded again, or at the next boot.
fn driver_option(disk: &str) -> Option<&'static str> {
    [
        (
            "nvme",
            "nvme.poll_queues=2 on the kernel command line, or options nvme poll_queues=2 in /etc/modprobe.d",
        ),
        (
            "vd",
            "virtio_blk.poll_queues=1 on the kernel command line; the device needs at least two queues",
        ),
        ("nullb", "modprobe null_blk poll_queues=2"),
    ]
    .into_iter()
    .find_map(|(prefix, line)| disk.starts_with(prefix).then_some(line))
}

pub(super) fn scheduler(facts: &DoctorFacts) -> Option<Finding> {
    let disk = &facts.target_disk.as_ref()?.disk.name;
    let scheduler = |t: &q2c_result::Target| t.device.as_ref()?.scheduler.clone();
    let Some(name) = facts.target.and_then(scheduler) else {
        let means = "which scheduler is in force is not known";
        return Some(Finding::unknown(format!("{disk}: not told"), means));
    };
    let finding = Finding::pass_or_warn(
        name == "none",
        format!("{disk}: {name}"),
        "requests go straight to the hardware queues",
        "every request passes a scheduler: more CPU per I/O, a shared lock, and no polled bypass",
    );
    Some(finding.mend(facts.set_queue("none", "scheduler")))
}

/// Checks that an attribute of the queue has the wanted value.
fn check_attribute(
    facts: &DoctorFacts,
    (attribute, wanted): (&str, &str),
    good: &str,
    bad: &str,
) -> Option<Finding> {
    let (disk, value) = facts.queue(attribute)?;
    let setting = format!("{disk}: {attribute}={value}");
    let finding = Finding::pass_or_warn(value == wanted, setting, good, bad);
    Some(finding.mend(facts.set_queue(wanted, attribute)))
}

pub(super) fn nomerges(facts: &DoctorFacts) -> Option<Finding> {
    check_attribute(
        facts,
        ("nomerges", "2"),
        "no merging: the device sees each request as submitted",
        "requests may be merged: the device's count can be below ours, and looking for merges costs CPU",
    )
}

/// True if the kernel counts the device's requests. A kernel without `iostats` counts them.
pub(super) fn requests_are_counted(facts: &DoctorFacts) -> bool {
    facts.queue("iostats").is_none_or(|(_, value)| value == "1")
}

pub(super) fn iostats(facts: &DoctorFacts) -> Option<Finding> {
    check_attribute(
        facts,
        ("iostats", "1"),
        "the device's own request count can be compared with ours, for about 1 % of a fast device's CPU",
        "the device counts no requests: that I/O reached it cannot be proved",
    )
}

pub(super) fn write_throttling(facts: &DoctorFacts) -> Option<Finding> {
    let (disk, value) = facts.queue("wbt_lat_usec")?;
    Some(if value == "0" {
        Finding::pass(format!("{disk}: off"), "writes are not throttled")
    } else {
        Finding::warn(
            format!("{disk}: wbt_lat_usec={value}"),
            "background writes are held back while reads are slow, and request statistics run all the time",
        )
        .mend(facts.set_queue("0", "wbt_lat_usec"))
    })
}

pub(super) fn nr_requests(facts: &DoctorFacts) -> Option<Finding> {
    /// The smallest number with which a queue does not run empty in q2c's sweeps.
    const MIN_REQUESTS: u64 = 64;
    let (disk, value) = facts.queue("nr_requests")?;
    let setting = format!("{disk}: nr_requests={value}");
    let Ok(number) = value.parse::<u64>() else {
        let means = "how many requests a queue takes is not known";
        return Some(Finding::unknown(setting, means));
    };
    let finding = Finding::pass_or_warn(
        number >= MIN_REQUESTS,
        setting,
        "enough requests per hardware queue",
        "jobs wait for a free request at high depth: time between queued and got-request grows, the device idles",
    );
    Some(finding.mend(facts.set_queue("256", "nr_requests")))
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
    let (name, count_text) = (&disk.name, count_text(&queues));
    let queue_summary = format!("{name}: {count_text}{}", queue_types(facts, name, &queues));
    Some(match queues.len() {
        0 => Finding::warn(
            format!("{name}: none, it takes bios"),
            "no tags, no scheduler, no polling: jobs meet in the driver's own locks",
        ),
        1 if cpus > 1 => Finding::warn(
            queue_summary,
            "all CPUs share one queue and its tags, and the kernel picks a scheduler for it unless told otherwise",
        ),
        n if n < cpus => {
            let means = "CPUs share queues: jobs on CPUs of one queue share its tags";
            Finding::pass(queue_summary, means)
        }
        _ => Finding::pass(queue_summary, "every CPU has a queue of its own"),
    })
}

/// The queues and their tags in words, as `4 queues, 1023 tags each`. The number shows if the
/// driver made fewer queues than a sweep requested.
fn count_text(queues: &[PathBuf]) -> String {
    let tags = queues.iter().filter_map(|q| attr::text(&q.join("nr_tags")));
    let tags = tags.dedup().join(" or ");
    let (n, s) = (queues.len(), if queues.len() == 1 { "" } else { "s" });
    if tags.is_empty() {
        return format!("{n} queue{s}");
    }
    format!("{n} queue{s}, {tags} tags each")
}

/// The number of queues of each type, in words, from debugfs (root only); empty where debugfs
/// cannot be read.
fn queue_types(facts: &DoctorFacts, disk: &str, queues: &[PathBuf]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for number in queues.iter().map(|queue| attr::name(queue)) {
        if let Some(kind) = facts.sys(&format!("kernel/debug/block/{disk}/hctx{number}/type")) {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    if kinds.is_empty() {
        return String::new();
    }
    let counts = kinds.iter().map(|(kind, n)| format!("{n} {kind}"));
    format!(" ({})", counts.format(", "))
}

const ON_BOOT: &str = "on the kernel command line, and reboot";
/// File in the controller's folder: the microseconds that the drive may take to wake up.
const TOLERANCE_FILE: &str = "power/pm_qos_latency_tolerance_us";

fn nvme_disk<'a>(facts: &'a DoctorFacts) -> Option<&'a str> {
    let name = facts.target_disk.as_ref()?.disk.name.as_str();
    name.starts_with("nvme").then_some(name)
}

/// The controller's folder: the nearest one above the namespace that has a `state`.
fn controller(facts: &DoctorFacts) -> Option<PathBuf> {
    let dirs = facts.device_dirs();
    dirs.into_iter().find(|d| d.join("state").is_file())
}

pub(super) fn nvme_queues(facts: &DoctorFacts) -> Option<Finding> {
    let disk = nvme_disk(facts)?;
    let parameter = |name: &str| facts.sys(&format!("module/nvme/parameters/{name}"));
    let Some(poll) = parameter("poll_queues") else {
        let means = "whether it has poll queues shows io_poll alone";
        return Some(Finding::unknown("the driver tells no poll_queues", means));
    };
    let write = parameter("write_queues").unwrap_or_else(|| "not told".to_owned());
    let parameters = format!("nvme.poll_queues={poll}, write_queues={write}");
    let polls = facts.queue("io_poll").is_some_and(|(_, v)| v == "1");
    Some(match (poll.as_str(), polls) {
        ("0", false) => {
            let means =
                "no queue is polled (0 is the default): polled columns are interrupts, or errors";
            Finding::invalidates(POLL_COLUMNS, parameters, means)
                .mend(Remedy::boot(format!("nvme.poll_queues=2 {ON_BOOT}")))
        }
        ("0", true) => Finding::warn(
            parameters,
            "the parameter was changed after the device came up with poll queues: a reset takes them away",
        ),
        (_, true) => Finding::pass(
            parameters,
            "polled requests have queues of their own, beside those for interrupts",
        ),
        (_, false) => {
            let means =
                "the parameter was changed after the device came up: it has no poll queues yet";
            let reset = controller_file(facts, disk, "reset_controller");
            Finding::invalidates(POLL_COLUMNS, parameters, means)
                .mend(facts.manual_remedy("1", &reset))
        }
    })
}

/// The path of a file of the disk's controller, in `/sys/class/nvme`.
fn controller_file(facts: &DoctorFacts, disk: &str, file: &str) -> String {
    let name = match controller(facts) {
        Some(dir) => attr::name(&dir),
        None => disk.rsplit_once('n').map_or(disk, |(c, _)| c).to_owned(),
    };
    format!("/sys/class/nvme/{name}/{file}")
}

pub(super) fn nvme_power(facts: &DoctorFacts) -> Option<Finding> {
    let disk = nvme_disk(facts)?;
    let file = controller(facts).map(|dir| dir.join(TOLERANCE_FILE));
    let file = file.and_then(|file| Some((attr::text(&file)?, file)));
    let default = || facts.sys("module/nvme_core/parameters/default_ps_max_latency_us");
    let Some(us) = file.as_ref().map(|(us, _)| us.clone()).or_else(default) else {
        let means = "whether the drive dozes between requests cannot be told";
        let finding = "the driver tells no latency tolerance";
        return Some(Finding::unknown(finding, means));
    };
    if us == "0" {
        let finding = "autonomous power states are off";
        return Some(Finding::pass(finding, "the drive stays awake"));
    }
    let finding = Finding::warn(
        format!("the drive may take {us} us to wake up"),
        "the drive may doze when idle: the first requests after a pause are late, low rates look slow",
    );
    Some(finding.mend(match file {
        Some((_, file)) => Remedy::Set(
            vec![RemedySetting::new(file, "0")],
            facts.write_line("0", &controller_file(facts, disk, TOLERANCE_FILE)),
        ),
        None => Remedy::boot(format!("nvme_core.default_ps_max_latency_us=0 {ON_BOOT}")),
    }))
}

pub(super) fn nvme_state(facts: &DoctorFacts) -> Option<Finding> {
    nvme_disk(facts)?;
    let state = attr::text(&controller(facts)?.join("state"))?;
    Some(if state == "live" {
        Finding::pass(state, "the controller is in service")
    } else {
        let means = "the controller resets, connects or leaves: look into the kernel's log";
        Finding::invalidates(&["iops", "latency"], state, means)
    })
}
