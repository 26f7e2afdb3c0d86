//! The patterns of `q2c poll study` and `q2c poll search`: read, with their costs.

use super::cost::costs;
use super::source::trace;
use crate::args::{PatternsArgs, SimulatedArgs, temporary};
use crate::output::NewFile;
use crate::progress::Line;
use q2c_model::{Bytes, CostModel, Fault, Nanos, OrFault};
use q2c_policy::PolicySpec;
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::figures::{FigureTable, Measures};
use q2c_study::{Costs, LIBRARY, LONG_S, Study, Trace, read_library};
use q2c_trace::table::TableColumn;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tempfile::TempDir;

const ENDING: &str = "parquet";

pub(super) struct Patterns {
    pub traces: Vec<Trace>,
    reading_s: f64,
    cost: CostModel,
    cost_in_words: String,
}

impl Patterns {
    pub fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Self, Fault> {
        let begun = Instant::now();
        let traces = read(args, stop)?;
        let reading_s = begun.elapsed().as_secs_f64();
        let SimulatedArgs { source, cost, .. } = &args.simulated;
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
    let Some(takes) = takes.filter(|takes| *takes > LONG_S && !args.yes) else {
        return Ok(());
    };
    let why = format!(
        "{what}: {count} configurations on {} patterns would take about {}; try fewer, give a shorter --measure, or say \
         --yes",
        study.traces.len(),
        Nanos::from_secs_f64(takes)
    );
    Err(Fault::new(Exit::Usage, why))
}

pub(super) struct Outputs {
    html: Option<NewFile>,
    csv: Option<NewFile>,
    parquet: Option<NewFile>,
}

impl Outputs {
    /// Makes the files before the work, so that a name that is taken does not cost the result.
    pub fn make(
        html: Option<&PathBuf>,
        csv: Option<&PathBuf>,
        parquet: Option<&PathBuf>,
    ) -> Result<Self, Fault> {
        Ok(Outputs {
            html: NewFile::if_named(html)?,
            csv: NewFile::if_named(csv)?,
            parquet: NewFile::if_named(parquet)?,
        })
    }

    pub fn write(self, result: &(impl Measures + Reported)) -> Result<(), Fault> {
        if let Some(file) = self.html {
            let page = result.document().page().or_exit(Exit::Internal)?;
            file.write_and_say("wrote", page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv(&result.figures()).or_exit(Exit::Internal)?;
            file.write_and_say("wrote", table.as_bytes())?;
        }
        if let Some(file) = self.parquet {
            file.write_and_say("wrote", &parquet(&result.figures())?)?;
        }
        Ok(())
    }
}

/// The texts and the medians of a table of figures, as a Parquet file.
fn parquet(table: &FigureTable) -> Result<Vec<u8>, Fault> {
    let texts = table.keys.iter().enumerate().map(|(at, name)| {
        let cells = table.rows.iter().map(|row| row.keys[at].clone());
        TableColumn::Text(name.to_string(), cells.collect())
    });
    let numbers = table.figures.iter().enumerate().map(|(at, figure)| {
        let values = table.rows.iter().map(|row| row.values[at]);
        let cells = values.map(|of| if of.trials > 0 { of.median } else { f64::NAN });
        TableColumn::Number(figure.column(), cells.collect())
    });
    let columns: Vec<TableColumn> = texts.chain(numbers).collect();
    q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)
}

pub(super) fn sizes(traces: &[Trace]) -> Vec<Bytes> {
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    sizes.into_iter().collect()
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
    let folder = folder_of_library()?;
    let options = args.simulated.source.options(LIBRARY.len());
    let _line = Line::working("reading the patterns of q2c");
    read_library(folder.path(), &options, stop)
}

/// A folder for the library's files, which goes with this value.
pub fn folder_of_library() -> Result<TempDir, Fault> {
    tempfile::tempdir_in(temporary()).map_err(|error| {
        let folder = temporary();
        let why = format!("put the patterns of q2c into {}: {error}", folder.display());
        Fault::new(Exit::of_output(&error), why)
    })
}

/// The patterns at a path: the file, or the Parquet files of a folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |why: &dyn Display| {
        let why = format!("read the patterns in {}: {why}", path.display());
        Fault::new(Exit::Input, why)
    };
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(path).and_then(Iterator::collect);
    let files = entries.map_err(|error| failed(&error))?.into_iter();
    let mut found: Vec<PathBuf> = files.map(|file| file.path()).collect();
    found.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
    found.sort();
    if found.is_empty() {
        Err(failed(&format!(
            "expected files that end in .{ENDING}, found none"
        )))
    } else {
        Ok(found)
    }
}
