//! One configuration's latencies, in the classes and with the weights of the batch's histograms.

use crate::batch::histogram::{CLASSES, CountingLimit, class, middle};

#[derive(Clone, Debug)]
pub(super) struct LatencyCounts(Box<[u32; CLASSES]>);

impl Default for LatencyCounts {
    fn default() -> Self {
        LatencyCounts(Box::new([0; CLASSES]))
    }
}

impl LatencyCounts {
    #[inline]
    pub fn count(&mut self, latency: i32, io: u64, counting: CountingLimit) {
        let weight = if latency >= counting.limit() {
            1
        } else {
            CountingLimit::weight(io)
        };
        if weight > 0 {
            self.add(latency, weight as u32);
        }
    }

    #[inline]
    pub fn add(&mut self, latency: i32, weight: u32) {
        self.0[class(latency) & (CLASSES - 1)] += weight;
    }

    pub fn ranks(&self, ios: u64) -> [f64; 3] {
        ranks(
            ios,
            &(0..CLASSES)
                .rev()
                .map(|class| (class, self.0[class].into())),
        )
    }

    /// The counts that are not 0, each with its class.
    pub fn counts(&self) -> Vec<(u16, u32)> {
        let each = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        each.map(|(class, count)| (class as u16, *count)).collect()
    }

    /// From [`LatencyCounts::counts`]; `None` without room to go on counting.
    pub fn of(counts: &[(u16, u32)]) -> Option<Self> {
        let mut all = LatencyCounts::default();
        for (class, count) in counts {
            let place = all.0.get_mut(usize::from(*class))?;
            *place = Some(*count).filter(|count| *count <= 1 << 31)?;
        }
        Some(all)
    }
}

/// p50, p99 and p99.9 of `ios` latencies by nearest rank, ns. `counts` begin with the highest
/// class, because every long latency was counted.
pub(crate) fn ranks(ios: u64, counts: &(impl Iterator<Item = (usize, u64)> + Clone)) -> [f64; 3] {
    [0.5, 0.99, 0.999].map(|q| {
        let rank = ((q * ios as f64).ceil() as u64).max(1);
        let from_top = (ios + 1).saturating_sub(rank);
        let mut seen = 0_u64;
        let found = counts.clone().find(|&(_, here)| {
            seen += here;
            here > 0 && seen >= from_top
        });
        found.map_or(0.0, |(class, _)| middle(class))
    })
}
