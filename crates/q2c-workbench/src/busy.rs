//! The busy CPUs of measured jobs, on a machine that may also do other work.

use q2c_host::cpu_time::{QUIET_CPUS, STOP_OTHERS, busy_before};
use q2c_model::stats::{median, sorted};
use q2c_result::Warning;
use q2c_result::tune::PerCore;

/// The machine's busy CPUs, less those of others, must be at least this share of the CPU time of
/// the jobs' threads. Below it they cannot be attributed to the jobs: the others worked less than
/// was subtracted, or shared the counted CPUs.
const MIN_ATTRIBUTED_SHARE: f64 = 0.9;
/// The kernel samples user time at its ticks. It may count this share of a thread's CPU time too
/// much as user time.
const USER_TIME_ERROR: f64 = 0.1;
/// Length of the ticks in which the machine's counters count, seconds.
const TICK_S: f64 = 0.01;

/// Busy CPUs of the jobs of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusyCpus {
    /// Number of busy CPUs.
    pub cpus: f64,
    /// The CPU time counted: the machine's, with interrupts, or only that of the jobs' threads.
    pub cores: PerCore,
}

/// A period over which the machine's counters were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSpan {
    /// Its length, seconds.
    pub wall_s: f64,
    /// Number of stretches in it; the counters are read at the start and end of each.
    pub stretches: usize,
}

impl CounterSpan {
    /// Busy CPUs by which ticks can falsify the sum; the errors of stretches partly cancel out.
    pub fn rounding(self) -> f64 {
        TICK_S * (self.stretches as f64).sqrt() / self.wall_s
    }
}

/// Other work that kept CPUs busy beside the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OtherWork {
    /// Busy CPUs to subtract: those of a background, or those busy before the jobs ran.
    pub busy_cpus: f64,
    /// True if other work kept CPUs busy before the jobs ran, or programs ran beside most trials:
    /// such work uses the time that jobs leave.
    pub uses_idle_time: bool,
    /// CPUs of other programs in user mode beside the jobs; `None` if unknown.
    pub programs: Option<f64>,
}

impl OtherWork {
    /// The other work if `cpus` CPUs were busy before the jobs ran, none of them for this process.
    pub fn from_idle_cpus(cpus: f64) -> Self {
        OtherWork {
            busy_cpus: cpus,
            uses_idle_time: cpus > QUIET_CPUS,
            programs: None,
        }
    }

    /// CPUs of other programs if these are too many for the machine's counters to tell the jobs'
    /// share; the jobs surely used `own_cpus`.
    pub fn hiding_cpus(self, own_cpus: f64, span: CounterSpan) -> Option<f64> {
        let quiet = QUIET_CPUS + USER_TIME_ERROR * own_cpus + span.rounding();
        self.programs.filter(|&cpus| cpus > quiet)
    }
}

/// Busy CPUs of jobs while `machine` CPUs were busy. The jobs' threads used at least `own_cpus`.
pub fn job_cpus(machine: f64, others: OtherWork, own_cpus: f64, span: CounterSpan) -> BusyCpus {
    let net = machine - others.busy_cpus;
    let is_hidden = others.uses_idle_time || others.hiding_cpus(own_cpus, span).is_some();
    let (cpus, cores) = if is_hidden || net < MIN_ATTRIBUTED_SHARE * own_cpus - span.rounding() {
        (own_cpus, PerCore::Threads)
    } else {
        (net.max(own_cpus), PerCore::Machine)
    };
    BusyCpus { cpus, cores }
}

const EFFECT: &str = "trials beside it count q2c's own CPU time only, not that of interrupts; their latencies are disturbed";

/// Warns that `cpus` CPUs were busy before a run; `None` for a quiet machine.
pub fn rest_warning(cpus: f64) -> Option<Warning> {
    busy_before(cpus, "measured", EFFECT)
}

/// Warns of trials beside other programs; `hiding` holds the programs' CPUs in each such trial.
pub fn others_warning(hiding: &[f64], trials: usize) -> Option<Warning> {
    let means = format!("{EFFECT}; if those are most trials of one method, all methods count so");
    others_warning_with(hiding, trials, &means)
}

