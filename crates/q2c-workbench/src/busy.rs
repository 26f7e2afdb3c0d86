//! The busy CPUs of measured jobs, on a machine that does other things as well.

use q2c_result::tune::PerCore;

/// Where the machine's busy CPUs, less those of others, are below this share of the CPU time of the
/// jobs' threads, they say nothing of the jobs: the others were at work less than was taken off for
/// them, or took the CPUs that the counters have.
const COVERS: f64 = 0.9;
/// The machine's counters count in ticks of this length, seconds.
const TICK_S: f64 = 0.01;

/// Busy CPUs of the jobs of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Number of busy CPUs.
    pub cpus: f64,
    /// Whether they are the machine's, interrupts included, or those of the jobs' threads alone.
    pub of: PerCore,
}

/// A time over which the machine's counters were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looked {
    /// Its length, seconds.
    pub wall_s: f64,
    /// How many stretches it is made of, each read at its begin and its end.
    pub stretches: usize,
}

impl Looked {
    /// Busy CPUs by which the counters' ticks can move the sum: the errors of stretches are not of
    /// one sign.
    #[must_use]
    pub fn rounding(self) -> f64 {
        TICK_S * (self.stretches as f64).sqrt() / self.wall_s
    }
}

/// Busy CPUs of jobs while `machine` CPUs were busy, `others` of them for something else. The
/// jobs' threads used `own` CPUs, which were busy for sure.
#[must_use]
pub fn of_jobs(machine: f64, others: f64, own: f64, looked: Looked) -> Busy {
    let left = machine - others;
    Busy {
        cpus: left.max(own),
        of: match left < COVERS * own - looked.rounding() {
            true => PerCore::Threads,
            false => PerCore::Machine,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Looked = Looked {
        wall_s: 1.0,
        stretches: 1,
    };

    /// Others took the CPUs that are left after them: what the jobs' threads used is all that is
    /// known.
    #[test]
    fn the_threads_are_a_lower_bound() {
        let seen = of_jobs(1.98, 1.99, 0.265, SECOND);
        assert_eq!((seen.cpus, seen.of), (0.265, PerCore::Threads));
        // The machine's counters are coarse: 2 % below is no sign of others.
        let seen = of_jobs(0.98, 0.0, 1.0, SECOND);
        assert_eq!((seen.cpus, seen.of), (1.0, PerCore::Machine));
    }

    /// Threads that use 0.05 CPUs for a second use five ticks, and the counters may lack one of
    /// them; over sixteen stretches they may lack four.
    #[test]
    fn a_tick_is_no_sign_of_others() {
        let sixteen = Looked {
            stretches: 16,
            ..SECOND
        };
        for (left, looked, of) in [
            (0.04, SECOND, PerCore::Machine),
            (0.03, SECOND, PerCore::Threads),
            (0.01, sixteen, PerCore::Machine),
            (0.0, sixteen, PerCore::Threads),
        ] {
            let seen = of_jobs(0.3 + left, 0.3, 0.05, looked);
            assert_eq!((seen.cpus, seen.of), (0.05, of), "{left} {looked:?}");
        }
    }
}
