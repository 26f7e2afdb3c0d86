//! Figures of trials by kind of request: reads, writes and flushes.

use q2c_engine::{IoTally, KindTallies};
use q2c_model::stats::{Histogram, Interval};
use q2c_model::{Latencies, Op};
use q2c_result::bench::KindFigures;
use serde::{Deserialize, Serialize};

/// The figures of one kind of request in one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindTrial {
    /// What the requests do.
    pub op: Op,
    /// Requests per second.
    pub iops: f64,
    /// Latencies (U2C), ns.
    pub latencies: Latencies<f64>,
    /// Misses / requests that a sleep rule handled; `None` when it handled none.
    pub miss_rate: Option<f64>,
}

impl KindTrial {
    fn from_latencies(op: Op, latencies: &Histogram, wall_s: f64) -> Self {
        KindTrial {
            op,
            iops: latencies.count() as f64 / wall_s,
            latencies: Latencies::from_percentiles(latencies.mean(), |p| latencies.percentile(p)),
            miss_rate: None,
        }
    }

    fn from_tally(op: Op, tally: &IoTally, wall_s: f64) -> Self {
        let handled = tally.sleeps.handled;
        KindTrial {
            miss_rate: (handled > 0).then(|| tally.sleeps.misses as f64 / handled as f64),
            ..KindTrial::from_latencies(op, &tally.latencies, wall_s)
        }
    }
}

/// The figures of each kind that a trial of `wall_s` seconds has; none without tallies by kind.
pub fn kind_trials(kinds: Option<&KindTallies>, wall_s: f64) -> Vec<KindTrial> {
    let Some(kinds) = kinds else {
        return Vec::new();
    };
    let trials = [
        KindTrial::from_tally(Op::Read, &kinds.reads, wall_s),
        KindTrial::from_tally(Op::Write, &kinds.writes, wall_s),
        KindTrial::from_latencies(Op::Flush, &kinds.flushes, wall_s),
    ];
    trials
        .into_iter()
        .filter(|trial| trial.iops > 0.0)
        .collect()
}

/// The figures of each kind over the trials that have it.
pub fn kind_figures<'a>(trials: impl Iterator<Item = &'a [KindTrial]>) -> Vec<KindFigures> {
    let trials: Vec<&KindTrial> = trials.flatten().collect();
    let figures = |op: Op| {
        let of_kind = trials.iter().filter(|trial| trial.op == op);
        let iops: Vec<f64> = of_kind.clone().map(|trial| trial.iops).collect();
        let misses: Vec<f64> = of_kind
            .clone()
            .filter_map(|trial| trial.miss_rate)
            .collect();
        let latencies: Latencies<Vec<f64>> = of_kind.map(|trial| trial.latencies).collect();
        (!iops.is_empty()).then(|| KindFigures {
            op,
            iops: Interval::from_samples(&iops),
            lat_ns: latencies.map(|ns| Interval::from_samples(&ns)).into(),
            miss_rate: (!misses.is_empty()).then(|| Interval::from_samples(&misses)),
        })
    };
    Op::ALL.into_iter().filter_map(figures).collect()
}
