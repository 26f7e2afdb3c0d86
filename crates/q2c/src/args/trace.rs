//! `q2c trace`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use q2c_model::{Bytes, Op, parse_size};
use q2c_trace::import::{ColumnMap, FORMATS, TimeUnit};
use std::path::PathBuf;

/// Bring recordings in, and look into them.
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
    /// Say what a trace holds
    Info(InfoArgs),
}

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The recording
    pub input: PathBuf,
    /// Its format
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: String,
    /// Unit of all its times: ns, us, ms or s
    #[arg(long)]
    pub unit: Option<TimeUnit>,
    /// Operation of requests that name none: read, write, flush, discard or other
    #[arg(long)]
    pub op: Option<Op>,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    pub columns: Option<Columns>,
    /// csv: the character between cells [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Leave out lines that cannot be read, counted by reason, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
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

/// A column map.
#[derive(Clone, Debug)]
pub struct Columns(pub Vec<ColumnMap>);

pub(super) fn columns(text: &str) -> Result<Columns, String> {
    let map = ColumnMap::parse_list(text).map(Columns);
    map.ok_or_else(|| "expected FIELD=HEADER, several separated by commas".to_owned())
}

pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}

fn formats() -> String {
    let line =
        |format: &q2c_trace::import::Format| format!("  {:<13} {}", format.name, format.help);
    let lines: Vec<String> = FORMATS.iter().map(line).collect();
    format!("Formats:\n{}", lines.join("\n"))
}
