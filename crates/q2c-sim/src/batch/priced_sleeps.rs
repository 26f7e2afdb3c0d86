//! Sleeps side by side in registers, with all that depends on their length.

use super::costs::CostTables;
use super::row::{LATEST, LEAST, SHIFT, WHOLE};
use super::sleeps::Sleeps;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16};

/// See [`BucketRow`](super::row::BucketRow), which keeps the same numbers.
#[derive(Clone, Copy)]
pub(super) struct PricedSleeps<S: Simd> {
    pub asked: i32x16<S>,
    pub wake: f32x16<S>,
    pub spread: f32x16<S>,
    pub earliest: f32x16<S>,
    pub latest: f32x16<S>,
    pub ahead: i32x16<S>,
    pub added: i32x16<S>,
    pub submit: i32x16<S>,
    pub cpu_clear: i32x16<S>,
    pub cpu_hit: i32x16<S>,
}

impl<S: Simd> PricedSleeps<S> {
    #[inline(always)]
    pub(crate) fn new(asked: i32x16<S>, costs: &CostTables, sleeps: &Sleeps<8>) -> Self {
        let asked_f: f32x16<S> = asked.to_float();
        let [base, spread, least, most, rest @ ..] = sleeps.values_at(asked_f);
        let [cpu_clear, cpu_hit, added, submit] = rest;
        let wake = asked_f + 0.5;
        let after = |delay: f32x16<S>| (delay + wake).min(LATEST);
        let added = round_ns(added);
        PricedSleeps {
            asked,
            wake: after(base),
            spread,
            earliest: after(least.max(LEAST)),
            latest: after(most),
            ahead: i32x16::splat(asked.token(), costs.lead) - added,
            added,
            submit: round_ns(submit),
            cpu_clear: round_ns(cpu_clear),
            cpu_hit: round_ns(cpu_hit),
        }
    }
}

#[inline(always)]
fn round_ns<S: Simd>(ns: f32x16<S>) -> i32x16<S> {
    (ns + WHOLE).to_int::<i32x16<S>>() - SHIFT as i32
}
