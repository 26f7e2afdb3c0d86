//! Recordings that the simulator replays: the submissions, latencies and think times of one lane.

use crate::column::IoColumn;
use crate::recordings::Recordings;
use q2c_model::{DeviceTime, Direction, IoRecord, LeftOutReason, Nanos};
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// One lane of depth 1: 16 bytes per I/O. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneRecording {
    /// Direction and length of each I/O.
    pub ios: IoColumn<PackedIo>,
    /// Wall time of each submission.
    pub submit: IoColumn<f32>,
    /// From each submission's return to its reaping: the device's latency as a rule sees it.
    pub wait: IoColumn<f32>,
    /// From each reaping to the next submission: think time.
    pub gap: IoColumn<f32>,
    /// Time before the lane's first submission, in each repetition of the recording.
    pub first_at: f64,
    /// The most CPU time that the thread takes in one think time; `None` if it runs all the time. A
    /// trace of the block layer does not say how much, so the value is 0 there.
    pub gap_cpu: Option<Nanos>,
}

/// Direction (top bit, set for a write) and length in bytes, which is below 2 GiB in the kernel.
pub type PackedIo = u32;

const WRITE: PackedIo = 1 << 31;

/// Packs an I/O into one word. A length of 2 GiB or more becomes the largest that fits.
pub(crate) fn pack(io: Io) -> PackedIo {
    u32::from(io.direction == Direction::Write) << 31 | io.bytes.min(!WRITE)
}

/// The I/O that [`pack`] put into a word.
pub fn unpack(word: PackedIo) -> Io {
    let direction = if word & WRITE == 0 {
        Direction::Read
    } else {
        Direction::Write
    };
    Io {
        direction,
        bytes: word & !WRITE,
    }
}

/// Borrowed columns, so that the location of stored values is looked up once.
#[derive(Clone, Copy)]
pub(crate) struct RecordingColumns<'a> {
    pub ios: &'a [PackedIo],
    pub submit: &'a [f32],
    pub wait: &'a [f32],
    pub gap: &'a [f32],
    pub first_at: f64,
    pub gap_cpu: Option<Nanos>,
}

impl RecordingColumns<'_> {
    pub(crate) fn think_cpu(&self, i: usize) -> i64 {
        (self.gap[i] as i64).min(self.max_think_cpu())
    }

    pub(crate) fn max_think_cpu(&self) -> i64 {
        let max = self.gap_cpu.map(|max| i64::try_from(max.0));
        max.map_or(i64::MAX, |max| max.unwrap_or(i64::MAX))
    }
}

/// A trace that cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordingError {
    /// No request is complete, among this many records.
    #[error(
        "simulate this trace: none of its {0} records has a completion (user layer: times of submission and reaping, block \
         layer: a C); record one with completions, by `q2c trace record`, by blktrace without a mask, or by classic polling"
    )]
    NoCompletions(u64),
    /// Every record was left out, for these reasons.
    #[error(
        "simulate this trace: expected reads or writes that are complete, found none: {0}; q2c trace info tells what a trace holds"
    )]
    NothingLeft(ReasonCounts),
    /// No record has the time at which the requested device time begins.
    #[error(
        "simulate this trace with its {asked} as device time: {lacking} reads and writes are complete, none of them has the \
         time at which {asked} begins; {}",
        other_time(others)
    )]
    NoDeviceTime {
        /// The requested device time.
        asked: DeviceTime,
        /// Number of complete reads and writes that lack it.
        lacking: u64,
        /// The device times that they have instead.
        others: BTreeSet<DeviceTime>,
    },
    /// A device time of the block layer was requested, but the trace has no record of that layer.
    #[error(
        "simulate this trace with {asked} as device time: expected records of the block layer, found the user layer alone; \
         leave --latency out"
    )]
    NotBlockLayer {
        /// The requested device time.
        asked: DeviceTime,
    },
    /// Lanes by device were requested, but the trace has the lanes of its program.
    #[error(
        "simulate this trace with lanes by device: expected records of the block layer, found the user layer, whose lanes are \
         its threads; leave --lanes out"
    )]
    NoLanesByDevice,
    /// The recording method slept in this many I/Os.
    #[error(
        "simulate this trace: {0} of its I/Os slept, so its latencies contain oversleep; record by classic polling: the \
         trace-BS.parquet of a run of q2c tune is such a recording"
    )]
    Slept(u64),
    /// I/Os of the lane with this number overlap, or are not sorted by submission.
    #[error(
        "simulate this trace: lane {0} submits before its last I/O was reaped; a lane has one I/O in flight at a time; \
         record the block layer, whose requests are dealt to lanes: q2c trace record DISK --seconds 10"
    )]
    Overlap(u32),
    /// Requests of the block layer are not in the order of their first times.
    #[error(
        "simulate this trace: the request with id {0} begins before the one in front of it; expected the order of their \
         beginnings, import the recording with --sort"
    )]
    Unsorted(u64),
}

