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
use q2c_reproduce::{Experiment, file};
use q2c_result::Exit;
use q2c_run::run_dir::{CheckedPlan, PlanFault, RunDirError, read_checked_plan};
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
}

/// Factors of times that the command line takes.
pub const SCALES: std::ops::RangeInclusive<f64> = 0.001..=1.0;

impl CheckedPlan for PlanAsRun {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::within("scale", &self.scale, SCALES)?;
        PlanFault::within("seed", &self.seed, 0..=(1 << 62) - 1)?;
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
        let mut plan: PlanAsRun =
            read_checked_plan(path).or_exit_of(RunDirError::exit_of_resume)?;
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

/// The plan that the arguments ask for.
fn plan(
    args: &ReproduceArgs,
    experiment: Option<&Experiment>,
    target: Option<String>,
) -> PlanAsRun {
    PlanAsRun {
        all: experiment.is_none(),
        experiment: experiment.map_or_else(String::new, |of| of.text.clone()),
        target,
        scratch: args.scratch.is_some(),
        engine: args.engine.as_ref().map(ToString::to_string),
        from: args.from.clone(),
        scale: args.scale,
        trials: args.trials,
        all_trials: args.all_trials,
        cpus: args.cpus.0.clone(),
        seed: args.run.seed,
    }
}
