//! Sleeps a share of a quantile of the last window's times.
//!
//! The rule lies between `mean` and `min`: other load disturbs a low quantile as little as the
//! shortest time, but a few fast I/Os (hits in the device's cache) do not set the sleep of all.
//! Quantiles are nearest ranks in bins, off by 0.8 % at most ([`BucketWindow::quantile`]).

use super::share::{PERIOD_10_MS, RATIO_OF_SHORT, Share};
use crate::PolicySpec;
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::windowed::{BucketWindow, Gather, WindowRule};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "quantile",
    summary: "sleep a share of a quantile of the last window's times",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: false,
    params: &[
        Param::new(
            "q",
            "share of the times that are not longer than the quantile",
            ParamKind::Ratio,
            Some(0.05),
            0.0001..=1.0,
        ),
        RATIO_OF_SHORT,
        PERIOD_10_MS,
    ],
    example: "quantile:q=5%,ratio=70%,period=10ms",
    form: |spec| Form::Window(rule(spec)),
};

fn rule(spec: &PolicySpec) -> WindowRule {
    let (q, share) = (spec.value("q"), Share::new(spec.value("ratio")));
    let sleep = move |window: &BucketWindow<'_>| share.apply(window.quantile(q));
    WindowRule::new(sleep, Gather::Quantiles, Nanos(spec.integer("period")))
}
