//! Supplies the completions that a trace lacks, from a timed replay of it on one device.

use crate::{
    CaptureRequest, OpenTargets, PreparedVariant, ReplayRequest, ReplayRun, TraceSource, Variant,
};
use q2c_host::Roots;
use q2c_model::replay::Mode;
use q2c_model::{Bytes, Exit, Fault};
use q2c_replay::ReplayError;
use q2c_result::compare::Profile;
use q2c_result::replay::ReplayTrial;
use q2c_sys::clock::monotonic_ns;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Largest number of repeats of a replay in which the replayer was late by its own fault.
const MAX_REPEATS: u32 = 3;

/// The settings for the replays that supply completions.
pub struct Profiler<'a> {
    /// The request of the comparison. Its mode and its wish for a capture are ignored.
    pub request: &'a ReplayRequest,
    /// The device that the replays run on.
    pub first_target: &'a OpenTargets,
    /// Memory for the rows of the recording; further rows are held in `temporary`.
    pub memory: Bytes,
    /// Folder for the recording, which is removed with its trace.
    pub temporary: &'a Path,
    /// CPUs that other work kept busy, as [`ReplayRun::busy_cpus`].
    pub busy_cpus: Option<f64>,
    /// Ends the replay early when it is set.
    pub stop: &'a AtomicBool,
}

/// A trace with the completions of its timed replay.
pub struct ProfiledTrace {
    /// The recording of the timed replay.
    pub trace: TraceSource,
    /// Facts of the timed replay, for the result.
    pub profile: Profile,
}

impl TraceSource {
    /// True if a request needs completions that the trace lacks. Fails if a replay cannot help.
    pub fn lacks_completions(&self, requests: &[ReplayRequest]) -> Result<bool, Fault> {
        let mut lacks = false;
        for request in requests {
            match self.fits(request) {
                Err(ReplayError::NoCompletions { .. }) => lacks = true,
                other => other?,
            }
        }
        Ok(lacks)
    }
}

impl Profiler<'_> {
    /// Name of the device that supplies completions for this trace.
    pub fn device(&self, source: &TraceSource) -> String {
        self.first_target.for_trace(&source.facts).site.name
    }

    /// Replays the trace timed; repeats that a few times if the replayer did not keep the times.
    ///
    /// # Errors
    /// Returns a fault if the replay could not run, if a request failed, or after a signal.
    pub fn profile(&self, source: &TraceSource) -> Result<ProfiledTrace, Fault> {
        let site = self.first_target.for_trace(&source.facts);
        let request = ReplayRequest {
            mode: Mode::Timed { speed: 1.0 },
            capture_request: CaptureRequest::Off,
            ..self.request.clone()
        };
        let sites = std::slice::from_ref(&site);
        let prepared = PreparedVariant::new(String::new(), source, &request, sites, 1)?;
        let variants = [prepared.variant];
        let (mut trace, mut trial) = self.record(source, &variants)?;
        // In simulated time a repeat is the same run.
        let can_repeat = self.request.machine.is_none();
        for _ in 0..MAX_REPEATS {
            if can_repeat && !trial.valid {
                (trace, trial) = self.record(source, &variants)?;
            }
        }
        Ok(ProfiledTrace {
            trace,
            profile: Profile {
                device: site.site.name,
                invalid: trial.invalid,
                changed: trial.changed,
            },
        })
    }

    fn record(
        &self,
        source: &TraceSource,
        variants: &[Variant<'_>],
    ) -> Result<(TraceSource, ReplayTrial), Fault> {
        let (process, now) = (std::process::id(), monotonic_ns());
        let recording = self
            .temporary
            .join(format!("q2c-profile-{process}-{now}.parquet"));
        let replay_run = self.replay_run(variants, &recording);
        let trial = replay_run.run_one_trial().map_err(|error| {
            let reason = error.to_string();
            // The fault adds "failed to" itself.
            let reason = reason.strip_prefix("failed to ").unwrap_or(&reason);
            let fault = replay_run.failed.into_inner();
            fault.unwrap_or_else(|| Fault::new(Exit::Environment, reason))
        })?;
        // The source of the recording removes its file, even if one of the next steps fails.
        let trace = source.open_recording(&recording, self.stop);
        check_complete(&trial, &variants[0].sites[0].name)?;
        Ok((trace?, trial))
    }

    fn replay_run<'a>(&'a self, variants: &'a [Variant<'a>], recording: &'a Path) -> ReplayRun<'a> {
        ReplayRun {
            variants,
            trials: 1,
            all_trials: false,
            repeats: 0,
            stayed_late: BTreeSet::new(),
            max_lateness: self.request.max_lateness,
            busy_cpus: self.busy_cpus,
            capture: None,
            precondition: self.request.precondition,
            record: Some(recording),
            memory: self.memory,
            spill: self.temporary.to_owned(),
            roots: Roots::live(),
            time: self.request.time_source(),
            stop: self.stop,
            partial: None,
            failed: OnceCell::new(),
        }
    }
}

fn check_complete(trial: &ReplayTrial, device: &str) -> Result<(), Fault> {
    if trial.whole {
        return Ok(());
    }
    let Some(reason) = &trial.first_error else {
        let text = "replay: stopped by a signal while the completions were recorded";
        return Err(Fault::stopped(text));
    };
    let text = format!("replay on {device} for the trace's completions: {reason}");
    Err(Fault::new(Exit::Device, text))
}
