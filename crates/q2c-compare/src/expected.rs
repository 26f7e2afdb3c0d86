//! How long a run takes, as far as that is known before it, and what may make it longer.

use super::{Replaying, Variant};
use q2c_model::Bytes;
use q2c_replay::{Idle, Mode};
use q2c_run::runner::spoken;

/// Time of a trial beside the requests, seconds: threads, rings and buffers are made, and the
/// schedule begins 20 ms later.
const AROUND_S: f64 = 0.03;

impl Variant<'_> {
    /// Expected length of one trial, seconds. In the modes that do not keep the recorded times, the
    /// device is taken to be as fast as the recorded one.
    #[must_use]
    pub fn expected_s(&self) -> f64 {
        let whole = self.facts.whole().as_secs_f64();
        let replayed = match self.plan.mode {
            Mode::Timed { speed } => whole / speed,
            Mode::Outstanding {
                idle: Idle::Squeeze,
                ..
            } => whole * (1.0 - self.facts.idle_share().unwrap_or(0.0)),
            _ => whole,
        };
        replayed + AROUND_S
    }
}

impl Replaying<'_> {
    /// What makes a run longer than the sum of its trials, in sentences: trials that are repeated,
    /// devices that are slower than the recorded one, and targets that are written before each
    /// trial.
    #[must_use]
    pub fn beyond_estimate(&self) -> Vec<String> {
        let all_s: f64 = self.variants.iter().map(Variant::all_s).sum();
        let all_s = all_s * f64::from(self.trials);
        let mut told = Vec::new();
        if self.repeats > 0 {
            told.push(format!(
                "at most {} if devices keep up with the trace: a trial in which the replayer is late by its own fault is \
                 repeated, {} times at most",
                spoken(all_s * f64::from(1 + self.repeats)),
                self.repeats
            ));
        }
        if let Some(written) = self.written() {
            told.push(format!(
                "the targets are written before each trial, {written} in all where none is repeated: that time comes on top"
            ));
        }
        told
    }

    /// Bytes that are written to the targets before the trials; `None` where none are.
    fn written(&self) -> Option<Bytes> {
        let precondition = self.precondition?;
        let sites = self.variants.iter().flat_map(|variant| &variant.sites);
        let targets = sites.flat_map(|site| &site.targets);
        let each: u64 = targets
            .map(|target| precondition.bytes(target.size).0)
            .sum();
        Some(Bytes(each.saturating_mul(self.trials.into())))
    }
}

impl Variant<'_> {
    /// Expected length of a trial on each site, seconds.
    fn all_s(&self) -> f64 {
        self.expected_s() * self.sites.len() as f64
    }
}

#[cfg(test)]
mod tests;
