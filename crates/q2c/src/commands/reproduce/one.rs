//! One experiment: a run of its own, or a part of the run of all.

use super::place::ReproducePlace;
use super::progress::ToldOnce;
use super::rules;
use crate::commands::run_folder;
use crate::output::{show, unix_s};
use crate::progress::of_trials;
use crate::workbench::scratch;
use q2c_model::Fault;
use q2c_reproduce::ReproduceSettings;
use q2c_reproduce::jobs::{AxisValues, JobsPlan};
use q2c_reproduce::studies::compare::trials_asked;
use q2c_reproduce::studies::place::PlacePlan;
use q2c_reproduce::studies::rules::Draw;
use q2c_reproduce::{About, Experiment, answer};
use q2c_result::Exit;
use q2c_result::compare::{self, CompareResult};
use q2c_result::reproduce::{PointTrial, ReproduceResult};
use q2c_run::run_dir::RunState;
use q2c_run::runner::{End, Plan, Runner, Settings};
use q2c_run::{RunDir, Summary};
use q2c_workbench::RunnerClock;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub(super) fn run(
    experiment: &Experiment,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let takes = experiment.takes_target();
    if takes && args.target.is_none() && args.scratch.is_none() {
        let message = format!(
            "reproduce: {} works on a file or device of yours; name it with --target, or use --scratch SIZE",
            experiment.name
        );
        return Err(Fault::new(Exit::Usage, message));
    }
    let only = std::slice::from_ref(experiment);
    let asked = super::plan(args, only, args.target.clone().filter(|_| takes))?;
    let scratch = scratch(args.scratch.filter(|_| takes), &args.run, stop)?;
    let plan = asked.on_scratch(scratch.as_ref());
    let place = ReproducePlace::open(&plan, only, scratch, args, stop)?;
    let folder = RunDir::create(&args.run.out, &experiment.name, &plan, &place.identity())?;
    conclude(experiment, &plan, place, folder, args, stop)
}

pub(super) fn resumed(
    path: &Path,
    experiment: &Experiment,
    plan: &ReproduceSettings,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let only = std::slice::from_ref(experiment);
    let place = ReproducePlace::open(plan, only, None, args, stop).map_err(Fault::of_plan)?;
    let folder = run_folder::resumed(path, &place.identity())?;
    conclude(experiment, plan, place, folder, args, stop)
}

fn conclude(
    experiment: &Experiment,
    plan: &ReproduceSettings,
    place: ReproducePlace,
    mut folder: RunDir,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let path = run_folder::announce(&folder);
    let (result, end) = match measured(experiment, plan, &place, &mut folder, stop) {
        Ok(done) => done,
        Err(failure) => {
            place.keep_for_resume(&path);
            return Err(failure);
        }
    };
    run_folder::publish(folder, end.state(), &result)?;
    if let End::Aborted { label, error, .. } = &end {
        place.keep_for_resume(&path);
        return Err(Fault::new(Exit::Device, format!("run {label}: {error}")));
    }
    show(&result, args.run.json)?;
    Ok(place.end(&path, end.state() == RunState::Complete, args))
}

/// Runs the trials that the folder's journal does not have yet, and judges the claims.
pub(super) fn measured(
    experiment: &Experiment,
    plan: &ReproduceSettings,
    place: &ReproducePlace,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<(ReproduceResult, End), Fault> {
    let begun = Instant::now();
    let started_unix_s = unix_s();
    let trials = plan.trials.unwrap_or(experiment.trials);
    let settings = Settings {
        trials,
        seed: plan.run.seed,
        all_trials: plan.all_trials,
        ..Settings::default()
    };
    let seat = place.seat(experiment);
    let ground = place.ground(seat, folder.path());
    let about = |seconds: f64| About {
        present: &seat.present,
        target: place.target().filter(|_| experiment.takes_target()),
        scale: plan.scale,
        trials,
        seed: plan.run.seed,
        started_unix_s,
        seconds,
        idle_busy_cpus: seat.site.idle_busy_cpus,
    };
    if experiment.compare.is_some() {
        let compared = |run| run_folder::result(run, "q2c compare", compare::SCHEMA);
        let from: Option<CompareResult> = plan.from.as_deref().map(compared).transpose()?;
        let points = q2c_reproduce::studies::compare::points(experiment, from.as_ref());
        let about = About {
            trials: from.as_ref().map_or(0, trials_asked),
            ..about(begun.elapsed().as_secs_f64())
        };
        let result = q2c_reproduce::judged(experiment, &about, points);
        return Ok((result, End::Complete));
    }
    if let Some(asked) = &experiment.rules {
        let draw = Draw {
            trials,
            seed: plan.run.seed,
        };
        let (points, end) = rules::seen(experiment, asked, draw, stop)?;
        let about = about(begun.elapsed().as_secs_f64());
        let result = q2c_reproduce::judged(experiment, &about, points);
        let complete = matches!(end, End::Complete);
        return Ok((ReproduceResult { complete, ..result }, end));
    }
    let mut jobs = JobsPlan {
        experiment,
        ground: &ground,
        scale: plan.scale,
    };
    let clock = RunnerClock::new(&seat.site.time);
    let summary = match &experiment.place {
        Some(setup) => trials_of(&mut PlacePlan { setup }, &settings, &clock, folder, stop)?,
        None => trials_of(&mut jobs, &settings, &clock, folder, stop)?,
    };
    let about = about(begun.elapsed().as_secs_f64());
    let cpus = |at: &AxisValues| match experiment.place {
        Some(_) => Vec::new(),
        None => jobs.cpus(at),
    };
    Ok((answer(experiment, &about, &summary, cpus), summary.end))
}

fn trials_of<P: Plan<Cell = AxisValues, Outcome = PointTrial>>(
    plan: &mut P,
    settings: &Settings,
    clock: &RunnerClock,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<Summary<AxisValues, PointTrial>, Fault> {
    let mut progress = ToldOnce::new(of_trials());
    let mut runner = Runner {
        settings,
        cancel: stop,
        clock,
        progress: &mut progress,
    };
    runner.run(plan, folder)
}
