//! Watches what disturbs a trial while it runs: other programs, and times without a CPU.

use q2c_host::Roots;
use q2c_host::cpu_time::{CpuTimes, busy_before};
use q2c_result::Warning;
use q2c_run::runner::{CellError, CellRuns};
use q2c_workbench::busy::{CounterSpan, OtherWork, others_warning_with};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two wake-ups of the thread that checks whether the program gets a CPU.
const BEAT_INTERVAL: Duration = Duration::from_millis(50);
/// Delays of a wake-up above which a trial has a warning, and above which it fails, seconds.
const WARNED_DELAY_S: f64 = 0.25;
const MAX_DELAY_S: f64 = 2.0;

/// How other work affects figures of file systems, for warnings.
const SHARED_CPU_EFFECT: &str = "the jobs shared CPUs with it, so the file system can do more than these figures, and ratios \
                     are worth little";

/// The figures of a trial, with what disturbed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsMeasurement<T> {
    pub figures: T,
    pub wall_s: f64,
    /// CPUs that other programs used in user mode; `None` if unknown.
    pub other_programs: Option<f64>,
    /// The longest time for which the program was ready to run but had no CPU, seconds.
    pub late_s: f64,
}

pub(crate) fn measure<T>(
    roots: &Roots,
    trial: impl FnOnce() -> Result<T, CellError>,
) -> Result<FsMeasurement<T>, CellError> {
    let before = CpuTimes::read(roots).ok();
    let started = Instant::now();
    let (figures, delay) = watch_delays(trial);
    let wall_s = started.elapsed().as_secs_f64();
    let cpu_times = before.zip(CpuTimes::read(roots).ok());
    let late_s = delay.as_secs_f64();
    let figures = figures?;
    if late_s > MAX_DELAY_S {
        return Err(CellError::Trial(format!(
            "run all the time: the program had no CPU for {late_s:.1} s (stopped by a signal, a paused virtual machine, or \
             a busy machine); run again while nothing stops it"
        )));
    }
    Ok(FsMeasurement {
        figures,
        wall_s,
        other_programs: cpu_times.and_then(|(from, to)| to.busy_since(&from).other_programs()),
        late_s,
    })
}

/// Runs `run` while a thread wakes at each beat. Returns the thread's longest delay as well.
fn watch_delays<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    thread::scope(|scope| {
        // Dropped however `run` ends, which wakes the thread.
        let (end, ended) = channel::<()>();
        let delays = scope.spawn(move || {
            let mut longest = Duration::ZERO;
            loop {
                let sleep_start = Instant::now();
                if ended.recv_timeout(BEAT_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    return longest;
                }
                longest = longest.max(sleep_start.elapsed().saturating_sub(BEAT_INTERVAL));
            }
        });
        let outcome = run();
        drop(end);
        (outcome, delays.join().unwrap_or_default())
    })
}

/// Warns of other work: that before the plan, on `busy_cpus` CPUs, else that during trials, whose
/// jobs could use `job_cpus` CPUs. Also warns of trials in which the program got no CPU.
pub(crate) fn warnings<C, T>(
    busy_cpus: f64,
    runs: &[CellRuns<C, FsMeasurement<T>>],
    job_cpus: impl Fn(&C) -> u32,
) -> Vec<Warning> {
    let trials = || {
        let runs = runs.iter();
        runs.flat_map(|runs| runs.outcomes().map(|trial| (&runs.plan, trial)))
    };
    let hiding = trials().filter_map(|(plan, trial)| {
        let others = OtherWork {
            programs: trial.other_programs,
            ..OtherWork::default()
        };
        let span = CounterSpan {
            wall_s: trial.wall_s,
            stretches: 1,
        };
        others.hiding_cpus(f64::from(job_cpus(&plan.cell)), span)
    });
    let hiding: Vec<f64> = hiding.collect();
    let count = trials().count();
    let delayed = trials().filter(|(_, trial)| trial.late_s > WARNED_DELAY_S);
    let delayed: Vec<&str> = delayed.map(|(plan, _)| plan.label.as_str()).collect();
    let stood_still = delayed.first().map(|first| {
        Warning::new(
            "stood-still",
            format!(
                "the program had no CPU for more than {WARNED_DELAY_S} s in {} of {count} trials, the first of {first}",
                delayed.len()
            ),
            "figures are too low by the time in which the jobs could do nothing",
            "stop the other load, and run again while nothing stops the program",
        )
    });
    busy_before(busy_cpus, "measured", SHARED_CPU_EFFECT)
        .or_else(|| others_warning_with(&hiding, count, SHARED_CPU_EFFECT))
        .into_iter()
        .chain(stood_still)
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_run::runner::{CellPlan, Trial, TrialResult};

    pub(crate) fn runs<C, T>(
        cell: C,
        trials: Vec<FsMeasurement<T>>,
    ) -> CellRuns<C, FsMeasurement<T>> {
        let trial = |measurement| Trial {
            trial: 0,
            session: 1,
            ended_unix_s: 0.0,
            seconds: 1.0,
            result: TrialResult::Ok(measurement),
        };
        CellRuns {
            plan: CellPlan {
                key: String::new(),
                label: String::new(),
                seconds: 1.0,
                cell,
            },
            trials: trials.into_iter().map(trial).collect(),
        }
    }

    /// Six busy loops take most of two CPUs; 0.1 CPUs beside two jobs are negligible.
    #[test]
    fn other_programs_and_stops_are_told() {
        let warnings_of = |idle, trials: &[(Option<f64>, f64)]| {
            let trial = |&(other_programs, late_s): &(_, _)| FsMeasurement {
                figures: (),
                wall_s: 1.0,
                other_programs,
                late_s,
            };
            let runs = runs(2, trials.iter().map(trial).collect());
            warnings(idle, &[runs], |&jobs| jobs)
        };
        assert_eq!(warnings_of(0.1, &[(Some(0.1), 0.1), (None, 0.0)]), []);
        let beside = warnings_of(0.1, &[(Some(0.1), 0.0), (Some(1.5), 0.6)]);
        for (warning, id) in beside.iter().zip(["others-ran", "stood-still"]) {
            assert_eq!(warning.id, id);
            assert!(warning.found.contains("1 of 2 trials"), "{warning:?}");
        }
        assert_eq!(beside.len(), 2);
        let before = warnings_of(1.8, &[(Some(1.5), 0.0)]);
        assert_eq!(before.len(), 1);
        assert_eq!(before[0].id, "busy-at-rest");
    }

    /// The delay is real, so an upper bound on it would fail on a busy machine.
    #[test]
    fn a_program_that_stands_still_is_noticed() {
        let (outcome, longest) = watch_delays(|| 7);
        assert_eq!(outcome, 7);
        assert!(longest < Duration::from_secs(60));
        let panics = std::panic::catch_unwind(|| watch_delays(|| panic!("the trial")));
        assert!(panics.is_err(), "the thread ends with the trial");
    }
}
