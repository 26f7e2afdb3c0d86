//! A rule that the user writes: a [`Formula`](crate::Formula) over the last window's statistics.

use super::share::PERIOD_10_MS;
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::windowed::{BucketWindow, Gather, WindowRule};
use crate::{PolicySpec, Statistic};
use q2c_model::Nanos;

pub(crate) const RULE: SleepRule = SleepRule {
    name: "rule",
    summary: "sleep what a formula makes of the last window's statistics",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: false,
    params: &[
        PERIOD_10_MS,
        Param::new(
            "sleep",
            "how long, such as if(p01 > 40us, p01 - 4us, 0)",
            ParamKind::Formula,
            None,
            0.0..=0.0,
        ),
    ],
    example: "rule:period=10ms,sleep=0.7 * min",
    form: |spec| Form::Window(rule(spec)),
};

fn rule(spec: &PolicySpec) -> WindowRule {
    let counted = spec.counted_formula().clone();
    let inputs = counted.formula.statistics();
    let gather = if inputs.iter().any(|s| matches!(s, Statistic::Percentile(_))) {
        Gather::Quantiles
    } else {
        Gather::Totals
    };
    let sleep =
        move |window: &BucketWindow<'_>| counted.sleep(|statistic| value_of(window, statistic));
    WindowRule::new(sleep, gather, Nanos(spec.integer("period")))
}

fn value_of(window: &BucketWindow<'_>, statistic: Statistic) -> f64 {
    let time = match statistic {
        Statistic::Count => return window.totals.samples as f64,
        Statistic::Misses => return window.totals.misses as f64,
        Statistic::Mean => window.mean(),
        Statistic::Min => window.min,
        Statistic::Max => window.max,
        Statistic::Last => window.last,
        Statistic::Percentile(percent) => window.quantile(f64::from(percent) / 100.0),
        Statistic::Lmd => window.lmd(),
    };
    time.0 as f64
}
