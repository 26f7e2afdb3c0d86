//! Makes the cells of the result from the trials.

use super::background::BackgroundTrial;
use super::device::device_of;
use super::mode::effective_mode;
use crate::{BenchSettings, BenchTrial, PointSetup, StageRuns};
use q2c_model::stats::Interval;
use q2c_model::{CpuId, Latencies};
use q2c_result::bench::{BackgroundJobs, BenchCell, BenchPoint, Cpu, PointStages};
use q2c_result::tune::PerCore;
use q2c_run::runner::Summary;
use q2c_watch::kernel::SleepFigures;
use q2c_workbench::busy::{BusyCpus, CounterSpan, OtherWork, job_cpus};
use q2c_workbench::kinds::kind_figures;
use serde::{Deserialize, Serialize};

pub fn cells(spec: &BenchSettings, points: &[MeasuredPoint<'_>], idle: f64) -> Vec<BenchCell> {
    let trials = points.iter().flat_map(|runs| &runs.trials);
    let others = other_work(trials.copied(), idle);
    let mut cells: Vec<BenchCell> = points.iter().map(|runs| cell(spec, runs, others)).collect();
    flag_too_good(spec, &mut cells);
    cells
}

fn cell(spec: &BenchSettings, runs: &MeasuredPoint<'_>, others: OtherWork) -> BenchCell {
    let MeasuredPoint { setup, trials, .. } = runs;
    let jobs = setup.point.jobs as usize;
    let [handled, slept, misses] = [0, 1, 2].map(|nth| move |t: &BenchTrial| t.slept[nth]);
    let any = |count: &dyn Fn(&BenchTrial) -> u64| trials.iter().any(|t| count(t) > 0);
    let per_handled = |sum: u64, t: &BenchTrial| sum as f64 / (handled(t) as f64).max(1.0);
    let latencies: Latencies<Vec<f64>> = trials.iter().map(|trial| trial.latencies).collect();
    let courses = trials.iter().map(|trial| trial.course.clone());
    let threads_per_job = 1 + usize::from(setup.path.interface.has_helper());
    let cpus = spec.cpus.iter().copied().cycle().take(jobs).map(CpuId);
    BenchCell {
        point: runs.point.clone(),
        device: device_of(runs).cloned(),
        iops: runs.interval(|t| t.ios as f64 / t.wall_s),
        lat_ns: latencies.map(|ns| Interval::from_samples(&ns)).into(),
        kinds: kind_figures(trials.iter().map(|trial| trial.kinds.as_slice())),
        cpu: cpu(runs),
        kiops_per_core: runs.interval(|t| kiops_per_core(t, others)),
        per_core: per_core(trials, others),
        miss_rate: any(&handled)
            .then(|| runs.interval(|t| per_handled(misses(t), t)))
            .or_else(|| in_kernel(trials, |seen| Some(seen.miss_rate))),
        slept_share: any(&handled).then(|| runs.interval(|t| per_handled(slept(t), t))),
        effective_sleep_ns: any(&handled)
            .then(|| runs.interval(|t| per_handled(t.asked_ns, t)))
            .or_else(|| in_kernel(trials, |seen| Some(seen.effective_sleep_ns))),
        slept_ns: any(&slept)
            .then(|| runs.interval(|t| t.slept_ns as f64 / slept(t) as f64))
            .or_else(|| in_kernel(trials, |seen| seen.slept_ns)),
        background_jobs: background_jobs(runs),
        courses: courses.filter(|course| !course.is_empty()).collect(),
        stages: runs.stages.clone(),
        effective_mode: effective_mode(setup, trials),
        cpus: cpus.collect(),
        oversubscribed: jobs * threads_per_job > spec.cpus.len(),
        too_good: None,
        unsteady: trials.iter().filter(|t| !t.steady).count() as u32,
        failures: runs.failures.clone(),
    }
}

/// A figure of the sleeps inside the kernel, which the submitting thread cannot measure.
fn in_kernel(trials: &[&BenchTrial], of: fn(&SleepFigures) -> Option<f64>) -> Option<Interval> {
    let figure = |trial: &&BenchTrial| of(&trial.kernel_sleeps.as_ref()?.figures()?);
    let values: Vec<f64> = trials.iter().filter_map(figure).collect();
    (!values.is_empty()).then(|| Interval::from_samples(&values))
}

fn background_jobs(runs: &MeasuredPoint<'_>) -> Option<BackgroundJobs> {
    let first = runs.trials.first()?.background.as_ref()?;
    let interval_of = |of: fn(&BackgroundTrial) -> f64| {
        runs.interval(|trial| trial.background.as_ref().map_or(f64::NAN, of))
    };
    Some(BackgroundJobs {
        cpus: first.cpus.clone(),
        shares_cpus: first.shares_cpus,
        iops: interval_of(|background| background.iops),
        alone_iops: interval_of(|background| background.alone_iops),
        rest_busy_cpus: interval_of(|background| background.rest_busy_cpus.unwrap_or(f64::NAN)),
    })
}

/// Thousand I/Os per second and busy CPU; NaN if the busy CPUs are unknown.
fn kiops_per_core(trial: &BenchTrial, others: OtherWork) -> f64 {
    let busy = busy(trial, others).map_or(f64::NAN, |busy| busy.cpus);
    trial.ios as f64 / trial.wall_s / 1e3 / busy
}

fn helper_cpu_s(trial: &BenchTrial) -> f64 {
    let known = (!trial.helpers_unread).then_some(trial.helper_cpu_s);
    known.unwrap_or(f64::NAN)
}

fn per_core(trials: &[&BenchTrial], others: OtherWork) -> PerCore {
    let busy = trials.iter().filter_map(|trial| busy(trial, others));
    let threads = busy.filter(|busy| busy.cores == PerCore::Threads).count();
    if 2 * threads > trials.len() {
        PerCore::Threads
    } else {
        PerCore::Machine
    }
}

fn cpu(runs: &MeasuredPoint<'_>) -> Cpu {
    let per_second = |of: fn(&BenchTrial) -> f64| runs.interval(|t| of(t) / t.wall_s);
    Cpu {
        job_s: per_second(|t| t.job_cpu_s),
        helper_s: per_second(helper_cpu_s),
        softirq_s: per_second(|t| t.softirq_s.unwrap_or(f64::NAN)),
        busy_s: per_second(|t| t.busy_s.unwrap_or(f64::NAN)),
        ns_per_io: runs.interval(|t| (t.job_cpu_s + helper_cpu_s(t)) * 1e9 / t.ios as f64),
    }
}

/// IOPS above this factor times the best of the other interfaces on the device are not credible. A
/// cache, a hole in a file, or a window in which not all jobs ran may be the reason.
const ABOVE_OTHERS: f64 = 1.5;

/// True if the two points differ in their interface, while device and I/Os are the same.
pub(super) fn is_another_interface(a: &BenchPoint, b: &BenchPoint) -> bool {
    a.engine != b.engine
        && (a.bs, &a.rw, &a.background) == (b.bs, &b.rw, &b.background)
        && (a.hw_queues, a.nr_requests) == (b.hw_queues, b.nr_requests)
}

fn flag_too_good(spec: &BenchSettings, cells: &mut [BenchCell]) {
    // Another interface is a fair comparison only with at least as many requests in flight.
    let in_flight = |p: &BenchPoint| u64::from(p.jobs) * u64::from(p.depth);
    // Points without a trial are ignored; a stopped run of very many points has many of them.
    let tried = cells.iter().filter(|cell| cell.iops.trials > 0);
    let peaks: Vec<_> = tried.map(|c| (c.point.clone(), c.iops.median)).collect();
    for cell in cells.iter_mut().filter(|cell| cell.iops.trials > 0) {
        let others = peaks.iter().filter(|(point, _)| {
            is_another_interface(point, &cell.point) && in_flight(point) >= in_flight(&cell.point)
        });
        let best = others.map(|(_, iops)| *iops).fold(0.0, f64::max);
        let Interval { median, min, .. } = cell.iops;
        cell.too_good = match spec.rating {
            Some(rating) if min > rating => Some(format!(
                "{median:.0} IOPS is above the device's rating of {rating:.0}"
            )),
            _ if best > 0.0 && min > ABOVE_OTHERS * best => Some(format!(
                "{median:.0} IOPS is {:.1} times what any other interface reached with as many in flight ({best:.0})",
                median / best
            )),
            _ => None,
        };
    }
}

/// One trial as the run's journal keeps it: its phases in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhasedTrial {
    pub phases: Vec<BenchTrial>,
}

