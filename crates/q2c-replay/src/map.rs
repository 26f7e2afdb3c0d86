//! From a request of the trace to a request of a target.

use crate::ReplayError;
use crate::change::{Change, Changes};
use crate::facts::{FARTHEST, Facts};
use crate::plan::{Discards, Plan, Target, Writes};
use q2c_engine::engine::Act;
use q2c_model::{Op, OpFlags};
use q2c_trace::Span;
use std::collections::HashMap;

/// What happens to offsets that a target does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// They begin again at the start of the device's part of the target.
    #[default]
    Modulo,
    /// Their requests are left out.
    Clip,
    /// All offsets shrink in proportion.
    Scale,
    /// Parts of 1 MiB take the target's parts in the order of their first use.
    Dense,
}

/// What becomes of each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Writes.
    pub writes: Writes,
    /// Discards.
    pub discards: Discards,
}

/// Bytes of the parts that [`Fit::Dense`] moves.
const PART: u64 = 1 << 20;

/// A device's part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    target: usize,
    base: u64,
    /// Bytes, a multiple of the alignment.
    room: u64,
    align: u64,
    /// Bytes of the trace's device that are asked for.
    span: u64,
}

/// A request as its target gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Place in [`Plan::targets`].
    pub target: usize,
    pub act: Act,
    pub offset: u64,
    /// Where the device's part of the target begins.
    pub base: u64,
    pub length: u32,
}

/// Maps requests, and counts what it changes.
pub struct Mapper {
    places: Vec<Place>,
    fit: Fit,
    policy: Policy,
    largest: u64,
    dense: HashMap<(usize, u64), u64>,
    next: Vec<u64>,
    changed: Changes,
}

impl Mapper {
    /// For a plan and its trace.
    ///
    /// # Errors
    /// A target has no room.
    pub fn new(plan: &Plan, facts: &Facts) -> Result<Self, ReplayError> {
        let largest = plan.memory.size as u64;
        let unused = Place {
            target: usize::MAX,
            base: 0,
            room: 0,
            align: 1,
            span: 0,
        };
        let mut places = vec![unused; facts.devices.len()];
        for (number, target) in plan.targets.iter().enumerate() {
            for (device, place) in divide(number, target, facts, largest)? {
                places[device] = place;
            }
        }
        Ok(Mapper {
            next: vec![0; places.len()],
            places,
            fit: plan.fit,
            policy: plan.policy,
            largest,
            dense: HashMap::new(),
            changed: Changes::new(),
        })
    }

    /// What was changed.
    pub fn changed(self) -> Changes {
        self.changed
    }

    fn count(&mut self, why: Change) {
        *self.changed.entry(why).or_default() += 1;
    }

    /// The request as its target gets it; `None` when it is left out.
    pub fn map(&mut self, device: usize, span: &Span) -> Option<Mapped> {
        let place = self.places[device];
        if place.target == usize::MAX {
            self.count(Change::NoTarget);
            return None;
        }
        let act = self.act(span)?;
        let target = place.target;
        if act == Act::Flush {
            let (offset, base, length) = (0, 0, 0);
            return Some(Mapped {
                target,
                act,
                offset,
                base,
                length,
            });
        }
        if span.bytes == 0 {
            self.count(Change::Empty);
            return None;
        }
        let (from, length) = self.aligned(place, span, act);
        let from = self.fitted(device, place, from, length)?;
        Some(Mapped {
            target,
            act,
            offset: place.base + from,
            base: place.base,
            // At most the room of memory, or for discards 1 GiB.
            length: length as u32,
        })
    }

    fn act(&mut self, span: &Span) -> Option<Act> {
        let durable = span.flags.contains(OpFlags::FUA);
        match (span.op, self.policy.writes, self.policy.discards) {
            (Op::Read, ..) => Some(Act::Read),
            (Op::Flush, ..) => Some(Act::Flush),
            (Op::Write, Writes::Allow, _) if durable => Some(Act::Durable),
            (Op::Write, Writes::Allow, _) => Some(Act::Write),
            (Op::Write, Writes::AsReads, _) => {
                self.count(Change::WriteRead);
                Some(Act::Read)
            }
            (Op::Write, Writes::Skip, _) => {
                self.count(Change::WriteLeftOut);
                None
            }
            (Op::Discard, _, Discards::Allow) => Some(Act::Discard),
            (Op::Discard, ..) => {
                self.count(Change::DiscardLeftOut);
                None
            }
            (Op::Other, ..) => {
                self.count(Change::OtherLeftOut);
                None
            }
        }
    }

