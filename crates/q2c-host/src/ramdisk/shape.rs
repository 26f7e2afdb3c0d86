use crate::kernel_config::KernelConfig;
use crate::{Roots, machine};
use q2c_model::{Bytes, Exit, Fault};
use q2c_sys::clock;
use q2c_sys::ublk::{CONTROL, Control};
use serde::{Deserialize, Serialize};
use std::io;

/// The largest block of a RAM device: a page.
const MAX_BLOCK_BYTES: u64 = 4096;
/// The most requests per hardware queue that ublk allows.
const MAX_DEPTH: u32 = 4096;

/// The requested shape of a RAM device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamdiskShape {
    /// Capacity.
    pub size: Bytes,
    /// Logical block size.
    pub block: Bytes,
    /// Hardware queues whose requests complete without polling.
    pub queues: u32,
    /// Hardware queues whose requests complete only when a thread polls. Only the module has them.
    pub poll_queues: u32,
    /// Requests per hardware queue.
    pub depth: u32,
}

/// Refuses a shape that cannot be made on this machine, which has `cpus` CPUs.
pub fn check(roots: &Roots, wanted: &RamdiskShape, cpus: u32) -> Result<(), Fault> {
    let RamdiskShape {
        size, block, depth, ..
    } = *wanted;
    let refused =
        |exit, reason: String| Err(Fault::new(exit, format!("make a RAM device{reason}")));
    let wrong = |reason: String| refused(Exit::Usage, format!(": expected {reason}"));
    if !block.0.is_power_of_two() || !(512..=MAX_BLOCK_BYTES).contains(&block.0) {
        return wrong(format!(
            "a block size that is a power of two from 512 B to 4 KiB, found {block}"
        ));
    }
    if size.0 == 0 || !size.0.is_multiple_of(block.0) {
        return wrong(format!("a size in whole blocks of {block}, found {size}"));
    }
    if wanted.queues == 0 {
        return wrong("at least one hardware queue, found --queues 0".into());
    }
    if !(1..=MAX_DEPTH).contains(&depth) {
        return wrong(format!("a depth from 1 to {MAX_DEPTH}, found {depth}"));
    }
    // The limit holds for each kind by itself.
    let max_queues = wanted.queues.max(wanted.poll_queues);
    if max_queues > cpus {
        let reason = format!(
            ": expected at most one hardware queue per CPU, found {max_queues} for {cpus} CPUs; name fewer"
        );
        return refused(Exit::Environment, reason);
    }
    if let Some(available) =
        machine::memory_field(roots, "MemAvailable").filter(|available| size > *available)
    {
        let reason = format!(
            " of {size}: expected at most the memory that is available, found {available}; name a smaller --size"
        );
        return refused(Exit::Environment, reason);
    }
    Ok(())
}

/// Refuses a kernel without a ublk that has the features in use.
pub fn check_ublk() -> Result<(), Fault> {
    let reason = match Control::open() {
        Ok(mut control) => {
            if control.has_needed_features() {
                return Ok(());
            }
            "expected a ublk with USER_COPY and USER_RECOVERY_REISSUE (Linux 6.5 and later), found an older one".to_owned()
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let config = KernelConfig::read(&Roots::live());
            if config.is_some_and(|config| !config.has("BLK_DEV_UBLK")) {
                "this kernel is built without ublk (CONFIG_BLK_DEV_UBLK)".to_owned()
            } else {
                format!(
                    "expected {CONTROL}, found none: this kernel has no ublk, or its module is not loaded (modprobe ublk_drv; CONFIG_BLK_DEV_UBLK, Linux 6.5 and later)"
                )
            }
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            let todo = if rustix::process::geteuid().is_root() {
                "the container withholds the device: run q2c outside of it"
            } else {
                "run as root"
            };
            format!("open {CONTROL}: {e}; {todo}")
        }
        Err(e) => format!("open {CONTROL}: {e}"),
    };
    let text = format!("make a RAM device: {reason}");
    Err(Fault::new(Exit::Environment, text))
}

/// A new token, which tells a device from a later one of the same number.
pub(crate) fn token() -> u64 {
    let seed = clock::monotonic_ns() ^ (u64::from(std::process::id()) << 40);
    // A step of SplitMix64. The top 16 bits, `q2` in ASCII, mark the devices of q2c.
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0x7132 << 48) | ((mixed ^ (mixed >> 27)) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;

    const VALID: RamdiskShape = RamdiskShape {
        size: Bytes(1 << 20),
        block: Bytes(512),
        queues: 2,
        poll_queues: 0,
        depth: 64,
    };

    fn refused(wanted: RamdiskShape, exit: Exit, words: &str) {
        let tree = SysProcTree::new(r"proc/meminfo = MemTotal: 9999 kB\nMemAvailable:    2048 kB");
        let roots = tree.roots();
        check(&roots, &VALID, 2).unwrap();
        let error = check(&roots, &wanted, 2).unwrap_err();
        assert_eq!(error.exit(), exit, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_its_reason() {
        type Change = fn(&mut RamdiskShape);
        let wrong: [(Change, Exit, &str); 10] = [
            (|s| s.block = Bytes(768), Exit::Usage, "power of two"),
            (|s| s.block = Bytes(256), Exit::Usage, "from 512 B"),
            (|s| s.block = Bytes(8192), Exit::Usage, "found 8 KiB"),
            (|s| s.queues = 0, Exit::Usage, "--queues 0"),
            (|s| s.queues = 3, Exit::Environment, "found 3 for 2 CPUs"),
            (
                |s| s.poll_queues = 3,
                Exit::Environment,
                "found 3 for 2 CPUs",
            ),
            (|s| s.depth = 0, Exit::Usage, "from 1 to 4096, found 0"),
            (|s| s.depth = 4097, Exit::Usage, "found 4097"),
            (
                |s| s.size = Bytes(3 << 20),
                Exit::Environment,
                "found 2 MiB",
            ),
            (|s| s.size = Bytes(1000), Exit::Usage, "whole blocks"),
        ];
        for (change, exit, words) in wrong {
            let mut shape = VALID;
            change(&mut shape);
            refused(shape, exit, words);
        }
    }
}