/// Warns like [`others_warning`], with another meaning of the warning.
pub fn others_warning_with(hiding: &[f64], trials: usize, means: &str) -> Option<Warning> {
    let most = hiding.iter().copied().reduce(f64::max)?;
    let message = format!(
        "other programs used {:.2} CPUs (median, at most {most:.2}) during {} of {trials} trials",
        median(&sorted(hiding)),
        hiding.len(),
    );
    Some(Warning::new("others-ran", message, means, STOP_OTHERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: CounterSpan = CounterSpan {
        wall_s: 1.0,
        stretches: 1,
    };

    const QUIET: OtherWork = OtherWork {
        busy_cpus: 0.0,
        uses_idle_time: false,
        programs: None,
    };

    fn known(known: f64) -> OtherWork {
        OtherWork {
            busy_cpus: known,
            ..QUIET
        }
    }

    /// Work at idle priority keeps two CPUs busy, whether the thread uses 0.45 of one or all.
    #[test]
    fn other_work_leaves_the_threads_alone() {
        for (programs, cpus, per_core) in [
            (None, 1.99, PerCore::Machine),
            (Some(0.02), 1.99, PerCore::Machine),
            (Some(1.4), 0.45, PerCore::Threads),
        ] {
            let seen = job_cpus(1.99, OtherWork { programs, ..QUIET }, 0.45, SECOND);
            assert_eq!((seen.cpus, seen.cores), (cpus, per_core), "{programs:?}");
        }
        let seen = job_cpus(1.99, OtherWork::from_idle_cpus(0.68), 0.45, SECOND);
        assert_eq!((seen.cpus, seen.cores), (0.45, PerCore::Threads));
        let seen = job_cpus(1.25, OtherWork::from_idle_cpus(0.125), 1.0, SECOND);
        assert_eq!((seen.cpus, seen.cores), (1.125, PerCore::Machine));
    }

    /// Eight threads in user mode, for which the tick counted 0.5 CPUs too much.
    #[test]
    fn what_the_tick_sees_too_much_is_no_other_program() {
        let seen = |cpus| OtherWork {
            programs: Some(cpus),
            ..QUIET
        };
        assert_eq!(seen(0.5).hiding_cpus(8.0, SECOND), None);
        assert_eq!(seen(0.5).hiding_cpus(1.0, SECOND), Some(0.5));
    }

    #[test]
    fn other_programs_are_told_with_their_cpus() {
        assert_eq!(others_warning(&[], 7), None);
        let warning = others_warning(&[0.5, 1.5, 0.7], 7).unwrap();
        let message = "other programs used 0.70 CPUs (median, at most 1.50) during 3 of 7 trials";
        assert_eq!(warning.found, message);
    }

    /// The machine's figure leaves less than the threads surely used.
    #[test]
    fn the_threads_are_a_lower_bound() {
        let seen = job_cpus(1.98, known(1.99), 0.265, SECOND);
        assert_eq!((seen.cpus, seen.cores), (0.265, PerCore::Threads));
        // The machine's counters are coarse, so 2 % too few are no sign of others.
        let seen = job_cpus(0.98, QUIET, 1.0, SECOND);
        assert_eq!((seen.cpus, seen.cores), (1.0, PerCore::Machine));
    }

    /// Of five ticks in a second the counters may lack one; over sixteen stretches, four.
    #[test]
    fn a_tick_is_no_sign_of_others() {
        let sixteen = CounterSpan {
            stretches: 16,
            ..SECOND
        };
        for (left, span, per_core) in [
            (0.04, SECOND, PerCore::Machine),
            (0.03, SECOND, PerCore::Threads),
            (0.01, sixteen, PerCore::Machine),
            (0.0, sixteen, PerCore::Threads),
        ] {
            let seen = job_cpus(0.3 + left, known(0.3), 0.05, span);
            assert_eq!((seen.cpus, seen.cores), (0.05, per_core), "{left} {span:?}");
        }
    }
}
