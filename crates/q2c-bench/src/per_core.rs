//! The busy CPUs by which KIOPS/core divides.

use super::background::BackgroundTrial;
use super::trial::BenchTrial;
use q2c_workbench::busy::{BusyCpus, CounterSpan, Others, job_cpus};

/// Other work beside the trials; `idle` is the number of busy CPUs at rest. If other programs ran
/// beside most trials, they count in all, so that every point divides by the same kind of figure.
pub(super) fn other_work<'a>(trials: impl Iterator<Item = &'a BenchTrial>, idle: f64) -> Others {
    let hidden: Vec<bool> = trials.map(|trial| hiding_cpus(trial).is_some()).collect();
    let most = 2 * hidden.iter().filter(|&&hidden| hidden).count() > hidden.len();
    let others = Others::from_idle_cpus(idle);
    Others {
        at_rest: others.at_rest || most,
        ..others
    }
}

pub(super) fn busy(trial: &BenchTrial, rest: Others) -> Option<BusyCpus> {
    let others = Others {
        known: match &trial.background {
            Some(background) => background_cpus(background)?,
            None => rest.known,
        },
        programs: trial.other_programs,
        ..rest
    };
    let machine = trial.busy_s? / trial.wall_s;
    let (own, span) = (own_cpus(trial), counter_span(trial));
    Some(job_cpus(machine, others, own, span))
}

pub(super) fn hiding_cpus(trial: &BenchTrial) -> Option<f64> {
    let others = Others {
        programs: trial.other_programs,
        ..Others::default()
    };
    others.hiding(own_cpus(trial), counter_span(trial))
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

/// Busy CPUs of a background and of everything else beside the jobs. The CPU time of its threads is
/// that of the trial. The rest (interrupts, kernel threads) was measured before, while it ran
/// alone, and is scaled by its I/Os, which the jobs may slow down.
fn background_cpus(background: &BackgroundTrial) -> Option<f64> {
    let beyond = (background.rest_busy_cpus? - background.alone_cpus).max(0.0);
    // Without I/Os alone the quotient is infinite or NaN, and the pace is 1.
    let pace = (background.iops / background.alone_iops).min(1.0);
    Some(background.own_cpus + beyond * pace)
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
        let seen = busy(&trial, Others::from_idle_cpus(0.1)).unwrap();
        assert!((seen.cpus - 1.3).abs() < 1e-12, "{seen:?}");
        assert_eq!(seen.cores, PerCore::Machine);
        let unknown = BenchTrial {
            busy_s: None,
            ..trial
        };
        assert_eq!(busy(&unknown, Others::default()), None);
    }

    #[test]
    fn without_a_background_it_is_the_machine_at_rest() {
        let trial = BenchTrial {
            wall_s: 1.0,
            busy_s: Some(1.25),
            job_cpu_s: 1.0,
            ..BenchTrial::default()
        };
        let seen = busy(&trial, Others::from_idle_cpus(0.125)).unwrap();
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
            let seen = busy(&measured, Others::from_idle_cpus(idle_cpus)).unwrap();
            assert_eq!((seen.cpus, seen.cores), (0.5, PerCore::Threads));
        }
        let of_run = |other_programs: &[Option<f64>]| {
            let trials: Vec<BenchTrial> = other_programs.iter().copied().map(trial).collect();
            other_work(trials.iter(), 0.01).at_rest
        };
        assert!(of_run(&[Some(1.4), Some(0.0), Some(0.9)]));
        assert!(!of_run(&[Some(1.4), Some(0.0)]));
        assert!(!of_run(&[]));
        assert_eq!(hiding_cpus(&trial(Some(1.4))), Some(1.4));
        assert_eq!(hiding_cpus(&trial(Some(0.1))), None);
    }
}
