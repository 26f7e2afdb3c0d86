//! The figures of one live trial, as a line of `cells.jsonl`.

use super::cells::CellSpec;
use q2c_advice::{PairedPrediction, PollingBaseline, TrialFigures, WAIT_QUANTILES};
use q2c_engine::LaneData;
use q2c_engine::measure::{IntervalStats, PhaseStats, combine_lanes, intervals};
use q2c_model::stats::{mean, quantiles};
use q2c_model::{Latencies, Nanos, Rates};
use q2c_policy::method::Means;
use q2c_result::tune::{PerCore, Prediction, Series};
use q2c_watch::kernel::KernelSleeps;
use q2c_workbench::busy::{CounterSpan, OtherWork, job_cpus};
use q2c_workbench::kinds::{KindTrial, kind_trials};
use q2c_workbench::workload::{INTERVAL, StageId, Workload, WorkloadRun};
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// Number of stored quantiles of a trial's U2C.
pub(super) const QUANTILES: usize = 200;

/// A cell with its trials.
pub(crate) type Runs = q2c_run::runner::CellRuns<CellSpec, TrialOutcome>;

/// Figures of the measured parts and of all lanes together, if the field does not say otherwise.
/// Units are those of [`q2c_result::tune::Measured`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrialOutcome {
    pub round: u32,
    #[serde(flatten)]
    pub rates: Rates<f64>,
    pub slept_ns: f64,
    #[serde(flatten)]
    pub latencies: Latencies<f64>,
    /// Busy CPUs less the idle baseline; `None` if unread, or below the CPU of the threads alone.
    pub busy_cpus: Option<f64>,
    pub switches_per_io: f64,
    pub ios: u64,
    pub slept: u64,
    pub left_to_interrupt: u64,
    /// I/Os that memory was too short to record, in all stages of the trial.
    pub unrecorded: u64,
    /// Counts of the disk; this and the next two are `None` if its counters could not be read.
    pub interrupts: Option<u64>,
    pub requests: Option<u64>,
    pub device_bytes: Option<u64>,
    pub bytes: u64,
    /// IOPS of the trial's polled slices. All `poll_` figures are about these slices.
    pub poll_iops: f64,
    /// Thread CPU, percent. Without think time, below 100 the CPU was shared or stolen.
    pub poll_cpu_pct: f64,
    /// With think time: thread CPU of the slices as a percentage of what polling and thinking need.
    pub poll_got_pct: Option<f64>,
    /// Busy CPUs of the slices, otherwise like `busy_cpus`.
    pub poll_busy_cpus: Option<f64>,
    /// CPUs of other programs, if they hide `busy_cpus` or `poll_busy_cpus`.
    pub hidden_by: Option<f64>,
    /// True if the trial ran a second time because other programs disturbed the first run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// Quantiles of the waits in the polled slices of all lanes, ns; zeros without slices.
    pub poll_waits: [f32; WAIT_QUANTILES],
    pub predicted: Option<Prediction>,
    /// Quantiles of U2C at the midpoints of [`QUANTILES`] equal shares, ns.
    pub quantiles: Vec<f64>,
    pub series: Series,
    /// Figures by kind of request; empty for a pattern with requests of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindTrial>,
    pub ring_flags: String,
    pub polls_by: Option<Means>,
    /// Windows of a rule with a formula, including those before the measured time.
    pub windows: Option<RuleWindowCounts>,
    /// Sleeps of the kernel's own hybrid polling, counted by a probe.
    pub kernel_sleeps: Option<KernelSleeps>,
}

/// Windows of a rule with a formula: all, those whose formula gave a negative time, and no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleWindowCounts {
    pub all: u64,
    pub negative: u64,
    pub undefined: u64,
}

impl Sum for RuleWindowCounts {
    fn sum<I: Iterator<Item = RuleWindowCounts>>(iter: I) -> RuleWindowCounts {
        iter.fold(RuleWindowCounts::default(), |a, b| RuleWindowCounts {
            all: a.all + b.all,
            negative: a.negative + b.negative,
            undefined: a.undefined + b.undefined,
        })
    }
}

impl TrialOutcome {
    /// CPU time that the polling thread had, percent of what it needed.
    pub(super) fn polling_got_pct(&self) -> f64 {
        self.poll_got_pct.unwrap_or(self.poll_cpu_pct)
    }

