//! One bucket of a group: each configuration's sleep, its costs, and the open window's statistic.

use super::costs::{CostTables, PlainCosts};
use super::priced::{PricedColumns, PricedSleep};
use super::simd_lanes::{SIMD_LANES, SimdLanes};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x8, i32x8};

/// The clear threshold when polling, ns: every device time is above it, so none is a hit.
pub(super) const NEVER_HIT: i32 = -(1 << 29);
/// Upper bound of wake-up times, ns. No sleep of a batch wakes later, and it fits into 32 bits.
pub(super) const MAX_WAKE_NS: f32 = 1_073_741_824.0;
/// 2^20 ns, added before a conversion that cuts towards zero, so that negative values round alike.
pub(super) const SHIFT: f32 = 1_048_576.0;
/// [`SHIFT`] plus a half, so that cutting rounds to the nearest number.
pub(super) const WHOLE: f32 = SHIFT + 0.5;
/// The smallest delay of a timer, ns: none wakes early.
pub(super) const NO_DELAY: f32 = 0.0;
/// Lower bounds of the eight functions of [`CostTables::sleep`], ns.
pub(super) const MIN_NS: [f32; 8] = [-SHIFT, 0.0, NO_DELAY, 0.0, -SHIFT, -SHIFT, -SHIFT, -SHIFT];

/// One bucket's sleeps of sixteen lanes. Each kernel reads other columns; see [`BucketRow::set`].
#[derive(Clone, Debug, Default)]
pub(super) struct BucketRow {
    pub sleep: PricedColumns,
    /// 1 in lanes that sleep, 0 in lanes that poll.
    pub slept: SimdLanes<i32>,
    /// Time to a clear wake-up, ns, if it does not depend on a draw.
    pub plain_wake: SimdLanes<i32>,
    /// `plain_wake` plus the lead: the sleep is clear if the device time is longer.
    pub plain_clear: SimdLanes<i32>,
    /// Earliest time at which a hit I/O is reaped, ns, if it does not depend on a draw.
    pub plain_hit: SimdLanes<i32>,
    pub statistic: SimdLanes<i32>,
    pub count: SimdLanes<i32>,
    /// Never read: keeps equal columns of different rows from sharing the same few cache sets.
    _apart: SimdLanes<i32>,
}

impl BucketRow {
    pub(crate) fn polling() -> Self {
        let mut row = BucketRow::default();
        (0..SIMD_LANES).for_each(|lane| row.poll(lane));
        row
    }

    /// Sets a sleep, ns; 0 polls. `plain` selects the plain kernel's columns, else the drawn one's.
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
            self.sleep.cpu_clear.0[lane] = plain.cpu_clear;
            self.sleep.cpu_hit.0[lane] = plain.cpu_hit;
        }
        self.sleep.asked.0[lane] = ns;
        self.plain_wake.0[lane] = ns + plain.wake;
        self.plain_clear.0[lane] = ns + plain.wake + lead;
        self.plain_hit.0[lane] = ns + plain.hit;
    }

    #[inline(always)]
    fn set_drawn<S: Simd>(&mut self, simd: S, lane: usize, ns: i32, costs: &CostTables) {
        let (line, beyond) = costs.sleep.line(ns);
        let load = |numbers: &[f32; 8]| f32x8::load_array_ref(simd, numbers);
        let after = ns as f32 + 0.5;
        let values = (load(&line.value) + load(&line.slope) * beyond).max(load(&MIN_NS));
        let values = values + load(&[after, 0.0, after, after, WHOLE, WHOLE, WHOLE, WHOLE]);
        let [wake, spread, earliest, latest, ..] = values.min(MAX_WAKE_NS).to_array();
        let int: i32x8<S> = values.to_int();
        let [.., cpu_clear, cpu_hit, added_latency, added_submit] = (int - SHIFT as i32).to_array();
        let sleep = PricedSleep {
            asked: ns,
            wake,
            spread,
            earliest,
            latest,
            clear_margin: costs.lead - added_latency,
            added_latency,
            added_submit,
            cpu_clear,
            cpu_hit,
        };
        self.set_priced(lane, &sleep);
    }

    #[inline(always)]
    pub(crate) fn set_priced(&mut self, lane: usize, sleep: &PricedSleep) {
        if self.slept.0[lane] == 0 {
            self.slept.0[lane] = 1;
        }
        self.sleep.set(lane, sleep);
    }

    #[cold]
    pub(crate) fn poll(&mut self, lane: usize) {
        self.sleep.set(lane, &PricedSleep::POLLING);
        for column in [&mut self.slept, &mut self.plain_wake, &mut self.plain_hit] {
            column.0[lane] = 0;
        }
        self.plain_clear.0[lane] = NEVER_HIT;
    }
}
