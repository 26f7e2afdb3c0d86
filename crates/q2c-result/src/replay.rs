//! The result of `q2c replay`: `result.json`, schema `q2c.replay/4`.

use crate::{Machine, Provenance, Target, Warning};
use q2c_model::replay::{Changes, Discards, Fit, Mode, OnError, ShareBy, Writes};
use q2c_model::{Bytes, CpuId, Layer, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use strum::IntoStaticStr;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.replay/4";

/// One run of `q2c replay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// When and where the run was made.
    pub provenance: Provenance,
    /// False when the run was stopped early; the figures that it has are still valid.
    pub complete: bool,
    /// How the trace was replayed.
    pub job: ReplayJob,
    /// Facts of the trace.
    pub trace: TraceFacts,
    /// Machine facts.
    pub machine: Machine,
    /// Facts of the targets that the trace was replayed on.
    pub targets: Vec<Target>,
    /// The trial with the median sum of U2C, or the only one.
    #[serde(flatten)]
    pub trial: ReplayTrial,
    /// All trials, in the order in which they ran.
    pub trials: Vec<ReplayTrial>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// Facts of the trace that is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Path as the user gave it.
    pub path: String,
    /// The tool that made the trace.
    pub source: String,
    /// Number of requests.
    pub requests: u64,
    /// Requests by operation.
    pub ops: BTreeMap<String, u64>,
    /// Devices of the trace, `major:minor`, with their requests.
    pub devices: BTreeMap<String, u64>,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Length of the largest request.
    pub largest: Bytes,
    /// End of the last sector that a request names on any device, as bytes from the device's start.
    pub span: Bytes,
    /// From the first request to the last one, seconds.
    pub length_s: f64,
    /// Requests with a completion.
    pub completed: u64,
    /// Share of time with nothing in flight, 0..1; `None` without completions.
    pub idle_share: Option<f64>,
    /// Requests with a time before that of the previous request.
    pub back_in_time: u64,
    /// Sum of the recorded latencies, seconds; `None` if too few requests have a completion.
    pub sum_latency_s: Option<f64>,
    /// The layer of the recorded latencies; `None` if they are of both layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
}

/// One trial of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayTrial {
    /// From the schedule's start to the last completion, seconds.
    pub completion_s: f64,
    /// Sum of U2C over all requests: from just before their submission to their reaping, seconds.
    pub sum_u2c_s: f64,
    /// Sum of the times from the intended submission, if there is one, to the reaping, seconds.
    pub sum_u2c_intended_s: f64,
    /// Sum of Q2C in the block layer, seconds; `None` without capture.
    pub sum_q2c_s: Option<f64>,
    /// The means of the capture; `None` without one.
    pub q2c_source: Option<CapturedBy>,
    /// I/Os in the sum of Q2C, counted as they were queued, before splits.
    pub q2c_ios: u64,
    /// The same I/Os, with every part of a split one counted.
    pub q2c_parts: u64,
    /// Reads and writes among `q2c_ios` minus those submitted. Above 0, some became several I/Os
    /// before they were queued; below 0, I/Os are missing.
    pub q2c_excess: i64,
    /// I/Os that are known to be missing from the sum of Q2C.
    pub q2c_lost: u64,
    /// Whether the device was too slow for the trace, by requests in flight, submissions or end.
    pub saturated: bool,
    /// Requests that waited for the cap of requests in flight, or for a submission that slept.
    pub stalled: u64,
    /// Sum of the lateness of these requests, seconds.
    pub stalled_s: f64,
    /// Lateness of all requests, ns.
    pub lateness_ns: Lateness,
    /// Own lateness, ns: without the time in submissions, and without the requests in `stalled`.
    pub own_lateness_ns: Lateness,
    /// Lateness of the last submission, ns; 0 in modes without intended times.
    pub end_drift_ns: i64,
    /// Requests submitted.
    pub issued: u64,
    /// Requests that failed or were short.
    pub errors: u64,
    /// The first of these errors, in words.
    pub first_error: Option<String>,
    /// Bytes moved.
    pub bytes: u64,
    /// Whether the trial can be compared with other trials.
    pub valid: bool,
    /// Reasons why the trial cannot be compared; empty when it can.
    pub invalid: Vec<Flaw>,
    /// False when the trial was stopped before the end of the trace.
    pub whole: bool,
    /// Distribution of U2C from the submission, ns.
    pub u2c_ns: Spread,
    /// Distribution of U2C from the intended time, ns.
    pub u2c_intended_ns: Spread,
    /// Distribution of Q2C, ns; `None` without capture.
    pub q2c_ns: Option<Spread>,
    /// Share of the trial's time in which nothing was in flight on any target, 0..1.
    pub idle_share: f64,
    /// Requests in flight, compared with the recording.
    pub in_flight: InFlight,
    /// Requests that were submitted before an earlier request of the trace that they overlap.
    pub order_inversions: u64,
    /// Requests that were changed, by kind of change; one request may count under several.
    pub changed: Changes,
    /// Time of all threads in submissions, seconds; if near completion time, they limit the replay.
    pub submission_s: f64,
    /// CPU time of the submitting threads, seconds.
    pub submitter_cpu_s: f64,
    /// CPU time of reading the trace, recording and capturing, seconds.
    pub reader_cpu_s: f64,
    /// The trial, divided in parts of equal time.
    pub windows: Vec<ReplayWindow>,
}

