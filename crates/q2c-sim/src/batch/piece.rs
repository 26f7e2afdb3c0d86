//! A piece of a trace in the form the kernels read: whole nanoseconds from the piece's start.

use super::FAR;
use super::histogram::Counting;
use crate::closed::Draws;
use crate::recording::{Columns, Recording, unpack};
use q2c_policy::{BUCKETS, bucket_of};

/// I/Os of a piece at most: its columns, 33 bytes per I/O, stay in the second-level cache while all groups pass over it.
const LENGTH: usize = 16_384;

/// Columns of the same length, one entry per I/O, but for `waited`, which has one more.
#[derive(Default)]
pub(super) struct Piece {
    /// I/Os before it.
    pub first: u64,
    /// Submissions and think times before it, ns.
    pub base: i64,
    /// Submissions before it, ns.
    pub submitted: i64,
    /// Device times, ns.
    pub wait: Vec<i32>,
    /// When each submission returned if no I/O had taken any time, from the piece's start.
    pub returned: Vec<i32>,
    /// Submission times, ns.
    pub submit: Vec<i32>,
    /// Device times before each I/O, from the trace's start.
    pub waited: Vec<i64>,
    /// Bucket, or [`BUCKETS`] for none.
    pub row: Vec<u8>,
    /// Draw of the clear wake-up.
    pub z_clear: Vec<f32>,
    /// Draw of the hit wake-up.
    pub z_hit: Vec<f32>,
    /// What its latency counts for, see [`Counting::weight`].
    pub weight: Vec<i32>,
    /// The piece's submissions and think times, ns.
    pub total: i64,
}

impl Piece {
    pub fn new() -> Self {
        let mut piece = Piece::default();
        let Piece {
            wait,
            returned,
            submit,
            weight,
            ..
        } = &mut piece;
        for column in [wait, returned, submit, weight] {
            column.reserve_exact(LENGTH);
        }
        piece.z_clear.reserve_exact(LENGTH);
        piece.z_hit.reserve_exact(LENGTH);
        piece.row.reserve_exact(LENGTH);
        piece.waited.reserve_exact(LENGTH + 1);
        piece.waited.push(0);
        piece
    }

    pub fn len(&self) -> usize {
        self.wait.len()
    }

    /// Moves on to the I/Os of `trace` from `from` on; returns how many it took, at least one.
    pub fn fill(&mut self, trace: &Recording, from: usize, draws: &Draws) -> usize {
        self.first += self.len() as u64;
        self.base += self.total;
        self.submitted += self.submit_until(self.len());
        let waited = self.waited.last().copied().unwrap_or(0);
        self.clear();
        self.waited.push(waited);
        let trace = trace.columns();
        for i in from..trace.wait.len().min(from + LENGTH) {
            let submit = trace.submit[i] as i64;
            if self.total + submit >= i64::from(FAR) && i > from {
                break;
            }
            self.push(&trace, i, draws);
        }
        self.len()
    }

    fn clear(&mut self) {
        let Piece {
            wait,
            returned,
            submit,
            weight,
            ..
        } = self;
        for column in [wait, returned, submit, weight] {
            column.clear();
        }
        self.z_clear.clear();
        self.z_hit.clear();
        self.row.clear();
        self.waited.clear();
        self.total = 0;
    }

    fn push(&mut self, trace: &Columns<'_>, i: usize, draws: &Draws) {
        let (submit, wait) = (trace.submit[i] as i64, trace.wait[i] as i64);
        let io = self.first + self.len() as u64;
        let draw = draws.of(io);
        self.weight.push(Counting::weight(io));
        let waited = self.waited[self.len()];
        self.wait.push(wait as i32);
        self.returned.push((self.total + submit) as i32);
        self.submit.push(submit as i32);
        self.waited.push(waited + wait);
        let row = bucket_of(unpack(trace.ios[i])).unwrap_or(BUCKETS);
        self.row.push(row as u8);
        self.z_clear.push(draw.0 as f32);
        self.z_hit.push(draw.1 as f32);
        self.total += submit + trace.gap[i] as i64;
    }

    /// Submission times of the piece's first `n` I/Os.
    pub fn submit_until(&self, n: usize) -> i64 {
        self.submit[..n].iter().map(|&t| i64::from(t)).sum()
    }

    /// Submission and think times before I/O `n` of the piece, from the trace's start.
    pub fn between_until(&self, n: usize) -> i64 {
        let within = match (self.returned.get(n), self.submit.get(n)) {
            (Some(&returned), Some(&submit)) => i64::from(returned) - i64::from(submit),
            _ => self.total,
        };
        self.base + within
    }

    /// Submission to reaping as recorded, ns.
    pub fn latencies(&self) -> Vec<i32> {
        self.submit
            .iter()
            .zip(&self.wait)
            .map(|(s, w)| s + w)
            .collect()
    }

    /// Its buckets, one bit each.
    pub fn rows(&self) -> u32 {
        self.row.iter().fold(0, |bits, &row| bits | 1 << row)
    }

    /// The one bucket that all of the piece's I/Os have.
    pub fn only_row(&self) -> Option<u8> {
        let rows = self.rows();
        rows.is_power_of_two().then(|| rows.trailing_zeros() as u8)
    }
}
