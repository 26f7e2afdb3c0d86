//! Reads and writes over time: how much they move, and where on the device they begin.

use crate::windows::{GrowingWindows, Mergeable};
use q2c_model::{DevId, Op};
use q2c_result::analyze::{IoVolume, OffsetMap, OffsetWindow, Throughput};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most devices that have a map, which bounds the size of results.
const MAX_DEVICES: usize = 8;
/// log2 of the length of a sector in bytes.
const SECTOR_LOG2: u32 = 9;

/// Number of I/Os that begin in each range of sectors: at most 128 ranges of at least 4 KiB. A
/// range is a window over sectors instead of time. Ranges depend only on the I/Os of their window
/// of time, so those of parts add up in any order.
type Ranges = GrowingWindows<u64, 128, 3>;
/// Ranges in each window of time: at most 256 windows of at least 4.1 us (2^12 ns).
type OffsetTimeMap = GrowingWindows<ByOp<Ranges>, 256, 12>;

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct ByOp<T> {
    reads: T,
    writes: T,
}

impl<T> ByOp<T> {
    fn op_mut(&mut self, op: Op) -> &mut T {
        if op == Op::Read {
            &mut self.reads
        } else {
            &mut self.writes
        }
    }
}

impl<T: Mergeable> Mergeable for ByOp<T> {
    fn join(&mut self, other: Self) {
        self.reads.join(other.reads);
        self.writes.join(other.writes);
    }
}

impl Mergeable for IoVolume {
    fn join(&mut self, other: Self) {
        self.ios.join(other.ios);
        self.bytes.join(other.bytes);
    }
}

/// Reads and writes with data, each at its first known time. Parts add up in any order.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct OffsetAnalysis {
    flow: GrowingWindows<ByOp<IoVolume>>,
    /// Maps of the devices with the lowest numbers, so that the order of the I/Os does not matter.
    maps: BTreeMap<DevId, OffsetTimeMap>,
}

impl OffsetAnalysis {
    pub(crate) fn add(&mut self, span: &Span) {
        let at = span.first_ns();
        let moves_data = matches!(span.op, Op::Read | Op::Write) && span.bytes > 0;
        if !moves_data || at == NONE {
            return;
        }
        self.flow.window_mut(at).op_mut(span.op).join(IoVolume {
            ios: 1,
            bytes: span.bytes,
        });
        if let Some(map) = self.map_mut(span.device) {
            let ranges = map.window_mut(at).op_mut(span.op);
            ranges.window_mut(span.sector).join(1);
        }
    }

    fn map_mut(&mut self, device: DevId) -> Option<&mut OffsetTimeMap> {
        if self.maps.len() >= MAX_DEVICES && !self.maps.contains_key(&device) {
            self.maps
                .last_entry()
                .filter(|last| *last.key() > device)?
                .remove();
        }
        Some(self.maps.entry(device).or_default())
    }

    pub(crate) fn merge(&mut self, other: OffsetAnalysis) {
        self.flow.join(other.flow);
        for (device, map) in other.maps {
            self.maps.entry(device).or_default().join(map);
        }
        while self.maps.len() > MAX_DEVICES {
            self.maps.pop_last();
        }
    }

    pub(crate) fn throughput(&self, origin: u64) -> Vec<Throughput> {
        let throughput = |(start_ns, length_ns, flow): (u64, u64, &ByOp<IoVolume>)| Throughput {
            start_ns,
            length_ns,
            reads: flow.reads,
            writes: flow.writes,
        };
        self.flow.iter(origin).map(throughput).collect()
    }

    pub(crate) fn offset_maps(&self, origin: u64) -> Vec<OffsetMap> {
        let map = |(device, map): (&DevId, &OffsetTimeMap)| offset_map(*device, map, origin);
        self.maps.iter().map(map).collect()
    }
}

