//! The device's counters of interrupts and requests, interval by interval.

use super::WorkloadInterval;
use q2c_workbench::workload::{Boundary, Site};

/// They are read some time after an interval's end, which is short against an interval.
pub(super) struct DeviceCounters<'a> {
    site: &'a Site,
    last: Boundary,
    /// Whether a slice was heard since the last reading.
    heard: bool,
}

impl<'a> DeviceCounters<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        DeviceCounters {
            site,
            last: Boundary::read(site),
            heard: false,
        }
    }

    pub(crate) fn hear(&mut self) {
        self.heard = true;
    }

    /// Of several intervals that are complete at once (`more`) the counts of each are not known.
    pub(crate) fn note(&mut self, interval: &mut WorkloadInterval, more: bool) {
        let now = Boundary::read(self.site);
        if std::mem::take(&mut self.heard) && !more {
            let (irqs, disks) = (
                self.last.interrupts.as_ref().zip(now.interrupts.as_ref()),
                self.last.disk.as_ref().zip(now.disk.as_ref()),
            );
            interval.interrupts = irqs.map(|(before, now)| now.since(before).total());
            let done = disks.map(|(before, now)| now.since(before));
            interval.requests = done.map(|done| done.read.requests + done.write.requests);
        }
        self.last = now;
    }
}
