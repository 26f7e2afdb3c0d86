//! The commands of `q2c trace`.

use crate::args::RecordingArgs;
use crate::commands::record::RecordArgs;
use crate::output::{say, show_as};
use crate::progress::Line;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use q2c_model::{Fault, Nanos, OrFault, TraceMeta, TraceSummary, parse_time};
use q2c_report::counted;
use q2c_report::terminal::{fleet_info, trace_columns, trace_info};
use q2c_result::Exit;
use q2c_result::trace::{CsvColumn, TraceColumn, TraceColumns, TraceInfo};
use q2c_trace::export::{
    self, ExportCounts, ExportOptions, FORMATS as EXPORT_FORMATS, TimelineLanes,
};
use q2c_trace::import::{
    CsvField, DUPLICATE_RECORD, FORMATS, IdSet, ImportError, csv_fields, to_fleet, to_trace,
};
use q2c_trace::{Column, SCHEMA_VERSION, Scan, TraceCounter, TraceError, TraceReader, TraceWriter};
use std::io::{self, ErrorKind, stdout};
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const HINT: &str = "A trace is a Parquet file; q2c trace columns lists its columns";

/// The last line of `-h`, which fits a screen, with the place of further help.
const FORMATS_HINT: &str = "q2c trace import --help describes the formats";

/// The commands of `q2c trace`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Turn a recording of another tool into a q2c trace (Parquet)
    #[command(after_help = FORMATS_HINT, after_long_help = formats())]
    Import(ImportArgs),
    /// Record every I/O of a device, from queued to complete, by BPF
    Record(RecordArgs),
    /// Copy a q2c trace, or a part of it, with facts of your own in its description
    Copy(CopyArgs),
    /// Write a q2c trace in the format of another tool
    #[command(after_help = export_formats())]
    Export(ExportArgs),
    /// Say what a trace holds
    Info(InfoArgs),
    /// List the columns of a trace with their units, and the fields that a CSV file may have
    Columns(ColumnsArgs),
}

/// Which trace.
#[derive(Clone, Debug, Args)]
pub(crate) struct InfoArgs {
    /// The trace
    pub trace: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

fn export_formats() -> String {
    let formats = format_list(EXPORT_FORMATS.iter().map(|f| (f.name, f.help)));
    format!("{formats}\nThe columns of a trace: q2c trace columns")
}

fn format_list<'a>(formats: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let lines = formats.map(|(name, help)| format!("  {name:<13} {help}\n"));
    format!("Formats:\n{}", lines.collect::<String>())
}

fn formats() -> String {
    let formats = format_list(FORMATS.iter().map(|f| (f.name, f.help)));
    format!(
        "{formats}\nInputs packed with gzip, Zstandard, xz, bzip2, LZ4 or zip are unpacked as they are read, and a tar or\nzip archive of one file is read as that file.\nThe fields that --columns of csv may name: q2c trace columns"
    )
}

pub(crate) fn run(command: &TraceCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    match command {
        TraceCommand::Import(args) => import(args, stop),
        TraceCommand::Record(args) => super::record::run(args, stop),
        TraceCommand::Copy(args) => copy(args, stop),
        TraceCommand::Export(args) => export(args, stop),
        TraceCommand::Columns(args) => columns(args),
        TraceCommand::Info(args) => show_info(&args.trace, args.json, stop),
    }
}

pub(super) fn show_info(path: &Path, json: bool, stop: &AtomicBool) -> Result<Exit, Fault> {
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    let (mut counter, mut ids, mut doubled) = (TraceCounter::default(), IdSet::default(), 0);
    let line = Line::reading([path]);
    for records in trace.records(&Scan::new()).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let path = path.display();
            let message = format!("read trace {path}: stopped by a signal");
            return Err(Fault::stopped(message));
        }
        let mut records = records.or_exit(Exit::Input)?;
        let total = records.len();
        records.retain(|record| ids.insert(record.id));
        doubled += (total - records.len()) as u64;
        counter.add(&records);
    }
    drop(line);
    let mut meta = trace.meta().clone();
    if doubled > 0 {
        let unmatched = &mut meta.unmatched;
        *unmatched.entry(DUPLICATE_RECORD.to_owned()).or_default() += doubled;
    }
    show(path, &meta, counter.finish(), json)
}

