//! The combinations that an engine cannot do, with the reason.

use super::EngineSpec;
use q2c_policy::Wait;

impl EngineSpec {
    /// The reason why a lane of `depth` on this engine cannot wait in this way, with a way out of
    /// it; `None` where it can. Features that the machine or the kernel lacks show when the engine
    /// is opened, or in the results.
    #[must_use]
    pub fn refuses(&self, depth: u16, wait: &Wait) -> Option<String> {
        let reason = match self.plain() {
            EngineSpec::Pvsync2(flags) => pvsync2(flags.hipri, depth, wait),
            EngineSpec::IoUring(ring) if ring.polls_in_call() && ring.hybrid => polled_asleep(wait),
            _ => None,
        };
        reason.map(str::to_owned)
    }
}

fn pvsync2(hipri: bool, depth: u16, wait: &Wait) -> Option<&'static str> {
    match (wait, hipri) {
        _ if depth > 1 => {
            Some("pvsync2 does one I/O per call: use depth 1 and more jobs, or io_uring or libaio")
        }
        (Wait::Hybrid(_), _) => Some(
            "pvsync2 returns when the I/O is complete, so there is no time to sleep in: use io_uring, or hipri with the \
             kernel's own hybrid polling",
        ),
        (Wait::Poll, false) => {
            Some("pvsync2 polls only within its call: use pvsync2:hipri, or wait for the interrupt")
        }
        (Wait::Interrupt, true) => {
            Some("hipri polls within the call: poll, or leave hipri out to wait for the interrupt")
        }
        _ => None,
    }
}

/// The reason for a ring with HYBRID_IOPOLL and without a helper.
fn polled_asleep(wait: &Wait) -> Option<&'static str> {
    match wait {
        Wait::Interrupt => Some(
            "requests on a HYBRID_IOPOLL ring raise no interrupt: poll, or leave hybrid out to have a second ring \
             with interrupts beside",
        ),
        Wait::Hybrid(_) => Some(
            "HYBRID_IOPOLL sleeps by a rule of the kernel's own, and a second one would sleep on top: poll, or leave \
             hybrid out",
        ),
        Wait::Poll => None,
    }
}
