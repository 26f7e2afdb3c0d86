//! Runs all experiments in one run. Each experiment has a folder of its own in the run's folder.

use super::one::measure;
use super::place::ReproducePlace;
use crate::commands::run_folder;
use crate::output::{say, show, unix_s};
use q2c_model::Fault;
use q2c_reproduce::{Experiment, ReproduceSettings};
use q2c_result::Exit;
use q2c_result::reproduce::{
    ALL_SCHEMA, AllResult, Basis, ClaimLine, ExperimentLine, ReproduceResult, ReproduceVerdict,
    SCHEMA,
};
use q2c_run::RunDir;
use q2c_run::runner::{End, time_text};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The experiments without a result in the folder of this run.
pub(super) fn unfinished(experiments: &[Experiment], folder: &Path) -> Vec<Experiment> {
    let mut unfinished = experiments.to_vec();
    unfinished.retain(|experiment| finished_result(&folder.join(&experiment.name)).is_none());
    unfinished
}

/// Reports how long these experiments take. Simulated time takes no real time.
pub(super) fn tell_length(experiments: &[Experiment], plan: &ReproduceSettings) {
    let timed = experiments.iter().filter(|one| !plan.simulates(one));
    let times = timed.filter_map(|one| one.length_s(plan.scale, plan.trials.unwrap_or(one.trials)));
    let total: f64 = times.sum();
    let mut message = match experiments.len() {
        1 => "1 experiment".to_owned(),
        n => format!("{n} experiments"),
    };
    if total >= 1.0 {
        let length = time_text(total);
        message += &format!(", about {length}, beside the time to prepare the target");
    }
    say(&message);
}

/// Runs all experiments except those that already have a result.
pub(super) fn conclude(
    experiments: &[Experiment],
    place: ReproducePlace,
    folder: RunDir,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let path = run_folder::announce(&folder);
    let started_unix_s = unix_s();
    let (mut lines, mut missing) = (Vec::new(), Vec::new());
    for experiment in experiments {
        if stop.load(Ordering::Relaxed) {
            missing.push(experiment.name.clone());
            continue;
        }
        let (line, is_over) = run_or_read_part(experiment, &place, &folder, stop);
        missing.extend((!is_over).then(|| experiment.name.clone()));
        lines.push(line);
    }
    let complete = missing.is_empty();
    let result = AllResult {
        schema: ALL_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s,
        complete,
        scale: place.plan.scale,
        target: place.plan.target.clone(),
        machine: place.machine().clone(),
        experiments: lines,
        missing,
    };
    run_folder::publish(folder, run_folder::state(complete), &result)?;
    show(&result, args.run.json)?;
    Ok(place.end(&path, complete, args))
}

/// Runs one experiment in its own folder, or reads its result if there is one. Returns its claims,
/// and true if it is complete or failed, false if a signal stopped it.
fn run_or_read_part(
    experiment: &Experiment,
    place: &ReproducePlace,
    folder: &RunDir,
    stop: &AtomicBool,
) -> (ExperimentLine, bool) {
    if let Some(result) = finished_result(&folder.part_path(&experiment.name)) {
        say(&format!("{}: done before", experiment.name));
        return (q2c_report::reproduce::experiment_line(&result), true);
    }
    say(&format!("{}:", experiment.name));
    match run_part(experiment, place, folder, stop) {
        Ok((result, end)) => {
            let is_over = !matches!(end, End::Cancelled);
            (q2c_report::reproduce::experiment_line(&result), is_over)
        }
        Err(failure) => {
            say(&format!("{}: failed to {failure}", experiment.name));
            (unrun_line(experiment, &failure), true)
        }
    }
}

fn run_part(
    experiment: &Experiment,
    place: &ReproducePlace,
    folder: &RunDir,
    stop: &AtomicBool,
) -> Result<(ReproduceResult, End), Fault> {
    let part_plan = ReproduceSettings {
        all: false,
        experiment: experiment.text.clone(),
        ..place.plan.clone()
    };
    let identity = place.identity();
    let path = folder.part_path(&experiment.name);
    let mut part = if path.exists() {
        run_folder::resume(&path, &identity)?
    } else {
        folder.create_part(&experiment.name, &part_plan, &identity)?
    };
    let (result, end) = measure(experiment, place, &mut part, stop)?;
    run_folder::publish(part, end.state(), &result)?;
    Ok((result, end))
}

fn finished_result(part: &Path) -> Option<ReproduceResult> {
    let result: ReproduceResult = run_folder::read_result(part, "q2c reproduce", SCHEMA).ok()?;
    result.complete.then_some(result)
}

/// The claims of an experiment that could not run at all.
fn unrun_line(experiment: &Experiment, failure: &Fault) -> ExperimentLine {
    let claims = experiment.claims.iter().map(|(claim, _)| ClaimLine {
        says: claim.says.clone(),
        published: claim.published.clone(),
        measured: Vec::new(),
        verdict: ReproduceVerdict::CannotJudge,
        basis: Basis::Measured,
        why: format!("the experiment could not be run: failed to {failure}"),
    });
    let original = experiment.variant_of.as_ref();
    ExperimentLine {
        name: experiment.name.clone(),
        variant_of: original.map(|original| original.name.clone()),
        claims: claims.collect(),
    }
}
