//! Linux' adaptive hybrid polling of 4.12 to 6.3: it sleeps a share, one half in Linux, of the last
//! window's mean.
//!
//! In Linux the ratio is 50 % and the period 100 ms (block/blk-mq.c). A patch of 2020 used 75 %,
//! which is `mean:75%`. The mean contains the rule's own oversleep, so a slow window lengthens the
//! next sleeps. Once it has overslept with a wake-up delay d, the rule oversleeps for ever if d /
//! (1 - ratio) reaches the device's time.

use super::share::{self, PERIOD, RATIO};
use crate::form::WindowStatistic;
use crate::registry::{Scope, SleepRule};

pub(super) const RULE: SleepRule = SleepRule {
    name: "mean",
    summary: "sleep a share of the last window's mean, as Linux 4.12 to 6.3 did",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: false,
    params: &[RATIO, PERIOD],
    example: "mean:50%,100ms",
    form: |spec| share::form(spec, WindowStatistic::Mean),
};
