//! Sleeps a share of the last window's shortest time.
//!
//! Other load disturbs the shortest time less than the mean, so it allows a higher ratio: 70 % and
//! a period of 10 ms were published. At 100 % the rule runs away: once every I/O of a window has
//! overslept, the shortest observed time is the sleep plus the wake-up delay, and the sleep grows
//! by that delay in every window.

use super::share::{self, PERIOD_10_MS, RATIO_OF_SHORT};
use crate::form::WindowStatistic;
use crate::registry::{Scope, SleepRule};

pub(super) const RULE: SleepRule = SleepRule {
    name: "min",
    summary: "sleep a share of the last window's shortest time",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: false,
    params: &[RATIO_OF_SHORT, PERIOD_10_MS],
    example: "min:70%,10ms",
    form: |spec| share::form(spec, WindowStatistic::Min),
};
