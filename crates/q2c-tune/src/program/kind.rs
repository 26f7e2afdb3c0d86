use crate::program::in_flight::InFlightLevels;
use q2c_model::stats::Histogram;
use q2c_model::{Bytes, Direction};
use q2c_result::program::{IoLatency, KindOfIo, SizeOfIo};
use q2c_trace::Span;
use std::collections::BTreeMap;

/// Sizes that are told apart while reading. Those that come when there are as many already count as
/// others.
const MOST_SIZES: usize = 256;
/// Sizes that a pattern names.
const NAMED: usize = 16;

/// Counts I/Os of one direction.
#[derive(Default)]
pub(crate) struct DirectionTally {
    sizes: BTreeMap<u64, Histogram>,
    others: u64,
    sequential: u64,
    levels: InFlightLevels,
    latency: Histogram,
}

impl DirectionTally {
    /// Takes an I/O; `follows` says whether it begins where the last one of its lane ended.
    pub(crate) fn take(&mut self, span: &Span, follows: bool) {
        let latency = span.end_ns.saturating_sub(span.begin_ns);
        self.latency.record(latency);
        self.levels.take(span.begin_ns, span.end_ns);
        self.sequential += u64::from(follows);
        let room = self.sizes.len() < MOST_SIZES;
        match self.sizes.get_mut(&span.bytes) {
            Some(known) => known.record(latency),
            None if room => self.sizes.entry(span.bytes).or_default().record(latency),
            None => self.others += 1,
        }
    }

    /// The figures; `None` without an I/O. `places` says whether the recording has offsets.
    pub(crate) fn finish(self, direction: Direction, places: bool) -> Option<KindOfIo> {
        let ios = self.latency.count();
        if ios == 0 {
            return None;
        }
        let to_size = |(bytes, latencies): (&u64, &Histogram)| SizeOfIo {
            bytes: Bytes(*bytes),
            ios: latencies.count(),
            latency: latency(latencies),
        };
        let mut sizes: Vec<SizeOfIo> = self.sizes.iter().map(to_size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(size.ios));
        let rare: u64 = sizes.iter().skip(NAMED).map(|size| size.ios).sum();
        sizes.truncate(NAMED);
        Some(KindOfIo {
            direction,
            ios,
            sizes,
            other_sizes: self.others + rare,
            sequential: places.then(|| self.sequential as f64 / ios as f64),
            in_flight: self.levels.finish(),
            latency: latency(&self.latency),
        })
    }
}

fn latency(of: &Histogram) -> IoLatency {
    IoLatency {
        mean_ns: of.mean(),
        p50_ns: of.percentile(0.5),
        p99_ns: of.percentile(0.99),
    }
}
