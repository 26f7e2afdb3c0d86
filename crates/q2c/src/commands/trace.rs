//! The commands of `q2c trace`.

mod columns;
mod copy;
mod export;
mod import;

use crate::commands::record::RecordArgs;
use crate::output::show_as;
use crate::progress::Line;
use clap::{Args, Subcommand};
use columns::ColumnsArgs;
use copy::CopyArgs;
use export::ExportArgs;
use import::ImportArgs;
use q2c_model::{Fault, OrFault, TraceMeta, TraceSummary};
use q2c_report::terminal::trace_info;
use q2c_result::Exit;
use q2c_result::trace::TraceInfo;
use q2c_trace::export::FORMATS as EXPORT_FORMATS;
use q2c_trace::import::{DOUBLED, FORMATS, Ids};
use q2c_trace::{Counting, SCHEMA_VERSION, Scan, TraceReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Record, bring recordings in, look into them, and hand them to other tools.
#[derive(Clone, Debug, Args)]
#[command(after_help = "A trace is a Parquet file; q2c trace columns lists its columns")]
pub(crate) struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Where `-h`, which fits a screen, sends its reader.
const WHERE: &str = "q2c trace import --help describes the formats";

/// The commands of `q2c trace`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Turn a recording of another tool into a q2c trace (Parquet)
    #[command(after_help = WHERE, after_long_help = formats())]
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
    let formats = list(EXPORT_FORMATS.iter().map(|f| (f.name, f.help)));
    format!("{formats}\nThe columns of a trace: q2c trace columns")
}

fn list<'a>(formats: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let lines = formats.map(|(name, help)| format!("  {name:<13} {help}\n"));
    format!("Formats:\n{}", lines.collect::<String>())
}

fn formats() -> String {
    let formats = list(FORMATS.iter().map(|f| (f.name, f.help)));
    format!(
        "{formats}\nInputs packed with gzip, Zstandard, xz, bzip2, LZ4 or zip are unpacked as they are read, and a tar or\nzip archive of one file is read as that file.\nThe fields that --columns of csv may name: q2c trace columns"
    )
}

pub(crate) fn run(args: &TraceArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        TraceCommand::Import(args) => import::run(args, stop),
        TraceCommand::Record(args) => super::record::run(args, stop),
        TraceCommand::Copy(args) => copy::run(args, stop),
        TraceCommand::Export(args) => export::run(args, stop),
        TraceCommand::Columns(args) => columns::run(args),
        TraceCommand::Info(args) => info_of(&args.trace, args.json, stop),
    }
}

pub(super) fn info_of(path: &Path, json: bool, stop: &AtomicBool) -> Result<Exit, Fault> {
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    let (mut counting, mut ids, mut doubled) = (Counting::default(), Ids::default(), 0);
    let line = Line::reading([path]);
    for records in trace.records(&Scan::new()).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let message = format!("read trace {}: stopped by a signal", path.display());
            return Err(Fault::new(Exit::Interrupted, message));
        }
        let mut records = records.or_exit(Exit::Input)?;
        let total = records.len();
        records.retain(|record| ids.insert(record.id));
        doubled += (total - records.len()) as u64;
        counting.add(&records);
    }
    drop(line);
    let mut meta = trace.meta().clone();
    if doubled > 0 {
        *meta.unmatched.entry(DOUBLED.to_owned()).or_default() += doubled;
    }
    tell(path, &meta, counting.finish(), json)
}

fn tell(path: &Path, meta: &TraceMeta, summary: TraceSummary, json: bool) -> Result<Exit, Fault> {
    let info = TraceInfo {
        path: path.display().to_string(),
        schema_version: SCHEMA_VERSION,
        meta: meta.clone(),
        summary,
    };
    show_as(&info, json, |screen| trace_info(&info, screen))
}
