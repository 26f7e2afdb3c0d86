//! EHP (Lee, Shin, Jeong, JSA 2022) sleeps the last window's shortest time minus the measured cost
//! of switching away and back. If that cost is a small part of the time, it uses interrupts.
//!
//! The cost is `2 * ctx + isr`; the published constants, 1487 ns and 1076 ns, belong to one
//! machine. If the shortest time is at least `benefit` times the cost, the bucket uses interrupts
//! until the next window. Otherwise it sleeps if the time is above the cost, and polls if not.
//! Windows are per CPU. The kernel code sets the interrupt mode only for the CPU on which its timer
//! runs; here each CPU has a mode of its own.

use super::share::PERIOD_10_MS;
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::windowed::{BucketWindow, Gather, WindowRule};
use crate::{Decision, PolicySpec};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "ehp",
    summary: "sleep the last window's shortest time less the cost of switching, or use interrupts (EHP)",
    scope: Scope::PerCpu,
    follows_device: true,
    interrupts: true,
    params: &[
        cost(
            "ctx",
            "time of one context switch, measured on the machine",
            1487.0,
        ),
        cost(
            "isr",
            "time of the interrupt's handler, measured on the machine",
            1076.0,
        ),
        Param::new(
            "benefit",
            "interrupts from this many times 2 x ctx + isr",
            ParamKind::Number,
            Some(10.0),
            1.0..=1e9,
        ),
        PERIOD_10_MS,
    ],
    example: "ehp:ctx=1487ns,isr=1076ns,benefit=10",
    form: |spec| Form::Window(rule(spec)),
};

const fn cost(name: &'static str, summary: &'static str, default: f64) -> Param {
    Param::new(name, summary, ParamKind::Duration, Some(default), 1.0..=1e6)
}

fn rule(spec: &PolicySpec) -> WindowRule {
    let cost = 2 * spec.integer("ctx") + spec.integer("isr");
    let interrupts_from_ns = (spec.value("benefit") * cost as f64) as u64;
    let rule = move |window: &BucketWindow<'_>| match window.min.0 {
        shortest if shortest >= interrupts_from_ns => Decision::Interrupt,
        shortest => Decision::from(Nanos(shortest.saturating_sub(cost))),
    };
    WindowRule::new(rule, Gather::Totals, Nanos(spec.integer("period")))
}
