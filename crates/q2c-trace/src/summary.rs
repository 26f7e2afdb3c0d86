//! Summarises a trace in one pass, in bounded memory.

use crate::blktrace::{GOLDEN, IntMap};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, TraceLatency, TraceSummary};
use std::collections::BTreeMap;

const LAYERS: [Layer; 2] = [Layer::User, Layer::Block];

/// Counts the records of a trace: [`TraceCounter::add`] takes them in any order and in parts, and
/// [`TraceCounter::finish`] returns the summary.
#[derive(Clone, Debug, Default)]
pub struct TraceCounter {
    summary: TraceSummary,
    layers: [u64; LAYERS.len()],
    ops: [u64; Op::ALL.len()],
    op_bytes: [u64; Op::ALL.len()],
    devices: NumberTally,
    sizes: NumberTally,
    lanes: NumberTally,
    time_range: Option<(Nanos, Nanos)>,
    u2c: LatencyClasses,
    q2c: LatencyClasses,
    d2c: LatencyClasses,
}

impl TraceCounter {
    /// Counts the records of a slice.
    pub fn add(&mut self, records: &[IoRecord]) {
        records.iter().for_each(|record| self.add_record(record));
    }

    /// The summary of all records that were counted.
    pub fn finish(self) -> TraceSummary {
        let (first, last) = self.time_range.unwrap_or_default();
        let ops = nonzero_counts(Op::ALL.map(|op| (op.name(), self.ops[op as usize])));
        let devices = self.devices.into_counts();
        let devices = devices.map(|(number, n)| {
            let (major, minor) = ((number >> 32) as u32, number as u32);
            (DevId { major, minor }.to_string(), n)
        });
        let sizes = self.sizes.into_counts().map(|(bytes, n)| (Bytes(bytes), n));
        let op_bytes = Op::ALL.into_iter().filter(|op| ops.contains_key(op.name()));
        let op_bytes = op_bytes.map(|op| (op.name().to_owned(), Bytes(self.op_bytes[op as usize])));
        TraceSummary {
            layers: nonzero_counts(LAYERS.map(|layer| (layer.name(), self.layers[layer as usize]))),
            op_bytes: op_bytes.collect(),
            ops,
            devices: devices.collect(),
            sizes: sizes.collect(),
            lanes: u32::try_from(self.lanes.into_counts().count()).unwrap_or(u32::MAX),
            span_ns: last - first,
            u2c: self.u2c.latency(),
            q2c: self.q2c.latency(),
            d2c: self.d2c.latency(),
            ..self.summary
        }
    }

    fn add_record(&mut self, record: &IoRecord) {
        let counts = &mut self.summary;
        counts.records += 1;
        self.layers[record.layer as usize] += 1;
        self.ops[record.op as usize] += 1;
        let bytes = &mut self.op_bytes[record.op as usize];
        *bytes = bytes.saturating_add(record.bytes.0);
        let DevId { major, minor } = record.device;
        self.devices.add(u64::from(major) << 32 | u64::from(minor));
        self.sizes.add(record.bytes.0);
        self.lanes.add(u64::from(record.lane));
        counts.deepest = counts.deepest.max(record.depth_at_submit);
        counts.slept += u64::from(record.slept_ns.is_some());
        counts.missed += u64::from(record.missed == Some(true));
        counts.failed += u64::from(record.error.is_some_and(|error| error != 0));
        record.u2c().into_iter().for_each(|ns| self.u2c.add(ns));
        // D2C is a latency of its own only if the time of queueing is unknown.
        match record.queue_ns {
            Some(_) => record.q2c().into_iter().for_each(|ns| self.q2c.add(ns)),
            None => record.d2c().into_iter().for_each(|ns| self.d2c.add(ns)),
        }
        let (user, block) = record.times();
        for time in user.into_iter().chain(block).flatten() {
            let (first, last) = self.time_range.get_or_insert((time, time));
            (*first, *last) = ((*first).min(time), (*last).max(time));
        }
    }
}

/// The counts above zero, by name.
fn nonzero_counts<const N: usize>(counts: [(&'static str, u64); N]) -> BTreeMap<String, u64> {
    let nonzero = counts.into_iter().filter(|(_, count)| *count > 0);
    BTreeMap::from_iter(nonzero.map(|(name, count)| (name.to_owned(), count)))
}

/// Counts how often each number occurs. A small table counts recent numbers, so that the map is
/// rarely used.
#[derive(Clone, Debug)]
struct NumberTally {
    counts: IntMap<u64, u64>,
    /// Recent numbers with their counts since they entered the table, at a place given by a hash.
    recent: Box<[(u64, u64); NumberTally::RECENT_NUMBERS]>,
}

impl Default for NumberTally {
    fn default() -> Self {
        NumberTally {
            counts: IntMap::default(),
            recent: Box::new([(0, 0); NumberTally::RECENT_NUMBERS]),
        }
    }
}

impl NumberTally {
    const RECENT_NUMBERS: usize = 2048;

    #[inline]
    fn add(&mut self, number: u64) {
        let index = number.wrapping_mul(GOLDEN) >> (u64::BITS - Self::RECENT_NUMBERS.ilog2());
        let slot = &mut self.recent[index as usize];
        if slot.0 != number {
            let (evicted, count) = std::mem::replace(slot, (number, 0));
            if count > 0 {
                *self.counts.entry(evicted).or_default() += count;
            }
        }
        slot.1 += 1;
    }

    fn into_counts(mut self) -> impl Iterator<Item = (u64, u64)> {
        for (number, count) in self.recent.iter().filter(|(_, count)| *count > 0) {
            *self.counts.entry(*number).or_default() += count;
        }
        self.counts.into_iter()
    }
}

/// Latencies in classes of 8 binary digits. Any trace has at most some thousand classes.
#[derive(Clone, Debug, Default)]
struct LatencyClasses {
    classes: NumberTally,
    ios: u64,
    sum: u128,
    range: Option<(u64, u64)>,
}

impl LatencyClasses {
    /// Binary digits that are kept. A class is narrower than 1 / 128 of its values.
    const KEPT_BITS: u32 = 8;

    fn add(&mut self, latency: Nanos) {
        let ns = latency.0;
        let dropped = (u64::BITS - ns.leading_zeros()).saturating_sub(Self::KEPT_BITS);
        self.classes.add(ns >> dropped << dropped);
        self.ios += 1;
        self.sum += u128::from(ns);
        let (min, max) = self.range.get_or_insert((ns, ns));
        (*min, *max) = ((*min).min(ns), (*max).max(ns));
    }

    fn latency(self) -> Option<TraceLatency> {
        let (min, max) = self.range?;
        let classes: BTreeMap<u64, u64> = self.classes.into_counts().collect();
        let percentile = |q: f64| class_of_rank(&classes, (q * self.ios as f64).ceil() as u64);
        Some(TraceLatency {
            ios: self.ios,
            min_ns: Nanos(min),
            mean_ns: self.sum as f64 / self.ios as f64,
            p50_ns: Nanos(percentile(0.50).max(min)),
            p99_ns: Nanos(percentile(0.99).max(min)),
            max_ns: Nanos(max),
        })
    }
}

/// The lower end of the class that holds the value of this rank, in ns. Ranks count from 1.
fn class_of_rank(classes: &BTreeMap<u64, u64>, rank: u64) -> u64 {
    let mut counted = 0;
    let class_of_value = classes.iter().find(|(_, count)| {
        counted += **count;
        counted >= rank.max(1)
    });
    class_of_value.map_or(0, |(class, _)| *class)
}
