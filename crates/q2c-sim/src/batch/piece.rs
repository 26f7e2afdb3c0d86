//! A piece of a trace in the form that kernels read: whole nanoseconds from the start of the piece.

use super::MAX_NS;
use super::histogram::CountingLimit;
use super::sums::Sums;
use crate::recording::{LaneRecording, RecordingColumns, unpack};
use crate::reference::WakeDraws;
use q2c_policy::{BUCKETS, bucket_of};

/// Most I/Os of a piece: the columns that kernels read, 33 bytes per I/O, stay in the L2 cache.
const MAX_IOS: usize = 16_384;

/// The columns of a piece, one entry per I/O; `waited` and `thought` have one entry more.
/// [`Piece::fill`] replaces a piece by the next one of the trace.
#[derive(Default)]
pub(super) struct Piece {
    /// Number of the trace's I/Os before the piece.
    pub ios_before: u64,
    /// Sum of the submission and think times before the piece, ns.
    pub base: i64,
    pub submitted: i64,
    pub wait: Vec<i32>,
    /// When each submission would return if I/Os took no time, ns from the piece's start.
    pub returned: Vec<i32>,
    pub submit: Vec<i32>,
    /// Sum of the device times before each I/O, from the trace's start, ns.
    pub waited: Vec<i64>,
    /// Sum of the CPU times between I/Os before each I/O, from the trace's start, ns.
    pub thought: Vec<i64>,
    /// The index of the I/O's bucket, or [`BUCKETS`] for an I/O without one.
    pub row: Vec<u8>,
    pub z_clear: Vec<f32>,
    pub z_hit: Vec<f32>,
    /// The weight of each latency in a histogram, see [`CountingLimit::weight`].
    pub weight: Vec<i32>,
    pub submit_and_think: i64,
}

impl Piece {
    pub(crate) fn new() -> Self {
        Piece {
            waited: vec![0],
            thought: vec![0],
            ..Piece::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.wait.len()
    }

    /// Replaces the piece by I/Os of `trace` from index `from` on. Returns their number, at least
    /// one. The submission and think times must stay below [`MAX_NS`] in sum.
    pub(crate) fn fill(&mut self, trace: &LaneRecording, from: usize, draws: &WakeDraws) -> usize {
        self.ios_before += self.len() as u64;
        self.base += self.submit_and_think;
        self.submitted += self.submit_until(self.len());
        self.submit_and_think = 0;
        let (wait, returned) = (&mut self.wait, &mut self.returned);
        for column in [wait, returned, &mut self.submit, &mut self.weight] {
            column.clear();
        }
        for column in [&mut self.z_clear, &mut self.z_hit] {
            column.clear();
        }
        self.row.clear();
        for sums in [&mut self.waited, &mut self.thought] {
            sums.drain(..sums.len() - 1);
        }
        let trace = trace.columns();
        let max_think = trace.max_think_cpu();
        for i in from..trace.wait.len().min(from + MAX_IOS) {
            let submit = trace.submit[i] as i64;
            if self.submit_and_think + submit >= i64::from(MAX_NS) && i > from {
                break;
            }
            self.push(&trace, i, max_think, draws);
        }
        self.len()
    }

    fn push(&mut self, trace: &RecordingColumns<'_>, i: usize, max_think: i64, draws: &WakeDraws) {
        let (submit, wait) = (trace.submit[i] as i64, trace.wait[i] as i64);
        let gap = trace.gap[i] as i64;
        let io = self.ios_before + self.len() as u64;
        let (z_clear, z_hit) = draws.draws_at(WakeDraws::index_of_io(io));
        self.weight.push(CountingLimit::weight(io));
        let (waited, thought) = (self.waited[self.len()], self.thought[self.len()]);
        self.wait.push(wait as i32);
        self.returned.push((self.submit_and_think + submit) as i32);
        self.submit.push(submit as i32);
        self.waited.push(waited + wait);
        self.thought.push(thought + gap.min(max_think));
        let row = bucket_of(unpack(trace.ios[i])).unwrap_or(BUCKETS);
        self.row.push(row as u8);
        self.z_clear.push(z_clear);
        self.z_hit.push(z_hit);
        self.submit_and_think += submit + gap;
    }

    /// The sums of a lane before I/O `n`; `totals` has what its sleeps changed.
    pub(crate) fn sums_before(&self, n: usize, totals: Sums) -> Sums {
        Sums {
            ios: (self.ios_before + n as u64) as i64,
            waited: self.waited[n],
            submitted: self.submitted + self.submit_until(n) + totals.submitted,
            thought: self.thought[n],
            ..totals
        }
    }

    fn submit_until(&self, n: usize) -> i64 {
        self.submit[..n].iter().map(|&t| i64::from(t)).sum()
    }

    pub(crate) fn latencies(&self) -> Vec<i32> {
        let times = self.submit.iter().zip(&self.wait);
        times.map(|(submit, wait)| submit + wait).collect()
    }

    pub(crate) fn row_bits(&self) -> u32 {
        self.row.iter().fold(0, |bits, &row| bits | 1 << row)
    }

    pub(crate) fn only_row(&self) -> Option<u8> {
        let rows = self.row_bits();
        rows.is_power_of_two().then(|| rows.trailing_zeros() as u8)
    }
}
