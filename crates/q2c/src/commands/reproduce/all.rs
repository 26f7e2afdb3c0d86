//! All experiments in one run, each a part of it.

use super::one::measured;
use super::place::ReproducePlace;
use crate::commands::run_folder;
use crate::output::{say, show, unix_s};
use crate::workbench::scratch;
use q2c_model::{Fault, OrFault};
use q2c_reproduce::{Experiment, ReproduceSettings, file};
use q2c_result::Exit;
use q2c_result::reproduce::{
    ALL_SCHEMA, AllResult, Basis, ClaimLine, ExperimentLine, ReproduceResult, ReproduceVerdict,
};
use q2c_run::run_dir::RunState;
use q2c_run::runner::{End, spoken};
use q2c_run::{RunDir, whole_file};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn run(args: &ReproduceSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    let experiments = file::built_in_experiments().or_exit(Exit::Internal)?;
    let asked = super::plan(args, &experiments, args.target.clone())?;
    tell_length(&experiments, &asked);
    let scratch = scratch(args.scratch, &args.run, stop)?;
    let plan = asked.on_scratch(scratch.as_ref());
    let place = ReproducePlace::open(&plan, &experiments, scratch, args, stop)?;
    let folder = RunDir::create(&args.run.out, "reproduce-all", &plan, &place.identity())?;
    conclude(&experiments, &plan, place, folder, args, stop)
}

/// Goes on with a run of all experiments: those that have a result are not run again.
pub(super) fn resumed(
    path: &Path,
    plan: &ReproduceSettings,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let experiments = file::built_in_experiments().or_exit(Exit::Internal)?;
    let left = experiments
        .iter()
        .filter(|experiment| finished(&path.join(&experiment.name)).is_none());
    tell_length(&left.cloned().collect::<Vec<_>>(), plan);
    let place =
        ReproducePlace::open(plan, &experiments, None, args, stop).map_err(Fault::of_plan)?;
    let folder = run_folder::resumed(path, &place.identity())?;
    conclude(&experiments, plan, place, folder, args, stop)
}

/// Says how long these experiments take. Those in simulated time take none.
fn tell_length(experiments: &[Experiment], plan: &ReproduceSettings) {
    let seconds = |experiment: &Experiment| {
        experiment.length_s(plan.scale, plan.trials.unwrap_or(experiment.trials))
    };
    let real = experiments
        .iter()
        .filter(|experiment| !plan.simulates(experiment));
    let total: f64 = real.filter_map(seconds).sum();
    let mut message = match experiments.len() {
        1 => "1 experiment".to_owned(),
        n => format!("{n} experiments"),
    };
    if total >= 1.0 {
        let length = spoken(total);
        message += &format!(", about {length}, beside the time to prepare the target");
    }
    say(&message);
}

fn conclude(
    experiments: &[Experiment],
    plan: &ReproduceSettings,
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
        let (line, whole) = part(experiment, plan, &place, &folder, stop);
        missing.extend((!whole).then(|| experiment.name.clone()));
        lines.push(line);
    }
    let complete = missing.is_empty();
    let result = AllResult {
        schema: ALL_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s,
        complete,
        scale: plan.scale,
        target: plan.target.clone(),
        machine: place.machine().clone(),
        experiments: lines,
        missing,
    };
    let state = if complete {
        RunState::Complete
    } else {
        RunState::Interrupted
    };
    run_folder::publish(folder, state, &result)?;
    show(&result, args.run.json)?;
    Ok(place.end(&path, complete, args))
}

/// Runs one experiment in its part of the folder, or reads its result where it is there. Returns
/// its claims, and whether it is complete.
fn part(
    experiment: &Experiment,
    plan: &ReproduceSettings,
    place: &ReproducePlace,
    folder: &RunDir,
    stop: &AtomicBool,
) -> (ExperimentLine, bool) {
    if let Some(result) = finished(&folder.part(&experiment.name)) {
        say(&format!("{}: done before", experiment.name));
        return (q2c_report::reproduce::line(&result), true);
    }
    say(&format!("{}:", experiment.name));
    match run_part(experiment, plan, place, folder, stop) {
        Ok((result, end)) => {
            let whole = !matches!(end, End::Cancelled);
            (q2c_report::reproduce::line(&result), whole)
        }
        Err(failure) => {
            say(&format!("{}: failed to {failure}", experiment.name));
            (not_run(experiment, &failure), true)
        }
    }
}

fn run_part(
    experiment: &Experiment,
    plan: &ReproduceSettings,
    place: &ReproducePlace,
    folder: &RunDir,
    stop: &AtomicBool,
) -> Result<(ReproduceResult, End), Fault> {
    let part_plan = ReproduceSettings {
        all: false,
        experiment: experiment.text.clone(),
        ..plan.clone()
    };
    let identity = place.identity();
    let path = folder.part(&experiment.name);
    let mut part = if path.exists() {
        run_folder::resumed(&path, &identity)?
    } else {
        folder.create_part(&experiment.name, &part_plan, &identity)?
    };
    let (result, end) = measured(experiment, &part_plan, place, &mut part, stop)?;
    run_folder::publish(part, end.state(), &result)?;
    Ok((result, end))
}

fn finished(part: &Path) -> Option<ReproduceResult> {
    let text = whole_file::read_text(&part.join("result.json"), whole_file::RESULT).ok()?;
    let result: ReproduceResult = serde_json::from_str(&text).ok()?;
    result.complete.then_some(result)
}

/// The claims of an experiment that could not be run at all.
fn not_run(experiment: &Experiment, failure: &Fault) -> ExperimentLine {
    let claim = |(claim, _): &(q2c_reproduce::claim::judge::Claim, file::Needs)| ClaimLine {
        says: claim.says.clone(),
        published: claim.published.clone(),
        measured: Vec::new(),
        verdict: ReproduceVerdict::CannotJudge,
        basis: Basis::Measured,
        why: format!("the experiment could not be run: failed to {failure}"),
    };
    ExperimentLine {
        name: experiment.name.clone(),
        variant_of: experiment
            .variant_of
            .as_ref()
            .map(|original| original.name.clone()),
        claims: experiment.claims.iter().map(claim).collect(),
    }
}
