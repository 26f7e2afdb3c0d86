//! The result of `q2c replay`: `result.json`, schema `q2c.replay/1`.

use crate::{Machine, Target, Warning};
use q2c_model::{Bytes, CpuId, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.replay/1";

/// One run of `q2c replay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// False when the run was stopped early: what is here is valid, what is missing is not.
    pub complete: bool,
    /// How it was replayed.
    pub job: ReplayJob,
    /// What was replayed.
    pub trace: TraceFacts,
    /// Machine facts.
    pub machine: Machine,
    /// Where it went.
    pub targets: Vec<Target>,
    /// The trial with the median sum of U2C; the only one where there is one.
    #[serde(flatten)]
    pub trial: ReplayTrial,
    /// All trials, in the order in which they ran.
    pub trials: Vec<ReplayTrial>,
    /// Ways in which this result can mislead.
    pub warnings: Vec<Warning>,
}

/// Why a trial cannot be compared with others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Invalid {
    /// `stopped`, `failed`, `replayer-bound`, `late`, `partly-captured` or `capture-lost`.
    pub id: String,
    /// In words.
    pub says: String,
}

/// Reasons in words, one after the other.
#[must_use]
pub fn reasons(invalid: &[Invalid]) -> String {
    let says: Vec<&str> = invalid.iter().map(|why| why.says.as_str()).collect();
    says.join("; ")
}

/// How a trace is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayJob {
    /// `timed`, `outstanding` or `closed`.
    pub mode: String,
    /// The trace's time runs so many times as fast; 1 where its times do not count.
    pub speed: f64,
    /// Outstanding: `keep` or `squeeze` the time in which nothing was in flight.
    pub idle: Option<String>,
    /// Outstanding: what in flight is counted in, `requests`, `bytes` or `blocks`.
    pub count: Option<String>,
    /// Closed: what a lane is, `lane`, `pid`, `cpu` or `device`.
    pub lane: Option<String>,
    /// Engine as asked.
    pub engine: String,
    /// Submitting threads of each target.
    pub submitters: u32,
    /// By what requests are shared out among them: `offset`, `cpu` or `hctx`.
    pub by: String,
    /// CPUs of the submitting threads, in turn; empty: wherever the kernel runs them.
    pub cpus: Vec<CpuId>,
    /// They never slept.
    #[serde(default)]
    pub spin: bool,
    /// Requests in flight of each submitting thread at most.
    pub in_flight_cap: u32,
    /// What happens to offsets that the target does not have: `modulo`, `clip`, `scale` or `dense`.
    pub offsets: String,
    /// `skip`, `as-reads` or `allow`.
    pub writes: String,
    /// `skip` or `allow`.
    pub discards: String,
    /// What is written: `random`, or `compress=50%`.
    pub data: String,
    /// `stop` or `go-on`.
    pub on_error: String,
    /// A lateness of the replayer's own above this at the 99th percentile makes a run invalid.
    pub max_lateness: Nanos,
    /// How the target was written before each trial; none without.
    pub precondition: Option<String>,
    /// Trials asked for.
    pub trials: u32,
    /// Seed of simulated devices and of the order of trials.
    pub seed: u64,
}

/// What is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Path as given.
    pub path: String,
    /// What made it.
    pub source: String,
    /// Requests.
    pub requests: u64,
    /// Requests by operation.
    pub ops: BTreeMap<String, u64>,
    /// Devices in it, `major:minor`, with their requests.
    pub devices: BTreeMap<String, u64>,
    /// Bytes of all requests.
    pub bytes: u64,
    /// The largest request.
    pub largest: Bytes,
    /// End of the last sector that any of its devices is asked for.
    pub span: Bytes,
    /// From its first request to its last, seconds.
    pub length_s: f64,
    /// Requests with a completion.
    pub completed: u64,
    /// Share of the time in which nothing is in flight, 0..1; none where too few have a completion.
    pub idle_share: Option<f64>,
    /// Requests whose time lies before that of the one before them.
    pub back_in_time: u64,
    /// Sum of the recorded latencies, seconds; none where too few have a completion.
    pub sum_latency_s: Option<f64>,
}

