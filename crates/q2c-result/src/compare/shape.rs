//! The shapes that a comparison's result had in its versions.

use super::{CompareResult, Comparison, Overall};
use crate::{Machine, Warning};
use serde::Deserialize;

/// A result of any version. Versions 1 and 2 have the fields of their one comparison among those of
/// the run.
#[derive(Deserialize)]
pub(super) struct AnyVersion {
    schema: String,
    version: String,
    started_unix_s: u64,
    seconds: f64,
    complete: bool,
    machine: Machine,
    comparisons: Option<Vec<Comparison>>,
    #[serde(default)]
    overall: Vec<Overall>,
    #[serde(flatten)]
    only: Option<Comparison>,
    warnings: Vec<Warning>,
}

impl TryFrom<AnyVersion> for CompareResult {
    type Error = &'static str;

    fn try_from(read: AnyVersion) -> Result<Self, Self::Error> {
        let listed = read.comparisons.filter(|all| !all.is_empty());
        let comparisons = listed.or_else(|| Some(vec![read.only?]));
        Ok(CompareResult {
            schema: read.schema,
            version: read.version,
            started_unix_s: read.started_unix_s,
            seconds: read.seconds,
            complete: read.complete,
            machine: read.machine,
            comparisons: comparisons.ok_or("a comparison without devices, trace or verdict")?,
            overall: read.overall,
            warnings: read.warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::CompareMetric;
    use serde_json::{Value, json};

    fn comparison() -> Comparison {
        Comparison {
            job: Default::default(),
            trace: Default::default(),
            profile: None,
            devices: Vec::new(),
            sum: CompareMetric::SumU2c,
            separations: Vec::new(),
            verdict: Vec::new(),
        }
    }

    fn result(comparisons: Vec<Comparison>) -> CompareResult {
        CompareResult {
            schema: "q2c.compare/3".to_owned(),
            version: "0".to_owned(),
            started_unix_s: 1,
            seconds: 2.0,
            complete: true,
            machine: Machine::default(),
            comparisons,
            overall: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let written = result(vec![comparison(), comparison()]);
        let json = serde_json::to_value(&written).unwrap();
        let read: CompareResult = serde_json::from_value(json).unwrap();
        assert_eq!(read, written);
    }

    #[test]
    fn the_one_comparison_of_earlier_versions_is_read() {
        let mut flat = serde_json::to_value(result(Vec::new())).unwrap();
        let one = serde_json::to_value(comparison()).unwrap();
        let (flat, one) = (flat.as_object_mut().unwrap(), one.as_object().unwrap());
        flat.remove("comparisons");
        flat.remove("overall");
        flat.extend(one.clone());
        let read: CompareResult = serde_json::from_value(Value::Object(flat.clone())).unwrap();
        assert_eq!(read, result(vec![comparison()]));
        flat.remove("verdict");
        let lacks = serde_json::from_value::<CompareResult>(Value::Object(flat.clone()));
        assert!(lacks.unwrap_err().to_string().contains("verdict"));
        let mut none = serde_json::to_value(result(Vec::new())).unwrap();
        none["comparisons"] = json!([]);
        assert!(serde_json::from_value::<CompareResult>(none).is_err());
    }
}
