//! Recordings, which the simulator replays: one lane's submissions, latencies and think times.

use crate::column::Column;
use q2c_model::{Direction, IoRecord};
use q2c_policy::Io;
use thiserror::Error;

/// One lane of depth 1, recorded by classic polling: 16 bytes per I/O. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Direction and length of each I/O.
    pub ios: Column<Packed>,
    /// Wall time of each submission.
    pub submit: Column<f32>,
    /// From each submission's return to its reaping: the device's latency as a rule sees it.
    pub wait: Column<f32>,
    /// From each reaping to the next submission: think time.
    pub gap: Column<f32>,
}

/// Direction and length of an I/O in one word: the top bit is set for a write, the others are the
/// length in bytes. Lengths end at 2 GiB, as the kernel's do.
pub type Packed = u32;

/// The bit that is set for a write.
const WRITE: Packed = 1 << 31;

/// Packs an I/O into one word. A length from 2 GiB on becomes the greatest that fits.
#[must_use]
pub fn pack(io: Io) -> Packed {
    let write = match io.direction {
        Direction::Read => 0,
        Direction::Write => WRITE,
    };
    write | io.bytes.min(!WRITE)
}

/// The I/O that [`pack`] put into a word.
#[must_use]
pub fn unpack(word: Packed) -> Io {
    let direction = match word & WRITE {
        0 => Direction::Read,
        _ => Direction::Write,
    };
    Io {
        direction,
        bytes: word & !WRITE,
    }
}

/// The columns of a recording as slices, so that the place of kept values is looked up once.
#[derive(Clone, Copy)]
pub(crate) struct RecordingColumns<'a> {
    pub ios: &'a [Packed],
    pub submit: &'a [f32],
    pub wait: &'a [f32],
    pub gap: &'a [f32],
}

/// A trace that cannot be replayed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordingError {
    /// No record has user-layer times.
    #[error(
        "simulate this trace: it has no record with submission and reaping times; record one by classic polling"
    )]
    NoLatencies,
    /// The recording method slept: in this number of I/Os.
    #[error(
        "simulate this trace: {0} of its I/Os slept, so its latencies contain oversleep; record by classic polling"
    )]
    Slept(u64),
    /// I/Os of the lane with this number overlap, or are not in the order of their submission.
    #[error(
        "simulate this trace: lane {0} submits before its last I/O was reaped; the closed loop needs lanes of depth 1, \
         in the order of submission"
    )]
    Overlap(u32),
}

impl Recording {
    /// Adds one I/O with its times, ns.
    pub fn push(&mut self, io: Io, submit: f32, wait: f32, gap: f32) {
        self.ios.push(pack(io));
        self.submit.push(submit);
        self.wait.push(wait);
        self.gap.push(gap);
    }

    /// A copy of the first `most` I/Os.
    #[must_use]
    pub fn first(&self, most: usize) -> Recording {
        let most = most.min(self.len());
        Recording {
            ios: self.ios[..most].to_vec().into(),
            submit: self.submit[..most].to_vec().into(),
            wait: self.wait[..most].to_vec().into(),
            gap: self.gap[..most].to_vec().into(),
        }
    }

    /// Number of I/Os.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wait.len()
    }

    /// Whether the recording has no I/O.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wait.is_empty()
    }

    /// Appends another recording, of the same lane.
    pub fn extend(&mut self, other: &Recording) {
        self.ios.extend(&other.ios);
        self.submit.extend(&other.submit);
        self.wait.extend(&other.wait);
        self.gap.extend(&other.gap);
    }

    pub(crate) fn columns(&self) -> RecordingColumns<'_> {
        RecordingColumns {
            ios: &self.ios,
            submit: &self.submit,
            wait: &self.wait,
            gap: &self.gap,
        }
    }

    /// Removes all I/Os but the last `keep` and returns them.
    fn take(&mut self, keep: usize) -> Recording {
        Recording {
            ios: self.ios.take(keep).into(),
            submit: self.submit.take(keep).into(),
            wait: self.wait.take(keep).into(),
            gap: self.gap.take(keep).into(),
        }
    }

    /// The lanes of a user-layer trace, in the order of their numbers. Records without times or
    /// with an error are left out; the last think time of a lane is taken as zero.
    ///
    /// # Errors
    /// When nothing can be replayed, the recording method slept, or a lane was deeper than 1.
    pub fn from_records(records: &[IoRecord]) -> Result<Vec<Recording>, RecordingError> {
        let mut lanes = Recordings::default();
        lanes.take(records);
        lanes.finish()
    }
}

/// Collects the lanes of a user-layer trace while it is read, with 16 bytes per I/O.
///
/// The order of calls: [`take`](Self::take) for the records in the order of the trace, with
/// [`give`](Self::give) between for a trace larger than memory. At the end
/// [`finish`](Self::finish), or, after everything was given away, [`check`](Self::check).
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    lanes: Vec<Recording>,
    /// For each lane, when its last I/O was reaped, ns.
    reaped: Vec<Option<u64>>,
    slept: u64,
    overlap: Option<u32>,
}

