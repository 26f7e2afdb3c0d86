//! HyPI (Song and Eom, IMCOM 2019) sleeps a share of the last window's mean that depends on the
//! size of the I/O, and uses interrupts for large I/Os.
//!
//! The published shares come from profiling one system, so they are parameters here, one for each
//! of the kernel's size classes; the default is Linux' one half. The size from which interrupts are
//! used is a parameter too. Only the paper's abstract was available, so no default is a published
//! value. An I/O that is left to interrupts is not counted, because its time contains the
//! interrupt's delay, which no poll would see.

use super::share::{PERIOD, RATIO, Share};
use crate::PolicySpec;
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::windowed::{BucketWindow, Gather, WindowRule};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "hypi",
    summary: "sleep a share of the last window's mean by size class, and use interrupts for large I/O (HyPI)",
    scope: Scope::PerDevice,
    follows_device: true,
    interrupts: true,
    params: &[
        class("512"),
        class("1k"),
        class("2k"),
        class("4k"),
        class("8k"),
        class("16k"),
        class("32k"),
        class("64k"),
        Param::new(
            "interrupt",
            "interrupts for I/O of this size and more",
            ParamKind::Size,
            Some(131_072.0),
            512.0..=MAX_INTERRUPT_BYTES,
        ),
        PERIOD,
    ],
    example: "hypi:4k=60%,64k=75%,interrupt=128k",
    form: |spec| Form::Window(rule(spec)),
};

/// The largest value of `interrupt`, bytes: 4 GiB, which no I/O reaches.
const MAX_INTERRUPT_BYTES: f64 = 4_294_967_296.0;

const fn class(name: &'static str) -> Param {
    Param {
        name,
        summary: "share of the mean to sleep, from this size to the next",
        ..RATIO
    }
}

fn rule(spec: &PolicySpec) -> WindowRule {
    let classes = ["512", "1k", "2k", "4k", "8k", "16k", "32k", "64k"];
    let shares = classes.map(|name| Share::new(spec.value(name)));
    // Buckets come in pairs, read and write, one pair for each size class.
    let rule = move |window: &BucketWindow<'_>| shares[window.bucket / 2].apply(window.mean());
    WindowRule {
        interrupts_from: Some(spec.integer("interrupt")),
        ..WindowRule::new(rule, Gather::Totals, Nanos(spec.integer("period")))
    }
}
