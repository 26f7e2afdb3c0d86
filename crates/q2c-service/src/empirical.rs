use q2c_model::stats::{Rng, percentile};
use q2c_model::{Direction, IoRecord, Nanos, Op, Sectors};
use q2c_policy::{BUCKETS, Io, bucket_of};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// The highest number of times that a class keeps. A recording with more is represented by a random
/// choice of this many times (reservoir sampling, algorithm R of Vitter 1985).
pub const MAX_TIMES_PER_CLASS: usize = 1 << 18;

/// Seed of the random choice among more than [`MAX_TIMES_PER_CLASS`] times.
const CHOICE_SEED: u64 = 0x5e1e_c7ed;

/// Recorded service times by the classes in which Linux keeps its statistics of polling: direction
/// and size ([`bucket_of`]). A request gets one of the times of its class at random. If its class
/// has none, the nearest class that has times is used: if possible of the same direction, then with
/// the fewest size classes between them. On a tie, the smaller class wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    measure: Measure,
    /// Times of each class, sorted, ns. Class numbers are even for reads and odd for writes.
    times: [Box<[u64]>; BUCKETS],
    /// Number of times that each class had in the recording.
    recorded: [u64; BUCKETS],
    /// For each class the class whose times it takes: itself, or the nearest that has times.
    source: [usize; BUCKETS],
    left_out: u64,
}

/// The facts about recorded service times, for results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFacts {
    /// The time that was taken of each request.
    pub measure: Measure,
    /// The classes that have times, reads before writes, by size. Requests of any other class get
    /// the times of the nearest one, as [`Empirical`] defines it.
    pub classes: Vec<EmpiricalClass>,
    /// Number of records that have no time here: neither reads nor writes, failed, merged into
    /// another request, shorter than a sector, or without the measure.
    pub left_out: u64,
}

/// The recorded times of one direction and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmpiricalClass {
    /// Direction of the requests; only reads and writes have classes.
    pub direction: Direction,
    /// Length of the shortest requests of the class. Those of the next class are twice as long.
    #[serde(rename = "from_sectors")]
    pub from: Sectors,
    /// Number of times in the recording.
    pub recorded: u64,
    /// Number of times that are kept to draw from, at most [`MAX_TIMES_PER_CLASS`].
    pub kept: usize,
    /// Median of the kept times.
    #[serde(rename = "median_ns")]
    pub median: Nanos,
}

/// The recording has no service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "find service times in {requests} records: expected reads or writes that succeeded and have {}, found none",
    measure_text(*measure)
)]
pub struct NoTimes {
    /// The requested measure; `None` for any.
    pub measure: Option<Measure>,
    /// Number of records that were looked at.
    pub requests: u64,
}

fn measure_text(measure: Option<Measure>) -> &'static str {
    match measure {
        Some(Measure::D2c) => "D2C (the times of hand-over and completion in the block layer)",
        Some(Measure::U2c) => "U2C (the times of submission and reaping)",
        None => "D2C or U2C",
    }
}

impl Empirical {
    /// Draws one of the recorded times for `io` by `rng`.
    #[inline]
    pub(crate) fn draw(&self, io: Io, rng: &mut Rng) -> Nanos {
        let times = &self.times[self.source[class_of(io)]];
        Nanos(times[rng.below(times.len() as u64) as usize])
    }

    /// The part of a request's life that the times are.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The facts about the times, for results.
    pub fn facts(&self) -> RecordedFacts {
        RecordedFacts {
            measure: self.measure,
            classes: self.classes().collect(),
            left_out: self.left_out,
        }
    }

    fn classes(&self) -> impl Iterator<Item = EmpiricalClass> {
        let reads_then_writes = (0..BUCKETS).step_by(2).chain((1..BUCKETS).step_by(2));
        let filled = reads_then_writes.filter(|&class| !self.times[class].is_empty());
        filled.map(|class| EmpiricalClass {
            direction: direction(class),
            from: Sectors(1 << (class / 2)),
            recorded: self.recorded[class],
            kept: self.times[class].len(),
            median: Nanos(percentile(&self.times[class], 0.5)),
        })
    }
}

/// The class of `io`; less than a sector counts as one.
fn class_of(io: Io) -> usize {
    let smallest = || usize::from(io.direction == Direction::Write);
    bucket_of(io).unwrap_or_else(smallest)
}

fn direction(class: usize) -> Direction {
    match class % 2 {
        0 => Direction::Read,
        _ => Direction::Write,
    }
}

/// The class nearest to `class` among `filled`, as [`Empirical`] defines it.
fn nearest(class: usize, filled: &[usize]) -> usize {
    let distance = |&&other: &&usize| {
        let differs_in_direction = class % 2 != other % 2;
        (differs_in_direction, (class / 2).abs_diff(other / 2), other)
    };
    let nearest = filled.iter().min_by_key(distance);
    *nearest.expect("a class with times")
}

