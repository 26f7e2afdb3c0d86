//! The patterns of `q2c poll study` and `q2c poll search`: read, with their costs.

use super::SimulatedArgs;
use super::cost::costs;
use super::grid::{GridArgs, sizes};
use super::source::trace;
use crate::args::temporary;
use crate::progress::Line;
use clap::Args;
use q2c_model::{CostModel, Fault, Nanos};
use q2c_policy::PolicySpec;
use q2c_result::Exit;
use q2c_study::{Costs, LIBRARY, LONG_S, SimTrace, Study, read_library};
use std::fmt::Display;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

/// Which patterns, how they are simulated, and where the result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct PatternsArgs {
    /// Patterns: recordings as q2c poll sweep takes them, or folders of Parquet files [default: the
    /// patterns that q2c brings along]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub patterns: Vec<PathBuf>,
    /// How they are simulated, and where the result goes. Without an option for costs those of
    /// --cost published count.
    #[command(flatten)]
    pub grid: GridArgs,
}

const ENDING: &str = "parquet";

pub(super) struct Patterns {
    pub traces: Vec<SimTrace>,
    reading_s: f64,
    cost: CostModel,
    cost_in_words: String,
}

impl Patterns {
    pub(crate) fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Self, Fault> {
        let begun = Instant::now();
        let traces = read(args, stop)?;
        let reading_s = begun.elapsed().as_secs_f64();
        let SimulatedArgs { source, cost, .. } = &args.grid.simulated;
        // A rule that sleeps must not sleep for nothing, or each loss would be a loss of all.
        let mut cost = cost.clone();
        if cost.wake_delay.is_none() {
            cost.cost.get_or_insert_with(|| Costs::PUBLISHED.into());
        }
        let costs = costs(&cost, source.recording.bs, &sizes(&traces), &traces)?;
        Ok(Patterns {
            traces,
            reading_s,
            cost: costs.cost,
            cost_in_words: costs.in_words,
        })
    }

    /// The study of `policies` on `traces`, which are all of the patterns or some.
    pub(crate) fn study<'a>(
        &'a self,
        args: &PatternsArgs,
        traces: &'a [SimTrace],
        policies: &'a [PolicySpec],
    ) -> Study<'a> {
        let costs = (&self.cost, self.cost_in_words.clone());
        args.grid.study(traces, policies, costs, self.reading_s)
    }

    pub(crate) fn median(&self) -> Nanos {
        let medians = self.traces.iter().map(|trace| trace.input.latency_ns[2]);
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        Nanos(medians.get(medians.len() / 2).map_or(0, |ns| *ns as u64))
    }
}

/// Refuses what would take longer than [`LONG_S`] for `count` policies like those of `sample`.
pub(super) fn worth_it(
    args: &PatternsArgs,
    what: &str,
    study: &Study<'_>,
    sample: &[PolicySpec],
    count: u64,
) -> Result<(), Fault> {
    let line = Line::working("estimating the time");
    let takes = study.expected_s(sample, count);
    drop(line);
    let Some(takes) = takes.filter(|takes| *takes > LONG_S && !args.grid.yes) else {
        return Ok(());
    };
    let message = format!(
        "{what}: {count} configurations on {} patterns would take about {}; try fewer, give a shorter --measure, or say \
         --yes",
        study.traces.len(),
        Nanos::from_secs_f64(takes)
    );
    Err(Fault::new(Exit::Usage, message))
}

fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Vec<SimTrace>, Fault> {
    if args.patterns.is_empty() {
        return library(args, stop);
    }
    let files = args.patterns.iter().map(|path| files(path));
    let files: Vec<PathBuf> = files.collect::<Result<Vec<_>, _>>()?.concat();
    let source = &args.grid.simulated.source;
    let read = |path: &PathBuf| trace(path, source, &files, stop);
    let _line = Line::reading(files.iter().map(PathBuf::as_path));
    files.iter().map(read).collect()
}

/// Reads the library, through files that are removed again.
fn library(args: &PatternsArgs, stop: &AtomicBool) -> Result<Vec<SimTrace>, Fault> {
    let folder = folder_of_library()?;
    let options = args.grid.simulated.source.options(LIBRARY.len());
    let _line = Line::working("reading the patterns of q2c");
    read_library(folder.path(), &options, stop)
}

/// A folder for the library's files, which goes with this value.
pub(crate) fn folder_of_library() -> Result<TempDir, Fault> {
    tempfile::tempdir_in(temporary()).map_err(|error| {
        let folder = temporary();
        let message = format!("put the patterns of q2c into {}: {error}", folder.display());
        Fault::new(Exit::of_output(&error), message)
    })
}

/// The patterns at a path: the file, or the Parquet files of a folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |reason: &dyn Display| {
        let message = format!("read the patterns in {}: {reason}", path.display());
        Fault::new(Exit::Input, message)
    };
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(path).and_then(Iterator::collect);
    let files = entries.map_err(|error| failed(&error))?.into_iter();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    if paths.is_empty() {
        Err(failed(&format!(
            "expected files that end in .{ENDING}, found none"
        )))
    } else {
        Ok(paths)
    }
}
