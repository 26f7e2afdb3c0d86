//! The plan of a tune run, as `plan.toml` of its run folder.

use q2c_advice::Goal;
use q2c_engine::SimMachine;
use q2c_model::{Bytes, Nanos};
use q2c_policy::PolicySpec;
use q2c_sim::{Limits, Objective};
use serde::{Deserialize, Serialize};

/// The plan of a tune run, in plain values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneSpec {
    /// Target as the user gave it.
    pub target: String,
    /// Whether the target is a scratch file that q2c made for this run. Calibrations on such a file
    /// hold for others of its size, also in a later session, in which it is a file like any other.
    #[serde(default)]
    pub scratch: bool,
    /// Whether the workload copies a recorded program, which is in the run folder.
    #[serde(default)]
    pub program: bool,
    /// Foreground interface, as text.
    pub engine: String,
    /// Pattern, as text.
    pub rw: String,
    /// Time from an I/O of a foreground lane to its next one, in which it sleeps, ns; `None` where
    /// it submits at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ns: Option<u64>,
    /// Block sizes, in the order of the results.
    pub sizes: Vec<Bytes>,
    /// CPUs of the foreground lanes, one per lane.
    pub cpus: Vec<u32>,
    /// Background jobs, as text; empty for none.
    pub background: Vec<String>,
    /// Rules that the user wrote or named, as policy texts.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Length of all measured parts of a trial together, seconds.
    pub seconds: f64,
    /// Length of one part of a trial, seconds. The trial makes it longer on a device that does few
    /// I/Os in it.
    pub part_seconds: f64,
    /// Length of one polled slice, seconds. The trial makes it longer together with the parts.
    pub slice_seconds: f64,
    /// Length of the first recording, seconds.
    pub record_seconds: f64,
    /// Trials that an answer needs.
    pub trials: u32,
    /// Whether what failed twice for the same reason gets its further trials all the same.
    #[serde(default)]
    pub all_trials: bool,
    /// Objective, as text.
    pub objective: String,
    /// The floor, as text: IOPS (`9300`), or a share of polling's (`93%`); `None` for the standard
    /// floor.
    pub min_iops: Option<String>,
    /// Bound on the 99th percentile of U2C, ns; `None` for no bound.
    pub max_p99_ns: Option<f64>,
    /// Bound on thread CPU, percent of one CPU and lane; `None` for no bound.
    pub max_cpu_pct: Option<f64>,
    /// Time for all trials, seconds; `None` for no limit.
    pub budget_s: Option<f64>,
    /// Seed of offsets, of simulations and of the order of trials.
    pub seed: u64,
    /// The machine on which a simulated target is measured; `None` for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<SimMachine>,
}

impl TuneSpec {
    /// The think time of the foreground lanes.
    #[must_use]
    pub fn think(&self) -> Option<Nanos> {
        self.think_ns.map(Nanos)
    }

    /// The objective. The text was checked when the spec was made; one that is not understood gives
    /// the standard objective.
    #[must_use]
    pub fn objective(&self) -> Objective {
        self.objective.parse().unwrap_or_default()
    }

    /// The user's rules. The texts were checked when the spec was made; one that is not understood
    /// is left out.
    #[must_use]
    pub fn rules(&self) -> Vec<PolicySpec> {
        let read = self.rules.iter().map(|text| text.parse());
        read.filter_map(Result::ok).collect()
    }

    /// Objective and limits, as the referee takes them.
    #[must_use]
    pub fn goal(&self) -> Goal {
        Goal {
            objective: self.objective(),
            limits: self.limits(),
        }
    }

    /// The limits. The text of the floor was checked when the spec was made; one that is not
    /// understood is left out.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            min_iops: self.min_iops.as_ref().and_then(|text| text.parse().ok()),
            max_p99_ns: self.max_p99_ns,
            max_cpu_pct: self.max_cpu_pct,
        }
    }
}
