//! A share of the last window's shortest time.
//!
//! The shortest time is less disturbed by other load than the mean, so it allows a higher ratio: published as (70 %, 10 ms). At 100 % it
//! runs away: as soon as every I/O of a window overslept, the shortest observed time is sleep plus wake-up delay, and the sleep grows by that
//! delay in every window.

use super::share::{PERIOD, RATIO, Share};
use crate::registry::{Param, Rule, Scope};
use crate::windowed::{self, Gather, Window};
use crate::{Lane, PolicySpec};
use q2c_model::Nanos;

pub(super) const RULE: Rule = Rule {
    name: "min",
    summary: "sleep a share of the last window's shortest time",
    scope: Scope::PerDevice,
    params: &[
        Param {
            default: Some(0.7),
            ..RATIO
        },
        Param {
            default: Some(10e6),
            ..PERIOD
        },
    ],
    example: "min:70%,10ms",
    build,
};

fn build(spec: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let share = Share::new(spec.value("ratio"));
    let sleep = move |window: &Window| share.of(window.min);
    windowed::build(sleep, Gather::Totals, Nanos(spec.nanos("period")), lanes)
}
