//! What an analysis tells of reads and writes: how much they move, and where on a device.

use serde::{Deserialize, Serialize};

/// Some I/Os and the data that they move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Their number.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The reads and the writes that began in a window of time. I/Os without data have no part in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Begin of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns. That of the first may be shorter than that of the others: windows
    /// begin at multiples of their length on the trace's clock, and the first with the trace.
    pub length_ns: u64,
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
}

/// Where on a device reads and writes begin, over time: a grid of windows of time and ranges of
/// offsets with the number of I/Os in each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetMap {
    /// The device, `major:minor`.
    pub device: String,
    /// Length of a range of offsets, bytes, a power of two. The range of number `n` begins at `n`
    /// times this.
    pub range_bytes: u64,
    /// The windows of time in which a read or a write began, in their order. All but the first have
    /// the same length.
    pub windows: Vec<OffsetWindow>,
}

/// The reads and the writes of a device that began in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetWindow {
    /// Begin of the window, ns from the first start.
    pub start_ns: u64,
    /// Length of the window, ns.
    pub length_ns: u64,
    /// The number of a range, and the reads that began in it.
    pub reads: Vec<(u64, u64)>,
    /// The number of a range, and the writes that began in it.
    pub writes: Vec<(u64, u64)>,
}

impl OffsetMap {
    /// Reads and writes of the map.
    #[must_use]
    pub fn ios(&self) -> u64 {
        let of = |window: &OffsetWindow| {
            let ranges = window.reads.iter().chain(&window.writes);
            ranges.map(|(_, ios)| ios).sum::<u64>()
        };
        self.windows.iter().map(of).sum()
    }
}
