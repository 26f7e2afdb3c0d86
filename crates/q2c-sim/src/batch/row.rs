//! One bucket of a group: each configuration's sleep, its costs, and what the open window gathered.

use super::costs::{CostTables, PlainCosts};
use super::simd_lanes::SimdLanes;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x8, i32x8};

/// Threshold between clear and hit when polling: no completion comes so early.
pub(super) const NEVER_HIT: i32 = -(1 << 29);
/// No sleep that a batch takes wakes so late, ns; it fits into 32 bits.
pub(super) const LATEST: f32 = 1_073_741_824.0;
/// 2^20 ns around the conversion, which cuts towards zero: negative values round alike.
pub(super) const SHIFT: f32 = 1_048_576.0;
pub(super) const WHOLE: f32 = SHIFT + 0.5;
/// The least delay of a timer, ns: none wakes early.
pub(super) const LEAST: f32 = 0.0;
pub(super) const LEAST_OF: [f32; 8] = [-SHIFT, 0.0, LEAST, 0.0, -SHIFT, -SHIFT, -SHIFT, -SHIFT];

/// Whole nanoseconds. Wake-ups are in single precision, exact up to 8 ms, plus half a nanosecond,
/// so that cutting rounds. Kernels read different columns; see [`BucketRow::set`].
#[derive(Clone, Debug, Default)]
pub(super) struct BucketRow {
    pub asked: SimdLanes<i32>,
    pub slept: SimdLanes<i32>,
    /// Time of a clear wake-up for the draw 0, and what one unit of the draw adds.
    pub wake: SimdLanes<f32>,
    pub spread: SimdLanes<f32>,
    /// Bounds of the time of a clear wake-up.
    pub earliest: SimdLanes<f32>,
    pub latest: SimdLanes<f32>,
    /// Clear if the device time is longer than wake-up and this: lead less added latency.
    pub ahead: SimdLanes<i32>,
    pub added: SimdLanes<i32>,
    pub submit: SimdLanes<i32>,
    pub cpu_clear: SimdLanes<i32>,
    pub cpu_hit: SimdLanes<i32>,
    /// Time of a clear wake-up where it does not depend on a draw.
    pub plain_wake: SimdLanes<i32>,
    /// `plain_wake` and the lead: the sleep is clear when the device time is longer.
    pub plain_clear: SimdLanes<i32>,
    /// Earliest time at which a hit I/O is reaped, where it does not depend on a draw.
    pub plain_hit: SimdLanes<i32>,
    pub statistic: SimdLanes<i32>,
    pub count: SimdLanes<i32>,
    /// Never read: keeps a column of different rows out of the same few cache sets.
    _apart: SimdLanes<i32>,
}

impl BucketRow {
    pub(crate) fn polling() -> Self {
        let never = SimdLanes([NEVER_HIT; super::simd_lanes::SIMD_LANES]);
        BucketRow {
            ahead: never,
            plain_clear: never,
            ..BucketRow::default()
        }
    }

    /// 0 polls. With `plain` the plain kernel's columns are filled in, else the drawn one's.
    #[inline(always)]
    pub(crate) fn set<S: Simd>(
        &mut self,
        simd: S,
        lane: usize,
        ns: i32,
        costs: &CostTables,
        plain: bool,
    ) {
        match (ns, &costs.plain) {
            (0, _) => self.poll(lane),
            (_, Some(known)) if plain => self.set_plain(lane, ns, known, costs.lead),
            _ => self.set_drawn(simd, lane, ns, costs),
        }
    }

    #[inline(always)]
    fn set_plain(&mut self, lane: usize, ns: i32, plain: &PlainCosts, lead: i32) {
        if self.slept.0[lane] == 0 {
            self.slept.0[lane] = 1;
            self.cpu_clear.0[lane] = plain.cpu_clear;
            self.cpu_hit.0[lane] = plain.cpu_hit;
        }
        self.asked.0[lane] = ns;
        self.plain_wake.0[lane] = ns + plain.wake;
        self.plain_clear.0[lane] = ns + plain.wake + lead;
        self.plain_hit.0[lane] = ns + plain.hit;
    }

    #[inline(always)]
    fn set_drawn<S: Simd>(&mut self, simd: S, lane: usize, ns: i32, costs: &CostTables) {
        let (line, beyond) = costs.sleep.line(ns);
        let load = |numbers: &[f32; 8]| f32x8::load_array_ref(simd, numbers);
        let wake = ns as f32 + 0.5;
        let values = (load(&line.value) + load(&line.slope) * beyond).max(load(&LEAST_OF));
        let values = values + load(&[wake, 0.0, wake, wake, WHOLE, WHOLE, WHOLE, WHOLE]);
        let [wake, spread, earliest, latest, ..] = values.min(LATEST).to_array();
        let whole: i32x8<S> = values.to_int();
        let [.., cpu_clear, cpu_hit, added, submit] = (whole - SHIFT as i32).to_array();
        self.asked.0[lane] = ns;
        if self.slept.0[lane] == 0 {
            self.slept.0[lane] = 1;
        }
        self.wake.0[lane] = wake;
        self.spread.0[lane] = spread;
        self.earliest.0[lane] = earliest;
        self.latest.0[lane] = latest;
        self.added.0[lane] = added;
        self.ahead.0[lane] = costs.lead - added;
        self.submit.0[lane] = submit;
        self.cpu_clear.0[lane] = cpu_clear;
        self.cpu_hit.0[lane] = cpu_hit;
    }

    #[cold]
    pub(crate) fn poll(&mut self, lane: usize) {
        for column in [
            &mut self.asked,
            &mut self.slept,
            &mut self.added,
            &mut self.submit,
            &mut self.cpu_clear,
            &mut self.cpu_hit,
            &mut self.plain_wake,
            &mut self.plain_hit,
        ] {
            column.0[lane] = 0;
        }
        for column in [
            &mut self.wake,
            &mut self.spread,
            &mut self.earliest,
            &mut self.latest,
        ] {
            column.0[lane] = 0.0;
        }
        self.ahead.0[lane] = NEVER_HIT;
        self.plain_clear.0[lane] = NEVER_HIT;
    }
}
