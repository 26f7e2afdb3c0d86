//! The command `q2c reproduce`.

mod all;
mod list;
mod one;
mod place;
mod progress;
mod rules;

use super::experiment;
use super::run_folder::quoted;
use crate::output::say;
use crate::workbench::machine_unless;
use q2c_model::{Fault, OrFault};
use q2c_reproduce::{Experiment, ReproduceSettings, file};
use q2c_result::Exit;
use q2c_run::run_dir::{RunDirError, read_checked_plan};
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &ReproduceSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    if args.list {
        return list::run(args, stop);
    }
    if let Some(path) = &args.resume {
        let mut plan: ReproduceSettings =
            read_checked_plan(path).map_err(RunDirError::on_resume)?;
        plan.all_trials |= args.all_trials;
        return if plan.all {
            all::resumed(path, &plan, args, stop)
        } else {
            let experiment = Experiment::parse(&plan.experiment).or_exit(Exit::Input)?;
            one::resumed(path, &experiment, &plan, args, stop)
        };
    }
    match &args.name {
        None => all::run(args, stop),
        Some(name) => one::run(&experiment(name)?, args, stop),
    }
}

fn tell_stopped(folder: &Path, args: &ReproduceSettings) {
    let writes = args.run.allow_write.iter();
    let writes = writes.map(|path| format!(" --allow-write {}", quoted(path)));
    say(&format!(
        "stopped: the finished trials are in the report; this goes on:\n    q2c reproduce --resume {}{}",
        quoted(folder),
        writes.collect::<String>()
    ));
}

/// A built-in experiment by its name, or one from a file whose name ends in `.toml`.
fn experiment(name: &str) -> Result<Experiment, Fault> {
    if name.ends_with(".toml") {
        experiment::read(Path::new(name))
    } else {
        file::built_in_experiment(name).or_exit(Exit::Usage)
    }
}

/// The plan that the arguments ask for.
///
/// # Errors
/// A machine is named that no experiment can run on, or it cannot be read.
fn plan(
    args: &ReproduceSettings,
    experiments: &[Experiment],
    target: Option<String>,
) -> Result<ReproduceSettings, Fault> {
    let mut plan = args.plan(experiments, target);
    let target = plan.has_simulated_target();
    let all_real = experiments
        .iter()
        .all(|experiment| experiment.needs_real_time(target).is_some());
    let real = experiments.first().filter(|_| all_real).and_then(|experiment| {
        let reason = experiment.needs_real_time(target)?;
        Some(format!(
            "{}: {reason}; only simulated devices are measured on a simulated machine; leave --machine out",
            experiment.name
        ))
    });
    plan.machine = machine_unless(real, &args.simulated)?;
    Ok(plan)
}