fn other_time(others: &BTreeSet<DeviceTime>) -> String {
    let names = others.iter().map(|time| time.name());
    let options: Vec<String> = names.map(|name| format!("--latency {name}")).collect();
    if options.is_empty() {
        return "they have none of the others".to_owned();
    }
    format!("name one that they have, {}", options.join(" or "))
}

/// Counts of records that were left out, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonCounts(pub BTreeMap<LeftOutReason, u64>);

impl fmt::Display for ReasonCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (reason, count)) in self.0.iter().enumerate() {
            let separator = if n == 0 { "" } else { ", " };
            write!(f, "{separator}{count} {}", reason.name())?;
        }
        Ok(())
    }
}

impl LaneRecording {
    /// Adds one I/O with its times, ns.
    pub fn push(&mut self, io: Io, submit: f32, wait: f32, gap: f32) {
        self.ios.make_owned().push(pack(io));
        self.submit.make_owned().push(submit);
        self.wait.make_owned().push(wait);
        self.gap.make_owned().push(gap);
    }

    /// A copy of the I/Os in `range`; the time before the lane's first I/O goes with that I/O.
    pub fn part(&self, range: Range<usize>) -> LaneRecording {
        LaneRecording {
            ios: self.ios[range.clone()].to_vec().into(),
            submit: self.submit[range.clone()].to_vec().into(),
            wait: self.wait[range.clone()].to_vec().into(),
            gap: self.gap[range.clone()].to_vec().into(),
            first_at: if range.start == 0 { self.first_at } else { 0.0 },
            gap_cpu: self.gap_cpu,
        }
    }

    /// Number of I/Os.
    pub fn len(&self) -> usize {
        self.wait.len()
    }

    /// True if the recording has no I/O.
    pub fn is_empty(&self) -> bool {
        self.wait.is_empty()
    }

    /// Appends a later recording of the same lane.
    pub fn extend(&mut self, other: &LaneRecording) {
        self.ios.make_owned().extend_from_slice(&other.ios);
        self.submit.make_owned().extend_from_slice(&other.submit);
        self.wait.make_owned().extend_from_slice(&other.wait);
        self.gap.make_owned().extend_from_slice(&other.gap);
    }

