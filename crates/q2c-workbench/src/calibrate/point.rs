//! The measurements of one stage of a calibration.

use crate::busy::OtherWork;
use crate::workload::{StageId, WorkloadRun};
use q2c_engine::Sample;
use q2c_engine::measure::PhaseStats;
use q2c_model::CpuId;
use q2c_model::stats::{mean, median, percentile, sorted};
use q2c_result::tune::CalibrationPoint;
use std::borrow::Borrow;

/// A stage and the polled stages just before and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BesidePolling {
    pub before: StageId,
    pub stage: StageId,
    pub after: StageId,
}

/// Share of the largest values that means leave out, since they are stalls of the machine.
const TRIM: f64 = 0.01;

/// Latencies and overheads of polled stages. All times are in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct PollingFigures {
    /// Time from the submission's return to the reaping, of each I/O, ascending.
    pub waits: Vec<f64>,
    /// Median time of a submission.
    pub submit: f64,
    /// Median U2C.
    pub u2c: f64,
    /// Median time from a reaping to the next submission.
    pub gap: f64,
    /// Thread CPU per I/O.
    pub cpu: f64,
}

impl PollingFigures {
    pub(crate) fn from_stage(watched: &WorkloadRun, stage: StageId) -> Self {
        PollingFigures::with_stats(watched, stage, &watched.stats(stage))
    }

    fn with_stats(watched: &WorkloadRun, stage: StageId, stats: &PhaseStats) -> Self {
        let samples = stage_samples(watched, stage);
        PollingFigures {
            waits: sorted_by(&samples, |s| s.wait() as f64),
            submit: median_of(&samples, |s| s.submit_len_ns.into()),
            u2c: median_of(&samples, |s| s.u2c().0 as f64),
            gap: gap(watched, stage),
            cpu: cpu_per_io(stats),
        }
    }

    /// Joins two polled stages: latencies are pooled, other figures averaged.
    fn joined_with(&self, other: &PollingFigures) -> Self {
        PollingFigures {
            waits: sorted(&[&self.waits[..], &other.waits].concat()),
            submit: self.submit.midpoint(other.submit),
            u2c: self.u2c.midpoint(other.u2c),
            gap: self.gap.midpoint(other.gap),
            cpu: self.cpu.midpoint(other.cpu),
        }
    }

    /// The quantile `q` of the latency, ns; `q` is from 0 to 1.
    pub(crate) fn wait(&self, q: f64) -> f64 {
        percentile(&self.waits, q)
    }

    /// Share of the latencies that are at most `limit` (ns), from 0 to 1.
    pub(crate) fn share_below(&self, limit: f64) -> f64 {
        self.waits.partition_point(|&w| w <= limit) as f64 / self.waits.len().max(1) as f64
    }

    /// Mean of the latencies that are at most `limit` (ns); `None` if there are none.
    pub(crate) fn mean_wait_below(&self, limit: f64) -> Option<f64> {
        let below = &self.waits[..self.waits.partition_point(|&w| w <= limit)];
        (!below.is_empty()).then(|| mean(below))
    }
}

/// Many I/Os with the same fixed sleep, and the polling around them. All times are in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct FixedSleepPoint {
    pub asked: f64,
    pub ios: u64,
    pub miss_rate: f64,
    /// Wake delays of the I/Os whose completion came after the wake-up, ascending.
    pub clear: Vec<f64>,
    /// Wake delays of the I/Os whose completion was ready at the first poll, ascending.
    pub hit: Vec<f64>,
    /// Wake delay of each I/O in order, and true if it missed.
    pub ordered: Vec<(f64, bool)>,
    pub wait_p50: f64,
    pub submit_p50: f64,
    /// Thread CPU per I/O.
    pub cpu: f64,
    /// The part of `cpu` that the sleep cost: without submission, polling and bookkeeping.
    pub sleep_cpu: f64,
    /// Median time from the wake-up to the reaping if the completion was already there.
    pub reap_hit: f64,
    /// Busy CPU of the machine beyond the threads' own, per I/O; `None` if it cannot be read.
    pub other_cpu: Option<f64>,
    /// The polled stages before and after the sleep.
    pub poll: PollingFigures,
    /// Median wait less that of polling; only a joined point has it.
    pub added_latency: f64,
    /// Busy CPU beyond the threads' own, per I/O, in the polled stage after the sleep.
    pub other_cpu_poll: Option<f64>,
}

