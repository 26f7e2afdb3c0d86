//! The measured points to which a machine is fitted.

use crate::machine::QueueTags;
use q2c_model::stats::{Interval, Rng};
use q2c_result::analyze::StageStats;
use std::collections::BTreeMap;

/// The stages between queueing and driver, in which a lock or cache line of the block layer shows.
pub(crate) const SHARED_STAGES: [&str; 4] = ["Q2G", "G2I", "I2D", "G2D"];

/// Everything that is known about a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveEvidence {
    /// Requests in flight per job.
    pub depth: u32,
    /// Hardware queues and their tags; `None` if unknown.
    pub tags: Option<QueueTags>,
    /// The points in rising order of the number of jobs. Each job has its own core.
    pub points: Vec<EvidencePoint>,
}

/// One measured point of the curve.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidencePoint {
    /// Number of jobs.
    pub jobs: u32,
    /// I/Os per second over the trials.
    pub iops: Interval,
    /// CPU time of the jobs per I/O, ns.
    pub cpu_ns: f64,
    /// Latencies by stage of the block layer, such as `D2C`.
    pub stages: BTreeMap<String, StageStats>,
}

impl EvidencePoint {
    pub(crate) fn mean_ns(&self, stage: &str) -> Option<f64> {
        let stats = self.stages.get(stage)?;
        (stats.n > 0 && stats.mean_ns > 0.0).then_some(stats.mean_ns)
    }
}

impl CurveEvidence {
    pub(crate) fn tags_suffice(&self, jobs: u32) -> bool {
        self.tags.is_none_or(|tags| {
            let requests = u64::from(jobs.div_ceil(tags.queues)) * u64::from(self.depth);
            requests <= u64::from(tags.per_queue)
        })
    }

    /// Standard deviation of a stage's time at the fewest jobs, ns, from its 50th and 90th
    /// percentile as if it were normal. So rare long times do not count. For an exponential
    /// distribution, it is 1.26 times too large.
    pub(crate) fn deviation_ns(&self, stage: &str) -> f64 {
        /// The 90th percentile of a standard normal distribution.
        const P90: f64 = 1.281_551_565_544_6;
        let stats = self.points.first().and_then(|p| p.stages.get(stage));
        stats.map_or(0.0, |stats| (stats.p90_ns - stats.p50_ns).max(0.0) / P90)
    }

    /// Standard deviation / mean of a request's time in the device at the fewest jobs, at most 1.
    pub(crate) fn device_cv(&self) -> f64 {
        let mean = self.points.first().and_then(|p| p.mean_ns("D2C"));
        mean.map_or(1.0, |mean| (self.deviation_ns("D2C") / mean).min(1.0))
    }

    pub(crate) fn rows(&self, shared: Option<&str>) -> Vec<EvidenceRow> {
        let row = |point: &EvidencePoint| EvidenceRow {
            jobs: point.jobs,
            per_ns: point.iops.median / 1e9,
            cpu_ns: point.cpu_ns,
            d2c_ns: point.mean_ns("D2C").unwrap_or(0.0),
            shared_ns: shared.and_then(|stage| point.mean_ns(stage)),
        };
        self.points.iter().map(row).collect()
    }

    /// The [`rows`](CurveEvidence::rows) of a resampled measurement: throughput varies as the
    /// trials do, and stages vary by `noise`.
    pub(crate) fn resample(
        &self,
        shared: Option<&str>,
        noise: StageNoise,
        rng: &mut Rng,
    ) -> Vec<EvidenceRow> {
        let mut rows = self.rows(shared);
        for (row, point) in rows.iter_mut().zip(&self.points) {
            row.per_ns *= (rng.normal() * error_of_median(&point.iops)).exp();
            row.d2c_ns *= (rng.normal() * noise.d2c).exp();
            let shared = (rng.normal() * noise.shared).exp();
            row.shared_ns = row.shared_ns.map(|ns| ns * shared);
        }
        rows
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EvidenceRow {
    pub jobs: u32,
    /// I/Os per ns.
    pub per_ns: f64,
    pub cpu_ns: f64,
    pub d2c_ns: f64,
    pub shared_ns: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StageNoise {
    pub d2c: f64,
    pub shared: f64,
}

/// Mean range of n normal values / standard deviation, for n = 2 to 10 (Tippett 1925).
const RANGES: [f64; 9] = [
    1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078,
];
/// Relative error of a point with a single trial: more than the usual drift within minutes.
const SINGLE_TRIAL_ERROR: f64 = 0.05;

/// Relative standard error of the median. Results have only the range of the trials, not each one.
fn error_of_median(iops: &Interval) -> f64 {
    let n = iops.trials as usize;
    if n < 2 {
        return SINGLE_TRIAL_ERROR;
    }
    let sigma = (iops.max - iops.min) / RANGES[(n - 2).min(RANGES.len() - 1)];
    // The median's variance is pi / 2 times the mean's.
    (std::f64::consts::FRAC_PI_2 / n as f64).sqrt() * sigma / iops.median
}
