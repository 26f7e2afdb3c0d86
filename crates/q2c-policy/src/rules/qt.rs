//! Quantile tracker: the user sets a miss rate, and each I/O's outcome moves the sleep towards the
//! sleep with this rate.
//!
//! The sleep is multiplied by `exp(gain * (miss - m))`, where m is 1 for a late I/O and 0 for an
//! early one. On average it stays the same only if the share of late I/Os is `miss`. It is then a
//! quantile of the device time minus the wake-up delay, found without measuring any time. If a
//! microsecond of polling and a microsecond of lateness each have a price, the best quantile is
//! poll / (poll + late).
//!
//! Until a bucket's first miss the sleep grows by the factor [`STARTUP_FACTOR`] with every I/O:
//! with a miss rate of 0.1 % those factors alone would need tens of thousands of I/Os from 0.1 us.

use crate::bucket::{BUCKETS, bucket_of};
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::state::StateReader;
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "qt",
    summary: "track the sleep that misses as often as you say",
    scope: Scope::PerLane,
    follows_device: true,
    interrupts: false,
    params: &[
        Param::new(
            "miss",
            "miss rate to hold",
            ParamKind::Ratio,
            Some(0.02),
            0.0001..=0.9,
        ),
        Param::new(
            "gain",
            "how strongly one outcome moves the sleep",
            ParamKind::Number,
            Some(0.1),
            0.0001..=1.0,
        ),
    ],
    example: "qt:miss=2%",
    form,
};

/// The sleep with which a bucket starts, and the shortest sleep, ns.
const MIN_SLEEP_NS: f64 = 100.0;
/// Factor by which the sleep grows with each I/O until the bucket's first miss.
const STARTUP_FACTOR: f64 = 1.1;

fn form(spec: &PolicySpec) -> Form {
    let (miss, gain) = (spec.value("miss"), spec.value("gain"));
    let (early_factor, late_factor) = ((gain * miss).exp(), (gain * (miss - 1.0)).exp());
    Form::opaque(move || Qt {
        early_factor,
        late_factor,
        buckets: [TrackedSleep {
            ns: MIN_SLEEP_NS,
            before_first_miss: true,
        }; BUCKETS],
    })
}

struct Qt {
    early_factor: f64,
    late_factor: f64,
    buckets: [TrackedSleep; BUCKETS],
}

#[derive(Clone, Copy)]
struct TrackedSleep {
    ns: f64,
    before_first_miss: bool,
}

impl Lane for Qt {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let sleep = bucket_of(io).map_or(0, |bucket| (self.buckets[bucket].ns + 0.5) as u64);
        (Nanos(sleep).into(), Token::default())
    }

    fn complete(&mut self, io: Io, _: Token, outcome: Outcome, _: Nanos) {
        let Some(bucket) = bucket_of(io) else {
            return;
        };
        let bucket = &mut self.buckets[bucket];
        bucket.before_first_miss &= !outcome.missed;
        let factor = if outcome.missed {
            self.late_factor
        } else if bucket.before_first_miss {
            STARTUP_FACTOR
        } else {
            self.early_factor
        };
        bucket.ns = (bucket.ns * factor).clamp(MIN_SLEEP_NS, MAX_SLEEP.0 as f64);
    }

    fn state(&self) -> Option<Vec<u64>> {
        let encode = |bucket: &TrackedSleep| [bucket.ns.to_bits(), bucket.before_first_miss.into()];
        Some(self.buckets.iter().flat_map(encode).collect())
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        for bucket in &mut self.buckets {
            bucket.ns = numbers.next_real(MIN_SLEEP_NS, MAX_SLEEP.0 as f64)?;
            bucket.before_first_miss = numbers.next_flag()?;
        }
        numbers.finish()
    }
}
