//! How a trace is replayed.

use q2c_model::replay::{Discards, Fit, Mode, OnError, ShareBy, Writes};
use q2c_model::{CpuId, Nanos};
use serde::{Deserialize, Deserializer, Serialize, de};

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
    /// How requests are shared out among the threads.
    pub by: ShareBy,
    /// CPUs of the submitting threads, taken in turn; empty when the kernel chooses.
    pub cpus: Vec<CpuId>,
    /// Whether the submitting threads spun and never slept.
    #[serde(default)]
    pub spin: bool,
    /// Most requests in flight of each submitting thread.
    pub in_flight_cap: u32,
    /// How offsets that the target does not have are changed.
    pub offsets: Fit,
    /// Treatment of writes.
    pub writes: Writes,
    /// Treatment of discards.
    pub discards: Discards,
    /// Share of the written data that compresses to nothing, percent. Results of version 1 have a
    /// text in its place: `data`.
    #[serde(alias = "data", deserialize_with = "percent")]
    pub compressible_pct: u8,
    /// What the replay does when a request fails.
    pub on_error: OnError,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// How the targets were written before each trial; `None` when they were not.
    pub precondition: Option<String>,
    /// Trials asked for.
    pub trials: u32,
    /// Seed of simulated devices and of the order of trials.
    pub seed: u64,
    /// The process whose requests were replayed, by name or number; `None` for those of all, and in
    /// results of before 2026-11-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// Reads a percentage, or the text of version 1: `random`, or `compress=50%`.
fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum AnyVersion {
        Percent(u8),
        Told(String),
    }
    let told = match AnyVersion::deserialize(deserializer)? {
        AnyVersion::Percent(percent) => return Ok(percent),
        AnyVersion::Told(told) => told,
    };
    let percent = match told.as_str() {
        "random" => Some("0"),
        other => other
            .strip_prefix("compress=")
            .and_then(|rest| rest.strip_suffix('%')),
    };
    let percent = percent.and_then(|percent| percent.parse().ok());
    percent.ok_or_else(|| {
        de::Error::custom(format!(
            "expected `random` or `compress=N%`, found `{told}`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::replay::{Count, Idle};
    use serde_json::{Value, json};

    /// A job as version 1 wrote it.
    fn told() -> Value {
        json!({
            "mode": "outstanding", "speed": 1.0, "idle": "keep", "count": "blocks", "lane": null,
            "engine": "io_uring", "submitters": 2, "by": "hctx", "cpus": [1], "spin": false,
            "in_flight_cap": 64, "offsets": "clip", "writes": "as-reads", "discards": "skip",
            "data": "compress=50%", "on_error": "go-on", "max_lateness": 100_000,
            "precondition": null, "trials": 3, "seed": 7,
        })
    }

    #[test]
    fn jobs_of_earlier_versions_are_read() {
        let job: ReplayJob = serde_json::from_value(told()).unwrap();
        let mode = Mode::Outstanding {
            count: Count::Blocks,
            idle: Idle::Keep,
        };
        assert_eq!(job.mode, mode);
        assert_eq!((job.by, job.offsets), (ShareBy::Hctx, Fit::Clip));
        assert_eq!((job.writes, job.on_error), (Writes::AsReads, OnError::GoOn));
        assert_eq!(job.compressible_pct, 50);
        let mut random = told();
        random["data"] = "random".into();
        let random: ReplayJob = serde_json::from_value(random).unwrap();
        assert_eq!(random.compressible_pct, 0);
        let mut other = told();
        other["data"] = "zeros".into();
        let error = serde_json::from_value::<ReplayJob>(other).unwrap_err();
        assert!(error.to_string().contains("found `zeros`"), "{error}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let job: ReplayJob = serde_json::from_value(told()).unwrap();
        let written = serde_json::to_value(&job).unwrap();
        assert_eq!(written["idle"], "keep");
        assert_eq!(written["compressible_pct"], 50);
        assert!(written.get("process").is_none());
        let mut of_one = job.clone();
        of_one.process = Some("fio".to_owned());
        let written_of_one = serde_json::to_value(&of_one).unwrap();
        let read: ReplayJob = serde_json::from_value(written_of_one).unwrap();
        assert_eq!(read, of_one);
        assert!(written.get("speed").is_none() && written.get("data").is_none());
        assert_eq!(serde_json::from_value::<ReplayJob>(written).unwrap(), job);
    }
}
