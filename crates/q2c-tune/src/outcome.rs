//! The figures of one live trial, as a line of `cells.jsonl`.

use super::kernel::KernelSleeps;
use q2c_advice::{Beside, Predicted, Trial};
use q2c_engine::LaneData;
use q2c_engine::measure::{IntervalStats, intervals};
use q2c_model::Nanos;
use q2c_policy::method::Means;
use q2c_result::tune::{Prediction, Series};
use q2c_stats::{mean, percentile, quantiles};
use q2c_workbench::workload::{INTERVAL, Watched};
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// Number of quantiles that are kept of each trial's latencies.
pub(super) const QUANTILES: usize = 200;

/// The figures of one trial. If nothing else is said, they are of the measured parts, and of all
/// lanes together. Units are those of [`q2c_result::tune::Measured`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// The round that the trial was ordered in, from 0.
    #[serde(default)]
    pub round: u32,
    /// I/Os per second, all lanes.
    pub iops: f64,
    /// Thread CPU, percent of one CPU and lane.
    pub cpu_pct: f64,
    /// Misses / I/Os handled.
    pub miss_rate: f64,
    /// Sum of sleeps asked / I/Os handled, ns.
    pub effective_sleep_ns: f64,
    /// Mean sleep from call to return, ns.
    pub slept_ns: f64,
    /// U2C: mean, ns.
    pub mean_ns: f64,
    /// U2C: median, ns.
    pub p50_ns: f64,
    /// U2C: 99th percentile, ns.
    pub p99_ns: f64,
    /// U2C: 99.9th percentile, ns.
    pub p999_ns: f64,
    /// Busy CPUs of the machine, less the idle baseline; `None` when they could not be read.
    pub busy_cpus: Option<f64>,
    /// Voluntary switches per I/O that slept, or per I/O when none slept.
    pub switches_per_io: f64,
    /// I/Os of the measured parts.
    pub ios: u64,
    /// I/Os that slept.
    pub slept: u64,
    /// I/Os for whose samples there was no memory, of all stages of the trial.
    pub unrecorded: u64,
    /// Interrupts of the disk; `None` when they could not be read.
    pub interrupts: Option<u64>,
    /// Requests that the disk completed; `None` when its counters could not be read.
    pub requests: Option<u64>,
    /// Bytes that these requests moved; `None` when the counters could not be read.
    pub device_bytes: Option<u64>,
    /// Bytes that the lanes asked for.
    pub bytes: u64,
    /// IOPS of the polled slices of the trial.
    pub poll_iops: f64,
    /// Thread CPU of the polled slices, percent; below 100 the CPU was shared or stolen.
    pub poll_cpu_pct: f64,
    /// Busy CPUs of the machine in the polled slices, less the idle baseline; `None` when they
    /// could not be read.
    #[serde(default)]
    pub poll_busy_cpus: Option<f64>,
    /// The paired prediction; `None` for a method that is not predicted.
    pub predicted: Option<Prediction>,
    /// Quantiles of U2C at the midpoints of equal shares, ns.
    pub quantiles: Vec<f64>,
    /// Figures of the trial by interval.
    pub series: Series,
    /// The ring's flags, as the kernel names them.
    pub ring_flags: String,
    /// Where the engine looked for completions.
    #[serde(default)]
    pub polls_by: Option<Means>,
    /// Counts of the windows of a rule with a formula, those before the measured time included;
    /// `None` for every other method.
    #[serde(default)]
    pub windows: Option<Windows>,
    /// The sleeps of the kernel's own hybrid polling, as a probe saw them; `None` for every other
    /// method.
    #[serde(default)]
    pub kernel_sleeps: Option<KernelSleeps>,
}

/// Counts of the windows for which a formula computed a sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// All windows; each bucket of requests has its own.
    pub all: u64,
    /// Windows for which the formula gave a negative time, and the rule did not sleep.
    pub negative: u64,
    /// Windows for which the formula gave no number, by a division by zero or an overflow, and the
    /// rule did not sleep.
    pub undefined: u64,
}

impl Sum for Windows {
    fn sum<I: Iterator<Item = Windows>>(iter: I) -> Windows {
        iter.fold(Windows::default(), |a, b| Windows {
            all: a.all + b.all,
            negative: a.negative + b.negative,
            undefined: a.undefined + b.undefined,
        })
    }
}