words! {
    /// The means by which the block layer is captured.
    #[derive(strum::Display)]
    pub enum CapturedBy, name {
        /// BPF programs in the kernel.
        #[strum(to_string = "bpf")]
        Bpf = "bpf",
        /// The kernel's tracepoints, read through tracefs.
        #[strum(to_string = "tracefs")]
        Tracefs = "tracefs",
        /// The simulated device itself, in simulated time.
        #[strum(to_string = "simulation")]
        Simulated = "simulated",
    }
}

impl FromStr for CapturedBy {
    type Err = String;

    fn from_str(text: &str) -> Result<CapturedBy, String> {
        let kernel_means = [CapturedBy::Bpf, CapturedBy::Tracefs];
        let means = kernel_means.into_iter().find(|by| by.name() == text);
        means.ok_or_else(|| format!("expected bpf or tracefs, found {text:?}"))
    }
}

/// Distribution of a lateness, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// A distribution of latencies, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of requests.
    pub ios: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
    /// Pairs of a share of the requests, 0..1, and the latency that this share does not exceed, ns.
    pub curve: Vec<(f64, f64)>,
}

/// Requests in flight in a trial, compared with the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// Mean over the trial's time.
    pub mean: f64,
    /// Most requests of one device in flight at a submission, the new request included.
    pub most: u64,
    /// Mean over the recording's time; `None` if too few requests have a completion.
    pub recorded_mean: Option<f64>,
    /// `most` of the recording; `None` if too few requests have a completion.
    pub recorded_most: Option<u64>,
    /// Sum over the requests of |number in flight before the request, in the trial - recorded|,
    /// divided by the sum of the recorded numbers; `None` if that sum is unknown or 0.
    pub error: Option<f64>,
}

/// A part of a trial's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayWindow {
    /// Start of the window, seconds from the schedule's start.
    pub from_s: f64,
    /// Length of the window, seconds.
    pub length_s: f64,
    /// Requests of the recording in this window; `None` in modes without recorded times.
    pub recorded_ios: Option<u64>,
    /// Requests submitted in the window.
    pub ios: u64,
    /// Mean number in flight in the recording; `None` without completions or recorded times.
    pub recorded_in_flight: Option<f64>,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Largest lateness of a submission, ns.
    pub latest_ns: u64,
    /// Sum of U2C of the requests submitted in the window, seconds.
    pub sum_u2c_s: f64,
}

