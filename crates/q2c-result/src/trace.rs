//! The result of `q2c trace info`, and of the commands that make a trace.

use q2c_model::{TraceMeta, TraceSummary};
use serde::{Deserialize, Serialize};

/// A trace's own description, and what was counted in its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Path of the trace as the user gave it.
    pub path: String,
    /// Version of the trace file's columns.
    pub schema_version: u32,
    /// The description that the trace carries.
    pub meta: TraceMeta,
    /// Counts over the trace's records.
    pub summary: TraceSummary,
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;

    #[test]
    fn a_description_comes_back() {
        let info = TraceInfo {
            path: "t".to_owned(),
            schema_version: 1,
            meta: TraceMeta::default(),
            summary: TraceSummary {
                sizes: [(Bytes(4096), 2)].into(),
                ..TraceSummary::default()
            },
        };
        let text = serde_json::to_string(&info).unwrap();
        assert!(text.contains(r#""sizes":{"4096":2}"#), "{text}");
        assert_eq!(serde_json::from_str::<TraceInfo>(&text).unwrap(), info);
    }
}