pub(super) struct MeasuredPoint<'a> {
    pub setup: &'a PointSetup,
    pub point: BenchPoint,
    pub trials: Vec<&'a BenchTrial>,
    pub failures: Vec<String>,
    /// The stages in the block layer; `None` if they were not requested.
    pub stages: Option<PointStages>,
}

impl MeasuredPoint<'_> {
    pub(crate) fn interval(&self, number: impl Fn(&BenchTrial) -> f64) -> Interval {
        let numbers = self.trials.iter().map(|&trial| number(trial));
        Interval::from_samples(&numbers.collect::<Vec<f64>>())
    }
}

/// The points in the order of the plan, then of the phases. `stages` is `None` if not requested.
pub(super) fn measured_points<'a>(
    setups: &'a [PointSetup],
    summary: &'a Summary<BenchPoint, PhasedTrial>,
    stages: Option<&StageRuns>,
) -> Vec<MeasuredPoint<'a>> {
    let mut measured = Vec::new();
    for (nth, (setup, runs)) in setups.iter().zip(&summary.cells).enumerate() {
        measured.extend(setup.points().enumerate().map(|(n, point)| MeasuredPoint {
            setup,
            point,
            trials: runs.outcomes().filter_map(|o| o.phases.get(n)).collect(),
            failures: runs.failures().map(str::to_owned).collect(),
            stages: stages.map(|stages| stages.phase_stages(nth, n)),
        }));
    }
    measured
}

