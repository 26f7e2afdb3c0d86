//! One sleep with its costs and one I/O: the arithmetic of the registers, one number at a time.

use crate::batch::LONGEST;
use crate::batch::costs::{CostTables, PlainCosts, round_ns};
use crate::batch::hit::HitLines;
use crate::batch::row::{LATEST, LEAST_OF, NEVER_HIT, SHIFT, WHOLE};
use q2c_model::{CostModel, Nanos};

pub(crate) struct Charges {
    pub(super) costs: CostTables,
    pub(super) hit: HitLines,
    pub(super) interrupt_latency: i32,
    /// CPU of an interrupt-driven I/O with its submission, ns.
    pub(super) interrupt_cpu: i32,
    pub(super) other_interrupt: f64,
}

/// See [`BucketRow`](crate::batch::row::BucketRow), which has the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct PricedSleep {
    pub asked: i32,
    pub wake: f32,
    pub spread: f32,
    pub earliest: f32,
    pub latest: f32,
    pub ahead: i32,
    pub added: i32,
    pub submit: i32,
    pub cpu_clear: i32,
    pub cpu_hit: i32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PricedIoEnd {
    pub observed: i32,
    pub polled: i32,
    pub cpu: i32,
    pub missed: bool,
    pub interrupted: bool,
}

impl PricedSleep {
    pub(crate) const POLLING: PricedSleep = PricedSleep {
        asked: 0,
        wake: 0.0,
        spread: 0.0,
        earliest: 0.0,
        latest: 0.0,
        ahead: NEVER_HIT,
        added: 0,
        submit: 0,
        cpu_clear: 0,
        cpu_hit: 0,
    };

    #[inline]
    pub(crate) fn new(sleep: Nanos, costs: &CostTables) -> Self {
        let ns = sleep.0.min(LONGEST) as i32;
        if ns == 0 {
            return Self::POLLING;
        }
        let (line, beyond) = costs.sleep.line(ns);
        let value: [f32; 8] =
            std::array::from_fn(|n| (line.value[n] + line.slope[n] * beyond).max(LEAST_OF[n]));
        let after = ns as f32 + 0.5;
        let whole = |n: usize| (value[n] + WHOLE).min(LATEST) as i32 - SHIFT as i32;
        let added = whole(6);
        PricedSleep {
            asked: ns,
            wake: (value[0] + after).min(LATEST),
            spread: value[1].min(LATEST),
            earliest: (value[2] + after).min(LATEST),
            latest: (value[3] + after).min(LATEST),
            ahead: costs.lead - added,
            added,
            submit: whole(7),
            cpu_clear: whole(4),
            cpu_hit: whole(5),
        }
    }

    /// The end of an I/O of device time `wait` that waits by this sleep; `z` are its draws.
    #[inline]
    pub(crate) fn end(&self, wait: i32, z: (f32, f32), charges: &Charges) -> PricedIoEnd {
        let costs = &charges.costs;
        let drawn = self.wake + self.spread * z.0;
        let wake = drawn.min(self.latest).max(self.earliest) as i32;
        let mut latency = wait + self.added;
        if costs.gains {
            latency = latency.max(0);
        }
        if wait > wake + self.ahead {
            let polled = latency - wake;
            return PricedIoEnd {
                observed: latency,
                polled,
                cpu: (self.cpu_clear + polled).min(latency),
                missed: false,
                interrupted: false,
            };
        }
        let x = (self.asked - latency) as f32;
        let late = (charges.hit.delay(x, z.1) + 0.5) as i32;
        let observed = (self.asked + late).max(latency) + costs.reap;
        PricedIoEnd {
            observed,
            polled: 0,
            cpu: self.cpu_hit.min(observed),
            missed: true,
            interrupted: false,
        }
    }

    #[inline]
    pub(crate) fn submission(&self, recorded: i32) -> i32 {
        (recorded + self.submit).max(0)
    }
}

impl Charges {
    /// Returns `None` where the cost model has too many corners.
    pub(crate) fn new(cost: &CostModel) -> Option<Self> {
        let costs = CostTables::new(cost)?;
        let hit = HitLines::new(&costs.hit)?;
        Some(Charges {
            costs,
            hit,
            interrupt_latency: round_ns(cost.interrupt_latency_ns),
            interrupt_cpu: round_ns(cost.interrupt_cpu_ns),
            other_interrupt: cost.other_cpu_interrupt_ns,
        })
    }

    /// [`PricedSleep::end`] of a sleep of `asked` where delays are known beforehand.
    #[inline]
    pub(super) fn known_end(&self, plain: &PlainCosts, asked: i32, wait: i32) -> PricedIoEnd {
        let wake = asked + plain.wake;
        if wait > wake + self.costs.lead {
            let polled = wait - wake;
            return PricedIoEnd {
                observed: wait,
                polled,
                cpu: (plain.cpu_clear + polled).min(wait),
                missed: false,
                interrupted: false,
            };
        }
        let observed = (asked + plain.hit).max(wait + self.costs.reap);
        PricedIoEnd {
            observed,
            polled: 0,
            cpu: plain.cpu_hit.min(observed),
            missed: true,
            interrupted: false,
        }
    }

    #[inline]
    pub(super) fn interrupted(&self, wait: i32, submit: i32) -> PricedIoEnd {
        let observed = wait + self.interrupt_latency;
        PricedIoEnd {
            observed,
            polled: 0,
            cpu: (self.interrupt_cpu - submit).min(observed),
            missed: false,
            interrupted: true,
        }
    }
}
