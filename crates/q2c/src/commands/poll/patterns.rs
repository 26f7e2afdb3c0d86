//! The patterns of `q2c poll study` and `q2c poll search`: read, with their costs.

use super::cost::costs;
use super::source::trace;
use super::sweep::write;
use crate::args::{PatternsArgs, SimulatedArgs, temporary};
use crate::output::{NewFile, show};
use crate::progress::Line;
use q2c_model::{Bytes, CostModel, Fault, Nanos, OrFault};
use q2c_policy::PolicySpec;
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::figures::Measures;
use q2c_study::{Costs, LIBRARY, LONG_S, Study, Trace, read_library};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The ending of the files of a folder that are patterns.
const ENDING: &str = "parquet";

/// The patterns, and what a simulation of them needs.
pub(super) struct Patterns {
    pub traces: Vec<Trace>,
    reading_s: f64,
    cost: CostModel,
    cost_in_words: String,
}

impl Patterns {
    /// Reads the patterns asked for, else the library.
    pub fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Self, Fault> {
        let begun = Instant::now();
        let traces = read(args, stop)?;
        let reading_s = begun.elapsed().as_secs_f64();
        let SimulatedArgs { source, cost, .. } = &args.simulated;
        let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
        let sizes: Vec<Bytes> = sizes.into_iter().collect();
        // A rule that sleeps must not sleep for nothing, or each loss would be a loss of all.
        let mut cost = cost.clone();
        if cost.wake_delay.is_none() {
            cost.cost.get_or_insert_with(|| Costs::PUBLISHED.into());
        }
        let costs = costs(&cost, source.recording.bs, &sizes, &traces)?;
        Ok(Patterns {
            traces,
            reading_s,
            cost: costs.cost,
            cost_in_words: costs.in_words,
        })
    }

    /// The study of `policies` on `traces`, which are all of the patterns or some.
    pub fn study<'a>(
        &'a self,
        args: &PatternsArgs,
        traces: &'a [Trace],
        policies: &'a [PolicySpec],
    ) -> Study<'a> {
        Study {
            traces,
            reading_s: self.reading_s,
            policies,
            cost: &self.cost,
            cost_in_words: self.cost_in_words.clone(),
            timing: args.timing.timing(),
            arrival: args.timing.arrival(),
            objective: args.goal.objective,
            limits: args.goal.limits(),
            follow: None,
        }
    }

    /// The median of the patterns' median latencies.
    pub fn median(&self) -> Nanos {
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
    match takes.filter(|takes| *takes > LONG_S && !args.yes) {
        None => Ok(()),
        Some(takes) => Err(Fault::new(
            Exit::Usage,
            format!(
                "{what}: {count} configurations on {} patterns would take about {}; try fewer, give a shorter --measure, \
                 or say --yes",
                study.traces.len(),
                Nanos::from_secs_f64(takes)
            ),
        )),
    }
}

/// The files that a result is to be written to.
pub(super) struct Outputs {
    html: Option<NewFile>,
    csv: Option<NewFile>,
    json: bool,
}

impl Outputs {
    /// Makes the files before the work, so that a name that is taken does not cost the result.
    pub fn make(args: &PatternsArgs) -> Result<Self, Fault> {
        Ok(Outputs {
            html: NewFile::if_named(args.html.as_ref())?,
            csv: NewFile::if_named(args.csv.as_ref())?,
            json: args.json,
        })
    }

    /// Writes the files and prints the result.
    pub fn write(self, result: &(impl Serialize + Measures + Reported)) -> Result<(), Fault> {
        if let Some(file) = self.html {
            let page = result.document().page().or_exit(Exit::Internal)?;
            write(file, page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv(&result.figures()).or_exit(Exit::Internal)?;
            write(file, table.as_bytes())?;
        }
        show(result, self.json)
    }
}

fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Vec<Trace>, Fault> {
    if args.patterns.is_empty() {
        return library(args, stop);
    }
    let files = args.patterns.iter().map(|path| files(path));
    let files: Vec<PathBuf> = files.collect::<Result<Vec<_>, _>>()?.concat();
    let source = &args.simulated.source;
    let read = |path: &PathBuf| trace(path, source, &files, stop);
    let _line = Line::reading(files.iter().map(PathBuf::as_path));
    files.iter().map(read).collect()
}

/// Reads the library, through files that are removed again.
fn library(args: &PatternsArgs, stop: &AtomicBool) -> Result<Vec<Trace>, Fault> {
    let folder = tempfile::tempdir_in(temporary()).map_err(|error| {
        let folder = temporary();
        let why = format!("put the patterns of q2c into {}: {error}", folder.display());
        Fault::new(Exit::of_output(&error), why)
    })?;
    let options = args.simulated.source.options(LIBRARY.len());
    let _line = Line::working("reading the patterns of q2c");
    read_library(folder.path(), &options, stop)
}

/// The patterns at a path: the file, or the Parquet files of a folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |why: String| {
        let why = format!("read the patterns in {}: {why}", path.display());
        Fault::new(Exit::Input, why)
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
