//! What a sweep was asked for: only states of one question can be put together.

use super::error::too_many_corners;
use crate::batch::{CostTables, PolicyOrPolling};
use crate::closed::Drive;
use q2c_model::{CostModel, Exit, Fault, Nanos, OrFault};
use q2c_policy::PolicySpec;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SweepQuestion {
    #[serde(with = "texts")]
    pub policies: Vec<PolicySpec>,
    pub cost: CostModel,
    warm_up: u64,
    measure: u64,
    seed: u64,
}

impl SweepQuestion {
    pub(crate) fn new(
        policies: &[PolicySpec],
        cost: &CostModel,
        drive: Drive,
    ) -> Result<Self, Fault> {
        let asked = SweepQuestion {
            policies: policies.iter().map(PolicySpec::fresh).collect(),
            cost: cost.clone(),
            warm_up: drive.warm_up.0,
            measure: drive.measure.0,
            seed: drive.seed,
        };
        asked.check()?;
        Ok(asked)
    }

    /// Whether the costs are such as a machine can have, and can be swept in parts.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let costs = self.cost.check();
        costs.or_fault(Exit::Usage, "sweep in parts: costs")?;
        let tables = CostTables::new(&self.cost).map(|_| ());
        tables.ok_or_else(too_many_corners)
    }

    pub fn drive(&self) -> Drive {
        Drive {
            warm_up: Nanos(self.warm_up),
            measure: Nanos(self.measure),
            seed: self.seed,
        }
    }

    pub(crate) fn counts(&self) -> (i64, i64) {
        let time = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let warm_up = time(self.warm_up);
        (warm_up, warm_up.saturating_add(time(self.measure)))
    }

    pub(crate) fn rules(&self) -> Vec<PolicyOrPolling<'_>> {
        self.policies.iter().map(Some).chain([None]).collect()
    }

    pub(crate) fn same_machine(&self, other: &SweepQuestion) -> Result<(), Fault> {
        for (what, expected, given) in [
            ("warm-up", self.warm_up, other.warm_up),
            ("measured time", self.measure, other.measure),
        ] {
            if expected != given {
                let (expected, given) = (Nanos(expected), Nanos(given));
                return Err(other_sweep(format!(
                    "a {what} of {expected}, found {given}"
                )));
            }
        }
        let (seed, given) = (self.seed, other.seed);
        if seed != given {
            return Err(other_sweep(format!("the seed {seed}, found {given}")));
        }
        if self.cost == other.cost {
            return Ok(());
        }
        let costs = "the same costs, found others; sweep both with one calibration";
        Err(other_sweep(costs))
    }

    pub(crate) fn same_policies(&self, other: &SweepQuestion) -> Result<(), Fault> {
        let count = self.policies.len().max(other.policies.len());
        let text = |asked: &SweepQuestion, i: usize| asked.policies.get(i).map(ToString::to_string);
        let differs = (0..count).find(|&i| text(self, i) != text(other, i));
        differs.map_or(Ok(()), |i| {
            let [given, expected] =
                [other, self].map(|asked| text(asked, i).unwrap_or_else(|| "none".to_owned()));
            Err(other_sweep(format_args!(
                "the same configurations, found {given} in place of {expected} (number {i})"
            )))
        })
    }
}

pub(super) fn other_sweep(reason: impl Display) -> Fault {
    let text = format!("join states of sweeps: expected {reason}");
    Fault::new(Exit::Usage, text)
}

mod texts {
    use q2c_policy::PolicySpec;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(policies: &[PolicySpec], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(policies.iter().map(ToString::to_string))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PolicySpec>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let read = |text: &String| text.parse().map_err(D::Error::custom);
        texts.iter().map(read).collect()
    }
}
