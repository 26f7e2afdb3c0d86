//! The recorded lanes as all configurations read them, and one configuration's position in a lane.

use crate::batch::histogram::FIRST_LATENCIES;
use crate::recording::{LaneRecording, RecordingColumns, unpack};
use crate::reference::WakeDraws;
use q2c_policy::{BUCKETS, Io, bucket_of};

pub(super) struct LaneTrace<'a> {
    pub columns: RecordingColumns<'a>,
    pub rows: IoBuckets,
    pub largest_bytes: u64,
}

pub(super) enum IoBuckets {
    One(u8),
    PerIo(Vec<u8>),
}

impl IoBuckets {
    fn new(columns: &RecordingColumns<'_>) -> Self {
        let row = |&word| bucket_of(unpack(word)).unwrap_or(BUCKETS) as u8;
        let first = columns.ios.first().map_or(0, row);
        let (mut last_word, mut last_alike) = (columns.ios.first(), true);
        let alike = columns.ios.iter().all(|word| {
            if last_word != Some(word) {
                (last_word, last_alike) = (Some(word), row(word) == first);
            }
            last_alike
        });
        if alike {
            IoBuckets::One(first)
        } else {
            IoBuckets::PerIo(columns.ios.iter().map(row).collect())
        }
    }

    #[inline]
    pub(crate) fn only_row(&self) -> Option<usize> {
        match self {
            IoBuckets::One(row) => Some(usize::from(*row)),
            IoBuckets::PerIo(_) => None,
        }
    }

    #[inline]
    pub(crate) fn row_of(&self, i: usize) -> usize {
        usize::from(match self {
            IoBuckets::One(row) => *row,
            IoBuckets::PerIo(rows) => rows[i],
        })
    }
}

impl<'a> LaneTrace<'a> {
    pub(crate) fn new(lane: &'a LaneRecording) -> Self {
        let columns = lane.columns();
        let bytes = columns.ios.iter().map(|&word| word & !(1 << 31));
        LaneTrace {
            rows: IoBuckets::new(&columns),
            largest_bytes: bytes.max().unwrap_or(0).into(),
            columns,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.wait.len()
    }

    #[inline]
    pub(crate) fn io(&self, i: usize) -> Io {
        unpack(self.columns.ios[i])
    }

    /// The first recorded latencies, each from submission to reaping, ns.
    pub(crate) fn first_latencies(&self) -> impl Iterator<Item = i32> {
        let RecordingColumns { submit, wait, .. } = self.columns;
        let recorded = submit.iter().zip(wait).take(FIRST_LATENCIES);
        recorded.map(|(&submit, &wait)| submit as i32 + wait as i32)
    }

    /// Mean time from one submission to the next over the first I/Os, ns.
    pub(crate) fn ns_per_io(&self) -> f64 {
        let columns = &self.columns;
        let n = self.len().min(FIRST_LATENCIES);
        let sum = |times: &[f32]| times[..n].iter().map(|&t| f64::from(t)).sum::<f64>();
        (sum(columns.submit) + sum(columns.wait) + sum(columns.gap)) / n as f64
    }
}

#[derive(Clone, Debug)]
pub(super) struct LanePosition {
    pub lane: usize,
    /// Index in the recording of the next I/O, or of the one in flight.
    pub index: usize,
    pub rounds: u64,
    pub ios: u64,
    pub draw: usize,
    pub start: i64,
    pub flight: Option<LaneInFlight>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LaneInFlight {
    pub done_at: i64,
    pub observed: i32,
    pub missed: bool,
}

impl LanePosition {
    pub(crate) fn new(lane: usize, trace: &LaneTrace<'_>) -> Self {
        LanePosition {
            lane,
            index: 0,
            rounds: 0,
            ios: 0,
            draw: WakeDraws::first_index(lane),
            start: trace.columns.first_at as i64,
            flight: None,
        }
    }

    /// The time at which the next submission returns if no sleep adds to it, ns.
    #[inline]
    pub(crate) fn return_time(&self, trace: &LaneTrace<'_>) -> i64 {
        self.start + trace.columns.submit[self.index] as i64
    }

    /// Moves on from an I/O completed at `done_at`; returns the end of its think time, ns.
    #[inline]
    pub(crate) fn finish(&mut self, done_at: i64, trace: &LaneTrace<'_>) -> i64 {
        let end = done_at + trace.columns.gap[self.index] as i64;
        self.start = end;
        self.skip(1, trace);
        if self.index == 0 {
            self.start += trace.columns.first_at as i64;
        }
        end
    }

    /// Moves on by `n` I/Os, at most to the first of the next round.
    #[inline]
    pub(crate) fn skip(&mut self, n: usize, trace: &LaneTrace<'_>) {
        self.index += n;
        self.ios += n as u64;
        self.draw = WakeDraws::index_after(self.draw, n);
        if self.index == trace.len() {
            self.index = 0;
            self.rounds += 1;
        }
    }
}
