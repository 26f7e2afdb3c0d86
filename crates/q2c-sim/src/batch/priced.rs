//! Sleeps with all costs that depend on their length, and the end of an I/O that waits by one: for
//! one number at a time, and for sixteen side by side in registers.

use super::MAX_SLEEP_NS;
use super::costs::{CostTables, PlainCosts};
use super::drawn::IoOutcome;
use super::lines::{LoadedLines, SleepLines};
use super::row::{MAX_WAKE_NS, MIN_NS, NEVER_HIT, NO_DELAY, SHIFT, WHOLE};
use super::simd_lanes::SimdLanes;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16};
use q2c_model::Nanos;

/// The costs of a sleep, ns. Wake-ups are in single precision, exact up to 8 ms, plus half a
/// nanosecond, so that cutting rounds. All other costs are whole numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Priced<I, F> {
    /// The sleep asked; 0 for polling.
    pub asked: I,
    /// Time to a clear wake-up for the draw 0; `spread` is what one unit of the draw adds.
    pub wake: F,
    pub spread: F,
    /// Bounds of the time to a clear wake-up.
    pub earliest: F,
    pub latest: F,
    /// Clear if the device time exceeds the wake-up by more than this: lead - added latency.
    pub clear_margin: I,
    pub added_latency: I,
    pub added_submit: I,
    pub cpu_clear: I,
    pub cpu_hit: I,
}

pub(super) type PricedSleep = Priced<i32, f32>;
pub(super) type PricedSleeps<S> = Priced<i32x16<S>, f32x16<S>>;
pub(super) type PricedColumns = Priced<SimdLanes<i32>, SimdLanes<f32>>;

impl<I, F> Priced<I, F> {
    #[inline(always)]
    pub(super) fn map<J, G>(
        &self,
        whole: impl Fn(&I) -> J,
        wake: impl Fn(&F) -> G,
    ) -> Priced<J, G> {
        Priced {
            asked: whole(&self.asked),
            wake: wake(&self.wake),
            spread: wake(&self.spread),
            earliest: wake(&self.earliest),
            latest: wake(&self.latest),
            clear_margin: whole(&self.clear_margin),
            added_latency: whole(&self.added_latency),
            added_submit: whole(&self.added_submit),
            cpu_clear: whole(&self.cpu_clear),
            cpu_hit: whole(&self.cpu_hit),
        }
    }
}

impl PricedColumns {
    #[inline(always)]
    pub(super) fn load<S: Simd>(&self, simd: S) -> PricedSleeps<S> {
        self.map(
            #[inline(always)]
            |column| column.load(simd),
            #[inline(always)]
            |column| column.load(simd),
        )
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, sleep: &PricedSleep) {
        self.asked.0[lane] = sleep.asked;
        self.wake.0[lane] = sleep.wake;
        self.spread.0[lane] = sleep.spread;
        self.earliest.0[lane] = sleep.earliest;
        self.latest.0[lane] = sleep.latest;
        self.clear_margin.0[lane] = sleep.clear_margin;
        self.added_latency.0[lane] = sleep.added_latency;
        self.added_submit.0[lane] = sleep.added_submit;
        self.cpu_clear.0[lane] = sleep.cpu_clear;
        self.cpu_hit.0[lane] = sleep.cpu_hit;
    }
}

impl<S: Simd> PricedSleeps<S> {
    #[inline(always)]
    pub(super) fn new(asked: i32x16<S>, costs: &CostTables, sleeps: &SleepLines<8>) -> Self {
        let asked_f: f32x16<S> = asked.to_float();
        let [base, spread, least, most, others @ ..] = sleeps.values_at(asked_f);
        let [cpu_clear, cpu_hit, added_latency, added_submit] = others;
        let wake = asked_f + 0.5;
        let after = |delay: f32x16<S>| (delay + wake).min(MAX_WAKE_NS);
        let added_latency = round_ns(added_latency);
        Priced {
            asked,
            wake: after(base),
            spread,
            earliest: after(least.max(NO_DELAY)),
            latest: after(most),
            clear_margin: i32x16::splat(asked.token(), costs.lead) - added_latency,
            added_latency,
            added_submit: round_ns(added_submit),
            cpu_clear: round_ns(cpu_clear),
            cpu_hit: round_ns(cpu_hit),
        }
    }

    #[inline(always)]
    pub(super) fn splat(simd: S, sleep: &PricedSleep) -> Self {
        sleep.map(
            #[inline(always)]
            |ns| i32x16::splat(simd, *ns),
            #[inline(always)]
            |ns| f32x16::splat(simd, *ns),
        )
    }

