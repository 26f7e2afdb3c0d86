//! The expected length of a run, as far as it is known beforehand, and what may make it longer.

use super::{ReplayRun, Variant};
use q2c_model::Bytes;
use q2c_replay::{Idle, Mode};
use q2c_run::runner::time_text;

/// Time of a trial apart from its requests, seconds: threads, buffers, and 20 ms before the start.
const TRIAL_OVERHEAD_S: f64 = 0.03;

impl Variant<'_> {
    /// Expected length of a trial, seconds, on a device as fast as the recorded one.
    pub(crate) fn expected_s(&self) -> f64 {
        let trace_s = self.facts.time_to_last_end().as_secs_f64();
        let replayed_s = match self.plan.mode {
            Mode::Timed { speed } => trace_s / speed,
            Mode::Outstanding {
                idle: Idle::Squeeze,
                ..
            } => trace_s * (1.0 - self.facts.idle_share().unwrap_or(0.0)),
            _ => trace_s,
        };
        replayed_s + TRIAL_OVERHEAD_S
    }
}

impl ReplayRun<'_> {
    /// Expected length of a trial, seconds; 0 in simulated time, where nothing waits.
    pub(crate) fn expected_trial_s(&self, variant: &Variant<'_>) -> f64 {
        if self.time.world().is_some() {
            return 0.0;
        }
        variant.expected_s()
    }

    /// Reasons why a run may be longer than the sum of its trials, in sentences: repeats, slower
    /// devices, and targets that are written before each trial.
    pub fn possible_delays(&self) -> Vec<String> {
        let trials_s = |variant: &Variant<'_>| variant.expected_s() * variant.sites.len() as f64;
        let all_s = self.variants.iter().map(trials_s).sum::<f64>() * f64::from(self.trials);
        let mut sentences = Vec::new();
        if self.repeats > 0 {
            let (repeats, longest) = (self.repeats, time_text(all_s * f64::from(1 + self.repeats)));
            sentences.push(format!(
                "at most {longest} if devices keep up with the trace: a trial in which the replayer is late by its own fault is \
                 repeated, {repeats} times at most"
            ));
        }
        if let Some(written) = self.precondition_bytes() {
            sentences.push(format!(
                "the targets are written before each trial, {written} in all where none is repeated: that time comes on top"
            ));
        }
        sentences
    }

    fn precondition_bytes(&self) -> Option<Bytes> {
        let precondition = self.precondition?;
        let sites = self.variants.iter().flat_map(|variant| &variant.sites);
        let targets = sites.flat_map(|site| &site.targets);
        let bytes = targets.map(|target| precondition.bytes(target.size).0);
        let bytes_per_trial: u64 = bytes.sum();
        Some(Bytes(bytes_per_trial.saturating_mul(self.trials.into())))
    }
}

#[cfg(test)]
mod tests;
