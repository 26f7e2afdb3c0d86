//! Reasons why a trial of a replay cannot be compared with others. `q2c-report` makes the
//! sentences.

use q2c_model::Nanos;
use serde::{Deserialize, Serialize};

/// A reason why a trial cannot be compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Invalid {
    /// It was stopped before the trace's end.
    Stopped,
    /// Requests failed.
    Failed {
        /// Number of requests that failed or were short.
        requests: u64,
        /// The first error, in the system's words.
        first: String,
    },
    /// The replayer was busy all the time and kept far less in flight than the trace, so its own
    /// speed was measured and not the device's.
    ReplayerBound,
    /// The capture saw fewer I/Os than were submitted, so its sum is of something else.
    PartlyCaptured {
        /// I/Os that the capture saw, those that it lost included.
        seen: u64,
        /// I/Os that it should have seen.
        expected: u64,
    },
    /// The replayer was late by its own fault.
    Late {
        /// Own lateness at the 99th percentile, ns.
        p99_ns: f64,
        /// Own lateness up to which the trial would be valid.
        allowed: Nanos,
        /// Whether there were more CPUs than submitting threads.
        spare_cpus: bool,
        /// Whether the submitting threads spun.
        spin: bool,
        /// CPUs that were busy with other work before the run, where they are more than a quiet
        /// machine has; `None` otherwise.
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

impl Invalid {
    /// The kind of the reason, as results name it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Invalid::Stopped => "stopped",
            Invalid::Failed { .. } => "failed",
            Invalid::ReplayerBound => "replayer-bound",
            Invalid::PartlyCaptured { .. } => "partly-captured",
            Invalid::Late { .. } => "late",
            Invalid::CaptureLost { .. } => "capture-lost",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn late(busy_cpus: Option<f64>) -> Invalid {
        Invalid::Late {
            p99_ns: 250_500.0,
            allowed: Nanos(100_000),
            spare_cpus: true,
            spin: false,
            busy_cpus,
        }
    }

    #[test]
    fn reasons_are_read_as_they_are_written() {
        let all = vec![Invalid::ReplayerBound, late(None), late(Some(1.9))];
        let written = serde_json::to_value(&all).unwrap();
        for (reason, written) in all.iter().zip(written.as_array().unwrap()) {
            assert_eq!(written["id"], reason.kind());
        }
        let wanted = json!([
            {"id": "replayer-bound"},
            {
                "id": "late", "p99_ns": 250_500.0, "allowed": 100_000,
                "spare_cpus": true, "spin": false,
            },
            {
                "id": "late", "p99_ns": 250_500.0, "allowed": 100_000,
                "spare_cpus": true, "spin": false, "busy_cpus": 1.9,
            },
        ]);
        assert_eq!(written, wanted);
        assert_eq!(
            serde_json::from_value::<Vec<Invalid>>(written).unwrap(),
            all
        );
    }
}
