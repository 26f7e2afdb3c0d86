//! Distances between successive I/Os of a device, and the times between their queueing.

use q2c_model::DevId;
use q2c_result::analyze::Seeks;
use q2c_stats::Histogram;
use q2c_trace::Span;
use q2c_trace::span::NONE;

struct Device {
    device: DevId,
    last_queue: Option<u64>,
    /// First sector behind the last I/O with data; [`NONE`] before the first one.
    end: u64,
    sequential: u64,
    sectors: u128,
    lengths: Histogram,
}

/// Seeks by device. I/Os of further devices than [`AllSeeks::MOST`] have no seeks and no Q2Q.
#[derive(Default)]
pub(crate) struct AllSeeks {
    devices: Vec<Device>,
    last: usize,
}

impl AllSeeks {
    const MOST: usize = 512;

    /// Takes the I/O that was queued next. Returns the time since the one before it on its device,
    /// ns; [`NONE`] for the first I/O of a device and for one that comes after an I/O queued later.
    pub(crate) fn next(&mut self, span: &Span) -> u64 {
        if span.begin_ns == NONE {
            return NONE;
        }
        let Some(place) = self.place(span.device) else {
            return NONE;
        };
        self.last = place;
        let device = &mut self.devices[place];
        if span.bytes > 0 {
            device.seek(span);
        }
        let Some(last) = device.last_queue.replace(span.begin_ns) else {
            return NONE;
        };
        device.last_queue = Some(last.max(span.begin_ns));
        span.begin_ns.checked_sub(last).unwrap_or(NONE)
    }

    fn place(&mut self, device: DevId) -> Option<usize> {
        if self
            .devices
            .get(self.last)
            .is_some_and(|last| last.device == device)
        {
            return Some(self.last);
        }
        let found = self.devices.iter().position(|known| known.device == device);
        if found.is_some() || self.devices.len() == Self::MOST {
            return found;
        }
        self.devices.push(Device {
            device,
            last_queue: None,
            end: NONE,
            sequential: 0,
            sectors: 0,
            lengths: Histogram::default(),
        });
        Some(self.devices.len() - 1)
    }

    pub(crate) fn told(&self) -> Vec<Seeks> {
        self.devices.iter().map(Device::told).collect()
    }
}

impl Device {
    fn seek(&mut self, span: &Span) {
        if self.end != NONE {
            let length = span.sector.abs_diff(self.end);
            self.sequential += u64::from(length == 0);
            self.sectors += u128::from(length);
            // The histogram's sum must not overflow with the absurd sectors of a damaged trace.
            self.lengths.record(length.min(1 << 42));
        }
        let end = span.sector.saturating_add(span.bytes.div_ceil(512));
        self.end = end.min(NONE - 1);
    }

    fn told(&self) -> Seeks {
        let n = self.lengths.count();
        Seeks {
            device: self.device.to_string(),
            n,
            sequential: self.sequential,
            mean_sectors: if n == 0 {
                0.0
            } else {
                self.sectors as f64 / n as f64
            },
            median_sectors: self.lengths.percentile(0.5),
        }
    }
}
