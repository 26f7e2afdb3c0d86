//! Maps a request of the trace to a request of a target.

use crate::facts::MAX_OFFSET_BYTES;
use crate::{ReplayError, ReplayFacts, ReplayPlan, ReplayTarget, TargetIo};
use q2c_engine::engine::Operation;
use q2c_model::replay::{Change, Changes, Discards, Fit, Writes};
use q2c_model::{Op, OpFlags};
use q2c_trace::Span;
use std::collections::HashMap;

/// The treatment of writes and discards. Reads and flushes always go to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permits {
    /// The treatment of writes: written, replaced by reads, or left out.
    pub writes: Writes,
    /// The treatment of discards: issued or left out.
    pub discards: Discards,
}

/// Size of the pieces that [`Fit::Dense`] moves, bytes.
const PIECE_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Region {
    target: usize,
    base: u64,
    /// Size of the region, bytes; a multiple of the alignment.
    size: u64,
    align: u64,
    /// Byte offset of the end of the device's farthest request, rounded up to the alignment.
    span: u64,
}

/// Maps requests of the trace to requests of the targets, and counts its changes by reason.
///
/// The reader owns it: it creates one for a replay, calls [`Mapper::map`] for each request in the
/// order of the trace (which [`Fit::Dense`] depends on), and takes the counts at the end.
///
/// Invariants:
/// - The regions of devices on one target do not overlap and do not exceed its size.
/// - A mapped request lies completely in its device's region. Its offset and length are multiples
///   of the target's alignment.
/// - A request is counted once for each reason that applies. If it is left out, exactly one
///   reason says so.
pub(crate) struct Mapper {
    regions: Vec<Region>,
    fit: Fit,
    permits: Permits,
    largest: u64,
    /// Place of each piece that occurred, by device, and the next free place of each device.
    places: HashMap<(usize, u64), u64>,
    next_places: Vec<u64>,
    pub changed: Changes,
}

impl Mapper {
    /// Fails if a device's region has no room for the largest request.
    pub(crate) fn new(plan: &ReplayPlan, facts: &ReplayFacts) -> Result<Self, ReplayError> {
        let largest = plan.memory.size as u64;
        let unused = Region {
            target: usize::MAX,
            align: 1,
            ..Region::default()
        };
        let mut regions = vec![unused; facts.devices.len()];
        for (number, target) in plan.targets.iter().enumerate() {
            for (device, region) in divide(number, target, facts, largest)? {
                regions[device] = region;
            }
        }
        Ok(Mapper {
            next_places: vec![0; regions.len()],
            regions,
            fit: plan.fit,
            permits: plan.permits,
            largest,
            places: HashMap::new(),
            changed: Changes::new(),
        })
    }

    fn count(&mut self, reason: Change) {
        *self.changed.entry(reason).or_default() += 1;
    }

    fn leave_out<T>(&mut self, reason: Change) -> Option<T> {
        self.count(reason);
        None
    }

    /// Maps one request of `device` (an index). Returns the index of its target in
    /// [`ReplayPlan::targets`], and the request there; of a flush only device and operation are
    /// set. Returns `None` if the request is left out, which is counted.
    pub fn map(&mut self, device: usize, span: &Span) -> Option<(usize, TargetIo)> {
        let region = self.regions[device];
        if region.target == usize::MAX {
            return self.leave_out(Change::NoTarget);
        }
        let operation = self.operation(span)?;
        let mut io = TargetIo {
            operation,
            // This fits in 32 bits, because the facts hold a list of all devices in memory.
            device: device as u32,
            ..TargetIo::default()
        };
        if operation == Operation::Flush {
            return Some((region.target, io));
        }
        if span.bytes == 0 {
            return self.leave_out(Change::Empty);
        }
        let (from, length) = self.align_range(region, span, operation);
        let from = self.fit_offset(device, region, from, length)?;
        (io.offset, io.base) = (region.base + from, region.base);
        // This fits in 32 bits: the length is at most that of a buffer, or 1 GiB for discards.
        io.length = length as u32;
        Some((region.target, io))
    }

    fn operation(&mut self, span: &Span) -> Option<Operation> {
        let durable = span.flags.contains(OpFlags::FUA);
        match (span.op, self.permits.writes, self.permits.discards) {
            (Op::Read, ..) => Some(Operation::Read),
            (Op::Flush, ..) => Some(Operation::Flush),
            (Op::Write, Writes::Allow, _) if durable => Some(Operation::Durable),
            (Op::Write, Writes::Allow, _) => Some(Operation::Write),
            (Op::Write, Writes::AsReads, _) => {
                self.count(Change::WriteRead);
                Some(Operation::Read)
            }
            (Op::Write, Writes::Skip, _) => self.leave_out(Change::WriteLeftOut),
            (Op::Discard, _, Discards::Allow) => Some(Operation::Discard),
            (Op::Discard, ..) => self.leave_out(Change::DiscardLeftOut),
            (Op::Other, ..) => self.leave_out(Change::OtherLeftOut),
        }
    }

