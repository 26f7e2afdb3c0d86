//! Sums over a configuration's I/Os, and the outcome that follows from them.

use super::costs::CostTables;
use super::piece::Piece;
use crate::outcome::SimOutcome;
use q2c_model::{Latencies, Rates, SimulatedFigures};
use std::ops::Sub;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BatchTotals {
    pub misses: i64,
    pub asked: i64,
    pub slept: i64,
    pub polled: i64,
    pub cpu: i64,
    pub late: i64,
    /// Time that sleeps added to submissions.
    pub added: i64,
    pub observed: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    totals: BatchTotals,
    ios: i64,
    waited: i64,
    submitted: i64,
    thought: i64,
}

impl Snapshot {
    pub(crate) fn new(totals: BatchTotals, piece: &Piece, n: usize) -> Self {
        Snapshot {
            totals,
            ios: (piece.first + n as u64) as i64,
            waited: piece.waited[n],
            submitted: piece.submitted + piece.submit_until(n),
            thought: piece.thought[n],
        }
    }

    pub(crate) fn ios_since(&self, earlier: &Snapshot) -> u64 {
        (self.ios - earlier.ios) as u64
    }

    /// Of the I/Os since `earlier`, in `wall` ns; `ranks` are p50, p99 and p99.9, ns.
    pub(crate) fn outcome(
        &self,
        earlier: &Snapshot,
        wall: f64,
        costs: &CostTables,
        ranks: [f64; 3],
    ) -> SimOutcome {
        let t = self.totals - earlier.totals;
        let ios = self.ios - earlier.ios;
        let submitted = self.submitted - earlier.submitted + t.added;
        let running = submitted + self.thought - earlier.thought;
        let waited = (self.waited - earlier.waited) as f64;
        let n = ios as f64;
        if ios == 0 || wall <= 0.0 {
            return SimOutcome::default();
        }
        let cpu = (t.cpu + running) as f64;
        let other = t.slept as f64 * costs.other_sleep + (ios - t.slept) as f64 * costs.other_poll;
        let iops = n / wall * 1e9;
        SimOutcome {
            ios: ios as u64,
            gives: SimulatedFigures {
                rates: Rates {
                    iops,
                    cpu_pct: cpu / wall * 100.0,
                    miss_rate: t.misses as f64 / n,
                    effective_sleep_ns: t.asked as f64 / n,
                },
                cpu_ns_per_io: cpu / n,
                kiops_per_core: iops / 1e3 / ((cpu + other) / wall),
                t_over: t.late as f64 / waited,
                t_under: t.polled as f64 / waited,
                latencies: Latencies {
                    mean_ns: (submitted + t.observed) as f64 / n,
                    p50_ns: ranks[0],
                    p99_ns: ranks[1],
                    p999_ns: ranks[2],
                },
            },
        }
    }
}

impl Sub for BatchTotals {
    type Output = BatchTotals;

    fn sub(self, earlier: BatchTotals) -> BatchTotals {
        BatchTotals {
            misses: self.misses - earlier.misses,
            asked: self.asked - earlier.asked,
            slept: self.slept - earlier.slept,
            polled: self.polled - earlier.polled,
            cpu: self.cpu - earlier.cpu,
            late: self.late - earlier.late,
            added: self.added - earlier.added,
            observed: self.observed - earlier.observed,
        }
    }
}
