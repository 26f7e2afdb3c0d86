//! How busy the CPUs are while q2c does nothing.

use super::CpuTimes;
use crate::Roots;
use std::time::Duration;

/// Busy CPUs at rest above which measurements count as disturbed.
pub const QUIET_CPUS: f64 = 0.2;
/// Most looks at the machine at rest. They end early when at most [`QUIET_CPUS`] are busy.
pub const REST_LOOKS: usize = 5;

/// Number of busy CPUs while the caller does nothing: the least of several looks of length `look`,
/// since something short may happen to run now. `None` when it cannot be read.
#[must_use]
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
