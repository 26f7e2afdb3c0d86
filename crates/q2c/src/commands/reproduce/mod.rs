//! The commands `q2c reproduce` and `q2c experiment`.

mod all;
mod one;
mod place;

use super::run_folder::{self, quoted};
use crate::output::{print, say, show_as};
use crate::workbench::{cpus_without_target, make_scratch, named_cpus, simulated_machine};
use clap::Subcommand;
use place::ReproducePlace;
use q2c_engine::World;
use q2c_model::{Fault, OrFault};
use q2c_report::reproduce::origin_notes;
use q2c_report::terminal::reproduce_list;
use q2c_reproduce::jobs::capture_refusal;
use q2c_reproduce::needs::Features;
use q2c_reproduce::studies::compare::{command_words, has_open_places};
use q2c_reproduce::{Experiment, ExperimentError, Lister, ReproduceSettings, file};
use q2c_result::Exit;
use q2c_result::reproduce::{LIST_SCHEMA, ListResult, ListedExperiment};
use q2c_run::run_dir::{RunDirError, read_checked_plan};
use q2c_run::runner::time_text;
use q2c_run::{RunDir, whole_file};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &ReproduceSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    if args.list {
        return list(args, stop);
    }
    if let Some(path) = &args.resume {
        let mut plan: ReproduceSettings =
            read_checked_plan(path).map_err(RunDirError::on_resume)?;
        plan.all_trials |= args.all_trials;
        plan.run.allow_write.clone_from(&args.run.allow_write);
        let experiments = if plan.all {
            let experiments = file::built_in_experiments().or_exit(Exit::Internal)?;
            all::tell_length(&all::unfinished(&experiments, path), &plan);
            experiments
        } else {
            vec![Experiment::parse(&plan.experiment).or_exit(Exit::Input)?]
        };
        let place = ReproducePlace::open(plan, &experiments, None, args, stop);
        let place = place.map_err(Fault::for_plan)?;
        let folder = run_folder::resume(path, &place.identity())?;
        return conclude(&experiments, place, folder, args, stop);
    }
    let experiments = match &args.name {
        None => file::built_in_experiments().or_exit(Exit::Internal)?,
        Some(name) => {
            let experiment = find_experiment(name)?;
            if experiment.takes_target() && args.target.is_none() && args.scratch.is_none() {
                return Err(Fault::usage(format!(
                    "reproduce: {} works on a file or device of yours; name it with --target, or use --scratch SIZE",
                    experiment.name
                )));
            }
            if !args.on.is_empty() && !has_open_places(&experiment) {
                return Err(Fault::usage(format!(
                    "reproduce: {} compares no devices of yours; leave out --on",
                    experiment.name
                )));
            }
            vec![experiment]
        }
    };
    let takes_target = args.name.is_none() || experiments[0].takes_target();
    let target = args.target.clone().filter(|_| takes_target);
    let plan = make_plan(args, &experiments, target)?;
    if plan.all {
        all::tell_length(&experiments, &plan);
    }
    let scratch = make_scratch(args.scratch.filter(|_| takes_target), &args.run, stop)?;
    let plan = plan.with_scratch_target(scratch.as_ref());
    let place = ReproducePlace::open(plan, &experiments, scratch, args, stop)?;
    let name = if place.plan.all {
        "reproduce-all"
    } else {
        &experiments[0].name
    };
    let folder = RunDir::create(&args.run.out, name, &place.plan, &place.identity())?;
    conclude(&experiments, place, folder, args, stop)
}