/// How a trace is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayJob {
    /// The rule that decides when a request is submitted.
    #[serde(flatten)]
    pub mode: Mode,
    /// Engine as the user asked for it.
    pub engine: String,
    /// Number of submitting threads of each target.
    pub submitters: u32,
    /// How requests are divided among the threads.
    pub by: ShareBy,
    /// CPUs of the submitting threads, taken in turn; empty when the kernel chooses.
    pub cpus: Vec<CpuId>,
    /// Whether the submitting threads spun and never slept.
    pub spin: bool,
    /// Most requests in flight of each submitting thread.
    pub in_flight_cap: u32,
    /// What happens to offsets that the target does not have.
    pub offsets: Fit,
    /// Treatment of writes.
    pub writes: Writes,
    /// Treatment of discards.
    pub discards: Discards,
    /// Share of the written data that compresses to nothing, percent.
    pub compressible_pct: u8,
    /// What the replay does when a request fails.
    pub on_error: OnError,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// How the targets are written before each trial; `None` when they are not.
    pub precondition: Option<String>,
    /// Number of trials asked for.
    pub trials: u32,
    /// Seed of simulated devices and of the order of trials.
    pub seed: u64,
    /// Name or number of the process whose requests were replayed; `None` for all processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// A reason why a trial cannot be compared with others. Its text is its `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "id", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Flaw {
    /// The trial was stopped before the end of the trace.
    Stopped,
    /// Requests failed.
    Failed {
        /// Number of requests that failed or were short.
        requests: u64,
        /// The first error, in the system's words.
        first: String,
    },
    /// The replayer was always busy with far less in flight than the trace: it was the limit.
    ReplayerBound,
    /// The capture saw fewer I/Os than were submitted, so its sum lacks some.
    PartlyCaptured {
        /// I/Os that the capture saw, including those that it then lost.
        seen: u64,
        /// I/Os that it should have seen.
        expected: u64,
    },
    /// The replayer was late by its own fault.
    Late {
        /// Own lateness at the 99th percentile, ns.
        p99_ns: f64,
        /// Largest own lateness with which the trial would be valid.
        allowed: Nanos,
        /// Whether there were more CPUs than submitting threads.
        spare_cpus: bool,
        /// Whether the submitting threads spun.
        spin: bool,
        /// CPUs busy with other work before the run; `None` if no more than on a quiet machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busy_cpus: Option<f64>,
    },
    /// The capture lost I/Os that it saw.
    CaptureLost {
        /// I/Os that it lost.
        lost: u64,
        /// I/Os that it saw.
        seen: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::assert_json;
    use q2c_model::replay::{Count, Idle};

    #[test]
    fn what_is_written_is_read_back() {
        let job = ReplayJob {
            mode: Mode::Outstanding {
                count: Count::Blocks,
                idle: Idle::Keep,
            },
            compressible_pct: 50,
            ..ReplayJob::default()
        };
        let written = serde_json::to_value(&job).unwrap();
        assert_eq!(written["idle"], "keep");
        assert_eq!(written["compressible_pct"], 50);
        assert!(written.get("process").is_none() && written.get("speed").is_none());
        assert_eq!(serde_json::from_value::<ReplayJob>(written).unwrap(), job);
    }

    fn late_flaw(busy_cpus: Option<f64>) -> Flaw {
        Flaw::Late {
            p99_ns: 250_500.0,
            allowed: Nanos(100_000),
            spare_cpus: true,
            spin: false,
            busy_cpus,
        }
    }

    #[test]
    fn reasons_are_read_as_they_are_written() {
        let with = |json: &str| {
            let late =
                r#""id":"late","p99_ns":250500.0,"allowed":100000,"spare_cpus":true,"spin":false"#;
            format!("{{{late}{json}}}")
        };
        assert_json(&Flaw::ReplayerBound, r#"{"id":"replayer-bound"}"#);
        assert_json(&late_flaw(None), &with(""));
        assert_json(&late_flaw(Some(1.9)), &with(r#","busy_cpus":1.9"#));
        assert_eq!(<&str>::from(Flaw::ReplayerBound), "replayer-bound");
        assert_eq!(<&str>::from(late_flaw(None)), "late");
    }
}
