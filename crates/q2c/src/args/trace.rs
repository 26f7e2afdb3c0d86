//! `q2c trace`.

use super::{RecordArgs, RecordingArgs};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use q2c_model::{Bytes, parse_size};
use q2c_trace::import::FORMATS;
use std::path::PathBuf;

/// Record, bring recordings in, and look into them.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The commands of `q2c trace`.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// Turn a recording of another tool into a q2c trace (Parquet)
    #[command(after_help = formats())]
    Import(ImportArgs),
    /// Record every I/O of a device, from queued to complete, by BPF
    Record(RecordArgs),
    /// Say what a trace holds
    Info(InfoArgs),
}

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The recording
    pub input: PathBuf,
    /// Its format [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// What it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// The trace to make; a name that is not taken yet
    #[arg(long, value_name = "TRACE")]
    pub out: PathBuf,
    /// Print the trace's description as JSON
    #[arg(long)]
    pub json: bool,
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

fn formats() -> String {
    let line =
        |format: &q2c_trace::import::Format| format!("  {:<13} {}", format.name, format.help);
    let lines: Vec<String> = FORMATS.iter().map(line).collect();
    format!(
        "Formats:\n{}\n\nInputs packed with gzip or Zstandard are unpacked as they are read. Columns and units: docs/formats.md",
        lines.join("\n")
    )
}
