//! `experiments/NAME.toml`.

use q2c_model::{Bytes, CpuId};
use q2c_policy::PolicySpec;
use q2c_workbench::workload::BackgroundSpec;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Experiments that are built in, by name.
const BUILT_IN: [&str; 1] = [include_str!(
    "../../../experiments/miss-rate-interference.toml"
)];

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name on the command line.
    pub name: String,
    /// The foreground's sleep rule.
    pub policy: String,
    /// Start of each phase that does not count, seconds.
    pub settle_s: f64,
    /// The phases, in order.
    #[serde(rename = "phase")]
    pub phases: Vec<PhaseSpec>,
    /// What was published.
    pub published: Published,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Name in tables.
    pub label: String,
    /// Background jobs; `{bs}` stands for the foreground's block size.
    pub background: Option<String>,
}

/// The published figures, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// How they were measured.
    pub setting: String,
    /// What was found.
    pub claims: Vec<String>,
}

/// An experiment that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// There is none of that name.
    #[error("find experiment `{name}`: there are {known}")]
    Unknown {
        /// As given.
        name: String,
        /// What exists.
        known: String,
    },
    /// Its file is wrong.
    #[error("understand experiment `{name}`: {problem}")]
    Wrong {
        /// Its name.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl Experiment {
    /// The built-in experiment of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, ExperimentError> {
        let all: Vec<Experiment> = BUILT_IN
            .iter()
            .map(|text| Self::parse(text))
            .collect::<Result<_, _>>()?;
        let known = || {
            all.iter()
                .map(|e| e.name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = all.iter().find(|e| e.name == name).cloned();
        found.ok_or_else(|| ExperimentError::Unknown {
            name: name.to_owned(),
            known: known(),
        })
    }

    /// From the text of a file.
    ///
    /// # Errors
    /// When it is no TOML, lacks a field or names a rule or job that is none.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |name: &str, problem: String| ExperimentError::Wrong {
            name: name.to_owned(),
            problem,
        };
        let experiment: Experiment = toml::from_str(text).map_err(|e| wrong("?", e.to_string()))?;
        let name = experiment.name.clone();
        experiment.policy().map_err(|e| wrong(&name, e))?;
        experiment
            .background(Bytes(4096), CpuId(0))
            .map_err(|e| wrong(&name, e))?;
        Ok(experiment)
    }

    /// The foreground's rule.
    pub(super) fn policy(&self) -> Result<PolicySpec, String> {
        self.policy.parse().map_err(|e| format!("{e}"))
    }

    /// Every phase's background jobs, each active in the settling and the counted stage of its phase.
    pub(super) fn background(&self, bs: Bytes, cpu: CpuId) -> Result<Vec<BackgroundSpec>, String> {
        let job = |(n, phase): (usize, &PhaseSpec)| {
            let text = phase
                .background
                .as_ref()?
                .replace("{bs}", &bs.0.to_string());
            Some(
                text.parse::<BackgroundSpec>()
                    .map_err(|e| e.to_string())
                    .map(|spec| BackgroundSpec {
                        stages: vec![2 * n, 2 * n + 1],
                        cpus: vec![cpu],
                        ..spec
                    }),
            )
        };
        self.phases.iter().enumerate().filter_map(job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_experiments_are_sound_and_others_are_refused() {
        assert_eq!(
            Experiment::named("miss-rate-interference")
                .unwrap()
                .phases
                .len(),
            4
        );
        let error = Experiment::named("miss").unwrap_err().to_string();
        assert!(error.contains("miss-rate-interference"), "{error}");
    }

    #[test]
    fn a_wrong_rule_is_named() {
        let text = BUILT_IN[0].replace("mean:", "median:");
        let error = Experiment::parse(&text).unwrap_err().to_string();
        assert!(error.contains("median"), "{error}");
    }
}