fn show(path: &Path, meta: &TraceMeta, summary: TraceSummary, json: bool) -> Result<Exit, Fault> {
    let info = TraceInfo {
        path: path.display().to_string(),
        schema_version: SCHEMA_VERSION,
        meta: meta.clone(),
        summary,
    };
    show_as(&info, json, |screen| trace_info(&info, screen))
}

/// How the columns are printed.
#[derive(Clone, Debug, Args)]
pub(crate) struct ColumnsArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

fn columns(args: &ColumnsArgs) -> Result<Exit, Fault> {
    let list = TraceColumns {
        schema_version: SCHEMA_VERSION,
        columns: Column::ALL.iter().copied().map(trace_column).collect(),
        csv_fields: csv_fields().iter().map(csv_column).collect(),
    };
    show_as(&list, args.json, |screen| trace_columns(&list, screen))
}

fn trace_column(column: Column) -> TraceColumn {
    TraceColumn {
        name: column.name().to_owned(),
        kind: column.type_name().to_owned(),
        unit: column.unit().to_owned(),
        optional: column.is_optional(),
        meaning: column.meaning().to_owned(),
    }
}

fn csv_column(field: &CsvField) -> CsvColumn {
    CsvColumn {
        name: field.name.to_owned(),
        meaning: field.meaning.map(str::to_owned),
        headers: field.headers.iter().map(ToString::to_string).collect(),
    }
}

/// What to copy, and what to say of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct CopyArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// A fact for the description, such as pattern.source=nvme0n1; it replaces one of the same name
    /// (may be given again)
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact)]
    pub facts: Vec<(String, String)>,
    /// When they start.
    #[command(flatten)]
    pub span: SpanArgs,
    /// Only so many of them, from the first on
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub first: Option<u64>,
    /// The trace to make, a name that is not taken yet
    #[arg(short, long, alias = "out", value_name = "TRACE")]
    pub output: PathBuf,
    /// Print the new trace's description as JSON
    #[arg(long)]
    pub json: bool,
}

fn fact(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, found `{text}`")),
    }
}

/// Copies a trace or a part of it, with the requested facts in its description.
fn copy(args: &CopyArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let reader = TraceReader::open(&args.trace).or_exit(Exit::Input)?;
    let mut meta = reader.meta().clone();
    meta.facts.extend(args.facts.iter().cloned());
    let mut writer = TraceWriter::create(&args.output, meta.clone())?;
    let mut counter = TraceCounter::default();
    let line = Line::reading([args.trace.as_path()]);
    let mut remaining = args.first.unwrap_or(u64::MAX);
    let window = args.span.window("copy trace: expected --from")?;
    let scan = window.map_or(Scan::new(), |window| Scan::new().starting_in(window));
    for records in reader.records(&scan).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let path = args.trace.display();
            let message = format!("copy trace {path}: stopped by a signal; nothing was kept");
            return Err(Fault::stopped(message));
        }
        let mut records = records.or_exit(Exit::Input)?;
        records.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        remaining -= records.len() as u64;
        counter.add(&records);
        writer.push(&records)?;
        if remaining == 0 {
            break;
        }
    }
    writer.finish()?;
    drop(line);
    show(&args.output, &meta, counter.finish(), args.json)
}

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("format", |format| format.help("Its format [default: recognised by its first bytes]")),
    // Options that other commands seldom need are the very subject of an import.
    mut_args(|arg| arg.hide_short_help(false))
)]
pub(crate) struct ImportArgs {
    /// The recording, - for standard input; several are merged by time, which must be of one clock
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// The trace to make, or with --partition-by the folder; a name that is not taken yet
    #[arg(short, long, alias = "out", value_name = "TRACE")]
    pub output: PathBuf,
    /// Make a folder with a trace of each device, for questions about many devices
    #[arg(long, value_name = "KEY")]
    pub partition_by: Option<PartitionBy>,
    /// Most requests of a trace in the folder; a device with more has several, in order of time
    #[arg(long, value_name = "COUNT", default_value = "2000000")]
    #[arg(requires = "partition_by")]
    pub stretch_rows: NonZeroU64,
    /// Print the description of what was made as JSON
    #[arg(long)]
    pub json: bool,
}

