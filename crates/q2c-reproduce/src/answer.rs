//! Makes the result of an experiment: its points, and each judged claim.

use crate::claim::chart::curves;
use crate::claim::judge::{Claim, JudgedRun, judge_claim};
use crate::claim::scope::ClaimScope;
use crate::file::{DeviceText, Experiment, SettingsText};
use crate::jobs::AxisValues;
use crate::needs::Features;
use crate::other_load::{self, LoadEvidence};
use crate::studies::{place, rules};
use itertools::Itertools;
use q2c_result::reproduce::{
    Chart, CpuUse, CreatedDevice, FailedTrial, JobAsRun, PhaseAsRun, Point, PointTrial,
    ReproduceResult, SCHEMA, StatedError, StudyKind, TrialFailure, Window,
};
use q2c_result::{Target, Warning};
use q2c_run::runner::{End, Summary, Trial, TrialResult};

/// Facts of a run other than its trials.
pub struct RunFacts<'a> {
    /// The machine and the features that it has.
    pub present: &'a Features,
    /// The user's target; `None` if the experiment uses none.
    pub target: Option<Target>,
    /// Factor of all times.
    pub scale: f64,
    /// Requested trials of each point.
    pub trials: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// Number of CPUs that were busy before the run.
    pub idle_busy_cpus: f64,
}

/// The result of all trials. `cpus` returns the CPUs that a point needs in each phase.
pub fn answer(
    experiment: &Experiment,
    facts: &RunFacts<'_>,
    summary: &Summary<AxisValues, PointTrial>,
    cpus: impl Fn(&AxisValues) -> Vec<CpuUse>,
) -> ReproduceResult {
    let predicted = stated_error(experiment, facts).is_some();
    let cells = summary.cells.iter().map(|runs| Point {
        at: runs.plan.cell.clone(),
        trials: runs.outcomes().cloned().collect(),
        failed: runs.trials.iter().filter_map(failed_trial).collect(),
        failures: runs.failures().unique().map(str::to_owned).collect(),
        cpus: cpus(&runs.plan.cell),
        predicted,
    });
    let complete = matches!(summary.end, End::Complete);
    let result = judge(experiment, facts, cells.collect());
    let mut warnings = result.warnings.clone();
    // A simulated machine runs nothing but the jobs.
    if !predicted {
        warnings.extend(other_load::warnings(&LoadEvidence {
            points: &result.points,
            phases: &result.phases,
            captured: experiment.capture,
            idle_busy_cpus: facts.idle_busy_cpus,
        }));
    }
    warnings.extend(summary.warnings.iter().cloned());
    ReproduceResult {
        complete,
        warnings,
        ..result
    }
}

/// The result of points measured by the runner, by another command, or by a simulator.
pub fn judge(experiment: &Experiment, facts: &RunFacts<'_>, points: Vec<Point>) -> ReproduceResult {
    // Only the times of jobs are scaled.
    let scale = match experiment.study() {
        StudyKind::Place | StudyKind::Compare | StudyKind::Rules | StudyKind::Mount => 1.0,
        StudyKind::Jobs | StudyKind::Stages | StudyKind::Mix => facts.scale,
    };
    let windows = experiment.windows.iter().map(|window| Window {
        name: window.name.clone(),
        from_s: window.from_s * scale,
        to_s: window.to_s.map(|to| to * scale),
    });
    let windows: Vec<Window> = windows.collect();
    let phases = experiment.phases.iter().map(|phase| PhaseAsRun {
        name: phase.name.clone(),
        label: phase.label.clone(),
        seconds: phase.length.as_secs_f64() * scale,
    });
    let phases: Vec<PhaseAsRun> = phases.collect();
    let text = |settings: &Option<SettingsText>| settings.as_ref().map(ToString::to_string);
    let jobs = experiment.jobs.iter().map(|job| JobAsRun {
        name: job.name.clone(),
        phases: job.phases.iter().map(text).collect(),
    });
    let jobs = jobs.chain(experiment.mix.iter().map(|mix| JobAsRun {
        name: "mix".to_owned(),
        phases: vec![Some(mix.to_string())],
    }));
    let scope = ClaimScope {
        windows: windows.clone(),
        lengths_s: phases.iter().map(|phase| phase.seconds).collect(),
        ..experiment.scope()
    };
    let run = JudgedRun {
        points: &points,
        scale,
        trials: facts.trials,
        model_error: stated_error(experiment, facts),
    };
    let claims = experiment.claims.iter().map(|(claim, needs)| {
        let claim = Claim {
            needs: facts.present.check(&experiment.needs, needs),
            ..claim.clone()
        };
        judge_claim(&claim, &scope, &run)
    });
    let charts = experiment.charts.iter().map(|chart| Chart {
        ours: curves(chart, &scope, &points),
        ..chart.clone()
    });
    ReproduceResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: facts.started_unix_s,
        seconds: facts.seconds,
        complete: true,
        seed: facts.seed,
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        variant_of: experiment.variant_of.clone(),
        setting: experiment.setting.clone(),
        origins: experiment.origins.clone(),
        scale,
        trials: facts.trials,
        machine: facts.present.machine.clone(),
        target: facts.target.clone(),
        study: experiment.study(),
        devices: devices(experiment, &points),
        jobs: jobs.collect(),
        phases,
        windows,
        axes: experiment.axes.clone(),
        claims: claims.collect(),
        charts: charts.collect(),
        points,
        warnings: Vec::from_iter((scale != 1.0).then(|| scaled_warning(scale))),
    }
}

/// The stated error of the model by which a study predicts; `None` if the study measures.
fn stated_error(experiment: &Experiment, facts: &RunFacts<'_>) -> Option<StatedError> {
    match experiment.study() {
        StudyKind::Place => Some(place::stated_error()),
        StudyKind::Rules => Some(rules::stated_error()),
        StudyKind::Mount | StudyKind::Mix => None,
        StudyKind::Compare | StudyKind::Jobs | StudyKind::Stages => {
            let machine = facts.present.machine.simulated.as_ref()?;
            Some(StatedError {
                model: format!("a simulated device and {}", machine.name),
                error:
                    "its costs and the device's times are as the experiment and the machine state \
                        them, and the machine's delays do not scatter"
                        .to_owned(),
            })
        }
    }
}

fn failed_trial(trial: &Trial<PointTrial>) -> Option<FailedTrial> {
    match &trial.result {
        TrialResult::Ok(_) => None,
        TrialResult::Failed(reason) | TrialResult::Impossible(reason) => Some(FailedTrial {
            trial: trial.trial,
            why: TrialFailure::Told(reason.clone()),
        }),
    }
}

fn devices(experiment: &Experiment, points: &[Point]) -> Vec<CreatedDevice> {
    let device = |device: &DeviceText| {
        let make = device.make.get_ref();
        let kind = make.split(['{', ',']).next().unwrap_or("");
        let beginning = format!("failed to make {kind}");
        let mut failures = points.iter().flat_map(|point| &point.failures);
        let failed = failures.find(|reason| reason.starts_with(&beginning));
        CreatedDevice {
            name: device.name.get_ref().clone(),
            asked: make.clone(),
            made: failed.cloned().map_or(Ok(make.clone()), Err),
        }
    };
    experiment.devices.iter().map(device).collect()
}

fn scaled_warning(scale: f64) -> Warning {
    Warning::new(
        "times-scaled",
        format!("all times of the experiment were multiplied by {scale}"),
        "rules that learn over time have seen less of it; block sizes, depths and CPUs are as the file has them",
        "run it without --scale for the experiment as it was published",
    )
}

#[cfg(test)]
mod tests;
