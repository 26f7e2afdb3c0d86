//! Distances between successive I/Os of a device, and the times between their queueing.

use crate::state::InexactMarks;
use crate::stored;
use q2c_model::DevId;
use q2c_model::stats::Histogram;
use q2c_result::analyze::{InexactFigure, InexactReason, Seeks};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize)]
struct DeviceSeeks {
    device: DevId,
    last_queue: Option<u64>,
    /// First sector after the last I/O with data; [`NONE`] before the first one.
    end: u64,
    sequential: u64,
    sectors: u128,
    lengths: Histogram,
    /// `last_queue` when the counting began, ns.
    base_ns: Option<u64>,
    /// The first I/O, if none was known before. It gets a Q2Q when an earlier part is joined.
    #[serde(with = "stored::optional_span")]
    first: Option<Span>,
    /// First sector of the first I/O with data, if no earlier I/O with data was known.
    first_sector: Option<u64>,
}

/// Seeks by device. I/Os of devices beyond [`AllSeeks::MAX_DEVICES`] have no seeks and no Q2Q.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct AllSeeks {
    devices: Vec<DeviceSeeks>,
    #[serde(skip)]
    last_index: usize,
    /// True if I/Os were left out, because of too many devices.
    full: bool,
}

impl AllSeeks {
    /// Most devices with seeks, which bounds the memory.
    const MAX_DEVICES: usize = 512;

    /// Takes the I/O that was queued next. Returns the ns since the previous I/O on its device, or
    /// [`NONE`] for a device's first I/O and for one after an I/O that was queued later.
    pub(crate) fn add(&mut self, span: &Span) -> u64 {
        if span.begin_ns == NONE {
            return NONE;
        }
        let Some(index) = self.index_or_add(span.device) else {
            self.full = true;
            return NONE;
        };
        self.last_index = index;
        let device = &mut self.devices[index];
        if span.bytes > 0 {
            device.move_to(span);
        }
        let Some(last) = device.last_queue.replace(span.begin_ns) else {
            device.first = Some(*span);
            return NONE;
        };
        device.last_queue = Some(last.max(span.begin_ns));
        span.begin_ns.checked_sub(last).unwrap_or(NONE)
    }

    fn index_or_add(&mut self, device: DevId) -> Option<usize> {
        let last = self.devices.get(self.last_index);
        if last.is_some_and(|last| last.device == device) {
            return Some(self.last_index);
        }
        let index = self.find(device);
        if index.is_some() || self.devices.len() == Self::MAX_DEVICES {
            return index;
        }
        self.devices.push(DeviceSeeks::new(device));
        Some(self.devices.len() - 1)
    }

    fn find(&self, device: DevId) -> Option<usize> {
        self.devices.iter().position(|known| known.device == device)
    }

    pub(crate) fn seeks(&self) -> Vec<Seeks> {
        let mut devices: Vec<&DeviceSeeks> = self.devices.iter().collect();
        devices.sort_unstable_by_key(|device| device.device);
        devices.into_iter().map(DeviceSeeks::seeks).collect()
    }

    pub(crate) fn into_next(self) -> AllSeeks {
        let devices = self.devices.into_iter();
        AllSeeks {
            devices: devices.map(DeviceSeeks::into_next).collect(),
            ..AllSeeks::default()
        }
    }

    /// Continues with a later part, or adds one of other devices. Returns the I/Os that get a Q2Q
    /// by the join, with that Q2Q in ns.
    pub(crate) fn join(&mut self, later: AllSeeks, marks: &mut InexactMarks) -> Vec<(Span, u64)> {
        let mut gaps = Vec::new();
        self.full |= later.full;
        for seeks in later.devices {
            match self.find(seeks.device) {
                Some(index) => gaps.extend(self.devices[index].join(&seeks, marks)),
                None if self.devices.len() < Self::MAX_DEVICES => self.devices.push(seeks),
                None => self.full = true,
            }
        }
        if self.full {
            marks.add(InexactFigure::Seeks, InexactReason::Overflow);
        }
        gaps
    }
}

impl DeviceSeeks {
    fn new(device: DevId) -> DeviceSeeks {
        DeviceSeeks {
            device,
            end: NONE,
            ..DeviceSeeks::default()
        }
    }

    fn into_next(self) -> DeviceSeeks {
        DeviceSeeks {
            last_queue: self.last_queue,
            base_ns: self.last_queue,
            end: self.end,
            ..DeviceSeeks::new(self.device)
        }
    }

    fn join(&mut self, later: &DeviceSeeks, marks: &mut InexactMarks) -> Option<(Span, u64)> {
        match later.first_sector {
            Some(sector) if self.end != NONE => self.count_seek_to(sector),
            first_sector => self.first_sector = self.first_sector.or(first_sector),
        }
        if later.end != NONE {
            self.end = later.end;
        }
        self.sequential = self.sequential.saturating_add(later.sequential);
        self.sectors = self.sectors.saturating_add(later.sectors);
        self.lengths.merge(&later.lengths);
        let later_start = later.base_ns.or(later.first.map(|first| first.begin_ns));
        if self.last_queue > later_start {
            marks.add(InexactFigure::Seeks, InexactReason::Order);
        }
        let (first, last) = (later.first, self.last_queue);
        self.last_queue = self.last_queue.max(later.last_queue);
        let (first, last) = (first?, last?);
        let gap = first.begin_ns.checked_sub(last)?;
        Some((first, gap))
    }

    fn count_seek_to(&mut self, sector: u64) {
        let length = sector.abs_diff(self.end);
        self.sequential += u64::from(length == 0);
        self.sectors += u128::from(length);
        // Sectors of a damaged trace can be absurd, and must not overflow the histogram's sum.
        self.lengths.record(length.min(1 << 42));
    }

    fn move_to(&mut self, span: &Span) {
        match self.end {
            NONE => self.first_sector = self.first_sector.or(Some(span.sector)),
            _ => self.count_seek_to(span.sector),
        }
        let end = span.sector.saturating_add(span.bytes.div_ceil(512));
        self.end = end.min(NONE - 1);
    }

    fn seeks(&self) -> Seeks {
        let n = self.lengths.count();
        Seeks {
            device: self.device.to_string(),
            n,
            sequential: self.sequential,
            mean_sectors: self.sectors as f64 / n.max(1) as f64,
            median_sectors: self.lengths.percentile(0.5),
        }
    }
}
