//! Arguments of `q2c trace import`, `copy`, `export` and `info`, and the commands of `q2c trace`.

use super::{RecordArgs, RecordingArgs};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use q2c_model::{Nanos, parse_time};
use q2c_trace::export::{self, TimelineLanes};
use q2c_trace::import::FORMATS;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Record, bring recordings in, look into them, and hand them to other tools.
#[derive(Clone, Debug, Args)]
#[command(after_help = "A trace is a Parquet file; q2c trace columns lists its columns")]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Where `-h`, which fits a screen, sends its reader.
const WHERE: &str = "q2c trace import --help describes the formats";

/// The commands of `q2c trace`.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
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

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("format", |format| format.help("Its format [default: recognised by its first bytes]")),
    // What is seldom needed elsewhere is what an import is about.
    mut_args(|arg| arg.hide_short_help(false))
)]
pub struct ImportArgs {
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
    #[arg(
        long,
        value_name = "COUNT",
        requires = "partition_by",
        default_value = "2000000"
    )]
    pub stretch_rows: NonZeroU64,
    /// Print the description of what was made as JSON
    #[arg(long)]
    pub json: bool,
}

/// What the traces of a folder have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartitionBy {
    /// The device.
    Device,
}

/// What to copy, and what to say of it.
#[derive(Clone, Debug, Args)]
pub struct CopyArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// A fact for the description, such as pattern.source=nvme0n1; it replaces one of the same name
    /// (may be given again)
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact)]
    pub facts: Vec<(String, String)>,
    /// Only requests that start at this time of the trace or later, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<Nanos>,
    /// Only requests that start before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<Nanos>,
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

/// What to export, and as what.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// The format to write
    #[arg(long, value_parser = PossibleValuesParser::new(export::FORMATS.iter().map(|f| f.name)))]
    pub format: String,
    /// Only requests that start at this time of the trace or later, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<Nanos>,
    /// Only requests that start before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<Nanos>,
    /// chrome: lanes by submitting CPU or by hardware queue, cpu or hctx [default: cpu]
    #[arg(long, value_name = "LANES")]
    pub lanes: Option<TimelineLanes>,
    /// The file to make, a name that is not taken yet; - for standard output
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Which trace.
#[derive(Clone, Debug, Args)]
pub struct InfoArgs {
    /// The trace
    pub trace: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// How the columns are printed.
#[derive(Clone, Debug, Args)]
pub struct ColumnsArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

fn export_formats() -> String {
    let formats = list(export::FORMATS.iter().map(|f| (f.name, f.help)));
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
