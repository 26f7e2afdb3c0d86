//! A rule that decides by the last window alone, in the form in which any engine can run it.

use super::{BucketWindow, Gather};
use crate::{Decision, Io, Lane, Outcome, Token, windowed};
use q2c_model::Nanos;
use std::sync::Arc;

type Decide = dyn Fn(&BucketWindow<'_>) -> Decision + Send + Sync;

/// A rule whose decision for a bucket is a function of that bucket's last window. Cheap to clone.
#[derive(Clone)]
pub struct WindowRule {
    /// Length of a window, at least 1 ns.
    pub period: Nanos,
    /// What the windows gather.
    pub gather: Gather,
    /// I/Os from this many bytes on are left to the interrupt and not learned from.
    pub interrupts_from: Option<u64>,
    decide: Arc<Decide>,
}

impl WindowRule {
    pub(crate) fn new<R, D>(decide: R, gather: Gather, period: Nanos) -> Self
    where
        R: Fn(&BucketWindow<'_>) -> D + Send + Sync + 'static,
        D: Into<Decision>,
    {
        WindowRule {
            period: Nanos(period.0.max(1)),
            gather,
            interrupts_from: None,
            decide: Arc::new(move |window| decide(window).into()),
        }
    }

    pub(crate) fn interrupting(self, from: u64) -> Self {
        let interrupts_from = Some(from);
        WindowRule {
            interrupts_from,
            ..self
        }
    }

    /// The decision for a bucket after `window`.
    pub fn decide(&self, window: &BucketWindow<'_>) -> Decision {
        match (self.decide)(window) {
            Decision::Sleep(time) => time.min(crate::MAX_SLEEP).into(),
            other => other,
        }
    }

    /// Whether `io` is left to the interrupt because of its length.
    pub fn is_large(&self, io: Io) -> bool {
        self.interrupts_from
            .is_some_and(|from| u64::from(io.bytes) >= from)
    }

    pub(crate) fn build(&self, lanes: usize) -> Vec<Box<dyn Lane>> {
        let inner = windowed::build(self.clone(), lanes);
        if self.interrupts_from.is_none() {
            return inner;
        }
        let lane = |inner| -> Box<dyn Lane> {
            let rule = self.clone();
            Box::new(WithoutLarge { inner, rule })
        };
        inner.into_iter().map(lane).collect()
    }
}

/// Never hears of large I/Os: their time contains the interrupt's delay.
struct WithoutLarge {
    inner: Box<dyn Lane>,
    rule: WindowRule,
}

impl Lane for WithoutLarge {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        if self.rule.is_large(io) {
            return (Decision::Interrupt, Token::default());
        }
        self.inner.decide(io, now)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        if !self.rule.is_large(io) {
            self.inner.complete(io, token, outcome, now);
        }
    }
}
