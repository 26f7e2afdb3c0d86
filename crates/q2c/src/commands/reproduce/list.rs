//! `q2c reproduce --list`.

use super::place::{ReproducePlace, nowhere};
use crate::output::show_as;
use crate::workbench::{cpus_without_target, named_cpus};
use q2c_model::{Fault, OrFault};
use q2c_report::terminal::reproduce_list;
use q2c_reproduce::ReproduceSettings;
use q2c_reproduce::jobs::no_capture;
use q2c_reproduce::needs::Present;
use q2c_reproduce::{Ahead, Experiment, file};
use q2c_result::Exit;
use q2c_result::reproduce::{LIST_SCHEMA, ListResult, ListedExperiment};
use std::sync::atomic::AtomicBool;

pub(super) fn run(args: &ReproduceSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    let all_experiments = file::built_in_experiments().or_exit(Exit::Internal)?;
    let plan = super::plan(args, &all_experiments, args.target.clone())?;
    let (place, here) = match &plan.target {
        Some(_) => {
            let place = ReproducePlace::open(&plan, &all_experiments, None, args, stop)?;
            (Some(place), Present::default())
        }
        None => (None, here(args)?),
    };
    let captured = all_experiments.iter().any(|experiment| experiment.capture);
    let no_capture = captured.then(|| no_capture(&nowhere())).flatten();
    let listed = |experiment: &Experiment| {
        let ahead = Ahead {
            present: place
                .as_ref()
                .map_or(&here, |place| &place.seat(experiment).present),
            target: args.target.is_some(),
            no_capture: no_capture.as_deref(),
            scale: args.scale,
            trials: args.trials,
        };
        ahead.listed(experiment)
    };
    let experiments: Vec<ListedExperiment> = all_experiments.iter().map(listed).collect();
    let result = ListResult {
        schema: LIST_SCHEMA.to_owned(),
        scale: args.scale,
        trials: args.trials,
        target: args.target.clone(),
        seconds: experiments
            .iter()
            .filter_map(|experiment| experiment.seconds)
            .sum(),
        experiments,
    };
    show_as(&result, args.run.json, |screen| {
        reproduce_list(&result, screen)
    })
}

/// What this machine has without a target.
fn here(args: &ReproduceSettings) -> Result<Present, Fault> {
    let cpus = cpus_without_target(None, named_cpus(&args.cpus).as_deref())?.cpus;
    Ok(Present::here(cpus.len(), None))
}
