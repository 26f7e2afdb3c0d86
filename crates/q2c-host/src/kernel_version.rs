//! The versions of Linux that brought or removed features which q2c uses and cannot try.

/// A version of Linux: major and minor number.
pub type KernelVersion = (u32, u32);

/// io_uring.
pub(crate) const IO_URING: KernelVersion = (5, 1);
/// CAP_BPF and CAP_PERFMON. Before them CAP_SYS_ADMIN is needed to load BPF programs.
pub const BPF_CAPABILITIES: KernelVersion = (5, 8);
/// The BPF features that the probe of the kernel's own hybrid polling needs.
pub const HYBRID_PROBE: KernelVersion = (5, 8);
/// The memory of BPF maps no longer counts as locked.
pub const BPF_MAPS_UNLOCKED: KernelVersion = (5, 11);
/// IORING_SETUP_DEFER_TASKRUN.
pub(crate) const DEFER_TASKRUN: KernelVersion = (6, 1);
/// IOPOLL fails with EOPNOTSUPP on a device without poll queues.
pub(crate) const IOPOLL_REFUSED: KernelVersion = (6, 12);
/// The flags of requests (`RQF_*`) have other numbers since this version.
pub const REQUEST_FLAGS_ANEW: KernelVersion = (6, 12);
/// IORING_SETUP_HYBRID_IOPOLL.
pub(crate) const HYBRID_IOPOLL: KernelVersion = (6, 13);

/// The support of a version of Linux for the kernel's own hybrid polling: preadv2 and pwritev2 with
/// RWF_HIPRI sleep as `queue/io_poll_delay` says, and then poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HybridSupport {
    /// Before 4.10 the kernel does not sleep.
    NotYet,
    /// From 4.10 to 5.18 it works.
    Works,
    /// From 5.19 to 6.3 nothing reaches the sleep: io_uring polls without one since 5.16, and
    /// preadv2 does not poll since 5.19.
    Unreached,
    /// Since 6.4 the sleep is gone: `io_poll_delay` takes any value and does nothing.
    Removed,
}

impl HybridSupport {
    /// The support in `version`.
    pub fn in_version(version: KernelVersion) -> Self {
        match version {
            version if version < (4, 10) => HybridSupport::NotYet,
            version if version < (5, 19) => HybridSupport::Works,
            version if version < (6, 4) => HybridSupport::Unreached,
            _ => HybridSupport::Removed,
        }
    }
}

/// The version in a release such as `5.10.0-32-amd64`; `None` when the release does not begin with
/// one.
pub fn kernel_version(release: &str) -> Option<KernelVersion> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(kernel_version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(kernel_version("5.10.0-28-amd64"), Some((5, 10)));
        assert_eq!(kernel_version("6.13-rc1"), Some((6, 13)));
        assert_eq!(kernel_version("x"), None);
    }

    #[test]
    fn hybrid_polling_came_and_went() {
        for (version, wanted) in [
            ((3, 19), HybridSupport::NotYet),
            ((4, 9), HybridSupport::NotYet),
            ((4, 10), HybridSupport::Works),
            ((5, 18), HybridSupport::Works),
            ((5, 19), HybridSupport::Unreached),
            ((6, 3), HybridSupport::Unreached),
            ((6, 4), HybridSupport::Removed),
            ((7, 0), HybridSupport::Removed),
        ] {
            assert_eq!(HybridSupport::in_version(version), wanted, "{version:?}");
        }
    }
}
