//! How a trace is replayed.

use q2c_model::replay::{Discards, Fit, Mode, OnError, ShareBy, Writes};
use q2c_model::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

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
    pub spin: bool,
    /// Most requests in flight of each submitting thread.
    pub in_flight_cap: u32,
    /// How offsets that the target does not have are changed.
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
    /// How the targets were written before each trial; `None` when they were not.
    pub precondition: Option<String>,
    /// Trials asked for.
    pub trials: u32,
    /// Seed of simulated devices and of the order of trials.
    pub seed: u64,
    /// The process whose requests were replayed, by name or number; `None` for those of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
