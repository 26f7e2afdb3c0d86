//! Background jobs beside a point, and the course of a trial in which they come and go.

use q2c_model::CpuId;
use q2c_stats::Interval;
use serde::{Deserialize, Serialize};

/// The background jobs beside the jobs of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackgroundJobs {
    /// CPU of each background job.
    pub cpus: Vec<CpuId>,
    /// Whether a background job has the CPU of a job or of its helper thread: every allowed CPU
    /// has one, or the user named that CPU.
    pub shares_cpus: bool,
    /// I/Os per second of all background jobs, beside the jobs of the point.
    pub iops: Interval,
    /// I/Os per second of all background jobs alone, just before each trial.
    pub alone_iops: Interval,
    /// Busy CPUs of the machine while the background runs alone. KIOPS/core does not count them.
    pub rest_busy_cpus: Interval,
}

/// A slice of a trial's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Begin of the slice, seconds since the trial's jobs began.
    pub begin_s: f64,
    /// Length of the slice, seconds.
    pub seconds: f64,
    /// Whether the slice counts; else it is warm-up, or comes after the counted part.
    pub counted: bool,
    /// I/Os per second of all jobs.
    pub iops: f64,
    /// I/Os per second of all background jobs.
    pub background_iops: f64,
    /// CPU time of the jobs' threads per second, CPUs.
    pub job_cpus: f64,
    /// Share of the I/Os that a sleep rule handled which were complete when their sleep ended,
    /// 0..1; `None` when it handled none.
    pub miss_rate: Option<f64>,
    /// Sum of sleeps asked over all I/Os that a sleep rule handled, ns; `None` when it handled
    /// none.
    pub effective_sleep_ns: Option<f64>,
}
