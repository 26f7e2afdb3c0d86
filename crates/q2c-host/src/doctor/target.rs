//! The target itself; whether it is fit was decided when it was opened.

use super::scene::{Finding, Scene};

/// A file brings its file system's work along.
pub(super) fn kind(scene: &Scene) -> Option<Finding> {
    let target = scene.target?;
    let system = target.file_system.as_deref();
    Some(match (target.kind.as_str(), system) {
        ("block", _) => Finding::pass(
            format!("{}: block device", target.path),
            "no file system in the way",
        ),
        (_, Some("btrfs")) => Finding::invalidates(
            format!("{}: file on btrfs", target.path),
            "btrfs has no polled I/O: poll and hybrid in the kernel are impossible on its files",
        ),
        (_, Some(name)) => Finding::pass(
            format!("{}: file on {name}", target.path),
            "times and CPU include the file system's; offsets are the file's",
        ),
        (_, None) => Finding::unknown(
            format!("{}: file on an unnamed file system", target.path),
            "what the file system adds is not known",
        ),
    })
}

/// Whether I/O on it can be traced to one device.
pub(super) fn proved(scene: &Scene) -> Option<Finding> {
    let target = scene.target?;
    Some(match (target.unproved.as_slice(), &target.device) {
        ([], Some(device)) => Finding::pass(
            format!("its I/O goes to {}", device.name),
            "interrupts and requests of the device can be counted against ours",
        ),
        (_, None) => Finding::invalidates(
            format!("no device: {}", target.unproved.join("; ")),
            "that I/O happened, and how it completed, cannot be proved by the device's counters",
        ),
        (unproved, _) => Finding::warn(
            format!("not proved: {}", unproved.join("; ")),
            "numbers hold for the path as a whole, not for one device",
        ),
    })
}

/// A target smaller than the device's own cache is served from it.
pub(super) fn size(scene: &Scene) -> Option<Finding> {
    /// Larger than the DRAM on consumer and most data-centre drives.
    const LARGE: u64 = 4 << 30;
    let target = scene.target?;
    let found = format!("{}: {}", target.path, target.size);
    Some(match target.size.0 >= LARGE {
        true => Finding::pass(found, "larger than what a device keeps in its cache"),
        false => Finding::warn(
            found,
            "it may fit into the device's or the host's cache: latencies can be the cache's, not the medium's",
        ),
    })
}