    pub(super) fn evidence(&self) -> TrialFigures {
        let predicted = self.predicted.map(|predicted| PairedPrediction {
            relative_iops: predicted.rates.iops / self.poll_iops,
            cpu_pct: predicted.rates.cpu_pct,
            miss_rate: predicted.rates.miss_rate,
        });
        TrialFigures {
            rates: self.rates,
            busy_cpus: self.busy_cpus,
            p99_ns: self.latencies.p99_ns,
            polling: PollingBaseline {
                iops: self.poll_iops,
                cpu_pct: self.poll_cpu_pct,
                busy_cpus: self.poll_busy_cpus,
                thinks: self.poll_got_pct.is_some(),
                wait_ns: self.poll_waits,
            },
            predicted,
            round: self.round,
        }
    }
}

/// The figures of these stages of the workload. The `poll_` figures are left empty.
pub(super) fn stages_outcome(
    workload: &Workload,
    watched: &WorkloadRun,
    stages: &[StageId],
    bs: u64,
) -> TrialOutcome {
    let mut stats = watched.stats_over(stages);
    if workload.think.is_some() {
        // The thread also leaves the CPU once in each think time.
        stats.voluntary = stats.voluntary.saturating_sub(stats.ios);
    }
    let span = watched.span_over(stages);
    let others = OtherWork {
        programs: span.other_programs,
        ..workload.others()
    };
    let counter_span = CounterSpan {
        wall_s: stats.wall_ns / 1e9,
        stretches: stages.len(),
    };
    TrialOutcome {
        rates: stats.rates(),
        slept_ns: stats.mean_slept_ns(),
        latencies: stats.latency(),
        busy_cpus: busy_cpus(span.busy_cpus, &stats, counter_span, others),
        hidden_by: others.hiding_cpus(thread_cpus(&stats), counter_span),
        switches_per_io: stats.switches_per_io(),
        ios: stats.ios,
        slept: stats.sleeps.slept,
        left_to_interrupt: stats.sleeps.interrupted,
        unrecorded: watched.unrecorded(),
        interrupts: span.interrupts,
        requests: span.requests,
        device_bytes: span.bytes,
        bytes: stats.ios * bs,
        quantiles: quantiles(&stats.latencies, QUANTILES),
        series: series(watched, stages),
        kinds: kind_trials(watched.kinds_over(stages).as_deref(), stats.wall_ns / 1e9),
        ring_flags: flags(watched, false),
        polls_by: watched.data.lanes.first().map(|lane| lane.facts.polls_by),
        ..TrialOutcome::default()
    }
}

/// The machine's busy CPUs less the idle baseline. `None` if they were not read, or if other work
/// uses the CPU time that the threads leave. Also `None` if they are fewer than the threads used: a
/// load of the baseline has then stopped, and it is unknown which other CPUs were busy.
fn busy_cpus(
    machine: Option<f64>,
    stats: &PhaseStats,
    counter_span: CounterSpan,
    others: OtherWork,
) -> Option<f64> {
    let seen = job_cpus(machine?, others, thread_cpus(stats), counter_span);
    (seen.cores == PerCore::Machine).then_some(seen.cpus)
}

fn thread_cpus(stats: &PhaseStats) -> f64 {
    stats.cpu_ns as f64 / stats.wall_ns
}

/// The ring flags for I/Os that wait for interrupts if `interrupting`, else for polled I/Os.
pub(super) fn flags(watched: &WorkloadRun, interrupting: bool) -> String {
    let first = watched.data.lanes.first();
    first.map_or_else(String::new, |lane| {
        lane.facts.flags_of(interrupting).to_owned()
    })
}

/// Figures over time of these stages, without gaps. Misses and sleeps are over all handled I/Os.
fn series(watched: &WorkloadRun, stages: &[StageId]) -> Series {
    let walls = stages.iter().map(|&stage| watched.wall_ns(stage) as u64);
    let interval = walls.min().map_or(INTERVAL, |ns| INTERVAL.min(Nanos(ns)));
    let lanes = watched.data.lanes.iter();
    let lanes: Vec<Vec<IntervalStats>> = lanes.map(|lane| concat(lane, stages, interval)).collect();
    let length = lanes.iter().map(Vec::len).min().unwrap_or(0);
    let mut series = Series {
        interval_s: interval.as_secs_f64(),
        ..Series::default()
    };
    let mut rates = Vec::with_capacity(length);
    for n in 0..length {
        let here = lanes.iter().map(|lane| &lane[n]);
        let end_s: Vec<f64> = here.clone().map(|lane| lane.end_s).collect();
        let stats: Vec<_> = here.clone().map(|lane| lane.stats.clone()).collect();
        let stats = combine_lanes(&stats);
        let cpu_pct: Option<f64> = here.map(|lane| lane.cpu_pct).sum();
        let latency = stats.latency();
        series.t_s.push(mean(&end_s));
        series.slept_ns.push(stats.mean_slept_ns());
        series.mean_ns.push(latency.mean_ns);
        series.p99_ns.push(latency.p99_ns);
        rates.push(Rates {
            cpu_pct: cpu_pct.map(|sum| sum / lanes.len() as f64),
            ..stats.rates().map(Some)
        });
    }
    series.rates = rates.into_iter().collect();
    series
}