impl FixedSleepPoint {
    /// The point of a stage with a fixed sleep of `asked` ns.
    pub fn from_stage(
        watched: &WorkloadRun,
        beside: BesidePolling,
        asked: f64,
        others: OtherWork,
    ) -> Self {
        let (stage, after) = (beside.stage, beside.after);
        let samples = stage_samples(watched, stage);
        let (hit, clear): (Vec<&Sample>, Vec<&Sample>) =
            samples.iter().partition(|s| s.is(Sample::MISSED));
        let delay = |s: &Sample| f64::from(s.woke_ns) - f64::from(s.asked_ns);
        let polled = |s: &Sample| s.wait() as f64 - f64::from(s.woke_ns);
        let (stats, polled_after) = (watched.stats(stage), watched.stats(after));
        let cpu = cpu_per_io(&stats);
        let other = |stage: StageId, stats: &PhaseStats| {
            other_cpu(watched.span(stage).busy_cpus, stats, others)
        };
        let poll = PollingFigures::from_stage(watched, beside.before);
        let submit = trimmed_mean(&samples, |s| s.submit_len_ns.into());
        let ordered = samples.iter().map(|s| (delay(s), s.is(Sample::MISSED)));
        let polls = trimmed_mean(&clear, polled) * clear.len() as f64 / samples.len().max(1) as f64;
        FixedSleepPoint {
            asked,
            ios: stats.ios,
            miss_rate: stats.miss_rate(),
            clear: sorted_by(&clear, delay),
            hit: sorted_by(&hit, delay),
            ordered: ordered.collect(),
            wait_p50: median_of(&samples, |s| s.wait() as f64),
            submit_p50: median_of(&samples, |s| s.submit_len_ns.into()),
            cpu,
            sleep_cpu: cpu - submit - polls - gap(watched, stage),
            reap_hit: median_of(&hit, polled),
            other_cpu: other(stage, &stats),
            poll: poll.joined_with(&PollingFigures::with_stats(watched, after, &polled_after)),
            // Joining the passes sets this.
            added_latency: 0.0,
            other_cpu_poll: other(after, &polled_after),
        }
    }

    /// Joins the passes of one sleep, at least one. Distributions are pooled and other figures
    /// become medians. Busy CPU is read in steps of 10 ms, so it becomes a mean.
    pub(crate) fn join_passes(passes: Vec<FixedSleepPoint>) -> Self {
        let over = |value: fn(&FixedSleepPoint) -> f64| median_over(passes.iter().map(value));
        let known_mean = |value: fn(&FixedSleepPoint) -> Option<f64>| {
            let values: Option<Vec<f64>> = passes.iter().map(value).collect();
            values.map(|values| mean(&values))
        };
        let ios = passes.iter().map(|p| p.ios).sum();
        let misses: f64 = passes.iter().map(|p| p.miss_rate * p.ios as f64).sum();
        // A pass without hits has no time for reaping a hit.
        let with_hits = passes.iter().filter(|p| !p.hit.is_empty());
        FixedSleepPoint {
            asked: passes[0].asked,
            ios,
            miss_rate: misses / (ios as f64).max(1.0),
            clear: pool(&passes, |p| &p.clear),
            hit: pool(&passes, |p| &p.hit),
            wait_p50: over(|p| p.wait_p50),
            submit_p50: over(|p| p.submit_p50),
            cpu: over(|p| p.cpu),
            sleep_cpu: over(|p| p.sleep_cpu),
            reap_hit: median_over(with_hits.map(|p| p.reap_hit)),
            other_cpu: known_mean(|p| p.other_cpu),
            other_cpu_poll: known_mean(|p| p.other_cpu_poll),
            poll: PollingFigures {
                waits: pool(&passes, |p| &p.poll.waits),
                submit: over(|p| p.poll.submit),
                u2c: over(|p| p.poll.u2c),
                gap: over(|p| p.poll.gap),
                cpu: over(|p| p.poll.cpu),
            },
            added_latency: over(|p| p.wait_p50 - p.poll.wait(0.5)),
            ordered: passes.into_iter().flat_map(|p| p.ordered).collect(),
        }
    }

    pub(crate) fn summary(&self) -> CalibrationPoint {
        let delays = sorted(&[&self.clear[..], &self.hit[..]].concat());
        CalibrationPoint {
            asked_ns: self.asked,
            ios: self.ios,
            miss_rate: self.miss_rate,
            delay_p50_ns: percentile(&delays, 0.5),
            delay_p99_ns: percentile(&delays, 0.99),
            cpu_ns: self.cpu,
            wait_p50_ns: self.wait_p50,
        }
    }
}