#[derive(Clone, Debug)]
struct TimeReservoir {
    times: [Vec<u64>; BUCKETS],
    recorded: [u64; BUCKETS],
    rng: Rng,
}

impl Default for TimeReservoir {
    fn default() -> Self {
        TimeReservoir {
            times: Default::default(),
            recorded: [0; BUCKETS],
            rng: Rng::new(CHOICE_SEED),
        }
    }
}

impl TimeReservoir {
    fn add(&mut self, class: usize, time: u64) {
        let times = &mut self.times[class];
        self.recorded[class] += 1;
        if times.len() < MAX_TIMES_PER_CLASS {
            times.push(time);
            return;
        }
        let index = self.rng.below(self.recorded[class]) as usize;
        if let Some(kept) = times.get_mut(index) {
            *kept = time;
        }
    }

    fn is_empty(&self) -> bool {
        self.recorded.iter().all(|&n| n == 0)
    }

    fn finish(self, measure: Measure, requests: u64) -> Empirical {
        let filled: Vec<usize> = (0..BUCKETS).filter(|&c| self.recorded[c] > 0).collect();
        let sorted = self.times.map(|mut times| {
            times.sort_unstable();
            times.into_boxed_slice()
        });
        Empirical {
            measure,
            times: sorted,
            recorded: self.recorded,
            source: std::array::from_fn(|class| nearest(class, &filled)),
            left_out: requests - self.recorded.iter().sum::<u64>(),
        }
    }
}

/// Makes an [`Empirical`] from records, which are added in several calls.
#[derive(Clone, Debug)]
pub struct EmpiricalBuilder {
    requested: Option<Measure>,
    d2c: TimeReservoir,
    u2c: TimeReservoir,
    requests: u64,
}

impl EmpiricalBuilder {
    /// Takes the times of this measure; `None` takes D2C where any record has it, else U2C.
    pub fn new(measure: Option<Measure>) -> Self {
        EmpiricalBuilder {
            requested: measure,
            d2c: TimeReservoir::default(),
            u2c: TimeReservoir::default(),
            requests: 0,
        }
    }

    /// Adds the service times of further records.
    pub fn take(&mut self, records: &[IoRecord]) {
        self.requests += records.len() as u64;
        records.iter().for_each(|record| self.take_one(record));
    }

    fn take_one(&mut self, record: &IoRecord) {
        // Flushes and discards take other times than writes. A failed or a merged request was not
        // served by itself.
        let served_by_itself = matches!(record.op, Op::Read | Op::Write)
            && record.merged_into.is_none()
            && record.error.unwrap_or(0) == 0;
        let bytes = u32::try_from(record.bytes.0).unwrap_or(u32::MAX);
        let io = Io {
            direction: record.op.direction(),
            bytes,
        };
        let Some(class) = bucket_of(io).filter(|_| served_by_itself && !record.is_untimed()) else {
            return;
        };
        if let (Some(issue), Some(complete)) = (record.issue_ns, record.complete_ns)
            && self.requested != Some(Measure::U2c)
        {
            self.d2c.add(class, (complete - issue).0);
        }
        if let (Some(u2c), true) = (record.u2c(), self.requested != Some(Measure::D2c)) {
            self.u2c.add(class, u2c.0);
        }
    }

    /// Returns the collected times; the error means that no record had the measure.
    pub fn finish(self) -> Result<Empirical, NoTimes> {
        let EmpiricalBuilder {
            requested,
            d2c,
            u2c,
            requests,
        } = self;
        match (d2c.is_empty(), u2c.is_empty()) {
            (false, _) => Ok(d2c.finish(Measure::D2c, requests)),
            (true, false) => Ok(u2c.finish(Measure::U2c, requests)),
            (true, true) => Err(NoTimes {
                measure: requested,
                requests,
            }),
        }
    }
}

/// The part of a recorded request's life that is taken for its service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// D2C: from the hand-over to the driver to the completion. Records of the block layer have it.
    D2c,
    /// U2C: from just before the submission to the reaping. Records of programs have it.
    U2c,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Measure; 2] = [Measure::D2c, Measure::U2c];

    /// Its name in a device's text and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::D2c => "d2c",
            Measure::U2c => "u2c",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A recording whose times a simulated device takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTimes {
    /// Path of a q2c trace, or of any recording that can be imported.
    pub path: PathBuf,
    /// The time that is taken of each request. `None` takes D2C where the recording has it, else
    /// U2C.
    pub measure: Option<Measure>,
    /// Unit of the times of a source that has none, such as a list of latencies: `ns`, `us`, `ms`
    /// or `s`.
    pub unit: Option<String>,
}

/// Writes the options as they stand in a device's text: `trace=x.parquet,time=d2c`.
impl fmt::Display for RecordedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace={}", self.path.display())?;
        if let Some(measure) = self.measure {
            write!(f, ",time={measure}")?;
        }
        match &self.unit {
            Some(unit) => write!(f, ",unit={unit}"),
            None => Ok(()),
        }
    }
}
