//! The busy CPUs that KIOPS/core divides by.

use super::beside::BackgroundTrial;
use super::trial::BenchTrial;
use q2c_workbench::busy::{Busy, Looked, of_jobs};

/// Busy CPUs of the jobs of a trial, on a machine that had `idle_cpus` busy at rest; `None` where
/// the machine's busy CPUs are not known.
pub(super) fn busy(trial: &BenchTrial, idle_cpus: f64) -> Option<Busy> {
    let others = match &trial.background {
        Some(background) => of_background(background)?,
        None => idle_cpus,
    };
    let own = (trial.job_cpu_s + trial.helper_cpu_s) / trial.wall_s;
    let looked = Looked {
        wall_s: trial.wall_s,
        stretches: 1,
    };
    Some(of_jobs(trial.busy_s? / trial.wall_s, others, own, looked))
}

/// Busy CPUs of a background and of everything else that runs beside the jobs. The CPU time of the
/// background's threads is that of the trial. What was busy beyond it while the background ran
/// alone (interrupts, the kernel's threads) goes with its I/Os, which the jobs may slow down.
fn of_background(background: &BackgroundTrial) -> Option<f64> {
    let beyond = (background.rest_busy_cpus? - background.alone_cpus).max(0.0);
    let pace = match background.alone_iops > 0.0 {
        true => (background.iops / background.alone_iops).min(1.0),
        false => 1.0,
    };
    Some(background.own_cpus + beyond * pace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::tune::PerCore;

    /// Of 2 busy CPUs the background's threads had 0.5 and its interrupts 0.2, since it ran at half
    /// its speed: alone they took 1.4 - 1.0 = 0.4. So 1.3 are left for the jobs, 0.3 beyond their
    /// threads.
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
        let seen = busy(&trial, 9.0).unwrap();
        assert!((seen.cpus - 1.3).abs() < 1e-12, "{seen:?}");
        assert_eq!(seen.of, PerCore::Machine);
        let unknown = BenchTrial {
            busy_s: None,
            ..trial
        };
        assert_eq!(busy(&unknown, 0.0), None);
    }

    #[test]
    fn without_a_background_it_is_the_machine_at_rest() {
        let trial = BenchTrial {
            wall_s: 1.0,
            busy_s: Some(1.25),
            job_cpu_s: 1.0,
            ..BenchTrial::default()
        };
        let seen = busy(&trial, 0.125).unwrap();
        assert_eq!((seen.cpus, seen.of), (1.125, PerCore::Machine));
    }
}
