//! The command `q2c poll study`.

use super::cost::{PUBLISHED, costs};
use super::source::trace;
use super::sweep::{progress, write};
use crate::args::{SimulatedArgs, StudyArgs, temporary};
use crate::failure::{Fails, Failure};
use crate::output::{NewFile, print, print_json, screen};
use crate::requests::LONG_S;
use crate::requests::poll::{arrival, study_policies, study_timing};
use q2c_model::{Bytes, Nanos};
use q2c_policy::{Family, MOST_CONFIGURATIONS, PolicySpec};
use q2c_result::Exit;
use q2c_result::poll_study::PollStudyResult;
use q2c_sim::start_threads;
use q2c_study::{LIBRARY, Shipped, Study, StudyError, Trace};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Policies that are simulated beforehand to estimate the time of a study.
const SAMPLE: usize = 64;
/// The ending of the files of a folder that are patterns.
const ENDING: &str = "parquet";

/// Simulates every rule on every pattern, writes the files asked for, and prints the scores.
pub fn run(args: &StudyArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    start_threads().or_exit(Exit::Environment)?;
    let html = NewFile::if_named(args.html.as_ref())?;
    let csv = NewFile::if_named(args.csv.as_ref())?;
    let begun = Instant::now();
    let traces = patterns(args, stop)?;
    let reading_s = begun.elapsed().as_secs_f64();
    let result = studied(args, &traces, reading_s, stop)?;
    if let Some(file) = html {
        let page = q2c_report::html::poll_study(&result).or_exit(Exit::Internal)?;
        write(file, page.as_bytes())?;
    }
    if let Some(file) = csv {
        let table = q2c_report::csv::poll_study(&result).or_exit(Exit::Internal)?;
        write(file, table.as_bytes())?;
    }
    match args.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::poll_study(&result, screen()))?,
    }
    Ok(Exit::Done)
}

fn studied(
    args: &StudyArgs,
    traces: &[Trace],
    reading_s: f64,
    stop: &AtomicBool,
) -> Result<PollStudyResult, Failure> {
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    // A rule that sleeps must not sleep for nothing, or each loss would be a loss of everything.
    let mut cost = cost.clone();
    if cost.wake_delay.is_none() {
        cost.cost.get_or_insert_with(|| PUBLISHED.into());
    }
    let (cost, cost_in_words) = costs(&cost, source.recording.bs, &sizes)?;
    few_enough(args, traces.len())?;
    let policies = study_policies(args, median(traces)).or_exit(Exit::Usage)?;
    let study = Study {
        traces,
        reading_s,
        policies: &policies,
        cost: &cost,
        cost_in_words,
        timing: study_timing(args),
        arrival: arrival(args.open),
        objective: args.goal.objective,
        limits: args.goal.limits(),
        follow: None,
    };
    worth_it(args.yes, &study)?;
    let bar = progress(study.cells());
    let result = study.leave_out(args.interrupts, stop, &mut |done| {
        bar.set_position(done as u64)
    });
    bar.finish_and_clear();
    result.or_exit_of(StudyError::exit)
}

/// The median of the patterns' median latencies.
fn median(traces: &[Trace]) -> Nanos {
    let mut medians: Vec<f64> = traces.iter().map(|t| t.input.latency_ns[2]).collect();
    medians.sort_by(f64::total_cmp);
    Nanos(medians.get(medians.len() / 2).map_or(0, |ns| *ns as u64))
}

/// Refuses families whose result would not fit into memory, before they are spelled out.
fn few_enough(args: &StudyArgs, patterns: usize) -> Result<(), Failure> {
    let asked: u64 = args.rules.iter().map(Family::count).sum();
    let cells = asked.saturating_mul(patterns as u64);
    match cells > MOST_CONFIGURATIONS {
        false => Ok(()),
        true => refused(&format!(
            "expected at most {MOST_CONFIGURATIONS} configurations over all patterns, found {cells}; study fewer, for \
             instance with a wider step"
        )),
    }
}

/// Refuses a study that would take longer than [`LONG_S`], told by a sample of its policies.
fn worth_it(yes: bool, study: &Study<'_>) -> Result<(), Failure> {
    let count = study.policies.len();
    let every = count.div_ceil(SAMPLE).max(1);
    let sample: Vec<PolicySpec> = study.policies.iter().step_by(every).cloned().collect();
    let takes = study.expected_s(&sample, count as u64);
    match takes.filter(|takes| *takes > LONG_S && !yes) {
        None => Ok(()),
        Some(takes) => refused(&format!(
            "{} cells would take about {}; study fewer, give a shorter --measure, or say --yes",
            study.cells(),
            Nanos::from_secs_f64(takes)
        )),
    }
}

fn refused(why: &str) -> Result<(), Failure> {
    Err(Failure::new(Exit::Usage, format!("study: {why}")))
}

/// Reads the patterns: those asked for, else the library.
fn patterns(args: &StudyArgs, stop: &AtomicBool) -> Result<Vec<Trace>, Failure> {
    if args.patterns.is_empty() {
        return library(args, stop);
    }
    let files = args.patterns.iter().map(|path| files(path));
    let files: Vec<PathBuf> = files.collect::<Result<Vec<_>, _>>()?.concat();
    let source = &args.simulated.source;
    let read = |path: &PathBuf| trace(path, source, files.len(), stop);
    files.iter().map(read).collect()
}

/// Reads the library, through files that are removed again: traces are read from files.
fn library(args: &StudyArgs, stop: &AtomicBool) -> Result<Vec<Trace>, Failure> {
    let failed = |error: io::Error| {
        let why = format!(
            "put the patterns of q2c into {}: {error}",
            temporary().display()
        );
        Failure::new(Exit::of_output(&error), why)
    };
    let folder = tempfile::tempdir_in(temporary()).map_err(failed)?;
    let read = |shipped: &Shipped| {
        let path = folder.path().join(shipped.file);
        fs::write(&path, shipped.bytes).map_err(failed)?;
        let mut trace = trace(&path, &args.simulated.source, LIBRARY.len(), stop)?;
        shipped.file.clone_into(&mut trace.input.path);
        Ok(trace)
    };
    LIBRARY.iter().map(read).collect()
}

/// The patterns at a path: the file, or the Parquet files of a folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |why: String| {
        let why = format!("read the patterns in {}: {why}", path.display());
        Failure::new(Exit::Input, why)
    };
    let entries = fs::read_dir(path).map_err(|error| failed(error.to_string()))?;
    let mut found = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| failed(error.to_string()))?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) {
            found.push(file);
        }
    }
    found.sort();
    match found.is_empty() {
        false => Ok(found),
        true => Err(failed(format!(
            "expected files that end in .{ENDING}, found none"
        ))),
    }
}