fn conclude(
    experiments: &[Experiment],
    place: ReproducePlace,
    folder: RunDir,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    if place.plan.all {
        all::conclude(experiments, place, folder, args, stop)
    } else {
        one::conclude(&experiments[0], place, folder, args, stop)
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

/// A built-in experiment, or the one in a file whose name ends in `.toml`.
fn find_experiment(name: &str) -> Result<Experiment, Fault> {
    if name.ends_with(".toml") {
        read(Path::new(name))
    } else {
        file::built_in_experiment(name).or_exit(Exit::Usage)
    }
}

/// The plan for the arguments.
///
/// # Errors
/// The named machine is one on which no experiment can run, or its file cannot be read.
fn make_plan(
    args: &ReproduceSettings,
    experiments: &[Experiment],
    target: Option<String>,
) -> Result<ReproduceSettings, Fault> {
    let mut plan = args.plan(experiments, target);
    let is_simulated = plan.has_simulated_target();
    let is_real = |experiment: &Experiment| experiment.needs_real_time(is_simulated).is_some();
    let all_real = experiments.iter().all(is_real);
    let real_reason = experiments
        .first()
        .filter(|_| all_real)
        .and_then(|experiment| {
            let reason = experiment.needs_real_time(is_simulated)?;
            Some(format!(
                "{}: {reason}; only simulated devices are measured on a simulated machine; leave --machine out",
                experiment.name
            ))
        });
    plan.machine = simulated_machine(real_reason, &args.simulated)?;
    Ok(plan)
}

fn list(args: &ReproduceSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    let all_experiments = file::built_in_experiments().or_exit(Exit::Internal)?;
    let plan = make_plan(args, &all_experiments, args.target.clone())?;
    let (place, here) = match &plan.target {
        Some(_) => {
            let place = ReproducePlace::open(plan, &all_experiments, None, args, stop)?;
            (Some(place), Features::default())
        }
        // The facts of this machine without a target.
        None => {
            let cpus = cpus_without_target(None, named_cpus(&args.cpus).as_deref())?.cpus;
            (None, Features::read(cpus.len(), None))
        }
    };
    let place_of =
        |experiment: &Experiment| place.as_ref().map(|place| place.for_experiment(experiment));
    let real_capture =
        |experiment: &&Experiment| experiment.capture && experiment.machine.is_none();
    let capturing = all_experiments.iter().find(real_capture);
    let capturing = capturing.and_then(place_of).map(|place| &place.site);
    let capturing = capturing.filter(|site| site.time.world().is_none());
    let no_capture = capturing.and_then(capture_refusal);
    let listed = |experiment: &Experiment| {
        let machine_place = place_of(experiment);
        let predicting = experiment.machine.clone().map(|machine| {
            let cpus = machine.cpus() as usize;
            Features::simulated(&World::new(machine), cpus)
        });
        let here = predicting.as_ref().unwrap_or(&here);
        let lister = Lister {
            present: machine_place.map_or(here, |machine_place| &machine_place.present),
            target: args.target.is_some(),
            no_capture: no_capture.as_deref(),
            scale: args.scale,
            trials: args.trials,
        };
        lister.list_entry(experiment)
    };
    let experiments: Vec<ListedExperiment> = all_experiments.iter().map(listed).collect();
    let result = ListResult {
        schema: LIST_SCHEMA.to_owned(),
        scale: args.scale,
        trials: args.trials,
        target: args.target.clone(),
        seconds: experiments.iter().filter_map(|one| one.seconds).sum(),
        experiments,
    };
    show_as(&result, args.run.json, |s| reproduce_list(&result, s))
}

/// The commands of `q2c experiment`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// Check a file, and name what is wrong in it by line
    Check {
        /// The file
        file: PathBuf,
    },
}

pub(crate) fn check(command: &ExperimentCommand) -> Result<Exit, Fault> {
    let ExperimentCommand::Check { file } = command;
    let experiment = read(file)?;
    let targets = ["sim:1ms", "sim:2ms"].map(str::to_owned);
    if let Some(command) = command_words(&experiment, &targets) {
        one::parse_compare(&command)?;
    }
    let (name, trials) = (&experiment.name, experiment.trials);
    let length = experiment.length_s(1.0, trials).filter(|s| *s >= 1.0);
    let length = length.map_or_else(String::new, |s| format!(", about {}", time_text(s)));
    let (claims, points) = (experiment.claims.len(), experiment.points().len());
    let mut lines = vec![format!(
        "{name}: sound. {claims} claims, {points} points, {trials} trials of each{length}"
    )];
    let origins = origin_notes(&experiment.origins).into_iter();
    lines.extend(origins.map(|(heading, text)| format!("  {heading}: {text}")));
    print(&lines.join("\n")).map(|()| Exit::Done)
}

/// Reads an experiment from a file. Each mistake in it is reported on a line.
pub(crate) fn read(file: &Path) -> Result<Experiment, Fault> {
    let name = file.display();
    let text = whole_file::read_named_text(file, whole_file::MAX_TEXT).map_err(|e| {
        Fault::input(format!(
            "read the experiment {name}: {e}; q2c reproduce --list names those that q2c has"
        ))
    })?;
    Experiment::parse(&text).map_err(|error| {
        let ExperimentError::Wrong(problems) = &error else {
            return Fault::input(error);
        };
        for problem in problems {
            say(&format!("{name}: {problem}"));
        }
        let lines = if problems.len() == 1 { "line" } else { "lines" };
        let message = format!("understand the experiment {name}: see the {lines} above");
        Fault::input(message)
    })
}