    /// Aligned offset and length; the length is cut to a buffer (discards: 1 GiB) and the region.
    fn align_range(&mut self, region: Region, span: &Span, operation: Operation) -> (u64, u64) {
        let Region { align, size, .. } = region;
        let start = span.sector.saturating_mul(512).min(MAX_OFFSET_BYTES);
        let from = start / align * align;
        let length = (start - from + span.bytes.min(MAX_OFFSET_BYTES)).div_ceil(align) * align;
        if (from, length) != (start, span.bytes) {
            self.count(Change::Aligned);
        }
        let is_discard = operation == Operation::Discard;
        let max_length = if is_discard { 1 << 30 } else { self.largest };
        let max_length = max_length.min(size) / align * align;
        if length > max_length {
            self.count(Change::Shortened);
        }
        (from, length.min(max_length))
    }

    /// The offset within the device's region of the target; `None` if the request is left out.
    fn fit_offset(&mut self, device: usize, region: Region, from: u64, length: u64) -> Option<u64> {
        let (size, align, span) = (region.size, region.align, region.span);
        let fits = from.saturating_add(length) <= size;
        let max_offset = size - length;
        match self.fit {
            Fit::Scale if span > size => {
                self.count(Change::Scaled);
                let scaled = (u128::from(from) * u128::from(size) / u128::from(span)) as u64;
                Some((scaled / align * align).min(max_offset))
            }
            Fit::Dense => {
                let piece = from / PIECE_BYTES;
                let next_place = &mut self.next_places[device];
                let place = *self.places.entry((device, piece)).or_insert_with(|| {
                    *next_place += 1;
                    *next_place - 1
                });
                if place != piece {
                    self.count(Change::Dense);
                }
                // Pieces beyond the last place start again at the first place.
                let pieces = (size / PIECE_BYTES).max(1);
                Some((place % pieces * PIECE_BYTES + from % PIECE_BYTES).min(max_offset))
            }
            _ if fits => Some(from),
            Fit::Clip => self.leave_out(Change::Beyond),
            Fit::Modulo | Fit::Scale => {
                self.count(Change::Modulo);
                Some((from % size).min(max_offset))
            }
        }
    }
}

