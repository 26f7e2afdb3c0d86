//! One configuration's latencies, in the classes and with the weights of the batch's histograms.

use crate::batch::histogram::{CLASSES, CountingLimit, class, middle};

#[derive(Clone, Debug)]
pub(super) struct LatencyHistogram(Box<[u32; CLASSES]>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        LatencyHistogram(Box::new([0; CLASSES]))
    }
}

impl LatencyHistogram {
    #[inline]
    pub(crate) fn count(&mut self, latency: i32, io: u64, counting: CountingLimit) {
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
    pub(crate) fn add(&mut self, latency: i32, weight: u32) {
        self.0[class(latency) & (CLASSES - 1)] += weight;
    }

    pub(crate) fn ranks(&self, ios: u64) -> [f64; 3] {
        let classes = (0..CLASSES).rev();
        ranks(ios, &classes.map(|class| (class, self.0[class].into())))
    }

    /// The counts that are not 0, each with its class.
    pub(crate) fn counts(&self) -> Vec<(u16, u32)> {
        let nonzero = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts = nonzero.map(|(class, count)| (class as u16, *count));
        counts.collect()
    }

    /// From [`LatencyHistogram::counts`]; `None` without room to go on counting.
    pub(crate) fn from_counts(counts: &[(u16, u32)]) -> Option<Self> {
        let mut latencies = LatencyHistogram::default();
        for (class, count) in counts {
            let place = latencies.0.get_mut(usize::from(*class))?;
            *place = Some(*count).filter(|count| *count <= 1 << 31)?;
        }
        Some(latencies)
    }
}

/// p50, p99 and p99.9 of `ios` latencies by nearest rank, ns. `counts` begin with the highest
/// class, because every long latency was counted.
pub(crate) fn ranks(ios: u64, counts: &(impl Iterator<Item = (usize, u64)> + Clone)) -> [f64; 3] {
    [0.5, 0.99, 0.999].map(|q| {
        let rank = ((q * ios as f64).ceil() as u64).max(1);
        let from_top = (ios + 1).saturating_sub(rank);
        let mut seen = 0_u64;
        let at_rank = counts.clone().find(|&(_, here)| {
            seen += here;
            here > 0 && seen >= from_top
        });
        at_rank.map_or(0.0, |(class, _)| middle(class))
    })
}