/// Other work beside the trials; `idle` is the number of busy CPUs at rest. If other programs ran
/// beside most trials, all trials count only their threads' CPU time, so that every point divides
/// by the same kind of figure.
fn other_work<'a>(trials: impl Iterator<Item = &'a BenchTrial>, idle: f64) -> OtherWork {
    let hidden: Vec<bool> = trials.map(|trial| hiding_cpus(trial).is_some()).collect();
    let most_hidden = 2 * hidden.iter().filter(|&&hidden| hidden).count() > hidden.len();
    let others = OtherWork::from_idle_cpus(idle);
    OtherWork {
        uses_idle_time: others.uses_idle_time || most_hidden,
        ..others
    }
}

fn busy(trial: &BenchTrial, others: OtherWork) -> Option<BusyCpus> {
    let trial_others = OtherWork {
        busy_cpus: match &trial.background {
            Some(background) => background_cpus(background)?,
            None => others.busy_cpus,
        },
        programs: trial.other_programs,
        ..others
    };
    let machine = trial.busy_s? / trial.wall_s;
    let (own, span) = (own_cpus(trial), counter_span(trial));
    Some(job_cpus(machine, trial_others, own, span))
}

/// CPUs of other programs, if these hide how many CPUs the jobs kept busy.
pub(super) fn hiding_cpus(trial: &BenchTrial) -> Option<f64> {
    let others = OtherWork {
        programs: trial.other_programs,
        ..OtherWork::default()
    };
    others.hiding_cpus(own_cpus(trial), counter_span(trial))
}

