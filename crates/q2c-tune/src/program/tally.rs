//! Counts a recording's I/Os: those in flight, those of one direction, and those of submitters.

use q2c_model::stats::Histogram;
use q2c_model::{Bytes, DevId, Direction, Sectors};
use q2c_result::program::{IoLatency, KindOfIo, ProgramInFlight, ProgramPattern, SizeOfIo, Think};
use q2c_trace::Span;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// The time spent at each number of I/Os in flight. I/Os must come in the order of their start.
#[derive(Default)]
pub(crate) struct InFlightLevels {
    ends: BinaryHeap<Reverse<u64>>,
    counted_until_ns: u64,
    /// Time at each level, which is a number of I/Os in flight, ns.
    times: BTreeMap<u64, u64>,
}

impl InFlightLevels {
    /// Adds an I/O by its start and end, in ns on one common clock.
    pub(crate) fn add(&mut self, begin: u64, end: u64) {
        self.remove_ended(begin);
        self.add_time(begin);
        self.ends.push(Reverse(end));
    }

    /// Removes the I/Os that end at or before `time`.
    fn remove_ended(&mut self, time: u64) {
        while let Some(&Reverse(end)) = self.ends.peek()
            && end <= time
        {
            self.add_time(end);
            self.ends.pop();
        }
    }

    /// Adds the time until `time` to the present level.
    fn add_time(&mut self, time: u64) {
        let passed = time.saturating_sub(self.counted_until_ns);
        if passed > 0 && !self.ends.is_empty() {
            *self.times.entry(self.ends.len() as u64).or_default() += passed;
        }
        self.counted_until_ns = self.counted_until_ns.max(time);
    }

    pub(crate) fn finish(mut self) -> ProgramInFlight {
        self.remove_ended(u64::MAX);
        let busy: u64 = self.times.values().sum();
        let products = self.times.iter().map(|(n, ns)| *n as f64 * *ns as f64);
        let sum: f64 = products.sum();
        ProgramInFlight {
            busy_seconds: busy as f64 / 1e9,
            mean: if busy == 0 { 0.0 } else { sum / busy as f64 },
            p50: self.quantile(0.5, busy),
            p99: self.quantile(0.99, busy),
            most: self.times.keys().next_back().copied().unwrap_or_default(),
        }
    }

    /// The least level at or below which the share `q` of the busy time was spent.
    fn quantile(&self, q: f64, busy_ns: u64) -> u64 {
        let wanted_ns = q * busy_ns as f64;
        let mut passed_ns = 0.0;
        let reached = self.times.iter().find(|(_, ns)| {
            passed_ns += **ns as f64;
            passed_ns >= wanted_ns
        });
        reached.map_or(0, |(level, _)| *level)
    }
}

/// Most sizes that are counted separately while reading. I/Os of further sizes are counted
/// together.
const MAX_SIZES: usize = 256;
const MAX_LISTED_SIZES: usize = 16;

/// Counts the I/Os of one direction.
#[derive(Default)]
pub(crate) struct DirectionTally {
    sizes: BTreeMap<u64, Histogram>,
    other_sizes: u64,
    sequential: u64,
    levels: InFlightLevels,
    latency: Histogram,
}

impl DirectionTally {
    /// Adds an I/O; `follows` is true if it starts where the last one of its lane ended.
    pub(crate) fn add(&mut self, span: &Span, follows: bool) {
        let latency = span.end_ns.saturating_sub(span.begin_ns);
        self.latency.record(latency);
        self.levels.add(span.begin_ns, span.end_ns);
        self.sequential += u64::from(follows);
        let has_room = self.sizes.len() < MAX_SIZES;
        match self.sizes.get_mut(&span.bytes) {
            Some(known) => known.record(latency),
            None if has_room => self.sizes.entry(span.bytes).or_default().record(latency),
            None => self.other_sizes += 1,
        }
    }

    /// The figures; `None` without an I/O. `has_offsets` is true if the recording has offsets.
    pub(crate) fn finish(self, direction: Direction, has_offsets: bool) -> Option<KindOfIo> {
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
        sizes.sort_by_key(|size| Reverse(size.ios));
        let rare: u64 = sizes
            .iter()
            .skip(MAX_LISTED_SIZES)
            .map(|size| size.ios)
            .sum();
        sizes.truncate(MAX_LISTED_SIZES);
        Some(KindOfIo {
            direction,
            ios,
            sizes,
            other_sizes: self.other_sizes + rare,
            sequential: has_offsets.then(|| self.sequential as f64 / ios as f64),
            in_flight: self.levels.finish(),
            latency: latency(&self.latency),
        })
    }
}

fn latency(histogram: &Histogram) -> IoLatency {
    IoLatency {
        mean_ns: histogram.mean(),
        p50_ns: histogram.percentile(0.5),
        p99_ns: histogram.percentile(0.99),
    }
}

/// Counts of all submitters. I/Os must come in the order of their start.
#[derive(Default)]
pub(crate) struct ProgramLanes {
    lanes: HashMap<u32, ProgramLane>,
    think: Histogram,
    latency_sum_ns: u128,
}

struct ProgramLane {
    first_begin_ns: u64,
    last_end_ns: u64,
    /// Time with an I/O in flight.
    busy_ns: u64,
    /// Device and position at which the last read and the last write ended.
    ends: [Option<(DevId, u64)>; 2],
}

impl ProgramLanes {
    /// Adds an I/O. Returns true if it starts where the last one of its submitter and direction
    /// ended.
    pub(crate) fn add(&mut self, span: &Span, direction: Direction) -> bool {
        let (begin, end) = (span.begin_ns, span.end_ns.max(span.begin_ns));
        self.latency_sum_ns += u128::from(end - begin);
        let lane = self.lanes.entry(span.lane).or_insert(ProgramLane {
            first_begin_ns: begin,
            last_end_ns: begin,
            busy_ns: 0,
            ends: [None; 2],
        });
        let is_first_io = lane.busy_ns == 0 && lane.ends == [None; 2];
        if begin >= lane.last_end_ns && !is_first_io {
            self.think.record(begin - lane.last_end_ns);
        }
        lane.busy_ns += end.saturating_sub(begin.max(lane.last_end_ns));
        lane.last_end_ns = lane.last_end_ns.max(end);
        let last_place = &mut lane.ends[direction as usize];
        let follows = *last_place == Some((span.device, span.sector));
        let length = span.bytes / Sectors::SIZE;
        *last_place = Some((span.device, span.sector.saturating_add(length)));
        follows
    }

    /// Returns the pattern with the figures of its submitters added.
    pub(crate) fn finish(self, pattern: ProgramPattern) -> ProgramPattern {
        let lanes = self.lanes.values();
        let busy: u128 = lanes.clone().map(|lane| u128::from(lane.busy_ns)).sum();
        let lives = lanes.map(|lane| u128::from(lane.last_end_ns - lane.first_begin_ns));
        let over = |a: u128, b: u128| if b == 0 { 1.0 } else { a as f64 / b as f64 };
        let think = &self.think;
        ProgramPattern {
            lanes: self.lanes.len() as u32,
            lane_depth: over(self.latency_sum_ns, busy),
            lane_busy: over(busy, lives.sum()),
            think: (think.count() > 0).then(|| Think {
                n: think.count(),
                mean_ns: think.mean(),
                p50_ns: think.percentile(0.5),
                p99_ns: think.percentile(0.99),
            }),
            ..pattern
        }
    }
}
