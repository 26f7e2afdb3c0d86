//! Sleeps a share of an exponentially weighted mean. Each completion moves the mean by `weight`
//! times the difference between its time and the mean.
//!
//! TCP smooths its round trips in this way (RFC 6298), with the same default weight. It needs no
//! window, so it sleeps from the second I/O on and follows a change within some 1 / `weight` I/Os,
//! however fast they come. Like every mean it contains the rule's own oversleep.

use super::share::RATIO;
use crate::bucket::{BUCKETS, bucket_of};
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::state::{MAX_COUNT, StateReader};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "ewma",
    summary: "sleep a share of an exponentially weighted mean",
    scope: Scope::PerLane,
    follows_device: true,
    interrupts: false,
    params: &[
        RATIO,
        Param::new(
            "weight",
            "weight of the newest time",
            ParamKind::Ratio,
            Some(0.125),
            0.0001..=1.0,
        ),
    ],
    example: "ewma:ratio=50%,weight=12.5%",
    form,
};

fn form(spec: &PolicySpec) -> Form {
    let (ratio, weight) = (spec.value("ratio"), spec.value("weight"));
    Form::opaque(move || Ewma {
        ratio,
        weight,
        means: [None; BUCKETS],
    })
}

struct Ewma {
    ratio: f64,
    weight: f64,
    /// Mean of each bucket, ns; `None` before its first completion, whose time is the first mean.
    means: [Option<f64>; BUCKETS],
}

impl Lane for Ewma {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let mean = bucket_of(io).and_then(|bucket| self.means[bucket]);
        let sleep = mean.map_or(0, |mean| (self.ratio * mean + 0.5) as u64);
        (Nanos(sleep.min(MAX_SLEEP.0)).into(), Token::default())
    }

    fn complete(&mut self, io: Io, _: Token, outcome: Outcome, _: Nanos) {
        let Some(bucket) = bucket_of(io) else {
            return;
        };
        let newest = outcome.observed.0 as f64;
        let mean = self.means[bucket].get_or_insert(newest);
        *mean += self.weight * (newest - *mean);
    }

    fn state(&self) -> Option<Vec<u64>> {
        let encode = |mean: &Option<f64>| [mean.is_some().into(), mean.unwrap_or(0.0).to_bits()];
        Some(self.means.iter().flat_map(encode).collect())
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        for mean in &mut self.means {
            let is_known = numbers.next_flag()?;
            let ns = numbers.next_real(0.0, MAX_COUNT as f64)?;
            *mean = is_known.then_some(ns);
        }
        numbers.finish()
    }
}