/// Makes a map in which all ranges have one length: that of the ranges over all windows' I/Os.
fn offset_map(device: DevId, map: &OffsetTimeMap, origin: u64) -> OffsetMap {
    let mut all_ranges = Ranges::default();
    for (_, column) in map.with_numbers() {
        all_ranges.join(column.reads.clone());
        all_ranges.join(column.writes.clone());
    }
    let log2 = all_ranges.log2();
    let ranges = |ranges: &Ranges| {
        let mut ranges = ranges.clone();
        ranges.lengthen(log2);
        let counted = ranges.with_numbers().filter(|(_, count)| **count > 0);
        counted.map(|(number, count)| (number, *count)).collect()
    };
    let window = |(start_ns, length_ns, column): (u64, u64, &ByOp<Ranges>)| OffsetWindow {
        start_ns,
        length_ns,
        reads: ranges(&column.reads),
        writes: ranges(&column.writes),
    };
    let mut windows: Vec<OffsetWindow> = map.iter(origin).map(window).collect();
    windows.retain(|window| !window.reads.is_empty() || !window.writes.is_empty());
    OffsetMap {
        device: device.to_string(),
        range_bytes: 1u64.checked_shl(log2 + SECTOR_LOG2).unwrap_or(u64::MAX),
        windows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::io_at;

    fn offsets_of(ios: &[Span]) -> OffsetAnalysis {
        let mut offsets = OffsetAnalysis::default();
        ios.iter().for_each(|io| offsets.add(io));
        offsets
    }

    #[test]
    fn reads_and_writes_stand_where_they_begin() {
        let ms = 1_000_000;
        let ios = [
            io_at(0, Op::Read, 0, 4096, 0),
            io_at(0, Op::Read, 0, 4096, 1 << 10),
            io_at(0, Op::Write, 8, 8192, ms),
            io_at(0, Op::Discard, 8, 8192, ms),
            io_at(0, Op::Write, 8, 0, ms),
        ];
        let [map] = &offsets_of(&ios).offset_maps(0)[..] else {
            panic!("expected one map");
        };
        // 256 windows of 4 us cover 1 ms.
        assert_eq!((map.range_bytes, map.windows.len()), (4096, 2));
        assert_eq!(map.windows[0].reads, [(0, 2)]);
        assert_eq!(map.windows[0].length_ns, 4096);
        assert_eq!(map.windows[1].start_ns, ms / 4096 * 4096);
        assert_eq!(map.windows[1].writes, [(1, 1)]);
        assert_eq!(map.ios(), 3);
        let [flow] = &offsets_of(&ios).throughput(0)[..] else {
            panic!("expected one window");
        };
        assert_eq!((flow.reads.ios, flow.reads.bytes), (2, 8192));
        assert_eq!((flow.writes.ios, flow.writes.bytes), (1, 8192));
    }

    /// The last I/O is so far out that ranges grow: 2^30 sectors need 128 ranges of 2^23 each.
    #[test]
    fn ranges_grow_with_the_device() {
        let ios: Vec<Span> = (0..100)
            .map(|n| io_at(0, Op::Read, n * 8, 4096, n))
            .chain([io_at(0, Op::Read, (1 << 30) - 8, 4096, 1 << 40)])
            .collect();
        let map = &offsets_of(&ios).offset_maps(0)[0];
        assert_eq!(map.range_bytes, 512 << 23);
        assert_eq!(map.windows.len(), 2);
        assert_eq!(map.windows[0].reads, [(0, 100)]);
        assert_eq!(map.windows[1].reads, [(127, 1)]);
        let absurd = offsets_of(&[
            io_at(0, Op::Read, 0, 4096, 0),
            io_at(0, Op::Read, u64::MAX, 4096, 0),
        ]);
        assert_eq!(absurd.offset_maps(0)[0].ios(), 2);
    }

    #[test]
    fn the_devices_of_the_lowest_numbers_have_maps() {
        let devices = [3, 12, 1, 9, 4, 11, 2, 8, 10, 5];
        let ios = devices.map(|minor| io_at(minor, Op::Read, 0, 4096, 0));
        let names = |offsets: OffsetAnalysis| {
            let maps = offsets.offset_maps(0).into_iter();
            maps.map(|map| map.device).collect::<Vec<String>>()
        };
        let wanted = [1, 2, 3, 4, 5, 8, 9, 10].map(|minor| format!("8:{minor}"));
        assert_eq!(names(offsets_of(&ios)), wanted);
        for cut in 0..ios.len() {
            let mut merged = offsets_of(&ios[cut..]);
            merged.merge(offsets_of(&ios[..cut]));
            assert_eq!(names(merged), wanted, "{cut}");
        }
    }
}
