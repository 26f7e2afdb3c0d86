//! Buffers of each CPU, and looks into them.

use std::time::Duration;

/// All rings together, as far as the bounds of one allow it; a record has 128 bytes, and 8 more in the ring.
const RINGS: u32 = 256 << 20;
const RING_LEAST: u32 = 256 << 10;
const RING_MOST: u32 = 4 << 20;
/// How long the last I/Os may take when the recording ends.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);

/// What a look into the rings gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records taken.
    pub records: u64,
    /// How full the fullest ring was, about, in percent.
    pub fullest: u64,
}

/// Bytes of each CPU's.
pub(crate) fn ring_size(cpus: usize) -> u32 {
    let share = RINGS / u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let size = share.clamp(RING_LEAST, RING_MOST);
    1 << size.ilog2()
}
