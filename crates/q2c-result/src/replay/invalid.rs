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
    /// Always busy with far less in flight than the trace: its own speed was measured.
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
        /// CPUs busy with other work before the run, where more than on a quiet machine.
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
    use crate::tests::assert_json;

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
        let with = |json: &str| {
            let late =
                r#""id":"late","p99_ns":250500.0,"allowed":100000,"spare_cpus":true,"spin":false"#;
            format!("{{{late}{json}}}")
        };
        assert_json(&Invalid::ReplayerBound, r#"{"id":"replayer-bound"}"#);
        assert_json(&late(None), &with(""));
        assert_json(&late(Some(1.9)), &with(r#","busy_cpus":1.9"#));
        assert_eq!(Invalid::ReplayerBound.kind(), "replayer-bound");
        assert_eq!(late(None).kind(), "late");
    }
}
