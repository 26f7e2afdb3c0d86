//! Sizes of the per-CPU buffers, and the result of reading them.

use std::time::Duration;

/// Bytes that all rings together should take; `RING_LEAST` and `RING_MOST` bound each ring. A BPF
/// record of 128 bytes takes 136 bytes of its ring.
const RINGS: u32 = 256 << 20;
const RING_LEAST: u32 = 256 << 10;
const RING_MOST: u32 = 4 << 20;
/// How long the end of a recording waits for I/Os that are still in flight.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);

/// The result of reading the rings once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Records that were handed on.
    pub records: u64,
    /// About how full the fullest ring was, in percent. Near 100, records may be lost: drain more
    /// often.
    pub fullest: u64,
}

/// Bytes of each CPU's ring on a machine with this many CPUs: a power of two.
pub(crate) fn ring_size(cpus: usize) -> u32 {
    let share = RINGS / u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let size = share.clamp(RING_LEAST, RING_MOST);
    1 << size.ilog2()
}