pub(super) fn polling_summary(points: &[FixedSleepPoint]) -> CalibrationPoint {
    let over = |value: fn(&FixedSleepPoint) -> f64| median_over(points.iter().map(value));
    CalibrationPoint {
        ios: points.iter().map(|p| p.poll.waits.len() as u64).sum(),
        cpu_ns: over(|p| p.poll.cpu),
        wait_p50_ns: over(|p| p.poll.wait(0.5)),
        ..CalibrationPoint::default()
    }
}

/// Interrupt-driven I/O compared with the polled I/O beside it. Times are in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct InterruptCosts {
    /// Thread CPU per I/O.
    pub cpu: f64,
    /// Median U2C less that of polling.
    pub latency: f64,
    pub other_cpu: Option<f64>,
    pub irq_cpu: Option<CpuId>,
}

impl InterruptCosts {
    /// Compares the stage with the polled stages beside it.
    pub(crate) fn from_stage(
        watched: &WorkloadRun,
        beside: BesidePolling,
        others: OtherWork,
    ) -> Self {
        let stats = watched.stats(beside.stage);
        let [before, after] =
            [beside.before, beside.after].map(|s| PollingFigures::from_stage(watched, s));
        let busy = watched.span(beside.stage).busy_cpus;
        let stage = beside.stage.index();
        let interrupts = |n: usize| watched.boundaries.get(n)?.interrupts.as_ref();
        let counts = interrupts(stage + 1).zip(interrupts(stage));
        let counts = counts.map(|(end, begin)| end.since(begin));
        InterruptCosts {
            cpu: cpu_per_io(&stats),
            latency: percentile(&stats.latencies, 0.5) - before.joined_with(&after).u2c,
            other_cpu: other_cpu(busy, &stats, others),
            irq_cpu: counts.and_then(|counts| counts.busiest().first().copied()),
        }
    }
}

fn pool(passes: &[FixedSleepPoint], values: impl Fn(&FixedSleepPoint) -> &Vec<f64>) -> Vec<f64> {
    sorted(&passes.iter().flat_map(&values).copied().collect::<Vec<_>>())
}

/// The median; 0 without values.
fn median_over(values: impl Iterator<Item = f64>) -> f64 {
    median(&sorted(&values.collect::<Vec<_>>()))
}

fn cpu_per_io(stats: &PhaseStats) -> f64 {
    stats.cpu_ns as f64 / stats.ios.max(1) as f64
}

fn stage_samples(watched: &WorkloadRun, stage: StageId) -> Vec<Sample> {
    let lanes = watched.data.lanes.iter();
    let samples = lanes.flat_map(|lane| lane.phase_samples(stage.index()));
    samples.copied().collect()
}

/// Median time from a reaping to the same lane's next submission, ns.
fn gap(watched: &WorkloadRun, stage: StageId) -> f64 {
    let between = |pair: &[Sample]| pair[1].submit_ns.saturating_sub(pair[0].reaped_ns()) as f64;
    let lanes = watched.data.lanes.iter();
    let gaps = lanes.flat_map(|lane| lane.phase_samples(stage.index()).windows(2).map(between));
    percentile(&sorted(&gaps.collect::<Vec<_>>()), 0.5)
}

/// Busy CPU beyond the threads', ns per I/O; `None` if unread, or if other work takes idle time.
fn other_cpu(busy_cpus: Option<f64>, stats: &PhaseStats, others: OtherWork) -> Option<f64> {
    let busy = busy_cpus.filter(|_| !others.uses_idle_time)? - others.busy_cpus;
    let busy = busy * stats.wall_ns;
    Some((busy - stats.cpu_ns as f64) / stats.ios.max(1) as f64)
}

fn sorted_by<S: Borrow<Sample>>(samples: &[S], value: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let values: Vec<f64> = samples.iter().map(|s| value(s.borrow())).collect();
    sorted(&values)
}

fn median_of<S: Borrow<Sample>>(samples: &[S], value: impl Fn(&Sample) -> f64) -> f64 {
    percentile(&sorted_by(samples, value), 0.5)
}

/// The mean without the largest values, a share of [`TRIM`].
fn trimmed_mean<S: Borrow<Sample>>(samples: &[S], value: impl Fn(&Sample) -> f64) -> f64 {
    let values = sorted_by(samples, value);
    mean(&values[..values.len() - (values.len() as f64 * TRIM) as usize])
}