/// The intervals of a lane in these stages, as if each stage began at the end of the one before.
fn concat(lane: &LaneData, stages: &[StageId], interval: Nanos) -> Vec<IntervalStats> {
    let mut before_s = 0.0;
    let mut joined = Vec::new();
    for &stage in stages {
        let of_stage = intervals(lane, stage.index(), interval).into_iter();
        joined.extend(of_stage.map(|i| IntervalStats {
            end_s: before_s + i.end_s,
            ..i
        }));
        before_s = joined.last().map_or(before_s, |last| last.end_s);
    }
    joined
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cells::cell;
    use q2c_advice::{per_core_divisor, relative};
    use q2c_model::Bytes;
    use q2c_result::role::Role;
    use q2c_run::runner::{CellPlan, CellRuns, Trial, TrialResult};

    /// The trials of a method at 4 KiB, with these outcomes.
    pub(crate) fn runs(method: &str, outcomes: impl IntoIterator<Item = TrialOutcome>) -> Runs {
        let trial = |(outcome, trial)| Trial {
            trial,
            session: 1,
            ended_unix_s: 0.0,
            seconds: 1.0,
            result: TrialResult::Ok(outcome),
        };
        CellRuns {
            plan: CellPlan {
                key: method.to_owned(),
                label: method.to_owned(),
                seconds: 1.0,
                cell: cell(Bytes(4096), 0, method.parse().unwrap(), Role::Linux),
            },
            trials: outcomes.into_iter().zip(0..).map(trial).collect(),
        }
    }

    const SECOND: CounterSpan = CounterSpan {
        wall_s: 1.0,
        stretches: 1,
    };

    fn a_second_of(own: f64) -> PhaseStats {
        PhaseStats {
            wall_ns: 1e9,
            cpu_ns: (own * 1e9) as u64,
            lanes: 1,
            ..PhaseStats::default()
        }
    }

    /// A load of 0.8 CPUs at rest has stopped. So only 0.4 of 1.2 busy CPUs seem left for a thread
    /// that used 1.0, and it is unknown whether 0.2 more were busy for it.
    #[test]
    fn a_load_that_has_stopped_leaves_the_machine_unknown() {
        let others = OtherWork {
            busy_cpus: 0.8,
            ..OtherWork::default()
        };
        let known = |machine| busy_cpus(machine, &a_second_of(1.0), SECOND, others);
        assert_eq!(known(Some(1.2)), None);
        let left = known(Some(2.0)).unwrap();
        assert!((left - 1.2).abs() < 1e-12, "{left}");
        // A difference of a tick or two counts as the threads' own CPU.
        assert_eq!(known(Some(1.78)), Some(1.0));
        assert_eq!(known(None), None);
    }

    /// Interrupts and polling on two busy CPUs. Interrupts win per core by the threads' CPU time;
    /// they would lose by the machine's.
    #[test]
    fn beside_other_work_the_threads_cpu_decides() {
        let trial = |(iops, cpu): (f64, f64), others: OtherWork| {
            let thread = a_second_of(cpu);
            let cpus = |thread: &PhaseStats| busy_cpus(Some(1.95), thread, SECOND, others);
            TrialOutcome {
                rates: Rates {
                    iops,
                    cpu_pct: cpu * 100.0,
                    ..Rates::default()
                },
                busy_cpus: cpus(&thread),
                poll_iops: 22_000.0,
                poll_cpu_pct: 99.0,
                poll_busy_cpus: cpus(&a_second_of(0.99)),
                ..TrialOutcome::default()
            }
            .evidence()
        };
        let seen = |others: OtherWork| {
            let [interrupt, poll] =
                [(16_000.0, 0.45), (22_000.0, 0.99)].map(|figures| [trial(figures, others)]);
            let cores = per_core_divisor([&interrupt[..], &poll[..]].into_iter());
            let gain = relative(&interrupt, cores).unwrap().kiops_per_core.median;
            (cores, gain)
        };
        let ran = OtherWork {
            programs: Some(0.9),
            ..OtherWork::default()
        };
        for others in [OtherWork::from_idle_cpus(0.68), ran] {
            let (cores, gain) = seen(others);
            assert_eq!(cores, PerCore::Threads, "{others:?}");
            assert!((gain - 1.6).abs() < 1e-9, "{others:?}: {gain}");
        }
        let (cores, gain) = seen(OtherWork::from_idle_cpus(0.1));
        assert_eq!(cores, PerCore::Machine);
        assert!(gain < 0.74, "{gain}");
    }
}
