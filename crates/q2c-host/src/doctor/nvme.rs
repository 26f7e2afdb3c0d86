//! Checks of the settings of the NVMe driver and the drive. They are left out where the disk is no
//! NVMe namespace.

use super::facts::DoctorFacts;
use super::finding::Finding;
use super::queue::POLLED;
use super::remedy::{Remedy, RemedySetting};
use crate::attr;
use std::path::PathBuf;

const ON_BOOT: &str = "on the kernel command line, and reboot";
/// How long the drive may take to wake up, below the controller's folder.
const TOLERANCE: &str = "power/pm_qos_latency_tolerance_us";

fn disk<'a>(facts: &'a DoctorFacts) -> Option<&'a str> {
    let name = facts.target_disk.as_ref()?.disk.name.as_str();
    name.starts_with("nvme").then_some(name)
}

fn parameter(facts: &DoctorFacts, module: &str, name: &str) -> Option<String> {
    facts.sys(&format!("module/{module}/parameters/{name}"))
}

/// The controller's folder: the nearest one above the namespace that has a `state`.
fn controller(facts: &DoctorFacts) -> Option<PathBuf> {
    let dirs = facts.device_dirs();
    dirs.into_iter().find(|d| d.join("state").is_file())
}

pub(super) fn queues(facts: &DoctorFacts) -> Option<Finding> {
    let disk = disk(facts)?;
    let Some(poll) = parameter(facts, "nvme", "poll_queues") else {
        return Some(Finding::unknown(
            "the driver tells no poll_queues",
            "whether it has poll queues shows io_poll alone",
        ));
    };
    let write = parameter(facts, "nvme", "write_queues").unwrap_or_else(|| "not told".to_owned());
    let parameters = format!("nvme.poll_queues={poll}, write_queues={write}");
    let polls = facts.queue("io_poll").is_some_and(|(_, v)| v == "1");
    Some(match (poll.as_str(), polls) {
        ("0", false) => Finding::invalidates(
            POLLED,
            parameters,
            "no queue is polled (0 is the default): polled columns are interrupts, or errors",
        )
        .mend(Remedy::boot(format!("nvme.poll_queues=2 {ON_BOOT}"))),
        ("0", true) => Finding::warn(
            parameters,
            "the parameter was changed after the device came up with poll queues: a reset takes them away",
        ),
        (_, true) => Finding::pass(
            parameters,
            "polled requests have queues of their own, beside those for interrupts",
        ),
        (_, false) => Finding::invalidates(
            POLLED,
            parameters,
            "the parameter was changed after the device came up: it has no poll queues yet",
        )
        .mend(facts.by_hand(
            "1",
            &format!(
                "/sys/class/nvme/{}/reset_controller",
                controller_name(facts, disk)
            ),
        )),
    })
}

fn controller_name(facts: &DoctorFacts, disk: &str) -> String {
    match controller(facts) {
        Some(dir) => attr::name(&dir),
        None => disk.rsplit_once('n').map_or(disk, |(c, _)| c).to_owned(),
    }
}

pub(super) fn power(facts: &DoctorFacts) -> Option<Finding> {
    let disk = disk(facts)?;
    let file = controller(facts).map(|dir| dir.join(TOLERANCE));
    let controller_tolerance = file.as_deref().and_then(attr::text);
    let default = parameter(facts, "nvme_core", "default_ps_max_latency_us");
    let set = file.filter(|_| controller_tolerance.is_some());
    let Some(us) = controller_tolerance.or(default) else {
        return Some(Finding::unknown(
            "the driver tells no latency tolerance",
            "whether the drive dozes between requests cannot be told",
        ));
    };
    let wake_up_time = format!("the drive may take {us} us to wake up");
    Some(match us.as_str() {
        "0" => Finding::pass("autonomous power states are off", "the drive stays awake"),
        _ => Finding::warn(
            wake_up_time,
            "the drive may doze when idle: the first requests after a pause are late, low rates look slow",
        )
        .mend(match set {
            Some(file) => Remedy::Set(
                vec![RemedySetting::new(file, "0")],
                facts.write_line("0", &format!("/sys/class/nvme/{}/{TOLERANCE}", controller_name(facts, disk))),
            ),
            None => Remedy::boot(format!("nvme_core.default_ps_max_latency_us=0 {ON_BOOT}")),
        }),
    })
}

pub(super) fn state(facts: &DoctorFacts) -> Option<Finding> {
    disk(facts)?;
    let state = attr::text(&controller(facts)?.join("state"))?;
    Some(match state.as_str() {
        "live" => Finding::pass(state, "the controller is in service"),
        _ => Finding::invalidates(
            &["iops", "latency"],
            state,
            "the controller resets, connects or leaves: look into the kernel's log",
        ),
    })
}