/// Each device's region of one target: as large as the device if all fit, else an equal share.
fn divide(
    number: usize,
    target: &ReplayTarget,
    facts: &ReplayFacts,
    largest: u64,
) -> Result<Vec<(usize, Region)>, ReplayError> {
    let (size, align) = (target.size.0, target.align.0.max(1));
    let span = |device: &usize| facts.devices[*device].span.div_ceil(align).max(1) * align;
    let total = target.devices.iter().map(span).fold(0, u64::saturating_add);
    let share = size / target.devices.len().max(1) as u64 / align * align;
    let needed = largest.min(facts.largest.0).max(align);
    if total > size && share < needed {
        return Err(ReplayError::TooSmall {
            size,
            needed,
            devices: target.devices.len(),
        });
    }
    let mut base = 0;
    let regions = target.devices.iter().map(|device| {
        let region_size = if total <= size { span(device) } else { share };
        let region = Region {
            target: number,
            base,
            size: region_size,
            align,
            span: span(device),
        };
        base += region_size;
        (*device, region)
    });
    Ok(regions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceDevice;
    use q2c_model::replay::Mode;
    use q2c_model::{Bytes, DevId, IoRecord, Layer, Sectors};

    /// A mapper on one target with blocks of 512 B and requests of up to 64 KiB.
    fn mapper(fit: Fit, size: u64, spans: &[u64]) -> Result<Mapper, ReplayError> {
        let device = |&span: &u64| TraceDevice {
            requests: 1,
            span,
            ..TraceDevice::default()
        };
        let facts = ReplayFacts {
            devices: spans.iter().map(device).collect(),
            largest: Bytes(65536),
            ..ReplayFacts::default()
        };
        let mut plan = crate::tests::plan(Mode::Timed { speed: 1.0 });
        plan.targets[0].size = Bytes(size);
        plan.targets[0].align = Bytes(512);
        plan.targets[0].devices = (0..spans.len()).collect();
        plan.fit = fit;
        plan.permits = Permits {
            writes: Writes::Allow,
            discards: Discards::Skip,
        };
        Mapper::new(&plan, &facts)
    }

    fn span(op: Op, sector: u64, bytes: u64) -> Span {
        let (dev, sector, bytes) = (DevId::default(), Sectors(sector), Bytes(bytes));
        Span::from_record(&IoRecord::new(0, Layer::Block, dev, op, sector, bytes))
    }

    fn read(mapper: &mut Mapper, device: usize, sector: u64, bytes: u64) -> Option<(u64, u32)> {
        let (_, io) = mapper.map(device, &span(Op::Read, sector, bytes))?;
        Some((io.offset, io.length))
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn devices_that_fit_lie_side_by_side_and_others_share_alike() {
        let mut fits = mapper(Fit::Modulo, 8 * MIB, &[MIB, 2 * MIB, MIB]).unwrap();
        assert_eq!(read(&mut fits, 0, 8, 4096), Some((4096, 4096)));
        assert_eq!(read(&mut fits, 1, 8, 4096), Some((MIB + 4096, 4096)));
        assert_eq!(read(&mut fits, 2, 8, 4096), Some((3 * MIB + 4096, 4096)));
        assert_eq!(fits.changed, Changes::new());
        let mut shares = mapper(Fit::Modulo, 2 * MIB, &[MIB, 2 * MIB]).unwrap();
        assert_eq!(read(&mut shares, 1, 0, 512), Some((MIB, 512)));
        // Modulo: the device has room for 1 MiB, so its second MiB starts again at the beginning.
        assert_eq!(read(&mut shares, 1, 2048 + 3, 512), Some((MIB + 1536, 512)));
        assert_eq!(shares.changed.values().sum::<u64>(), 1);
        let small = mapper(Fit::Modulo, 65536, &[MIB, MIB]);
        assert!(matches!(small, Err(ReplayError::TooSmall { .. })));
    }

    #[test]
    fn what_is_beyond_the_end_goes_where_it_is_told() {
        let beyond = |fit| {
            let mut mapper = mapper(fit, MIB, &[4 * MIB]).unwrap();
            let at = read(&mut mapper, 0, 3 * 2048 + 8, 4096);
            (at, mapper.changed.into_values().next())
        };
        assert_eq!(beyond(Fit::Modulo), (Some((4096, 4096)), Some(1)));
        assert_eq!(beyond(Fit::Clip), (None, Some(1)));
        // A quarter of 3 MiB + 4 KiB.
        let scaled = 3 * MIB / 4 + 1024;
        assert_eq!(beyond(Fit::Scale), (Some((scaled, 4096)), Some(1)));
        // The first piece that occurs gets the first place.
        assert_eq!(beyond(Fit::Dense), (Some((4096, 4096)), Some(1)));
        let mut crossing = mapper(Fit::Modulo, MIB, &[4 * MIB]).unwrap();
        // A request never crosses the end.
        let crossed = read(&mut crossing, 0, 2048 - 8, 8192);
        assert_eq!(crossed, Some((MIB - 8192, 8192)));
    }

    #[test]
    fn dense_pieces_keep_their_places() {
        let mut dense = mapper(Fit::Dense, 2 * MIB, &[100 * MIB]).unwrap();
        let places = [90, 7, 90, 7].map(|mib| read(&mut dense, 0, mib * 2048 + 1, 512));
        let wanted = [512, MIB + 512, 512, MIB + 512];
        assert_eq!(places, wanted.map(|offset| Some((offset, 512))));
    }

    #[test]
    fn odd_sizes_are_aligned_empty_ones_left_out_and_long_ones_shortened() {
        let mut mapper = mapper(Fit::Modulo, 4 * MIB, &[4 * MIB]).unwrap();
        assert_eq!(read(&mut mapper, 0, 1, 100), Some((512, 512)));
        assert_eq!(read(&mut mapper, 0, 1, 0), None);
        assert_eq!(read(&mut mapper, 0, 0, MIB), Some((0, 65536)));
        let (_, flush) = mapper.map(0, &span(Op::Flush, 0, 0)).unwrap();
        let empty = (Operation::Flush, 0, 0);
        assert_eq!((flush.operation, flush.offset, flush.length), empty);
        let mut durable = span(Op::Write, 8, 512);
        durable.flags = OpFlags::FUA;
        let (_, durable) = mapper.map(0, &durable).unwrap();
        assert_eq!(durable.operation, Operation::Durable);
        assert_eq!(mapper.map(0, &span(Op::Discard, 8, 512)), None);
        assert_eq!(mapper.map(0, &span(Op::Other, 8, 512)), None);
        use Change::{Aligned, DiscardLeftOut, Empty, OtherLeftOut, Shortened};
        let wanted = [DiscardLeftOut, OtherLeftOut, Empty, Aligned, Shortened];
        let wanted = Changes::from(wanted.map(|reason| (reason, 1)));
        assert_eq!(mapper.changed, wanted);
    }
}