/// The key by which requests are divided among the traces of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartitionBy {
    /// The device.
    Device,
}

/// Imports one recording, or merges several by time, and reports the result.
pub(super) fn import(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let options = args.recording.options();
    let format = args.recording.format.as_deref();
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let Some(PartitionBy::Device) = args.partition_by else {
        let imported = line.during(|| to_trace(&args.inputs, format, &options, &args.output, stop));
        let (meta, summary) = imported.map_err(import_fault)?;
        return show(&args.output, &meta, summary, args.json);
    };
    let folder_and_rows = (args.output.as_path(), args.stretch_rows);
    let fleet = line.during(|| to_fleet(&args.inputs, format, &options, folder_and_rows, stop));
    let fleet = fleet.map_err(import_fault)?;
    let path = args.output.display().to_string();
    show_as(&fleet, args.json, |s| fleet_info(&path, &fleet, s))
}

fn import_fault(error: ImportError) -> Fault {
    match error {
        ImportError::Trace(TraceError::Stopped { .. }) => {
            Fault::stopped(format!("{error}; nothing was kept"))
        }
        error => error.into(),
    }
}

/// A part of a trace.
#[derive(Clone, Debug, Args)]
pub(crate) struct SpanArgs {
    /// Only requests that start at this time of the trace or later, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<Nanos>,
    /// Only requests that start before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<Nanos>,
}

impl SpanArgs {
    /// The named part; `None` if none is named. `expected` starts the message about an empty part.
    pub(super) fn window(&self, expected: &str) -> Result<Option<Range<Nanos>>, Fault> {
        let window = self.from.unwrap_or(Nanos::ZERO)..self.to.unwrap_or(Nanos(u64::MAX));
        if window.is_empty() {
            let Range { start, end } = window;
            let message = format!("{expected} before --to, found {start} and {end}");
            return Err(Fault::usage(message));
        }
        Ok((self.from.is_some() || self.to.is_some()).then_some(window))
    }
}

/// What to export, and as what.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// The format to write
    #[arg(long, value_parser = PossibleValuesParser::new(export::FORMATS.iter().map(|f| f.name)))]
    pub format: String,
    /// When they start.
    #[command(flatten)]
    pub span: SpanArgs,
    /// chrome: lanes by submitting CPU or by hardware queue, cpu or hctx [default: cpu]
    #[arg(long, value_name = "LANES")]
    pub lanes: Option<TimelineLanes>,
    /// The file to make, a name that is not taken yet; - for standard output
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Exports the trace, and reports on stderr how many requests were written and left out.
pub(super) fn export(args: &ExportArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let format = export::by_name(&args.format).ok_or("find the format");
    let format = format.or_exit(Exit::Usage)?;
    if args.lanes.is_some() && format.name != "chrome" {
        return Err(Fault::usage(
            "use --lanes: expected --format chrome, found another format; leave --lanes out",
        ));
    }
    let options = ExportOptions {
        window: args.span.window("use --from and --to: expected a time")?,
        lanes: args.lanes.unwrap_or_default(),
    };
    let path = args.trace.as_path();
    let reader = TraceReader::open(path).or_exit(Exit::Input)?;
    let go_on = || !stop.load(Ordering::Relaxed);
    let exported = Line::reading([path]).during(|| {
        if args.output.as_path() == Path::new("-") {
            export::trace(format, path, &reader, &options, &go_on, &mut stdout())
        } else {
            export::file(format, path, &reader, &options, &go_on, &args.output)
        }
    });
    match exported {
        Ok(exported) => say(&export_summary(&exported)),
        // A closed pipe is not a failure.
        Err(fault) if fault.cause().is_some_and(is_closed_pipe) => {}
        Err(fault) => return Err(fault),
    }
    Ok(Exit::Done)
}

fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

fn export_summary(exported: &ExportCounts) -> String {
    let mut summary = format!("{} exported", counted(exported.written, "request"));
    for (reason, n) in &exported.left_out {
        summary += &format!(", {n} left out: {reason}");
    }
    summary
}
