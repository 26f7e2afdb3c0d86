use super::CpuTimes;
use crate::Roots;
use q2c_result::Warning;
use std::time::Duration;

/// Busy CPUs at rest above which measurements count as disturbed.
pub const QUIET_CPUS: f64 = 0.2;
/// Most looks at the machine at rest. They end early when at most [`QUIET_CPUS`] are busy.
pub const REST_LOOKS: usize = 5;
/// What to do about other work on the machine.
pub const STOP_OTHERS: &str = "stop the other load (top shows it) and run again";

/// Number of busy CPUs while the caller does nothing: the least of several looks of length `look`,
/// since something short may happen to run now. `None` when it cannot be read.
pub fn busy_at_rest(roots: &Roots, look: Duration) -> Option<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..REST_LOOKS {
        let begin = CpuTimes::read(roots).ok()?;
        std::thread::sleep(look);
        let end = CpuTimes::read(roots).ok()?;
        least = least.min(end.busy_since(&begin).cpus_busy()?);
        if least <= QUIET_CPUS {
            break;
        }
    }
    Some(least)
}

/// Warns that `cpus` were busy before anything was `done` ("measured"), and what that `means` for
/// the figures. `None` for a quiet machine.
#[must_use]
pub fn busy_before(cpus: f64, done: &str, means: &str) -> Option<Warning> {
    (cpus > QUIET_CPUS).then(|| {
        let busy_cpus =
            format!("{cpus:.2} CPUs were busy with other work before anything was {done}");
        Warning::new("busy-at-rest", busy_cpus, means, STOP_OTHERS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_warned_of_by_its_number() {
        assert_eq!(busy_before(0.2, "measured", "it matters"), None);
        let warning = busy_before(1.9, "measured", "it matters").unwrap();
        assert_eq!(warning.id.as_str(), "busy-at-rest");
        let expected = "1.90 CPUs were busy with other work before anything was measured";
        assert_eq!(warning.found, expected);
    }
}
