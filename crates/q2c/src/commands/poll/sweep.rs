//! The command `q2c poll sweep`.

use super::cost::costs;
use super::source::trace;
use crate::args::{SimulatedArgs, SweepArgs};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen, write_new};
use crate::requests::poll::{arrival, sweep_policies, sweep_timing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use q2c_model::{Bytes, Nanos};
use q2c_policy::Family;
use q2c_report::columns::Column;
use q2c_result::Exit;
use q2c_result::sweep::SweepResult;
use q2c_study::{Study, StudyError, Trace};
use q2c_trace::table::TableColumn;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A sweep that would take longer than this, seconds, is refused without `--yes`.
const LONG_S: f64 = 120.0;
/// Policies of each family that are simulated beforehand to estimate the time of a sweep.
const SAMPLE: u64 = 64;
/// A sweep of fewer cells than this is run without an estimate of its time.
const FEW: u64 = 10_000;

/// Simulates the policies on all traces, writes the files asked for, and prints the result.
pub fn run(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let read = |path| trace(path, source, args.inputs.len(), stop);
    let inputs = args.inputs.iter().map(|path| read(path.as_path()));
    let traces: Vec<Trace> = inputs.collect::<Result<_, _>>()?;
    let reading_s = begun.elapsed().as_secs_f64();
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let (cost, cost_in_words) = costs(cost, source.recording.bs, &sizes)?;
    let own = args.simulated.own.policies().or_exit(Exit::Usage)?;
    let mut study = Study {
        traces: &traces,
        reading_s,
        policies: &[],
        cost: &cost,
        cost_in_words,
        timing: sweep_timing(args),
        arrival: arrival(args.open),
        objective: args.goal.objective,
        limits: args.goal.limits(),
        follow: args.follow.clone(),
    };
    worth_it(args, &mut study, stop)?;
    let p50 = Nanos(traces[0].input.latency_ns[2] as u64);
    let policies = sweep_policies(&args.policy, own, p50).or_exit(Exit::Usage)?;
    study.policies = &policies;
    let result = simulated(&study, stop)?;
    write_files(args, &result)?;
    match args.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::sweep(&result, screen()))?,
    }
    Ok(Exit::Done)
}

/// Estimates the time of a large sweep by a sample of its policies. Refuses a sweep that would take
/// longer than [`LONG_S`] without `--yes`.
fn worth_it(args: &SweepArgs, study: &mut Study<'_>, stop: &AtomicBool) -> Result<(), Failure> {
    let count: u64 = args.policy.iter().map(Family::count).sum();
    let cells = count * study.traces.len() as u64;
    if args.yes || cells < FEW {
        return Ok(());
    }
    let each = args.policy.iter().map(|family| family.sample(SAMPLE));
    let sample = each
        .collect::<Result<Vec<_>, _>>()
        .or_exit(Exit::Usage)?
        .concat();
    let tried = Study {
        policies: &sample,
        cost_in_words: String::new(),
        follow: None,
        ..*study
    };
    let begun = Instant::now();
    tried.run(stop, &mut |_| ()).or_exit_of(StudyError::exit)?;
    let per_cell = begun.elapsed().as_secs_f64() / tried.cells() as f64;
    let takes = per_cell * cells as f64;
    if takes <= LONG_S {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Usage,
        format!(
            "sweep: {cells} cells would take about {}; sweep fewer, or say --yes",
            Nanos::from_secs_f64(takes)
        ),
    ))
}

fn simulated(study: &Study<'_>, stop: &AtomicBool) -> Result<SweepResult, Failure> {
    let bar = ProgressBar::with_draw_target(
        Some(study.cells() as u64),
        ProgressDrawTarget::stderr_with_hz(4),
    );
    let style =
        ProgressStyle::with_template("{wide_bar} {pos} of {len} configurations, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let result = study.run(stop, &mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    result.or_exit_of(StudyError::exit)
}

fn write_files(args: &SweepArgs, result: &SweepResult) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        let page = q2c_report::html::sweep(result).or_exit(Exit::Internal)?;
        write_new(path, page.as_bytes())?;
        say(&format!("wrote {}", path.display()));
    }
    if let Some(path) = &args.csv {
        let table = q2c_report::csv::sweep(result).or_exit(Exit::Internal)?;
        write_new(path, table.as_bytes())?;
        say(&format!("wrote {}", path.display()));
    }
    if let Some(path) = &args.parquet {
        let columns = q2c_report::columns::sweep(result).into_iter();
        let columns: Vec<TableColumn> = columns
            .map(|column| match column {
                Column::Text(name, texts) => TableColumn::Text(name, texts),
                Column::Number(name, numbers) => TableColumn::Number(name, numbers),
            })
            .collect();
        let table = q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)?;
        write_new(path, &table)?;
        say(&format!("wrote {}", path.display()));
    }
    Ok(())
}
