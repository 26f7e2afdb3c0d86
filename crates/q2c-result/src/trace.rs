//! The results of `q2c trace info` and `q2c trace columns`, and of commands that make a trace.

use q2c_model::{TraceMeta, TraceSummary};
use serde::{Deserialize, Serialize};

/// A trace's own description, and counts over its records.
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

/// The result of `q2c trace columns`: the columns of a trace file, and the fields of CSV files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceColumns {
    /// Version of the trace file's columns.
    pub schema_version: u32,
    /// The columns, in the order of the file.
    pub columns: Vec<TraceColumn>,
    /// The fields that a column of a CSV file may hold.
    pub csv_fields: Vec<CsvColumn>,
}

/// A column of a trace file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceColumn {
    /// Name of the column in the file.
    pub name: String,
    /// Type of the cells: `uint64`, `uint32`, `int32`, `bool` or `string`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unit of the cells; empty for names and plain numbers.
    pub unit: String,
    /// True if cells are null when the source lacks the value.
    pub optional: bool,
    /// What the cells hold.
    pub meaning: String,
}

/// A field that a column of a CSV file may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CsvColumn {
    /// Name of the field in a column map.
    pub name: String,
    /// What the cells hold; `None` for a field with the name of a trace's column.
    pub meaning: Option<String>,
    /// CSV headers that mean this field when there is no column map.
    pub headers: Vec<String>,
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
        let written = serde_json::to_value(&info).unwrap();
        assert_eq!(written["summary"]["sizes"]["4096"], 2);
        assert_eq!(serde_json::from_value::<TraceInfo>(written).unwrap(), info);
    }
}