impl Recordings {
    /// Takes the next records of the trace. Records without user-layer times or with an error are
    /// left out.
    pub fn take(&mut self, records: &[IoRecord]) {
        records.iter().for_each(|record| self.add(record));
    }

    fn add(&mut self, record: &IoRecord) {
        self.slept += u64::from(record.slept_ns.is_some());
        let times = record.submit_ns.zip(record.reap_ns);
        let Some((submit, reap)) = times.filter(|_| record.error.unwrap_or(0) == 0) else {
            return;
        };
        // Where the source knows no end of the submission, the latency counts from its start.
        let end = record.submit_end_ns.unwrap_or(submit);
        let lane = record.lane as usize;
        if lane >= self.lanes.len() {
            self.lanes.resize_with(lane + 1, Recording::default);
            self.reaped.resize(lane + 1, None);
        }
        let recording = &mut self.lanes[lane];
        if let (Some(before), Some(gap)) = (self.reaped[lane], recording.gap.last_mut()) {
            match submit.0.checked_sub(before) {
                Some(think) => *gap = think as f32,
                None => self.overlap = self.overlap.or(Some(record.lane)),
            }
        }
        let io = Io {
            direction: record.op.direction(),
            bytes: record.bytes.0 as u32,
        };
        recording.push(io, (end - submit).0 as f32, (reap - end).0 as f32, 0.0);
        self.reaped[lane] = Some(reap.0);
    }

    /// Number of I/Os held, all lanes together.
    #[must_use]
    pub fn held(&self) -> usize {
        self.lanes.iter().map(Recording::len).sum()
    }

    /// Gives the I/Os held to `to`, lane by lane with the lane's number, for a trace that is larger
    /// than memory. The last I/O of each lane stays, since its think time is not known before the
    /// next; with `all` it is given too.
    ///
    /// # Errors
    /// Whatever error `to` returns.
    pub fn give<E>(
        &mut self,
        all: bool,
        to: &mut dyn FnMut(usize, &Recording) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let some = lane.take(usize::from(!all));
            if !some.is_empty() {
                to(number, &some)?;
            }
        }
        Ok(())
    }

    /// Checks whether the records taken so far can be replayed.
    ///
    /// # Errors
    /// When the recording method slept, or a lane was deeper than 1.
    pub fn check(&self) -> Result<(), RecordingError> {
        match (self.slept, self.overlap) {
            (0, None) => Ok(()),
            (0, Some(lane)) => Err(RecordingError::Overlap(lane)),
            (slept, _) => Err(RecordingError::Slept(slept)),
        }
    }

    /// The lanes in the order of their numbers; the last think time of each is taken as zero.
    ///
    /// # Errors
    /// When nothing can be replayed, the recording method slept, or a lane was deeper than 1.
    pub fn finish(mut self) -> Result<Vec<Recording>, RecordingError> {
        self.check()?;
        self.lanes.retain(|lane| !lane.is_empty());
        if self.lanes.is_empty() {
            return Err(RecordingError::NoLatencies);
        }
        Ok(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Layer, Nanos, Op, Sectors};

    fn record(lane: u32, submit: u64, end: u64, reap: u64) -> IoRecord {
        let mut r = IoRecord::new(
            0,
            Layer::User,
            DevId::default(),
            Op::Read,
            Sectors(0),
            Bytes(4096),
        );
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
        let lanes = Recording::from_records(&records).unwrap();
        assert_eq!(
            (&lanes[0].submit[..], &lanes[0].wait[..]),
            (&[2.0, 2.0][..], &[8.0, 15.0][..])
        );
        assert_eq!(*lanes[0].gap, [3.0, 0.0]);
        assert_eq!(*lanes[1].wait, [14.0]);
    }

    /// The think time between two I/Os is right also where a part ends between them.
    #[test]
    fn what_is_given_away_in_parts_is_the_whole() {
        let of = |n: u64| record((n % 3) as u32, 100 * n, 100 * n + 7, 100 * n + 20 + n);
        let records: Vec<IoRecord> = (0..50).map(of).collect();
        let whole = Recording::from_records(&records).unwrap();
        let mut lanes = Recordings::default();
        let mut given = vec![Recording::default(); 3];
        let mut to = |lane: usize, some: &Recording| {
            given[lane].extend(some);
            Ok::<(), ()>(())
        };
        for some in records.chunks(7) {
            lanes.take(some);
            lanes.give(false, &mut to).unwrap();
        }
        assert_eq!(lanes.held(), 3);
        lanes.give(true, &mut to).unwrap();
        assert_eq!((given, lanes.held()), (whole, 0));
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
        assert_eq!(
            Recording::from_records(&[slept]),
            Err(RecordingError::Slept(1))
        );
        assert_eq!(
            Recording::from_records(&[]),
            Err(RecordingError::NoLatencies)
        );
    }

    #[test]
    fn a_lane_of_depth_two_is_refused() {
        let records = [
            record(3, 0, 2, 10),
            record(4, 1, 2, 11),
            record(3, 9, 10, 20),
        ];
        assert_eq!(
            Recording::from_records(&records),
            Err(RecordingError::Overlap(3))
        );
    }
}
