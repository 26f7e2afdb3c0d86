use crate::Roots;
use crate::kernel_config::KernelConfig;
use q2c_model::{Bytes, Exit, Fault};
use q2c_sys::clock;
use q2c_sys::ublk::{CONTROL, Control};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// The largest block of a RAM device: a page.
const LARGEST_BLOCK: u64 = 4096;
/// The most requests per hardware queue that ublk has.
const DEEPEST: u32 = 4096;

/// A RAM device as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamdiskShape {
    /// Capacity.
    pub size: Bytes,
    /// Logical block.
    pub block: Bytes,
    /// Hardware queues that end requests by themselves.
    pub queues: u32,
    /// Hardware queues whose requests end when somebody polls. Only the module has them.
    pub poll_queues: u32,
    /// Requests per hardware queue.
    pub depth: u32,
}

/// Refuses what cannot be made on this machine.
pub fn check(roots: &Roots, wanted: &RamdiskShape, cpus: u32) -> Result<(), Fault> {
    let RamdiskShape {
        size,
        block,
        queues,
        poll_queues,
        depth,
    } = *wanted;
    let wrong = |reason: String| {
        Err(Fault::new(
            Exit::Usage,
            format!("make a RAM device: {reason}"),
        ))
    };
    if !block.0.is_power_of_two() || !(512..=LARGEST_BLOCK).contains(&block.0) {
        return wrong(format!(
            "expected a block size that is a power of two from 512 B to 4 KiB, found {block}"
        ));
    }
    if size.0 == 0 || !size.0.is_multiple_of(block.0) {
        return wrong(format!(
            "expected a size in whole blocks of {block}, found {size}"
        ));
    }
    if queues == 0 {
        return wrong("expected at least one hardware queue, found --queues 0".into());
    }
    if !(1..=DEEPEST).contains(&depth) {
        return wrong(format!(
            "expected a depth from 1 to {DEEPEST}, found {depth}"
        ));
    }
    if queues > cpus || poll_queues > cpus {
        let text = format!(
            "make a RAM device: expected at most one hardware queue per CPU, found {} for {cpus} CPUs; name fewer",
            queues.max(poll_queues)
        );
        return Err(Fault::new(Exit::Environment, text));
    }
    match available(roots) {
        Some(available) if size.0 > available.0 => {
            let text = format!(
                "make a RAM device of {size}: expected at most the memory that is available, found {available}; name a smaller --size"
            );
            Err(Fault::new(Exit::Environment, text))
        }
        _ => Ok(()),
    }
}

/// The memory that can be had without swapping.
fn available(roots: &Roots) -> Option<Bytes> {
    let text = fs::read_to_string(roots.proc("meminfo")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * 1024))
}

fn built_without_ublk() -> bool {
    let config = KernelConfig::read(&Roots::live());
    config.is_some_and(|config| !config.has("BLK_DEV_UBLK"))
}

/// Refuses where this kernel has no ublk that fits.
pub fn check_ublk() -> Result<(), Fault> {
    let lacking = |reason: String| {
        let text = format!("make a RAM device: {reason}");
        Err(Fault::new(Exit::Environment, text))
    };
    match Control::open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => lacking(if built_without_ublk() {
            "this kernel is built without ublk (CONFIG_BLK_DEV_UBLK)".to_owned()
        } else {
            format!(
                "expected {CONTROL}, found none: this kernel has no ublk, or its module is not loaded (modprobe ublk_drv; CONFIG_BLK_DEV_UBLK, Linux 6.5 and later)"
            )
        }),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => lacking(format!(
            "open {CONTROL}: {e}; {}",
            if rustix::process::geteuid().is_root() {
                "the container withholds the device: run q2c outside of it"
            } else {
                "run as root"
            }
        )),
        Err(e) => lacking(format!("open {CONTROL}: {e}")),
        Ok(mut control) => {
            if control.fits() {
                Ok(())
            } else {
                lacking(
                    "expected a ublk with USER_COPY and USER_RECOVERY_REISSUE (Linux 6.5 and later), found an older one".into(),
                )
            }
        }
    }
}

/// A number by which a device is known again.
pub(crate) fn token() -> u64 {
    let seed = clock::monotonic_ns() ^ (u64::from(std::process::id()) << 40);
    // A step of SplitMix64; the words `q2` in front tell the devices of q2c from others.
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0x7132 << 48) | ((mixed ^ (mixed >> 27)) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::Exit;

    const GOOD: RamdiskShape = RamdiskShape {
        size: Bytes(1 << 20),
        block: Bytes(512),
        queues: 2,
        poll_queues: 0,
        depth: 64,
    };

    fn refused(wanted: RamdiskShape, exit: Exit, words: &str) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        let meminfo = roots.proc("meminfo");
        fs::create_dir_all(meminfo.parent().unwrap()).unwrap();
        fs::write(meminfo, "MemTotal: 9999 kB\nMemAvailable:    2048 kB\n").unwrap();
        check(&roots, &GOOD, 2).unwrap();
        let error = check(&roots, &wanted, 2).unwrap_err();
        assert_eq!(error.exit(), exit, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_its_reason() {
        let block = |n| RamdiskShape {
            block: Bytes(n),
            ..GOOD
        };
        refused(block(768), Exit::Usage, "power of two");
        refused(block(256), Exit::Usage, "from 512 B");
        refused(block(8192), Exit::Usage, "found 8 KiB");
        let queues = |n| RamdiskShape { queues: n, ..GOOD };
        refused(queues(0), Exit::Usage, "--queues 0");
        refused(queues(3), Exit::Environment, "found 3 for 2 CPUs");
        let polled = RamdiskShape {
            poll_queues: 3,
            ..GOOD
        };
        refused(polled, Exit::Environment, "found 3 for 2 CPUs");
        let depth = |n| RamdiskShape { depth: n, ..GOOD };
        refused(depth(0), Exit::Usage, "from 1 to 4096, found 0");
        refused(depth(4097), Exit::Usage, "found 4097");
        let size = |n| RamdiskShape {
            size: Bytes(n),
            ..GOOD
        };
        refused(size(3 << 20), Exit::Environment, "found 2 MiB");
        refused(size(1000), Exit::Usage, "whole blocks");
    }
}
