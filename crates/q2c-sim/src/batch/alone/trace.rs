//! The recorded lanes as all configurations read them, and the place of one configuration.

use crate::batch::histogram::FIRST_LATENCIES;
use crate::closed::Draws;
use crate::recording::{Recording, RecordingColumns, unpack};
use q2c_policy::{BUCKETS, Io, bucket_of};

pub(super) struct LaneTrace<'a> {
    pub columns: RecordingColumns<'a>,
    pub rows: Rows,
    pub largest: u64,
}

pub(super) enum Rows {
    One(u8),
    Each(Vec<u8>),
}

impl Rows {
    fn new(columns: &RecordingColumns<'_>) -> Self {
        let row = |&word| bucket_of(unpack(word)).unwrap_or(BUCKETS) as u8;
        let first = columns.ios.first().map_or(0, row);
        let mut last = (columns.ios.first(), true);
        let alike = columns.ios.iter().all(|word| {
            if last.0 != Some(word) {
                last = (Some(word), row(word) == first);
            }
            last.1
        });
        if alike {
            Rows::One(first)
        } else {
            Rows::Each(columns.ios.iter().map(row).collect())
        }
    }

    #[inline]
    pub fn only(&self) -> Option<usize> {
        match self {
            Rows::One(row) => Some(usize::from(*row)),
            Rows::Each(_) => None,
        }
    }

    #[inline]
    pub fn of(&self, i: usize) -> usize {
        usize::from(match self {
            Rows::One(row) => *row,
            Rows::Each(rows) => rows[i],
        })
    }
}

impl<'a> LaneTrace<'a> {
    pub fn new(lane: &'a Recording) -> Self {
        let columns = lane.columns();
        let bytes = columns.ios.iter().map(|&word| word & !(1 << 31));
        LaneTrace {
            rows: Rows::new(&columns),
            largest: bytes.max().unwrap_or(0).into(),
            columns,
        }
    }

    pub fn len(&self) -> usize {
        self.columns.wait.len()
    }

    #[inline]
    pub fn io(&self, i: usize) -> Io {
        unpack(self.columns.ios[i])
    }

    /// The first latencies as they were recorded, from submission to reaping, ns.
    pub fn first_latencies(&self) -> impl Iterator<Item = i32> {
        let RecordingColumns { submit, wait, .. } = self.columns;
        let each = submit.iter().zip(wait).take(FIRST_LATENCIES);
        each.map(|(&submit, &wait)| submit as i32 + wait as i32)
    }

    /// Time from one submission to the next, on average, ns.
    pub fn pace(&self) -> f64 {
        let RecordingColumns {
            submit, wait, gap, ..
        } = self.columns;
        let n = self.len().min(FIRST_LATENCIES);
        let sum = |times: &[f32]| times[..n].iter().map(|&t| f64::from(t)).sum::<f64>();
        (sum(submit) + sum(wait) + sum(gap)) / n as f64
    }
}

#[derive(Clone, Debug)]
pub(super) struct Position {
    pub lane: usize,
    /// The next I/O in the recording, or the one in flight.
    pub at: usize,
    pub rounds: u64,
    pub ios: u64,
    pub draw: usize,
    pub start: i64,
    pub flight: Option<InFlight>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub done: i64,
    pub observed: i32,
    pub missed: bool,
}

impl Position {
    pub fn new(lane: usize, trace: &LaneTrace<'_>) -> Self {
        Position {
            lane,
            at: 0,
            rounds: 0,
            ios: 0,
            draw: Draws::first_of(lane),
            start: trace.columns.first_at as i64,
            flight: None,
        }
    }

    /// When the submission of the next I/O returns if no sleep adds to it, ns.
    #[inline]
    pub fn returns(&self, trace: &LaneTrace<'_>) -> i64 {
        self.start + trace.columns.submit[self.at] as i64
    }

    /// The present I/O was complete at `done`; returns when its think time ended, ns.
    #[inline]
    pub fn next(&mut self, done: i64, trace: &LaneTrace<'_>) -> i64 {
        let end = done + trace.columns.gap[self.at] as i64;
        self.start = end;
        self.skip(1, trace);
        if self.at == 0 {
            self.start += trace.columns.first_at as i64;
        }
        end
    }

    /// Moves on by `n` I/Os, not beyond the first of the next round.
    #[inline]
    pub fn skip(&mut self, n: usize, trace: &LaneTrace<'_>) {
        self.at += n;
        self.ios += n as u64;
        self.draw = Draws::later(self.draw, n);
        if self.at == trace.len() {
            self.at = 0;
            self.rounds += 1;
        }
    }
}
