//! The rule of the kernel's `IORING_SETUP_HYBRID_IOPOLL`, Linux 6.13 and later (io_uring/rw.c).
//!
//! The state is one number per ring, here per lane, for all devices, sizes and directions: the
//! shortest run time ever seen. Run time is the time from issue to completion minus the sleep
//! asked. The rule sleeps half of the shortest one, which is infinite at first (no sleep) and never
//! rises. On a device of constant time L the number becomes L; then, since the sleep is subtracted,
//! L / 2. So the steady sleep is L / 4.
//!
//! This differs from the kernel in one point. The kernel updates the number after *every* poll
//! call, finished or not, so a call that returns before the completion lowers it to the time
//! passed. A rule cannot see how often an application enters the ring, so the update is made once,
//! at the completion. That equals the kernel for an application that waits for its completions
//! (each request is found by the call that slept for it). For one that enters without waiting, it
//! is an upper bound of the sleep.

use crate::form::Form;
use crate::registry::{Scope, SleepRule};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "uring",
    summary: "sleep half the shortest run time ever seen, as io_uring's hybrid polling does since Linux 6.13",
    scope: Scope::PerLane,
    follows_device: false,
    interrupts: false,
    params: &[],
    example: "uring",
    form: |_| Form::opaque(|| Uring { shortest: UNKNOWN }),
};

/// The shortest run time while none is known: the rule does not sleep.
const UNKNOWN: u64 = u64::MAX;

struct Uring {
    shortest: u64,
}

impl Lane for Uring {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        let sleep = match self.shortest {
            UNKNOWN => 0,
            known => (known / 2).min(MAX_SLEEP.0),
        };
        (Nanos(sleep).into(), Token(sleep))
    }

    fn complete(&mut self, _: Io, Token(sleep_asked): Token, outcome: Outcome, _: Nanos) {
        let run_time = outcome.observed.0.saturating_sub(sleep_asked);
        self.shortest = self.shortest.min(run_time);
    }

    fn state(&self) -> Option<Vec<u64>> {
        Some(vec![self.shortest])
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let [shortest] = state else {
            return None;
        };
        self.shortest = *shortest;
        Some(())
    }
}
