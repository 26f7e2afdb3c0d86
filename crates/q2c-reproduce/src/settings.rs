//! The settings of a run: the arguments of `q2c reproduce` are its plan.

use crate::Experiment;
use clap::Args;
use q2c_engine::{EngineSpec, SimMachine};
use q2c_host::target::Scratch;
use q2c_model::{Bytes, List, parse_cpus, parse_size};
use q2c_run::arguments::RunArgs;
use q2c_run::run_dir::{CheckedPlan, PlanFault};
use q2c_workbench::check_machine;
use q2c_workbench::settings::MachineArgs;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Run published experiments here, and judge each published claim.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub struct ReproduceSettings {
    /// The experiment: a name of --list, or a file like those in experiments/
    #[arg(required_unless_present_any = ["list", "all", "resume"])]
    #[arg(conflicts_with_all = ["list", "all", "resume"])]
    #[serde(skip)]
    pub name: Option<String>,
    /// List the experiments: what they ask and need, what of them can be judged here, how long they
    /// take. What depends on a target is told with --target
    #[arg(long, conflicts_with_all = ["all", "resume", "scratch"])]
    #[serde(skip)]
    pub list: bool,
    /// Run all experiments
    #[arg(long)]
    pub all: bool,
    /// File or block device, or a simulated device such as sim:50us, for jobs whose file makes no
    /// device
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// Shorten all times: a factor such as 0.1 or 10%, or small, which is 2 %. Block sizes, depths
    /// and CPUs stay, and the result says so
    #[arg(long, default_value = "1", value_parser = parse_scale)]
    pub scale: f64,
    /// Trials of each point [default: those of the file, mostly 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// CPUs in the order in which jobs take them, separated by commas; auto takes cores before SMT
    /// siblings
    #[arg(long, value_name = "LIST", default_value = "auto", value_parser = parse_cpus)]
    pub cpus: List<u32>,
    /// I/O interface of jobs whose file names none [default: io_uring, or what a simulated target
    /// names]
    #[arg(long)]
    pub engine: Option<EngineSpec>,
    /// The machine of simulated devices.
    #[command(flatten)]
    #[serde(skip)]
    pub simulated: MachineArgs,
    /// For an experiment that judges a result of another command: the folder or file of that result
    #[arg(long, value_name = "RUN", conflicts_with_all = ["list", "all", "resume"])]
    pub from: Option<PathBuf>,
    /// For an experiment that compares two devices of yours: run its command on them
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"])]
    #[arg(conflicts_with_all = ["from", "list", "resume"])]
    #[serde(default)]
    pub on: Vec<String>,
    /// Go on with this interrupted run. It keeps its own target, machine, CPUs, engine, lengths,
    /// trials and seed
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = [
            "all", "target", "scratch", "scale", "trials", "cpus", "engine", "seed", "machine",
            "real_time"
        ]
    )]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// Place of the run.
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunArgs,
    /// The text of the experiment's file; empty with `all`.
    #[arg(skip)]
    pub experiment: String,
    /// The machine on which jobs on simulated devices run; `None` for this one.
    #[arg(skip)]
    pub machine: Option<SimMachine>,
}

const SMALL_SCALE: f64 = 0.02;
/// Scales that the command line accepts.
const ALLOWED_SCALES: RangeInclusive<f64> = 0.001..=1.0;

fn parse_scale(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(percent) => (percent, 0.01),
        None => (text, 1.0),
    };
    let value = match text {
        "small" => Some(SMALL_SCALE),
        _ => number.trim().parse().ok().map(|number: f64| number * unit),
    };
    let value = value.filter(|value| ALLOWED_SCALES.contains(value));
    value
        .ok_or_else(|| "expected a factor from 0.001 to 1, such as 0.1 or 10%, or small".to_owned())
}

impl CheckedPlan for ReproduceSettings {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::check_range("scale", &self.scale, ALLOWED_SCALES)?;
        self.run.check()?;
        check_machine(self.machine.as_ref())?;
        self.trials.map_or(Ok(()), |trials| {
            PlanFault::check_range("trials", &trials, 1..=1000)
        })
    }
}

impl ReproduceSettings {
    /// The plan of the named experiment, else of all experiments, on this target.
    pub fn plan(&self, experiments: &[Experiment], target: Option<String>) -> Self {
        let named = experiments.first().filter(|_| self.name.is_some());
        ReproduceSettings {
            all: named.is_none(),
            experiment: named.map_or_else(String::new, |experiment| experiment.text.clone()),
            target,
            ..self.clone()
        }
    }

    /// True if the target is simulated.
    pub fn has_simulated_target(&self) -> bool {
        self.target
            .as_ref()
            .and_then(|target| EngineSpec::for_target(self.engine.as_ref(), target).ok())
            .is_some_and(|engine| engine.simulates().is_some())
    }

    /// The same plan with the scratch file as its target, if there is one.
    pub fn with_scratch_target(self, scratch: Option<&Scratch>) -> Self {
        let path = scratch.map(|scratch| scratch.path().display().to_string());
        ReproduceSettings {
            target: path.or(self.target.clone()),
            ..self
        }
    }

    /// True if the experiment runs on a simulated machine: its own, or that of the run.
    pub fn simulates(&self, experiment: &Experiment) -> bool {
        let target = self.has_simulated_target();
        let machine = experiment.machine.as_ref().or(self.machine.as_ref());
        machine.is_some() && experiment.needs_real_time(target).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_shorten_and_never_lengthen() {
        assert_eq!(parse_scale("0.1"), Ok(0.1));
        assert_eq!(parse_scale("10%"), Ok(0.1));
        assert_eq!(parse_scale("small"), Ok(0.02));
        for wrong in ["2", "0", "-1", "nan", "x", ""] {
            assert!(parse_scale(wrong).unwrap_err().contains("0.001"), "{wrong}");
        }
    }
}
