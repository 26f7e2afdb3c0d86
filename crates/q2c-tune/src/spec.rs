//! What a tune run is asked to do: `plan.toml` of its run folder.

use q2c_advice::Goal;
use q2c_model::Bytes;
use q2c_policy::PolicySpec;
use q2c_sim::{Limits, Objective};
use serde::{Deserialize, Serialize};

/// A tune run in plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneSpec {
    /// Target as given.
    pub target: String,
    /// Foreground interface, as text.
    pub engine: String,
    /// Pattern, as text.
    pub rw: String,
    /// Block sizes, in order.
    pub sizes: Vec<Bytes>,
    /// CPUs of the foreground lanes.
    pub cpus: Vec<u32>,
    /// Background jobs, as text.
    pub background: Vec<String>,
    /// Rules that the user wrote or named, as policy texts.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Length of a trial's measured part, seconds.
    pub seconds: f64,
    /// Length of the parts that a trial's measured time is cut into, polled slices before, between
    /// and after them, seconds; longer on a device that does few I/Os in it.
    pub part_seconds: f64,
    /// Length of each polled slice, seconds; longer likewise.
    pub slice_seconds: f64,
    /// Length of the recording, seconds.
    pub record_seconds: f64,
    /// Trials that an answer stands on.
    pub trials: u32,
    /// Objective, as text.
    pub objective: String,
    /// IOPS at least, as text: `9300`, `93%` of polling's.
    pub min_iops: Option<String>,
    /// U2C p99 at most, ns.
    pub max_p99_ns: Option<f64>,
    /// CPU at most, percent.
    pub max_cpu_pct: Option<f64>,
    /// Time for all trials, seconds.
    pub budget_s: Option<f64>,
    /// Seed of offsets and order.
    pub seed: u64,
}

impl TuneSpec {
    /// The objective; the standard one when the text is not understood (it was checked when the
    /// spec was made).
    #[must_use]
    pub fn objective(&self) -> Objective {
        self.objective.parse().unwrap_or_default()
    }

    /// The user's rules; one whose text is not understood is left out (they were checked when the
    /// spec was made).
    #[must_use]
    pub fn rules(&self) -> Vec<PolicySpec> {
        let read = self.rules.iter().map(|text| text.parse());
        read.filter_map(Result::ok).collect()
    }

    /// Objective and limits.
    #[must_use]
    pub fn goal(&self) -> Goal {
        Goal {
            objective: self.objective(),
            limits: self.limits(),
        }
    }

    /// The limits; a floor whose text is not understood is left out (it was checked when the spec
    /// was made).
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            min_iops: self.min_iops.as_ref().and_then(|text| text.parse().ok()),
            max_p99_ns: self.max_p99_ns,
            max_cpu_pct: self.max_cpu_pct,
        }
    }
}
