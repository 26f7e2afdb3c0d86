//! Experiments of sleep rules: simulated over the patterns that q2c brings along.

use crate::commands::poll::folder_of_library;
use crate::progress::Line;
use q2c_model::{Fault, OrFault};
use q2c_reproduce::Experiment;
use q2c_reproduce::file::RulesAsked;
use q2c_reproduce::studies::rules::{Draw, library, not_run, points};
use q2c_result::Exit;
use q2c_result::reproduce::Point;
use q2c_run::runner::End;
use q2c_sim::start_threads;
use std::sync::atomic::AtomicBool;

pub(super) fn seen(
    experiment: &Experiment,
    rules: &RulesAsked,
    draw: Draw,
    stop: &AtomicBool,
) -> Result<(Vec<Point>, End), Fault> {
    match simulated(rules, draw, stop) {
        Err(failure) if failure.exit() == Exit::Interrupted => {
            Ok((not_run(experiment), End::Cancelled))
        }
        points => Ok((points?, End::Complete)),
    }
}

fn simulated(rules: &RulesAsked, draw: Draw, stop: &AtomicBool) -> Result<Vec<Point>, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let folder = folder_of_library()?;
    let traces = library(folder.path(), stop)?;
    let cells = rules.policies.len() * traces.len();
    let line = Line::counting(cells as u64, "configurations");
    points(rules, &traces, draw, stop, &mut |done| {
        line.set(done as u64)
    })
}
