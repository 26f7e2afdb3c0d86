//! Sums over the lanes that are simulated together.

use q2c_model::DevId;
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct GroupTally {
    pub ios: u64,
    pub overlapping: u64,
    pub polled: u64,
    pub submission: u128,
    /// When the first I/O began and the last one ended, ns.
    pub span: Option<(u64, u64)>,
    pub sizes: BTreeSet<u32>,
    pub devices: BTreeMap<DevId, u64>,
    /// The device of the last I/O, whose `lately` I/Os are not in `devices` yet.
    pub device: DevId,
    pub lately: u64,
}

impl GroupTally {
    pub(crate) fn add(&mut self, io: Io, device: DevId, begin: u64, end: u64) {
        self.ios += 1;
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        self.sizes.insert(io.bytes);
        if device != self.device {
            self.count_device();
            self.device = device;
        }
        self.lately += 1;
    }

    pub(crate) fn count_device(&mut self) {
        if self.lately > 0 {
            *self.devices.entry(self.device).or_default() += self.lately;
            self.lately = 0;
        }
    }
}