    /// Offset on the trace's device and length, as multiples of the alignment and no longer than there is room.
    fn aligned(&mut self, place: Place, span: &Span, act: Act) -> (u64, u64) {
        let Place { align, room, .. } = place;
        let start = span.sector.saturating_mul(512).min(FARTHEST);
        let from = start / align * align;
        let length = (start - from + span.bytes.min(FARTHEST)).div_ceil(align) * align;
        if (from, length) != (start, span.bytes) {
            self.count(Change::Aligned);
        }
        let most = match act {
            Act::Discard => 1 << 30,
            _ => self.largest,
        };
        let most = most.min(room) / align * align;
        if length > most {
            self.count(Change::Shortened);
        }
        (from, length.min(most))
    }

    /// Offset in the device's part of the target.
    fn fitted(&mut self, device: usize, place: Place, from: u64, length: u64) -> Option<u64> {
        let Place {
            room, align, span, ..
        } = place;
        let fits = from.saturating_add(length) <= room;
        let last = room - length;
        match self.fit {
            Fit::Scale if span > room => {
                self.count(Change::Scaled);
                let scaled = (u128::from(from) * u128::from(room) / u128::from(span)) as u64;
                Some((scaled / align * align).min(last))
            }
            Fit::Dense => {
                let part = from / PART;
                let next = &mut self.next[device];
                let at = *self.dense.entry((device, part)).or_insert_with(|| {
                    *next += 1;
                    *next - 1
                });
                if at != part {
                    self.count(Change::Dense);
                }
                // Where there are more parts than room, they begin again.
                let parts = (room / PART).max(1);
                Some((at % parts * PART + from % PART).min(last))
            }
            _ if fits => Some(from),
            Fit::Clip => {
                self.count(Change::Beyond);
                None
            }
            Fit::Modulo | Fit::Scale => {
                self.count(Change::Modulo);
                Some((from % room).min(last))
            }
        }
    }
}