fn own_cpus(trial: &BenchTrial) -> f64 {
    (trial.job_cpu_s + trial.helper_cpu_s) / trial.wall_s
}

fn counter_span(trial: &BenchTrial) -> CounterSpan {
    CounterSpan {
        wall_s: trial.wall_s,
        stretches: 1,
    }
}

/// Busy CPUs that are not the jobs'. The CPU time of the background's threads is that of the trial.
/// All other work (interrupts, kernel threads) was measured while the background ran alone, and is
/// scaled by the background's I/Os, which the jobs may slow down.
fn background_cpus(background: &BackgroundTrial) -> Option<f64> {
    let beyond_threads = (background.rest_busy_cpus? - background.alone_cpus).max(0.0);
    // If the background did no I/O alone, the quotient is infinite or NaN, and the pace is 1.
    let pace = (background.iops / background.alone_iops).min(1.0);
    Some(background.own_cpus + beyond_threads * pace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::tune::PerCore;

    /// Of 2 busy CPUs the background's threads had 0.5 and its interrupts 0.2. Alone the interrupts
    /// took 1.4 - 1.0 = 0.4, and it ran at half its speed. So 1.3 are left for the jobs, 0.3 more
    /// than their threads had.
    #[test]
    fn the_background_of_the_trial_is_taken_off() {
        let trial = BenchTrial {
            wall_s: 2.0,
            busy_s: Some(4.0),
            job_cpu_s: 1.8,
            helper_cpu_s: 0.2,
            background: Some(BackgroundTrial {
                iops: 5_000.0,
                alone_iops: 10_000.0,
                own_cpus: 0.5,
                alone_cpus: 1.0,
                rest_busy_cpus: Some(1.4),
                ..BackgroundTrial::default()
            }),
            ..BenchTrial::default()
        };
        let seen = busy(&trial, OtherWork::from_idle_cpus(0.1)).unwrap();
        assert!((seen.cpus - 1.3).abs() < 1e-12, "{seen:?}");
        assert_eq!(seen.cores, PerCore::Machine);
        let unknown = BenchTrial {
            busy_s: None,
            ..trial
        };
        assert_eq!(busy(&unknown, OtherWork::default()), None);
    }

    #[test]
    fn without_a_background_it_is_the_machine_at_rest() {
        let trial = BenchTrial {
            wall_s: 1.0,
            busy_s: Some(1.25),
            job_cpu_s: 1.0,
            ..BenchTrial::default()
        };
        let seen = busy(&trial, OtherWork::from_idle_cpus(0.125)).unwrap();
        assert_eq!((seen.cpus, seen.cores), (1.125, PerCore::Machine));
    }

    /// Other programs started after the measurement at rest, or ran already then.
    #[test]
    fn beside_other_work_it_is_the_threads() {
        let trial = |other_programs| BenchTrial {
            wall_s: 1.0,
            busy_s: Some(2.0),
            job_cpu_s: 0.5,
            other_programs,
            ..BenchTrial::default()
        };
        for (measured, idle_cpus) in [(trial(Some(1.4)), 0.01), (trial(None), 0.68)] {
            let seen = busy(&measured, OtherWork::from_idle_cpus(idle_cpus)).unwrap();
            assert_eq!((seen.cpus, seen.cores), (0.5, PerCore::Threads));
        }
        let of_run = |other_programs: &[Option<f64>]| {
            let trials: Vec<BenchTrial> = other_programs.iter().copied().map(trial).collect();
            other_work(trials.iter(), 0.01).uses_idle_time
        };
        assert!(of_run(&[Some(1.4), Some(0.0), Some(0.9)]));
        assert!(!of_run(&[Some(1.4), Some(0.0)]));
        assert!(!of_run(&[]));
        assert_eq!(hiding_cpus(&trial(Some(1.4))), Some(1.4));
        assert_eq!(hiding_cpus(&trial(Some(0.1))), None);
    }
}