    pub(crate) fn columns(&self) -> RecordingColumns<'_> {
        RecordingColumns {
            ios: &self.ios,
            submit: &self.submit,
            wait: &self.wait,
            gap: &self.gap,
            first_at: self.first_at,
            gap_cpu: self.gap_cpu,
        }
    }

    pub(crate) fn take_except_last(&mut self, keep: usize) -> LaneRecording {
        LaneRecording {
            ios: self.ios.take_except_last(keep).into(),
            submit: self.submit.take_except_last(keep).into(),
            wait: self.wait.take_except_last(keep).into(),
            gap: self.gap.take_except_last(keep).into(),
            first_at: self.first_at,
            gap_cpu: self.gap_cpu,
        }
    }

    /// The lanes of a trace, as [`Recordings`] collects them without options.
    ///
    /// # Errors
    /// Fails as [`Recordings::select_lanes`] does.
    pub fn from_records(records: &[IoRecord]) -> Result<Vec<LaneRecording>, RecordingError> {
        let mut lanes = Recordings::default();
        lanes.take(records);
        Ok(lanes.finish()?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Layer, Op, Sectors};

    fn record(lane: u32, submit: u64, end: u64, reap: u64) -> IoRecord {
        let device = DevId::default();
        let mut r = IoRecord::new(0, Layer::User, device, Op::Read, Sectors(0), Bytes(4096));
        (r.lane, r.submit_ns, r.submit_end_ns) = (lane, Some(Nanos(submit)), Some(Nanos(end)));
        r.reap_ns = Some(Nanos(reap));
        r
    }

    #[test]
    fn lanes_and_think_times_are_kept_apart() {
        let records = [
            record(0, 0, 2, 10),
            record(1, 5, 6, 20),
            record(0, 13, 15, 30),
        ];
        let lanes = LaneRecording::from_records(&records).unwrap();
        assert_eq!(*lanes[0].submit, [2.0, 2.0]);
        assert_eq!(*lanes[0].wait, [8.0, 15.0]);
        assert_eq!(*lanes[0].gap, [3.0, 0.0]);
        assert_eq!(*lanes[1].wait, [14.0]);
    }

    /// A list by lane number would need 4,294,967,296 entries here.
    #[test]
    fn lanes_may_have_any_number() {
        let records = [
            record(u32::MAX, 0, 2, 10),
            record(0, 5, 6, 20),
            record(u32::MAX, 13, 15, 30),
        ];
        let lanes = LaneRecording::from_records(&records).unwrap();
        let waits: Vec<&[f32]> = lanes.iter().map(|lane| &lane.wait[..]).collect();
        assert_eq!(waits, [&[14.0][..], &[8.0, 15.0]]);
    }

    #[test]
    fn what_is_given_away_in_parts_is_the_whole() {
        let nth_record = |n: u64| record((n % 3) as u32, 100 * n, 100 * n + 7, 100 * n + 20 + n);
        let records: Vec<IoRecord> = (0..50).map(nth_record).collect();
        let whole = LaneRecording::from_records(&records).unwrap();
        let mut lanes = Recordings::default();
        let mut drained = vec![LaneRecording::default(); 3];
        let mut collect = |lane: usize, ios: &LaneRecording| {
            drained[lane].extend(ios);
            Ok::<(), ()>(())
        };
        for chunk in records.chunks(7) {
            lanes.take(chunk);
            lanes.drain(false, &mut collect).unwrap();
        }
        assert_eq!(lanes.ios_in_memory(), 3);
        lanes.drain(true, &mut collect).unwrap();
        assert_eq!((drained, lanes.ios_in_memory()), (whole, 0));
    }

    #[test]
    fn a_word_holds_an_io() {
        for (direction, bytes) in [(Direction::Read, 512), (Direction::Write, 1 << 30)] {
            let io = Io { direction, bytes };
            assert_eq!(unpack(pack(io)), io);
        }
    }

    #[test]
    fn a_trace_that_slept_is_refused() {
        let mut slept = record(0, 0, 1, 2);
        slept.slept_ns = Some(Nanos(1));
        let taken = |records: &[IoRecord]| LaneRecording::from_records(records);
        assert_eq!(taken(&[slept]), Err(RecordingError::Slept(1)));
        assert_eq!(taken(&[]), Err(RecordingError::NoCompletions(0)));
    }

    #[test]
    fn a_lane_of_depth_two_is_refused() {
        let records = [
            record(3, 0, 2, 10),
            record(4, 1, 2, 11),
            record(3, 9, 10, 20),
        ];
        let refused = LaneRecording::from_records(&records).unwrap_err();
        assert_eq!(refused, RecordingError::Overlap(3));
    }
}
