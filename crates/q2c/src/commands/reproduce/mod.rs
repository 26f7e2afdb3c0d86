//! The command `q2c reproduce`.

mod all;
mod list;
mod one;
mod place;
mod present;
mod progress;
mod rules;

use super::experiment;
use super::run_folder::quoted;
use crate::args::ReproduceArgs;
use crate::failure::{Fails, Failure};
use crate::output::say;
use crate::workbench::machine_unless;
use q2c_engine::{EngineSpec, SimMachine};
use q2c_host::target::Scratch;
use q2c_reproduce::{Experiment, file};
use q2c_result::Exit;
use q2c_run::run_dir::{CheckedPlan, PlanFault, RunDirError, read_checked_plan};
use q2c_workbench::check_machine;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A run as its `plan.toml` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanAsRun {
    /// Whether all experiments are run; else the one of `experiment`.
    pub all: bool,
    /// The text of the experiment's file; empty with `all`.
    pub experiment: String,
    /// The target; `None` without one.
    pub target: Option<String>,
    /// Whether the target is a scratch file that q2c made for this run.
    pub scratch: bool,
    /// The engine of jobs that name none.
    pub engine: Option<String>,
    /// The result of another command that the experiment judges.
    pub from: Option<PathBuf>,
    /// Factor of all times.
    pub scale: f64,
    /// Trials of each point; `None` for those of the files.
    pub trials: Option<u32>,
    /// Whether a point gets all its trials although the first ones failed for one reason.
    #[serde(default)]
    pub all_trials: bool,
    /// CPUs in the order in which jobs take them; empty for the machine's order.
    pub cpus: Vec<u32>,
    /// Seed of the run.
    pub seed: u64,
    /// The machine on which jobs on simulated devices run; `None` for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<SimMachine>,
}

/// Factors of times that the command line takes.
pub const SCALES: std::ops::RangeInclusive<f64> = 0.001..=1.0;

impl CheckedPlan for PlanAsRun {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::within("scale", &self.scale, SCALES)?;
        PlanFault::within("seed", &self.seed, 0..=(1 << 62) - 1)?;
        check_machine(self.machine.as_ref())?;
        self.trials.map_or(Ok(()), |trials| {
            PlanFault::within("trials", &trials, 1..=1000)
        })
    }
}

/// Runs an experiment or all of them, lists them, or goes on with a run.
pub fn run(args: &ReproduceArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    if args.list {
        return list::run(args, stop);
    }
    if let Some(path) = &args.resume {
        let mut plan: PlanAsRun = read_checked_plan(path).map_err(RunDirError::on_resume)?;
        plan.all_trials |= args.all_trials;
        return match plan.all {
            true => all::resumed(path, &plan, args, stop),
            false => {
                let experiment = Experiment::parse(&plan.experiment).or_exit(Exit::Input)?;
                one::resumed(path, &experiment, &plan, args, stop)
            }
        };
    }
    match &args.name {
        None => all::run(args, stop),
        Some(name) => one::run(&experiment(name)?, args, stop),
    }
}

/// Says that a run was stopped, and the command that goes on with it.
fn tell_stopped(folder: &Path, args: &ReproduceArgs) {
    let writes = args.run.allow_write.iter();
    let words = ["q2c", "reproduce", "--resume"].map(str::to_owned);
    let words = words.into_iter().chain([quoted(folder)]);
    let writes = writes.flat_map(|path| ["--allow-write".to_owned(), quoted(path)]);
    let command: Vec<String> = words.chain(writes).collect();
    say(&format!(
        "stopped: the finished trials are in the report; this goes on:\n    {}",
        command.join(" ")
    ));
}

/// A built-in experiment by its name, or one from a file whose name ends in `.toml`.
fn experiment(name: &str) -> Result<Experiment, Failure> {
    match name.ends_with(".toml") {
        true => experiment::read(Path::new(name)),
        false => file::named(name).or_exit(Exit::Usage),
    }
}

impl PlanAsRun {
    /// True if the target is simulated.
    fn has_simulated_target(&self) -> bool {
        let engine = self.engine.as_ref().and_then(|text| text.parse().ok());
        self.target
            .as_ref()
            .and_then(|target| EngineSpec::for_target(engine.as_ref(), target).ok())
            .is_some_and(|engine| engine.simulates().is_some())
    }

    /// The same plan on the scratch file, if there is one.
    fn on(self, scratch: Option<&Scratch>) -> Self {
        let path = scratch.map(|scratch| scratch.path().display().to_string());
        PlanAsRun {
            target: path.or(self.target.clone()),
            ..self
        }
    }

    /// True if the experiment runs on the simulated machine.
    fn simulates(&self, experiment: &Experiment) -> bool {
        let target = self.has_simulated_target();
        self.machine.is_some() && experiment.needs_real_time(target).is_none()
    }
}

/// The plan that the arguments ask for.
///
/// # Errors
/// A machine is named that no experiment can run on, or it cannot be read.
fn plan(
    args: &ReproduceArgs,
    experiments: &[Experiment],
    target: Option<String>,
) -> Result<PlanAsRun, Failure> {
    let plan = real_time_plan(args, experiments, target);
    let target = plan.has_simulated_target();
    let is_real = |of: &Experiment| of.needs_real_time(target).is_some();
    let real = experiments
        .first()
        .filter(|_| experiments.iter().all(is_real));
    let real = real.and_then(|of| {
        let reason = of.needs_real_time(target)?;
        Some(format!(
            "{}: {reason}; only simulated devices are measured on a simulated machine; leave --machine out",
            of.name
        ))
    });
    let machine = machine_unless(real, &args.machine)?;
    Ok(PlanAsRun { machine, ..plan })
}

/// The plan for this machine and its time.
fn real_time_plan(
    args: &ReproduceArgs,
    experiments: &[Experiment],
    target: Option<String>,
) -> PlanAsRun {
    let own = experiments.first().filter(|_| args.name.is_some());
    PlanAsRun {
        all: own.is_none(),
        experiment: own.map_or_else(String::new, |of| of.text.clone()),
        target,
        scratch: args.scratch.is_some(),
        engine: args.engine.as_ref().map(ToString::to_string),
        from: args.from.clone(),
        scale: args.scale,
        trials: args.trials,
        all_trials: args.all_trials,
        cpus: args.cpus.0.clone(),
        seed: args.run.seed,
        machine: None,
    }
}
