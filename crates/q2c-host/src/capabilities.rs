//! The capabilities of this process, from `status` of procfs.

use crate::attr;

/// Number of CAP_SYS_ADMIN, a bit of `CapEff` (uapi/linux/capability.h).
pub const SYS_ADMIN: u32 = 21;
/// Number of CAP_SYS_NICE, with which tasks of other users can be moved.
pub const SYS_NICE: u32 = 23;
/// Number of CAP_PERFMON.
pub const PERFMON: u32 = 38;
/// Number of CAP_BPF.
pub const BPF: u32 = 39;

/// True if `status`, the text of a task's `status` file, shows the capability as effective. False
/// if the line is missing.
pub fn has(status: &str, number: u32) -> bool {
    let mask = attr::field(status, "CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    mask.is_some_and(|mask| mask >> number & 1 == 1)
}

/// Advice in words on how to get missing capabilities. Root lacks them only in a container.
pub fn remedy(root: bool) -> &'static str {
    if root {
        "it is root in a container that withholds them: run q2c outside of it, or start the container with them"
    } else {
        "run as root, or give the program these capabilities"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_capabilities() {
        let status = "Name:\tq2c\nCapPrm:\t000001ffffffffff\nCapEff:\t0000008000200000\n";
        assert!(has(status, SYS_ADMIN) && has(status, BPF));
        assert!(!has(status, SYS_NICE) && !has(status, PERFMON));
        assert!(!has("nothing here", SYS_ADMIN));
    }
}