impl TrialOutcome {
    /// The figures in the form that the referee takes.
    pub(super) fn evidence(&self) -> Trial {
        let predicted = self.predicted.map(|predicted| Predicted {
            relative_iops: predicted.iops / self.poll_iops,
            cpu_pct: predicted.cpu_pct,
            miss_rate: predicted.miss_rate,
        });
        Trial {
            iops: self.iops,
            cpu_pct: self.cpu_pct,
            busy_cpus: self.busy_cpus,
            miss_rate: self.miss_rate,
            effective_sleep_ns: self.effective_sleep_ns,
            p99_ns: self.p99_ns,
            beside: Beside {
                iops: self.poll_iops,
                cpu_pct: self.poll_cpu_pct,
                busy_cpus: self.poll_busy_cpus,
            },
            predicted,
            round: self.round,
        }
    }
}

/// The figures of several stages of a run as one trial, all lanes together.
pub(super) fn measured(
    watched: &Watched,
    stages: &[usize],
    bs: u64,
    idle_busy_cpus: f64,
) -> TrialOutcome {
    let stats = watched.stats_over(stages);
    let span = watched.span_over(stages);
    TrialOutcome {
        iops: stats.iops(),
        cpu_pct: stats.cpu_pct(),
        miss_rate: stats.miss_rate(),
        effective_sleep_ns: stats.effective_sleep_ns(),
        slept_ns: stats.mean_slept_ns(),
        mean_ns: mean(&stats.latencies),
        p50_ns: percentile(&stats.latencies, 0.5),
        p99_ns: percentile(&stats.latencies, 0.99),
        p999_ns: percentile(&stats.latencies, 0.999),
        // A load that was there at rest may have stopped since, so the difference can be too small.
        // The threads' own CPU was busy for sure.
        busy_cpus: span
            .busy_cpus
            .map(|busy| (busy - idle_busy_cpus).max(stats.cpu_ns as f64 / stats.wall_ns)),
        switches_per_io: stats.switches_per_io(),
        ios: stats.ios,
        slept: stats.sleeps.slept,
        unrecorded: watched.unrecorded(),
        interrupts: span.interrupts,
        requests: span.requests,
        device_bytes: span.bytes,
        bytes: stats.ios * bs,
        quantiles: quantiles(&stats.latencies, QUANTILES),
        series: series(watched, stages),
        ring_flags: watched
            .data
            .lanes
            .first()
            .map_or("", |lane| lane.facts.flags)
            .to_owned(),
        polls_by: watched.data.lanes.first().map(|lane| lane.facts.polls_by),
        ..TrialOutcome::default()
    }
}

/// The series over the given stages, with the time between them left out. IOPS are summed over
/// lanes; all other figures are means over lanes.
fn series(watched: &Watched, stages: &[usize]) -> Series {
    let interval = interval_of(watched, stages);
    let lanes: Vec<Vec<IntervalStats>> = watched
        .data
        .lanes
        .iter()
        .map(|lane| joined(lane, stages, interval))
        .collect();
    let length = lanes.iter().map(Vec::len).min().unwrap_or(0);
    let count = lanes.len() as f64;
    let at = |n: usize, value: fn(&IntervalStats) -> f64| {
        mean(&lanes.iter().map(|lane| value(&lane[n])).collect::<Vec<_>>())
    };
    let column = |value| (0..length).map(|n| at(n, value)).collect::<Vec<f64>>();
    Series {
        interval_s: interval.as_secs_f64(),
        t_s: column(|i| i.end_s),
        iops: (0..length).map(|n| at(n, |i| i.iops) * count).collect(),
        miss_rate: column(|i| i.miss_rate),
        effective_sleep_ns: column(|i| i.effective_sleep_ns),
        slept_ns: column(|i| i.slept_ns),
        mean_ns: column(|i| i.mean_ns),
        p99_ns: column(|i| i.p99_ns),
        // The sampler may have no reading in an interval.
        cpu_pct: (0..length)
            .map(|n| Some(at(n, |i| i.cpu_pct)).filter(|pct| pct.is_finite()))
            .collect(),
    }
}

/// Length of an interval: the sampler's, or that of the shortest stage where that is less.
fn interval_of(watched: &Watched, stages: &[usize]) -> Nanos {
    let wall = |&stage: &usize| watched.stats(stage).wall_ns as u64;
    stages
        .iter()
        .map(wall)
        .min()
        .map_or(INTERVAL, |least| INTERVAL.min(Nanos(least)))
}

/// The intervals of one lane over several stages, as if the stages followed each other directly.
fn joined(lane: &LaneData, stages: &[usize], interval: Nanos) -> Vec<IntervalStats> {
    let mut before = 0.0;
    let mut all = Vec::new();
    for &stage in stages {
        let of_stage = intervals(lane, stage, interval).into_iter();
        all.extend(of_stage.map(|i| IntervalStats {
            end_s: before + i.end_s,
            ..i
        }));
        before = all.last().map_or(before, |last| last.end_s);
    }
    all
}