/// Every device's part of its target: its span where all of them fit, else an equal share.
fn divide(
    number: usize,
    target: &Target,
    facts: &Facts,
    largest: u64,
) -> Result<Vec<(usize, Place)>, ReplayError> {
    let (size, align) = (target.size.0, target.align.0.max(1));
    let span = |device: &usize| facts.devices[*device].span.div_ceil(align).max(1) * align;
    let all = target.devices.iter().map(span).fold(0, u64::saturating_add);
    let share = size / target.devices.len().max(1) as u64 / align * align;
    let needed = largest.min(facts.largest.0).max(align);
    if all > size && share < needed {
        return Err(ReplayError::TooSmall {
            size,
            needed,
            devices: target.devices.len(),
        });
    }
    let mut base = 0;
    let places = target.devices.iter().map(|device| {
        let room = if all <= size { span(device) } else { share };
        let place = Place {
            target: number,
            base,
            room,
            align,
            span: span(device),
        };
        base += room;
        (*device, place)
    });
    Ok(places.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Device;
    use crate::plan::{Mode, OnError, ShareBy};
    use q2c_engine::engines::Memory;
    use q2c_engine::{EngineSpec, Medium};
    use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Sectors};

    /// Devices of these spans on one target of this size, blocks of 512 B, requests of up to 64 KiB.
    fn mapper(fit: Fit, size: u64, spans: &[u64]) -> Result<Mapper, ReplayError> {
        let device = |(minor, span): (usize, &u64)| Device {
            dev: DevId {
                major: 8,
                minor: minor as u32,
            },
            requests: 1,
            span: *span,
            idle: Nanos(0),
            whole: Nanos(0),
        };
        let facts = Facts {
            devices: spans.iter().enumerate().map(device).collect(),
            largest: Bytes(65536),
            ..Facts::default()
        };
        let plan = Plan {
            mode: Mode::Timed { speed: 1.0 },
            targets: vec![Target {
                medium: Medium::None,
                engine: EngineSpec::Null,
                size: Bytes(size),
                align: Bytes(512),
                devices: (0..spans.len()).collect(),
            }],
            fit,
            policy: Policy {
                writes: Writes::Allow,
                discards: Discards::Skip,
            },
            submitters: 1,
            share: ShareBy::Offset,
            cpus: Vec::new(),
            room: 2,
            spin: false,
            in_flight: 1,
            memory: Memory {
                slots: 1,
                size: 65536,
                shared: None,
            },
            on_error: OnError::Stop,
            seed: 1,
            windows: 1,
            part: None,
        };
        Mapper::new(&plan, &facts)
    }

    fn span(op: Op, sector: u64, bytes: u64) -> Span {
        let dev = DevId::default();
        Span::of(&IoRecord::new(
            0,
            Layer::Block,
            dev,
            op,
            Sectors(sector),
            Bytes(bytes),
        ))
    }

    /// Place and length of a read, by hand.
    fn read(mapper: &mut Mapper, device: usize, sector: u64, bytes: u64) -> Option<(u64, u32)> {
        let mapped = mapper.map(device, &span(Op::Read, sector, bytes))?;
        Some((mapped.offset, mapped.length))
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn devices_that_fit_lie_side_by_side_and_others_share_alike() {
        let mut fits = mapper(Fit::Modulo, 8 * MIB, &[MIB, 2 * MIB, MIB]).unwrap();
        assert_eq!(read(&mut fits, 0, 8, 4096), Some((4096, 4096)));
        assert_eq!(read(&mut fits, 1, 8, 4096), Some((MIB + 4096, 4096)));
        assert_eq!(read(&mut fits, 2, 8, 4096), Some((3 * MIB + 4096, 4096)));
        assert_eq!(fits.changed(), Changes::new());
        let mut shares = mapper(Fit::Modulo, 2 * MIB, &[MIB, 2 * MIB]).unwrap();
        assert_eq!(read(&mut shares, 1, 0, 512), Some((MIB, 512)));
        // The second MiB of a device with room for one begins again.
        assert_eq!(read(&mut shares, 1, 2048 + 3, 512), Some((MIB + 1536, 512)));
        assert_eq!(shares.changed().values().sum::<u64>(), 1);
        assert!(matches!(
            mapper(Fit::Modulo, 65536, &[MIB, MIB]),
            Err(ReplayError::TooSmall { .. })
        ));
    }

    #[test]
    fn what_is_beyond_the_end_goes_where_it_is_told() {
        let beyond = |fit| {
            let mut mapper = mapper(fit, MIB, &[4 * MIB]).unwrap();
            let at = read(&mut mapper, 0, 3 * 2048 + 8, 4096);
            (at, mapper.changed().into_values().next())
        };
        assert_eq!(beyond(Fit::Modulo), (Some((4096, 4096)), Some(1)));
        assert_eq!(beyond(Fit::Clip), (None, Some(1)));
        // A quarter of 3 MiB + 4 KiB.
        assert_eq!(
            beyond(Fit::Scale),
            (Some((3 * MIB / 4 + 1024, 4096)), Some(1))
        );
        // The first part that is used comes first.
        assert_eq!(beyond(Fit::Dense), (Some((4096, 4096)), Some(1)));
        let mut crossing = mapper(Fit::Modulo, MIB, &[4 * MIB]).unwrap();
        assert_eq!(
            read(&mut crossing, 0, 2048 - 8, 8192),
            Some((MIB - 8192, 8192)),
            "it never crosses the end"
        );
    }

    #[test]
    fn dense_parts_keep_their_places() {
        let mut dense = mapper(Fit::Dense, 2 * MIB, &[100 * MIB]).unwrap();
        let places: Vec<_> = [90, 7, 90, 7]
            .map(|mib| read(&mut dense, 0, mib * 2048 + 1, 512))
            .to_vec();
        assert_eq!(
            places,
            [
                Some((512, 512)),
                Some((MIB + 512, 512)),
                Some((512, 512)),
                Some((MIB + 512, 512))
            ]
        );
    }

    #[test]
    fn odd_sizes_are_aligned_empty_ones_left_out_and_long_ones_shortened() {
        let mut mapper = mapper(Fit::Modulo, 4 * MIB, &[4 * MIB]).unwrap();
        assert_eq!(read(&mut mapper, 0, 1, 100), Some((512, 512)));
        assert_eq!(read(&mut mapper, 0, 1, 0), None);
        assert_eq!(read(&mut mapper, 0, 0, MIB), Some((0, 65536)));
        let flush = mapper.map(0, &span(Op::Flush, 0, 0)).unwrap();
        assert_eq!((flush.act, flush.offset, flush.length), (Act::Flush, 0, 0));
        let mut durable = span(Op::Write, 8, 512);
        durable.flags = OpFlags::FUA;
        assert_eq!(
            mapper.map(0, &durable).map(|mapped| mapped.act),
            Some(Act::Durable)
        );
        assert_eq!(mapper.map(0, &span(Op::Discard, 8, 512)), None);
        assert_eq!(mapper.map(0, &span(Op::Other, 8, 512)), None);
        let wanted = [
            (Change::DiscardLeftOut, 1),
            (Change::OtherLeftOut, 1),
            (Change::Empty, 1),
            (Change::Aligned, 1),
            (Change::Shortened, 1),
        ];
        assert_eq!(mapper.changed(), Changes::from(wanted));
    }
}
