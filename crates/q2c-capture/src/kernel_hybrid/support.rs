//! Checks if this kernel can do its own hybrid polling on a disk, and knows where its sleep is set.

use crate::ProbeError;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::kernel_version::{HYBRID_PROBE, HybridSupport, kernel_version};
use q2c_policy::KernelSleep;
use std::fs;
use std::path::PathBuf;

/// The value of `queue/io_poll_delay`: -1 is classic polling, 0 the sleep that the kernel chooses,
/// any other a fixed sleep in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay(pub i64);

impl Delay {
    /// Classic polling: no sleep.
    pub const CLASSIC: Delay = Delay(-1);
    /// The kernel's own sleep.
    pub const OWN: Delay = Delay(0);

    /// The value that makes the kernel sleep in this way; `None` for a rule, whose daemon writes
    /// one value after another.
    #[must_use]
    pub fn from_sleep(sleep: &KernelSleep) -> Option<Delay> {
        match *sleep {
            KernelSleep::Own => Some(Delay::OWN),
            KernelSleep::Fixed(us) => Some(Delay(us.into())),
            KernelSleep::Steered(_) => None,
        }
    }

    /// The file `queue/io_poll_delay` of a disk.
    pub fn path(disk: &Disk) -> PathBuf {
        disk.dir.join("queue/io_poll_delay")
    }

    /// The value that is set now; `None` when the file is gone or holds no number.
    pub fn read(disk: &Disk) -> Option<Delay> {
        let text = fs::read_to_string(Delay::path(disk)).ok()?;
        text.trim().parse().ok().map(Delay)
    }
}

/// Checks that the kernel's own hybrid polling on this disk can be watched and steered. The error
/// gives the reason when it cannot.
pub fn check(roots: &Roots, disk: &Disk) -> Result<(), ProbeError> {
    let release = fs::read_to_string(roots.proc("sys/kernel/osrelease")).unwrap_or_default();
    let Some(reason) = kernel_refusal(release.trim()).or_else(|| disk_refusal(disk)) else {
        return Ok(());
    };
    let disk = disk.name.clone();
    Err(ProbeError::NoHybrid { disk, reason })
}

/// Why this kernel (a release such as `5.10.0-32-amd64`) has no usable hybrid polling; else `None`.
fn kernel_refusal(release: &str) -> Option<String> {
    let version = kernel_version(release)?;
    let reason = match HybridSupport::in_version(version) {
        HybridSupport::NotYet => "it came with 4.10",
        HybridSupport::Works if version < HYBRID_PROBE => {
            "it has it, but its sleeps are seen by way of BPF features of 5.8"
        }
        HybridSupport::Works => return None,
        HybridSupport::Unreached => {
            "it has the code, but nothing reaches it: since 5.16 io_uring polls without a sleep, since 5.19 RWF_HIPRI does not poll"
        }
        HybridSupport::Removed => {
            "io_poll_delay takes any value and does nothing: 5.19 removed synchronous polling, 6.4 the sleep"
        }
    };
    Some(format!(
        "Linux {release} has none that can be used: {reason}; a kernel from 5.8 to 5.18 does, and q2c's own hybrid polling \
         (q2c tune, q2c poll watch without --kernel) runs on this one"
    ))
}

/// Why the kernel has no hybrid polling on this disk; `None` when it has.
fn disk_refusal(disk: &Disk) -> Option<String> {
    let io_poll = fs::read_to_string(disk.dir.join("queue/io_poll")).unwrap_or_default();
    if io_poll.trim() != "1" {
        return Some(format!(
            "expected queue/io_poll of 1, found `{}`: it has no poll queues (for NVMe: nvme.poll_queues=N on the kernel's \
             command line, or as an option of the module), or polling is switched off (until Linux 5.15 writing 1 there \
             switches it on)",
            io_poll.trim()
        ));
    }
    let delay = Delay::path(disk);
    (!delay.exists()).then(|| format!("{} does not exist", delay.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::DevId;

    #[test]
    fn kernels_without_it_are_told_why() {
        for (release, word) in [
            ("4.9.0", "4.10"),
            ("5.4.0-1-amd64", "5.8"),
            ("5.19.0", "5.19 RWF_HIPRI"),
            ("6.1.0-32-amd64", "io_uring polls without a sleep"),
            ("6.4.0", "6.4 the sleep"),
            ("7.2.1", "does nothing"),
        ] {
            let message = kernel_refusal(release).expect(release);
            let is_told = message.contains(word) && message.contains(release);
            assert!(is_told, "{message}");
        }
        assert_eq!(kernel_refusal("5.10.0-32-amd64"), None);
        assert_eq!(kernel_refusal("5.18.0"), None);
    }

    #[test]
    fn a_disk_needs_poll_queues_and_the_setting() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        fs::create_dir_all(roots.proc("sys/kernel")).unwrap();
        fs::write(roots.proc("sys/kernel/osrelease"), "5.10.0-32-amd64\n").unwrap();
        let disk = Disk {
            name: "nvme0n1".to_owned(),
            dev: DevId::default(),
            dir: roots.sys("block/nvme0n1"),
        };
        let expect_refusal = |wanted: &str| {
            let error = check(&roots, &disk).expect_err("refused").to_string();
            assert!(error.contains(wanted), "{error}");
        };
        fs::create_dir_all(disk.dir.join("queue")).unwrap();
        expect_refusal("poll_queues");
        fs::write(disk.dir.join("queue/io_poll"), "1\n").unwrap();
        expect_refusal("io_poll_delay does not exist");
        fs::write(Delay::path(&disk), "-1\n").unwrap();
        check(&roots, &disk).expect("can be watched");
        assert_eq!(Delay::read(&disk), Some(Delay::CLASSIC));
    }
}
