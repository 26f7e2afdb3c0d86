//! Experiments as files: `experiments/NAME.toml`.

use q2c_engine::EngineSpec;
use q2c_model::{Bytes, CpuId};
use q2c_policy::PolicySpec;
use q2c_workbench::workload::BackgroundSpec;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The texts of the experiments that are built in.
const BUILT_IN: [&str; 1] = [include_str!(
    "../../../experiments/miss-rate-interference.toml"
)];

/// One experiment, as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name on the command line.
    pub name: String,
    /// The foreground's sleep rule, as text.
    pub policy: String,
    /// The foreground's engine, as text (`io_uring:iopoll`, `io_uring:ring`), unless the command
    /// line names one; `None` leaves the choice to the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Time at the start of each phase that does not count, seconds.
    pub settle_s: f64,
    /// The phases, in the order in which they run.
    #[serde(rename = "phase")]
    pub phases: Vec<PhaseSpec>,
    /// The published figures that the experiment reproduces.
    pub published: Published,
}

/// One phase of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Name in tables.
    pub label: String,
    /// Background jobs of this phase as text, in which `{bs}` stands for the foreground's block
    /// size; `None` runs none.
    pub background: Option<String>,
}

/// The published figures, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// How the published figures were measured.
    pub setting: String,
    /// The published findings, one per entry.
    pub claims: Vec<String>,
}

/// An experiment that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No built-in experiment has this name.
    #[error("find experiment `{name}`: there are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// Names of the built-in experiments.
        known: String,
    },
    /// The text of the experiment is wrong.
    #[error("understand experiment `{name}`: {problem}")]
    Wrong {
        /// Name of the experiment; `?` when the text is no TOML of an experiment.
        name: String,
        /// The part that is wrong, and why.
        problem: String,
    },
}

impl Experiment {
    /// The built-in experiment of this name.
    ///
    /// # Errors
    /// No built-in experiment has this name, or one of them is wrong.
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

    /// Reads an experiment from the text of a file.
    ///
    /// # Errors
    /// The text is not TOML, lacks a field, or names a rule or a job that does not exist.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        let wrong = |name: &str, problem: String| ExperimentError::Wrong {
            name: name.to_owned(),
            problem,
        };
        let experiment: Experiment = toml::from_str(text).map_err(|e| wrong("?", e.to_string()))?;
        let name = experiment.name.clone();
        experiment.policy().map_err(|e| wrong(&name, e))?;
        experiment.engine().map_err(|e| wrong(&name, e))?;
        experiment
            .background(Bytes(4096), CpuId(0))
            .map_err(|e| wrong(&name, e))?;
        Ok(experiment)
    }

    /// Parses the foreground's sleep rule.
    pub(super) fn policy(&self) -> Result<PolicySpec, String> {
        self.policy.parse().map_err(|e| format!("{e}"))
    }

    /// The foreground's engine, where the file names one.
    ///
    /// # Errors
    /// The text names no engine; [`Experiment::parse`] has checked that of a file.
    pub fn engine(&self) -> Result<Option<EngineSpec>, String> {
        let named = self.engine.as_ref().map(|text| text.parse());
        named.transpose().map_err(|e| format!("{e}"))
    }

    /// The background jobs, each with the index of its phase.
    pub(super) fn background(
        &self,
        bs: Bytes,
        cpu: CpuId,
    ) -> Result<Vec<(usize, BackgroundSpec)>, String> {
        let job = |(n, phase): (usize, &PhaseSpec)| {
            let text = phase
                .background
                .as_ref()?
                .replace("{bs}", &bs.0.to_string());
            Some(
                text.parse::<BackgroundSpec>()
                    .map_err(|e| e.to_string())
                    .map(|spec| {
                        let cpus = vec![cpu];
                        (n, BackgroundSpec { cpus, ..spec })
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
    fn a_file_may_name_the_path() {
        let named = |engine: &str| {
            let head = format!("engine = \"{engine}\"\n");
            Experiment::parse(&(head + BUILT_IN[0]))
        };
        for engine in ["io_uring:iopoll", "io_uring:ring"] {
            let found = named(engine).unwrap().engine().unwrap().unwrap();
            assert_eq!(found.to_string(), engine);
        }
        let error = named("io_uring:fast").unwrap_err().to_string();
        assert!(error.contains("ring, iopoll"), "{error}");
        let none = Experiment::named("miss-rate-interference").unwrap();
        assert_eq!(none.engine(), Ok(None));
    }

    #[test]
    fn a_wrong_rule_is_named() {
        let text = BUILT_IN[0].replace("mean:", "median:");
        let error = Experiment::parse(&text).unwrap_err().to_string();
        assert!(error.contains("median"), "{error}");
    }
}