    /// Outcomes of I/Os with device times `wait` and these draws of clear and hit wake-ups.
    #[inline(always)]
    pub(super) fn outcomes(
        &self,
        wait: i32x16<S>,
        (clear_z, hit_z): (f32x16<S>, f32x16<S>),
        hit: &LoadedLines<'_, S>,
        costs: &CostTables,
    ) -> IoOutcome<S> {
        let drawn = self.wake + self.spread * clear_z;
        let wake: i32x16<S> = drawn.min(self.latest).max(self.earliest).to_int();
        let clear = wait.simd_gt(wake + self.clear_margin);
        let mut latency = wait + self.added_latency;
        if costs.gains {
            latency = latency.max(0);
        }
        let observed = if clear.all_true() {
            latency
        } else {
            let x: f32x16<S> = (self.asked - latency).to_float();
            let delay: i32x16<S> = (hit.delay(x, hit_z) + 0.5).to_int();
            let reaped = (self.asked + delay).max(latency) + costs.reap;
            clear.select(latency, reaped)
        };
        IoOutcome {
            clear,
            observed,
            polled: latency - wake,
        }
    }
}

#[inline(always)]
fn round_ns<S: Simd>(ns: f32x16<S>) -> i32x16<S> {
    (ns + WHOLE).to_int::<i32x16<S>>() - SHIFT as i32
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PricedIoEnd {
    pub observed: i32,
    pub polled: i32,
    pub cpu: i32,
    pub missed: bool,
    pub interrupted: bool,
}

impl PricedIoEnd {
    #[inline]
    fn clear(observed: i32, wake: i32, sleep_cpu: i32) -> Self {
        let polled = observed - wake;
        PricedIoEnd {
            observed,
            polled,
            cpu: (sleep_cpu + polled).min(observed),
            ..Self::default()
        }
    }

    #[inline]
    fn hit(observed: i32, sleep_cpu: i32) -> Self {
        PricedIoEnd {
            observed,
            cpu: sleep_cpu.min(observed),
            missed: true,
            ..Self::default()
        }
    }
}

impl PricedSleep {
    pub(super) const POLLING: PricedSleep = Priced {
        asked: 0,
        wake: 0.0,
        spread: 0.0,
        earliest: 0.0,
        latest: 0.0,
        clear_margin: NEVER_HIT,
        added_latency: 0,
        added_submit: 0,
        cpu_clear: 0,
        cpu_hit: 0,
    };

    /// The same arithmetic as [`PricedSleeps::new`], one number at a time.
    #[inline]
    pub(super) fn from_sleep(sleep: Nanos, costs: &CostTables) -> Self {
        let ns = sleep.0.min(MAX_SLEEP_NS) as i32;
        if ns == 0 {
            return Self::POLLING;
        }
        let (line, beyond) = costs.sleep.line(ns);
        let [base, spread, least, most, others @ ..]: [f32; 8] =
            std::array::from_fn(|n| (line.value[n] + line.slope[n] * beyond).max(MIN_NS[n]));
        let after = ns as f32 + 0.5;
        let whole = |value: f32| (value + WHOLE).min(MAX_WAKE_NS) as i32 - SHIFT as i32;
        let [cpu_clear, cpu_hit, added_latency, added_submit] = others.map(whole);
        Priced {
            asked: ns,
            wake: (base + after).min(MAX_WAKE_NS),
            spread: spread.min(MAX_WAKE_NS),
            earliest: (least + after).min(MAX_WAKE_NS),
            latest: (most + after).min(MAX_WAKE_NS),
            clear_margin: costs.lead - added_latency,
            added_latency,
            added_submit,
            cpu_clear,
            cpu_hit,
        }
    }

    /// The end of an I/O with device time `wait` by this sleep; `z` are its clear and hit draws.
    #[inline]
    pub(super) fn end(&self, wait: i32, z: (f32, f32), costs: &CostTables) -> PricedIoEnd {
        let drawn = self.wake + self.spread * z.0;
        let wake = drawn.min(self.latest).max(self.earliest) as i32;
        let mut latency = wait + self.added_latency;
        if costs.gains {
            latency = latency.max(0);
        }
        if wait > wake + self.clear_margin {
            return PricedIoEnd::clear(latency, wake, self.cpu_clear);
        }
        let x = (self.asked - latency) as f32;
        let delay = (costs.hit.delay(x, z.1) + 0.5) as i32;
        let observed = (self.asked + delay).max(latency) + costs.reap;
        PricedIoEnd::hit(observed, self.cpu_hit)
    }

    #[inline]
    pub(super) fn submission(&self, recorded: i32) -> i32 {
        (recorded + self.added_submit).max(0)
    }
}

impl CostTables {
    /// [`PricedSleep::end`] for a sleep of `asked` ns, if delays are known beforehand.
    #[inline]
    pub(super) fn plain_end(&self, plain: &PlainCosts, asked: i32, wait: i32) -> PricedIoEnd {
        let wake = asked + plain.wake;
        if wait > wake + self.lead {
            return PricedIoEnd::clear(wait, wake, plain.cpu_clear);
        }
        let observed = (asked + plain.hit).max(wait + self.reap);
        PricedIoEnd::hit(observed, plain.cpu_hit)
    }

    #[inline]
    pub(super) fn interrupt_end(&self, wait: i32, submit: i32) -> PricedIoEnd {
        let observed = wait + self.interrupt_latency;
        PricedIoEnd {
            observed,
            cpu: (self.interrupt_cpu - submit).min(observed),
            interrupted: true,
            ..PricedIoEnd::default()
        }
    }
}
