//! Linux' adaptive hybrid polling, 4.12 to 6.3: a share, there one half, of the last window's mean.
//!
//! Constants: ratio 50 %, period 100 ms (block/blk-mq.c). A patch of 2020 used 75 %, which is `mean:75%`. The mean contains
//! the rule's own oversleep, so a slow window lengthens the next one's sleeps; with wake-up delay d the rule oversleeps for ever
//! once it did when d / (1 - ratio) reaches the device's time.

use super::share::{PERIOD, RATIO, Share};
use crate::registry::{Rule, Scope};
use crate::windowed::{self, Gather, Window};
use crate::{Lane, PolicySpec};
use q2c_model::Nanos;

pub(super) const RULE: Rule = Rule {
    name: "mean",
    summary: "sleep a share of the last window's mean, as Linux 4.12 to 6.3 did",
    scope: Scope::PerDevice,
    params: &[RATIO, PERIOD],
    example: "mean:50%,100ms",
    build,
};

fn build(spec: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let share = Share::new(spec.value("ratio"));
    let sleep = move |window: &Window| share.of(window.mean());
    windowed::build(sleep, Gather::Totals, Nanos(spec.nanos("period")), lanes)
}
