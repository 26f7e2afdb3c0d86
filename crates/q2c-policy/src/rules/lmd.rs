//! Left mean deviation (Begunkov, linux-block, April 2019, never merged): the rule sleeps the mean
//! minus four left mean deviations, reduced by the miss rate, but at least half the mean.
//!
//! The deviation of a window refers to the previous window's mean ([`BucketWindow::lmd`]). A miss
//! whose observed time reaches that mean is not counted: the timer was late, the prediction was not
//! wrong. The constants are those of the patch: with a miss in fewer than 32 I/Os the rule sleeps
//! half the mean, with one in fewer than 256 it takes a quarter off.

use super::share::PERIOD;
use crate::PolicySpec;
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::windowed::{BucketWindow, Gather, WindowRule};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "lmd",
    summary: "sleep the last window's mean less its left mean deviations, held back by misses",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: false,
    params: &[
        Param::new(
            "deviations",
            "how many left mean deviations to stay below the mean",
            ParamKind::Count,
            Some(4.0),
            1.0..=100.0,
        ),
        PERIOD,
    ],
    example: "lmd:deviations=4,period=100ms",
    form: |spec| Form::Window(rule(spec)),
};

/// Largest log2 of the I/Os per miss, rounded down, at which the sleep is half the mean.
const MAX_LOG2_FOR_HALF: u32 = 4;
/// Largest such log2 at which the sleep is a quarter shorter.
const MAX_LOG2_FOR_QUARTER_OFF: u32 = 7;

fn rule(spec: &PolicySpec) -> WindowRule {
    let deviations = spec.integer("deviations");
    let rule = move |window: &BucketWindow<'_>| sleep(window, deviations);
    WindowRule::new(rule, Gather::Totals, Nanos(spec.integer("period")))
}

fn sleep(window: &BucketWindow<'_>, deviations: u64) -> Nanos {
    let (mean, lmd) = (window.mean().0, window.lmd().0);
    let half = mean.div_ceil(2);
    let less_deviations = mean.saturating_sub(lmd.saturating_mul(deviations));
    let ios_per_miss = window
        .totals
        .samples
        .checked_div(window.totals.misses_below);
    let sleep = match ios_per_miss.map(u64::ilog2) {
        _ if lmd == 0 => half,
        Some(0..=MAX_LOG2_FOR_HALF) => half,
        Some(0..=MAX_LOG2_FOR_QUARTER_OFF) => less_deviations - less_deviations / 4,
        _ => less_deviations,
    };
    Nanos(sleep.max(half))
}