/// One trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayTrial {
    /// From the schedule's start to the last completion, seconds.
    pub completion_s: f64,
    /// Sum of U2C over all requests: from just before their submission to their reaping, seconds.
    pub sum_u2c_s: f64,
    /// The same from the intended time: lateness is in it. Equal to `sum_u2c_s` where no time is intended.
    pub sum_u2c_intended_s: f64,
    /// Sum of Q2C, of the block layer, seconds; none without capture.
    pub sum_q2c_s: Option<f64>,
    /// What it was captured by, `bpf` or `tracefs`; with several targets of different kinds `part` is told by a warning.
    pub q2c_source: Option<String>,
    /// I/Os in that sum, and those known to be missing from it.
    pub q2c_ios: u64,
    /// See above.
    pub q2c_lost: u64,
    /// The device could not take the trace: the cap of requests in flight was reached, or it finished the trace late.
    pub saturated: bool,
    /// Requests that waited for a free place in flight, and for how long in all.
    pub stalled: u64,
    /// See above.
    pub stalled_s: f64,
    /// Submission behind the intended time, of all requests.
    pub lateness_ns: Lateness,
    /// The same without time in submissions, of requests that did not wait for a free place: the replayer's own fault.
    pub own_lateness_ns: Lateness,
    /// The last submission behind its intended time, ns; 0 where no time is intended.
    pub end_drift_ns: i64,
    /// Requests submitted.
    pub issued: u64,
    /// Of those, failed or short.
    pub errors: u64,
    /// The first of these, in words.
    pub first_error: Option<String>,
    /// Bytes moved.
    pub bytes: u64,
    /// Whether it can be compared with other runs.
    pub valid: bool,
    /// Why not.
    pub invalid: Vec<Invalid>,
    /// False when it was stopped before the trace's end. Until 2026-11-22 it was `complete`, as the
    /// run's own field beside it.
    #[serde(alias = "complete", default = "unsaid")]
    pub whole: bool,
    /// U2C from submission.
    pub u2c_ns: Spread,
    /// U2C from the intended time.
    pub u2c_intended_ns: Spread,
    /// Q2C; none without capture.
    pub q2c_ns: Option<Spread>,
    /// Share of the trial's time in which nothing was in flight on any target, 0..1.
    pub idle_share: f64,
    /// Requests in flight at each submission against those at the same request of the recording.
    pub in_flight: InFlight,
    /// Requests submitted before one that they overlap and that stands before them in the trace.
    pub order_inversions: u64,
    /// What did not go to the device as recorded, by reason.
    pub changed: BTreeMap<String, u64>,
    /// Time in submissions of all threads, seconds: where it nears the completion time, the device takes no more from so many.
    pub submission_s: f64,
    /// CPU time of the submitting threads, seconds.
    pub submitter_cpu_s: f64,
    /// CPU time of reading the trace, recording and capturing, seconds.
    pub reader_cpu_s: f64,
    /// The trial in equal parts of its time.
    pub windows: Vec<Window>,
}

/// Of a trial whose own `complete` was lost beside the run's.
fn unsaid() -> bool {
    true
}

/// How late.
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
    /// How many.
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
    /// Points of the distribution: share of requests, 0..1, and the latency that so many have at most.
    pub curve: Vec<(f64, f64)>,
}

/// Requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// Mean over the trial's time.
    pub mean: f64,
    /// Most at a submission, itself included.
    pub most: u64,
    /// Mean over the recording's time; none where too few requests have a completion.
    pub recorded_mean: Option<f64>,
    /// Sum over all requests of |in flight before it here - in the recording| over the sum of the latter; none as above, or where
    /// that sum is 0.
    pub error: Option<f64>,
}

/// A part of a trial's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its begin, seconds from the schedule's start.
    pub from_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// Requests that the recording has here; none where its times do not count.
    pub recorded_ios: Option<u64>,
    /// Requests submitted.
    pub ios: u64,
    /// Requests in flight in the recording, mean; none where too few have a completion or its times do not count.
    pub recorded_in_flight: Option<f64>,
    /// Requests in flight, mean.
    pub in_flight: f64,
    /// Largest lateness, ns.
    pub latest_ns: u64,
    /// Sum of U2C of the requests submitted here, seconds.
    pub sum_u2c_s: f64,
}
