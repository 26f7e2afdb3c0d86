//! A record that waits to be sorted by device.

use crate::sorter::SorterRow;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};

/// Columns of 8 bytes, columns of 4 bytes.
const LONGS: usize = 13;
const WORDS: usize = 10;
/// Which columns are known, the columns, and operation, layer and whether the sleep was too long.
const CELLS: usize = 4 + 8 * LONGS + 4 * WORDS + 3;

/// A record that stands alone, packed. The name of its process is a number that its owner gives to
/// the name, and its id is left out.
pub(super) struct FleetRow {
    device: (u32, u32),
    /// Its place among all records.
    place: u64,
    cells: [u8; CELLS],
}

impl FleetRow {
    /// Packs the record that came as the one of this number; `comm` stands for its process's name.
    pub(super) fn new(record: &IoRecord, place: u64, comm: Option<u32>) -> FleetRow {
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        let longs: [Option<u64>; LONGS] = [
            Some(record.sector.0),
            Some(record.bytes.0),
            ns(record.queue_ns),
            ns(record.getrq_ns),
            ns(record.insert_ns),
            ns(record.issue_ns),
            ns(record.complete_ns),
            ns(record.submit_ns),
            ns(record.submit_end_ns),
            ns(record.reap_ns),
            ns(record.sleep_asked_ns),
            ns(record.slept_ns),
            record.cgroup,
        ];
        let ints: [Option<u32>; WORDS] = [
            Some(record.flags.0),
            Some(record.lane),
            Some(record.depth_at_submit),
            record.pid,
            record.cpu_submit,
            record.cpu_complete,
            record.hctx,
            record.tag,
            record.error.map(i32::cast_unsigned),
            comm,
        ];
        let known = longs.iter().map(Option::is_some);
        let known = known.chain(ints.iter().map(Option::is_some)).enumerate();
        let known = known.fold(0_u32, |known, (bit, is)| known | u32::from(is) << bit);
        let user = u8::from(record.layer == Layer::User);
        let missed = record.missed.map_or(2, u8::from);
        let bytes = known.to_le_bytes().into_iter();
        let bytes = bytes.chain(longs.into_iter().flat_map(|n| n.unwrap_or(0).to_le_bytes()));
        let bytes = bytes.chain(ints.into_iter().flat_map(|n| n.unwrap_or(0).to_le_bytes()));
        let bytes = bytes.chain([record.op as u8, user, missed]);
        let mut cells = [0; CELLS];
        std::iter::zip(&mut cells, bytes).for_each(|(cell, byte)| *cell = byte);
        FleetRow {
            device: (record.device.major, record.device.minor),
            place,
            cells,
        }
    }

    pub(super) fn device(&self) -> DevId {
        let (major, minor) = self.device;
        DevId { major, minor }
    }

    /// The record, with this id; `name` gives the name of a process by its number.
    pub(super) fn record(&self, id: u64, name: impl Fn(u32) -> Option<String>) -> IoRecord {
        let cells = &self.cells;
        let known = u32::from_le_bytes(std::array::from_fn(|byte| cells[byte]));
        let long = |n: usize| {
            let value = u64::from_le_bytes(std::array::from_fn(|byte| cells[4 + 8 * n + byte]));
            (known >> n & 1 == 1).then_some(value)
        };
        let word = |n: usize| {
            let at = 4 + 8 * LONGS + 4 * n;
            let value = u32::from_le_bytes(std::array::from_fn(|byte| cells[at + byte]));
            (known >> (LONGS + n) & 1 == 1).then_some(value)
        };
        let ns = |n: usize| long(n).map(Nanos);
        let layer = match cells[CELLS - 2] {
            0 => Layer::Block,
            _ => Layer::User,
        };
        let op = Op::ALL[usize::from(cells[CELLS - 3]).min(Op::ALL.len() - 1)];
        let (sector, bytes) = (Sectors(long(0).unwrap_or(0)), Bytes(long(1).unwrap_or(0)));
        IoRecord {
            flags: OpFlags(word(0).unwrap_or(0)),
            lane: word(1).unwrap_or(0),
            depth_at_submit: word(2).unwrap_or(1),
            queue_ns: ns(2),
            getrq_ns: ns(3),
            insert_ns: ns(4),
            issue_ns: ns(5),
            complete_ns: ns(6),
            submit_ns: ns(7),
            submit_end_ns: ns(8),
            reap_ns: ns(9),
            sleep_asked_ns: ns(10),
            slept_ns: ns(11),
            missed: [Some(false), Some(true), None][usize::from(cells[CELLS - 1]).min(2)],
            pid: word(3),
            comm: word(9).and_then(name),
            cpu_submit: word(4),
            cpu_complete: word(5),
            hctx: word(6),
            tag: word(7),
            cgroup: long(12),
            error: word(8).map(u32::cast_signed),
            ..IoRecord::new(id, layer, self.device(), op, sector, bytes)
        }
    }
}

impl SorterRow for FleetRow {
    type Key = ((u32, u32), u64);
    const SIZE: usize = 16 + CELLS;

    fn key(&self) -> Self::Key {
        (self.device, self.place)
    }

    fn pack(&self, into: &mut Vec<u8>) {
        into.extend(self.device.0.to_le_bytes());
        into.extend(self.device.1.to_le_bytes());
        into.extend(self.place.to_le_bytes());
        into.extend(self.cells);
    }

    fn unpack(packed: &[u8]) -> FleetRow {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| packed[at + byte]));
        FleetRow {
            device: (word(0), word(4)),
            place: u64::from_le_bytes(std::array::from_fn(|byte| packed[8 + byte])),
            cells: std::array::from_fn(|byte| packed[16 + byte]),
        }
    }
}
