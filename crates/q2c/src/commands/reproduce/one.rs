//! A single experiment: a run of its own, or a part of the run of all experiments.

use super::place::ReproducePlace;
use crate::args::{Cli, Command, CompareArgs, temporary_folder};
use crate::commands::replay::run_compare;
use crate::commands::run_folder;
use crate::output::{show, unix_s};
use crate::progress::{Line, trial_progress};
use clap::Parser;
use q2c_model::{Fault, OrFault};
use q2c_reproduce::file::CompetingRules;
use q2c_reproduce::jobs::{AxisValues, JobsPlan};
use q2c_reproduce::needs::Features;
use q2c_reproduce::studies::compare::{command_words, points as points_of_compare, trials_asked};
use q2c_reproduce::studies::mix::MixStudyPlan;
use q2c_reproduce::studies::mount::MountPlan;
use q2c_reproduce::studies::place::PlacePlan;
use q2c_reproduce::studies::rules::{Draw, library, points, unrun_points};
use q2c_reproduce::{Experiment, ReproduceSettings, RunFacts, answer};
use q2c_result::Exit;
use q2c_result::compare::{self, CompareResult};
use q2c_result::reproduce::{Point, PointTrial, ReproduceResult};
use q2c_run::arguments::RunArgs;
use q2c_run::run_dir::RunState;
use q2c_run::runner::{End, Event, Plan, Progress, Runner, Settings};
use q2c_run::{RunDir, Summary};
use q2c_sim::start_threads;
use q2c_workbench::RunnerClock;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub(super) fn conclude(
    experiment: &Experiment,
    place: ReproducePlace,
    mut folder: RunDir,
    args: &ReproduceSettings,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let path = run_folder::announce(&folder);
    let (result, end) = match measure(experiment, &place, &mut folder, stop) {
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

/// Runs the trials that the folder's journal lacks, and judges the claims.
pub(super) fn measure(
    experiment: &Experiment,
    place: &ReproducePlace,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<(ReproduceResult, End), Fault> {
    let plan = &place.plan;
    let begun = Instant::now();
    let started_unix_s = unix_s();
    let trials = plan.trials.unwrap_or(experiment.trials);
    let settings = Settings {
        trials,
        seed: plan.run.seed,
        all_trials: plan.all_trials,
        ..Settings::default()
    };
    let machine_place = place.for_experiment(experiment);
    let resources = place.resources(machine_place, folder.path());
    let facts_after = |seconds: f64| RunFacts {
        present: &machine_place.present,
        target: place.target().filter(|_| experiment.takes_target()),
        scale: plan.scale,
        trials,
        seed: plan.run.seed,
        started_unix_s,
        seconds,
        idle_busy_cpus: machine_place.site.idle_busy_cpus,
    };
    if experiment.compare.is_some() {
        let (compared, end) = compare_devices(experiment, plan, folder, stop)?;
        let points = points_of_compare(experiment, compared.as_ref());
        let machine = compared.as_ref().map(|compared| compared.machine.clone());
        let facts = facts_after(begun.elapsed().as_secs_f64());
        let facts = RunFacts {
            trials: compared.as_ref().map_or(0, trials_asked),
            present: &Features {
                machine: machine.unwrap_or_else(|| facts.present.machine.clone()),
                ..facts.present.clone()
            },
            ..facts
        };
        let mut result = q2c_reproduce::judge(experiment, &facts, points);
        result.complete = matches!(end, End::Complete);
        result
            .warnings
            .extend(compared.into_iter().flat_map(|compared| compared.warnings));
        return Ok((result, end));
    }
    if let Some(rules) = &experiment.rules {
        let seed = plan.run.seed;
        let draw = Draw { trials, seed };
        let (points, end) = simulate(experiment, rules, draw, stop)?;
        let facts = facts_after(begun.elapsed().as_secs_f64());
        let result = q2c_reproduce::judge(experiment, &facts, points);
        let complete = matches!(end, End::Complete);
        return Ok((ReproduceResult { complete, ..result }, end));
    }
    let mut jobs = JobsPlan {
        experiment,
        resources: &resources,
        scale: plan.scale,
    };
    let clock = RunnerClock::new(&machine_place.site.time);
    let summary = run_plan(&mut jobs, &settings, &clock, folder, stop)?;
    let facts = facts_after(begun.elapsed().as_secs_f64());
    let cpus = |point: &AxisValues| match experiment.place {
        Some(_) => Vec::new(),
        None => jobs.cpus(point),
    };
    Ok((answer(experiment, &facts, &summary, cpus), summary.end))
}

/// The result of the experiment's command: that of the user, or of a run in this folder; `None` if
/// the command leaves open on which devices.
fn compare_devices(
    experiment: &Experiment,
    plan: &ReproduceSettings,
    folder: &RunDir,
    stop: &AtomicBool,
) -> Result<(Option<CompareResult>, End), Fault> {
    if let Some(run) = &plan.from {
        let result = run_folder::read_result(run, "q2c compare", compare::SCHEMA)?;
        return Ok((Some(result), End::Complete));
    }
    let Some(command) = command_words(experiment, &plan.on) else {
        return Ok((None, End::Complete));
    };
    let mut args = parse_compare(&command)?;
    args.trials = plan.trials.unwrap_or(args.trials);
    args.how.all_trials |= plan.all_trials;
    args.how.run = RunArgs {
        out: folder.path().to_owned(),
        ..plan.run.clone()
    };
    match run_compare(&args, stop) {
        Ok((result, RunState::Complete, _)) => Ok((Some(result), End::Complete)),
        Ok((result, ..)) => Ok((Some(result), End::Cancelled)),
        Err(failure) if failure.exit() == Exit::Interrupted => Ok((None, End::Cancelled)),
        Err(failure) => Err(failure),
    }
}

/// The arguments in a command of `q2c compare`.
pub(super) fn parse_compare(command: &[String]) -> Result<CompareArgs, Fault> {
    match Cli::try_parse_from(command).map(|cli| cli.command) {
        Ok(Command::Compare(args)) => Ok(args),
        Ok(_) => Err(Fault::input(
            "run the experiment's command: expected q2c compare",
        )),
        Err(error) => {
            let report = error.to_string();
            let reason = report.lines().next().unwrap_or(&report);
            let command = command.join(" ");
            let text = format!("run the experiment's command `{command}`: {reason}");
            Err(Fault::input(text))
        }
    }
}

/// Runs the plan of the experiment's study.
fn run_plan(
    jobs: &mut JobsPlan<'_>,
    settings: &Settings,
    clock: &RunnerClock,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<Summary<AxisValues, PointTrial>, Fault> {
    let experiment = jobs.experiment;
    match (
        &experiment.place,
        experiment.mounted_device(),
        &experiment.mix,
    ) {
        (Some(setup), ..) => run_trials(&mut PlacePlan { setup }, settings, clock, folder, stop),
        (_, Some((device, fs)), Some(mix)) => {
            let mut plan = MixStudyPlan {
                jobs,
                mix,
                device,
                fs,
            };
            run_trials(&mut plan, settings, clock, folder, stop)
        }
        (_, Some((device, fs)), None) => {
            let mut plan = MountPlan { jobs, device, fs };
            run_trials(&mut plan, settings, clock, folder, stop)
        }
        _ => run_trials(jobs, settings, clock, folder, stop),
    }
}

fn run_trials<P: Plan<Cell = AxisValues, Outcome = PointTrial>>(
    plan: &mut P,
    settings: &Settings,
    clock: &RunnerClock,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<Summary<AxisValues, PointTrial>, Fault> {
    Runner {
        settings,
        cancel: stop,
        clock,
        progress: &mut DistinctFailures::new(trial_progress()),
    }
    .run(plan, folder)
}

/// The points of an experiment of sleep rules, simulated over q2c's library of patterns.
fn simulate(
    experiment: &Experiment,
    rules: &CompetingRules,
    draw: Draw,
    stop: &AtomicBool,
) -> Result<(Vec<Point>, End), Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let points = library(&temporary_folder(), stop).and_then(|traces| {
        let cells = rules.policies.len() * traces.len();
        let line = Line::counting(cells as u64, "configurations");
        points(rules, &traces, draw, stop, &mut |n| line.set(n as u64))
    });
    match points {
        Err(failure) if failure.exit() == Exit::Interrupted => {
            Ok((unrun_points(experiment), End::Cancelled))
        }
        points => Ok((points?, End::Complete)),
    }
}

/// Passes events on, except failures for a reason that was already shown. Such failures are
/// counted, and their number is reported at the end.
pub(super) struct DistinctFailures {
    display: Box<dyn Progress>,
    reasons: Vec<FailureReason>,
}

struct FailureReason {
    reason: String,
    /// The point with which the reason was shown, then the points that failed for it later.
    points: Vec<String>,
}

impl DistinctFailures {
    pub(crate) fn new(display: Box<dyn Progress>) -> Self {
        DistinctFailures {
            display,
            reasons: Vec::new(),
        }
    }

    /// Records a failure. Returns true if no failure before had this reason.
    fn add_failure(&mut self, point: &str, reason: &str) -> bool {
        let point = point.to_owned();
        let existing = self.reasons.iter_mut().find(|known| known.reason == reason);
        if let Some(existing) = existing {
            existing.points.push(point);
            return false;
        }
        self.reasons.push(FailureReason {
            reason: reason.to_owned(),
            points: vec![point],
        });
        true
    }
}

impl FailureReason {
    /// Says how many more points or trials failed for the reason; `None` if there are none.
    fn repeats_text(&self) -> Option<String> {
        let more = self.points.len() - 1;
        let mut points = self.points.clone();
        points.sort_unstable();
        points.dedup();
        let each_once = points.len() == self.points.len();
        let noun = if each_once { "point" } else { "trial" };
        let many = if more == 1 { "" } else { "s" };
        let FailureReason { reason, .. } = self;
        (more > 0).then(|| format!("{more} more {noun}{many} failed for the same reason: {reason}"))
    }
}

impl Progress for DistinctFailures {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Failed(subject, _, reason) if !self.add_failure(&subject.label, reason) => {
                return;
            }
            Event::Ended(..) => {
                for note in self.reasons.iter().filter_map(FailureReason::repeats_text) {
                    self.display.event(&Event::Note(note));
                }
            }
            _ => {}
        }
        self.display.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::runner::{Position, Subject};
    use std::sync::{Arc, Mutex};

    /// A command in a file is one that the program takes.
    #[test]
    fn commands_of_built_in_experiments_are_understood() {
        let experiments = q2c_reproduce::file::built_in_experiments().unwrap();
        let targets = ["sim:1ms", "sim:2ms"].map(str::to_owned);
        let commands = experiments
            .iter()
            .filter_map(|one| command_words(one, &targets));
        let parsed: Vec<CompareArgs> = commands
            .map(|command| parse_compare(&command).unwrap())
            .collect();
        assert!(
            parsed
                .iter()
                .any(|args| args.traces_and_targets().1 == targets)
        );
        let wrong = ["q2c", "tune", "sim:1ms"].map(str::to_owned);
        assert!(
            parse_compare(&wrong)
                .unwrap_err()
                .to_string()
                .contains("q2c compare")
        );
    }

    #[derive(Clone, Default)]
    struct EventLog(Arc<Mutex<Vec<String>>>);

    impl Progress for EventLog {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(event.to_string());
        }
    }

    #[test]
    fn a_reason_is_told_once_and_the_others_are_counted() {
        let heard = EventLog::default();
        let mut progress = DistinctFailures::new(Box::new(heard.clone()));
        let mut fail = |label: &str, trial: u32, reason: &str| {
            let subject = Subject {
                label: label.to_owned(),
                trial,
            };
            let position = Position::default();
            progress.event(&Event::Failed(subject, position, reason.to_owned()));
        };
        for label in ["a", "b", "c"] {
            fail(label, 0, "no module");
        }
        fail("d", 0, "late");
        fail("d", 1, "late");
        fail("e", 0, "alone");
        progress.event(&Event::Ended("done".to_owned(), Position::default()));
        let heard = heard.0.lock().unwrap().clone();
        assert_eq!(
            heard,
            [
                "a, trial 1 failed: no module (0 of 0, 0.0 s left)",
                "d, trial 1 failed: late (0 of 0, 0.0 s left)",
                "e, trial 1 failed: alone (0 of 0, 0.0 s left)",
                "2 more points failed for the same reason: no module",
                "1 more trial failed for the same reason: late",
                "done after 0.0 s",
            ]
        );
    }
}
